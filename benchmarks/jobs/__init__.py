"""The jobs, each of which compares ways to do one thing.

memory.py    peak memory of a stream of very many rows
scan.py      reading every row into typed objects
samples.py   the same of rows with missing cells, and of rows with many columns
counting.py  how many rows ranges have, and whether they have any
by_key.py    one get after the other, and many keys in one call
newest.py    the newest rows of a salted table
load.py      writing rows, without and with indexes
guarded.py   updates of indexed rows, and rows through an index
fanout.py    all rows of salt buckets in one order
pushdown.py  conditions that the server decides
planning.py  planning of statements
moving.py    rows that move to another row key
keys.py      row keys and cells against hand-written struct code, without a server
imports.py   what imports cost, without a server
"""
