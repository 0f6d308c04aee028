"""Computes the index entries of rows, in bytes."""
