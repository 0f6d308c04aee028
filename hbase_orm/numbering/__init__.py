"""Numbers that are given once: dictionaries of names, and sequences.

Both draw from atomic counters. A number that was drawn and not used is skipped, never given again.
Everything here is a sans-I/O protocol that yields `hbase_orm.ops` requests, except the two things
that a process keeps: the cache of names, and the rest of a sequence's block.
"""
