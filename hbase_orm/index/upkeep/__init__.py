"""Compares indexes with their rows, and repairs what differs."""
