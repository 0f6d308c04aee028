"""The addresses of rows: in which table and under which row key a model's object is stored.

When a model is bound to an engine, it gets two objects:

- an object of `tables`, which decides which table holds a row,
- an object of `keys`, which computes row keys.

How an object is stored in its row is in `hbase_orm.schema.storage`.
"""
