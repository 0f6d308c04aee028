"""What an engine does with indexes: build, verify, repair and drop them while tables are in use."""
