"""What a session keeps about objects: identity, ownership, refreshing and held values."""
