"""Tables that a program has for itself, or loads, while it goes on renewing that."""
