"""What the conditions of a statement say about its fields, and the filters a server applies."""
