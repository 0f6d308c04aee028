"""The translation of rows for a move to a table with another row key or layout."""
