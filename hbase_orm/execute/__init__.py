"""Runs plans: opens scanners, merges buckets, looks entries up, resumes what was cut off."""

from __future__ import annotations

from hbase_orm.execute.meter import Meter
from hbase_orm.execute.run import IndexedRow, PlacedRow, rows_of
from hbase_orm.execute.steps import Emit, Rows, stream

__all__ = ["Emit", "IndexedRow", "Meter", "PlacedRow", "Rows", "rows_of", "stream"]
