"""Moves of tables as programs meet them: who reads and writes which table, by the catalog."""
