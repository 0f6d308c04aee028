"""A chat: users with unique e-mail addresses, channels, messages and reactions, and their tests."""
