"""Reads: rows by key, streams, pages, aggregates, history and related objects."""
