"""Declarative models, planned queries and index tables on HBase."""
