"""Row keys: components, their layout in bytes, salt buckets and split keys."""

from __future__ import annotations

from hbase_orm.rowkey.assembly import KeyFields, RowKey, assemble, rowkey
from hbase_orm.rowkey.components import (
    Bucket,
    Component,
    Digest,
    HashPrefix,
    KeySource,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
)
from hbase_orm.rowkey.computed import Computed
from hbase_orm.rowkey.layout import DecodedKey, KeyContext, KeyLayout
from hbase_orm.rowkey.parts import Framing, Lookup, Part, part_of
from hbase_orm.rowkey.splits import entry_split_keys, split_keys
from hbase_orm.rowkey.time_components import Offset, Period, TablePerPeriod

__all__ = [
    "Bucket",
    "Component",
    "Computed",
    "DecodedKey",
    "Digest",
    "Framing",
    "HashPrefix",
    "KeyContext",
    "KeyFields",
    "KeyLayout",
    "KeySource",
    "Lookup",
    "Offset",
    "Part",
    "Period",
    "RandomSalt",
    "RecordType",
    "RowKey",
    "Salt",
    "Substitute",
    "TablePerPeriod",
    "assemble",
    "entry_split_keys",
    "part_of",
    "rowkey",
    "split_keys",
]
