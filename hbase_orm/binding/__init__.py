"""A model as one engine sees it: its tables, its index states, and what all sessions share."""
