"""Where the rows of a model's objects are: in which table and under which key.

Chosen once, when a model is bound to an engine: `tables` (one, or one for each period of time) and
`keys` (computed, drawn under a random salt, with numbers in place of names). How an object lies in
its row is the third part of its address: `hbase_orm.schema.storage`.
"""
