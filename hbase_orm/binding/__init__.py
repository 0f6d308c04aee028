"""Binds models to the tables, row keys, dictionaries and catalog of one engine."""
