"""What sessions promise of row keys with derived parts, on any HBase.

Each module holds the cases of one component. They are run in memory and on a real HBase by the
modules that import them and provide `store`.
"""
