"""Statements: what a user asks, as immutable values."""
