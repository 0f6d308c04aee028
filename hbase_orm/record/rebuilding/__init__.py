"""Makes model classes from the record of a table, for programs without the original classes."""
