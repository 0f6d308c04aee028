"""Paired benchmarks against plain happybase. Run them by `make bench`.

paired.py   repetitions in shuffled order, ratios within one repetition, client CPU per row
models.py   the models measured, and the same rows in hand-written code
load.py     writing rows, without and with an index
scan.py     reading every row into typed objects
columnar.py  reading every row into an Arrow table
newest.py   the newest rows of a salted table
keys.py     row keys and cells against hand-written struct code, without a server
"""
