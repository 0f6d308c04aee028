"""The administration of indexes: build, verify, repair and drop them while tables are in use."""
