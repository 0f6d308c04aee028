"""Row keys: components, their layout in bytes, salt buckets and split keys."""

from __future__ import annotations

from hbase_orm.rowkey.components import Component, KeySource, RowKey, Salt, rowkey
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.parts import FieldPart, Framing, SaltPart, field_part
from hbase_orm.rowkey.splits import split_keys

__all__ = [
    "Component",
    "FieldPart",
    "Framing",
    "KeyLayout",
    "KeySource",
    "RowKey",
    "Salt",
    "SaltPart",
    "field_part",
    "rowkey",
    "split_keys",
]
