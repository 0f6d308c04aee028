"""Unique numbers: dictionaries, which give each name (a text) a number, and sequences.

Both reserve their numbers by increments of a counter in HBase. A number that was reserved but not
used is skipped, and never given out again. The functions are sans-I/O protocols that yield
`hbase_orm.ops` requests. A process keeps state in two classes only: `DictionaryCache` holds names
and numbers that were read, and a `Sequence` holds the unused numbers of its block.
"""
