"""How rows and their index entries are written together, so that no entry is ever missing."""
