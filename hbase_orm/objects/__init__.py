"""The objects of a session: identity, ownership, refreshing and held values."""
