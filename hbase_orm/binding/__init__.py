"""Binds models to one engine: to their tables, row keys and dictionaries, and to its catalog."""
