"""The protocols that write rows and their index entries, so that no entry is ever missing."""
