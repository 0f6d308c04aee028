"""The addresses of rows: in which table and under which row key an object is stored.

When a model is bound to an engine, it gets two objects: one of `tables` (for one table, or one
table per period), and one of `keys` (for row keys that are computed, have a random salt, or hold
numbers in place of names). How an object is stored in its row is in `hbase_orm.schema.storage`.
"""
