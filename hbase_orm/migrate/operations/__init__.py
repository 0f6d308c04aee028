"""What revisions do to tables: each operation is a value with a `run` that may be repeated."""
