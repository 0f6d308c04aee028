"""Which index entries a row has, in bytes."""
