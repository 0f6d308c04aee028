"""The simulated load: how many rows, what they hold, and which of them are sampled."""
