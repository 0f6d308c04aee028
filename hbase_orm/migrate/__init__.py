"""Migrations: revisions of tables' declarations, and the operations that carry them out."""
