"""The bounds that a statement's conditions set for its fields, and the filters for the server."""
