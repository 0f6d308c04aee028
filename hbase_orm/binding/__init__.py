"""Bound models: the tables, index states and shared data of a model in one engine."""
