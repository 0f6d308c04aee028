"""The addresses of rows: in which table and under which row key an object is stored.

Chosen once, when a model is bound to an engine: `tables` (one table, or one for each period) and
`keys` (computed, with a random salt, or with numbers in place of names). The third part of an
address, how an object is stored in its row, is in `hbase_orm.schema.storage`.
"""
