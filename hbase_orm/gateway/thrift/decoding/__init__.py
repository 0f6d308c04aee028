"""Readers of a Thrift gateway's answers, which check every length, type and depth."""
