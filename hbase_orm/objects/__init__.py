"""The objects of a session: their identity, their owners, refreshing, and references to them."""
