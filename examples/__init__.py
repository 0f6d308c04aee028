"""Runnable programs that use `hbase_orm` as an application would."""
