"""The record of a table: the declaration that its rows were written by, kept in the catalog."""
