"""Secondary indexes: which entries a row has, and how rows and entries are written together.

Everything here is a pure function or a sans-I/O protocol that yields `hbase_orm.ops` requests.
"""
