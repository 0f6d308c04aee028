"""Statements: what a user selects, as immutable values."""
