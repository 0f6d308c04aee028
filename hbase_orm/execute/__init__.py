"""Runs plans: opens and resumes scanners, merges salt buckets, gets the rows of index entries."""

from __future__ import annotations

from hbase_orm.execute.by_entries import IndexedRow
from hbase_orm.execute.corrupt_rows import CorruptRowCount, CorruptRows, name_row
from hbase_orm.execute.meter import Meter, MeteredGateway
from hbase_orm.execute.run import PeriodRow, as_stale, get_of, rows_of
from hbase_orm.execute.staleness import Staleness
from hbase_orm.execute.steps import (
    DoubtfulEntry,
    Emit,
    Execute,
    Note,
    Pages,
    Reading,
    Rows,
    Step,
    close_now,
    is_dropped,
    stream,
    through,
)

__all__ = [
    "CorruptRowCount",
    "CorruptRows",
    "DoubtfulEntry",
    "Emit",
    "Execute",
    "IndexedRow",
    "Meter",
    "MeteredGateway",
    "Note",
    "Pages",
    "PeriodRow",
    "Reading",
    "Rows",
    "Staleness",
    "Step",
    "as_stale",
    "close_now",
    "get_of",
    "is_dropped",
    "name_row",
    "rows_of",
    "stream",
    "through",
]
