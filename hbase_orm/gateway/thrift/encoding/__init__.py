"""Encoders of requests in the binary protocol, for what is sent often or in large batches."""
