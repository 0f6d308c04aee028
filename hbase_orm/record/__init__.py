"""The record of a table: the declaration that its rows follow, stored in the catalog."""
