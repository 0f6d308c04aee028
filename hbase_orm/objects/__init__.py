"""The objects of a session: one object for each row, refreshed when the row is read again."""
