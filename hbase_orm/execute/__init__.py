"""Runs plans: opens scanners, merges buckets, looks entries up, resumes what was cut off."""

from __future__ import annotations

from hbase_orm.execute.run import PlacedRow, rows_of, stream

__all__ = ["PlacedRow", "rows_of", "stream"]
