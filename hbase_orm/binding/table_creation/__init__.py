"""Creates tables, index tables, dictionaries and records; checks the tables that exist already."""
