"""Writes: the changes of a session, single rows by key, conditional writes and bulk writes."""
