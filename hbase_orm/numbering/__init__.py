"""Numbers that are handed out once: dictionaries of names, and sequences.

Both take from atomic counters. A number that was taken and not used is skipped, never handed out
again.
Everything here is a sans-I/O protocol that yields `hbase_orm.ops` requests, except the two things
that a process keeps: the cache of names, and the rest of a sequence's block.
"""
