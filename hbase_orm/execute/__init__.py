"""Runs plans: opens scanners, merges buckets, looks entries up, resumes what was cut off."""

from __future__ import annotations

from hbase_orm.execute.by_entries import IndexedRow
from hbase_orm.execute.closing import close_now, is_dropped, released
from hbase_orm.execute.meter import Meter
from hbase_orm.execute.run import PlacedRow, rows_of
from hbase_orm.execute.steps import DoubtfulEntry, Emit, Note, Rows, stream

__all__ = [
    "DoubtfulEntry",
    "Emit",
    "IndexedRow",
    "Meter",
    "Note",
    "PlacedRow",
    "Rows",
    "close_now",
    "is_dropped",
    "released",
    "rows_of",
    "stream",
]
