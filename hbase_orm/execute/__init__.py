"""Runs plans: opens scanners, merges buckets, looks entries up, resumes what was cut off."""

from __future__ import annotations

from hbase_orm.execute.meter import Meter
from hbase_orm.execute.run import IndexedRow, PlacedRow, rows_of
from hbase_orm.execute.steps import stream

__all__ = ["IndexedRow", "Meter", "PlacedRow", "rows_of", "stream"]
