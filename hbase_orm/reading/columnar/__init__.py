"""Reads the results of statements into Apache Arrow columns. pyarrow is imported at the first use."""
