"""A small web service on a data-access layer: comments on articles.

models.py    what stands in HBase
access.py    the data-access layer: all that the application does with it, in its own words
service.py   FastAPI on top; knows the layer, and nothing of tables
tests/       integration tests on a real HBase, through the pytest plugin of hbase_orm

One engine a process, one session a request: an engine is safe between threads, a session is not.
"""
