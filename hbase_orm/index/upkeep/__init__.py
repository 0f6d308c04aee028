"""Compares indexes with their rows, and repairs differences."""
