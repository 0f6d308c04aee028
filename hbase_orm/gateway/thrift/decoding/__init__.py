"""Readers of a Thrift gateway's answers, which trust no length, type or depth in them."""
