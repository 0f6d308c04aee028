"""Unique numbers: dictionaries of names, and sequences.

Both get their numbers from atomic counters. A number that was reserved but not used is skipped, and
never given out again. Everything here is a sans-I/O protocol that yields `hbase_orm.ops` requests,
except for the state that a process keeps: the cache of names, and the rest of a sequence's block.
"""
