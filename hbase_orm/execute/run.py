"""Runs a plan: which requests it makes and which rows they give, in the plan's order.

`rows_of(plan, ...)` is a sans-I/O generator: it yields requests, `SideBySide` with protocols that
may run at once, and `Emit` with rows as they become known. `stream` drives it on a gateway and
hands the rows out; closing the iterator early closes every scanner still open on the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from hbase_orm.errors import QueryError, TableNotFoundError
from hbase_orm.execute.by_entries import look_up
from hbase_orm.execute.by_keys import rows_by_key
from hbase_orm.execute.merge import merge
from hbase_orm.execute.pace import pace_of
from hbase_orm.execute.reader import RangeReader
from hbase_orm.execute.steps import Emit, Rows, through
from hbase_orm.index.targets import GuardedTable
from hbase_orm.ops import (
    KeyRange,
    Row,
    Scan,
    ask,
    merged,
)
from hbase_orm.query import (
    EmptyPlan,
    GetPlan,
    IndexPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
)
from hbase_orm.schema import cells_as_rows, packed_get, packed_range


def rows_of(plan: Plan, guarded: GuardedTable | None) -> Rows:
    """Return the rows of a plan as requests and emissions.

    Args:
        plan: What to read.
        guarded: The table's guards and indexes; needed for an index plan.
    """
    match plan:
        case EmptyPlan():
            return iter_nothing()
        case GetPlan():
            return _get(plan)
        case ScanPlan():
            return _scan(plan)
        case SaltedScanPlan():
            return _merge(plan)
        case TablesPlan():
            return _tables(plan)
        case IndexPlan() if guarded is not None:
            return look_up(plan, guarded)
    raise QueryError("the plan cannot be run", plan=plan.kind)


def iter_nothing() -> Rows:
    """Make no request and emit nothing."""
    yield from ()


def _get(plan: GetPlan) -> Rows:
    schema = plan.schema
    if schema.packed_bytes:
        rows = yield from ask(packed_get(schema, plan.keys))
        found = {row.key: row for row in cells_as_rows(schema, rows)}
        yield Emit([found[key] for key in plan.keys if key in found])
        return
    rows = yield from rows_by_key(schema.table, plan.keys, plan.fetched, plan.families)
    yield Emit([row for row in rows if row is not None])


def _reader(plan: ScanPlan | SaltedScanPlan, ranges: Sequence[KeyRange]) -> RangeReader:
    pace = pace_of(plan)
    scans = [
        Scan(
            table=plan.schema.table,
            key_range=key_range,
            columns=plan.fetched,
            filter=_with_mask(plan, plan.filter),
            reverse=plan.reverse,
            caching_rows=pace.caching_rows,
        )
        for key_range in _row_ranges(plan, ranges)
    ]
    return RangeReader(scans, pace, _with_mask(plan, plan.unconditional))


def _with_mask(plan: ScanPlan | SaltedScanPlan, sent: bytes | None) -> bytes | None:
    """Return a filter that leaves out, too, what no call shall send."""
    if sent is None or plan.mask is None:
        return sent or plan.mask
    return b"(" + sent + b") AND (" + plan.mask + b")"


def _row_ranges(plan: ScanPlan | SaltedScanPlan, ranges: Sequence[KeyRange]) -> Sequence[KeyRange]:
    """Return the ranges of row keys, which of packed cells are wider and may then touch."""
    if not plan.schema.packed_bytes:
        return ranges
    wide = [packed_range(plan.schema, key_range) for key_range in ranges]
    found = merged(wide)
    return found[::-1] if plan.reverse else found


def _emit(plan: ScanPlan | SaltedScanPlan, rows: Sequence[Row]) -> Emit:
    if not plan.schema.packed_bytes:
        return Emit(rows)
    cells = cells_as_rows(plan.schema, rows, reverse=plan.reverse)
    return Emit([cell for cell in cells if _is_asked(plan, cell.key)])


def _is_asked(plan: ScanPlan | SaltedScanPlan, key: bytes) -> bool:
    """Say whether a cell lies in a range: its row may hold others."""
    streams = (plan.ranges,) if isinstance(plan, ScanPlan) else plan.buckets
    return any(key in key_range for ranges in streams for key_range in ranges)


def _scan(plan: ScanPlan) -> Rows:
    reader = _reader(plan, plan.ranges)
    while (yield from reader.fill()):
        yield _emit(plan, reader.take())


def _merge(plan: SaltedScanPlan) -> Rows:
    """Merge the buckets by the key behind the salt."""
    readers = [_reader(plan, ranges) for ranges in plan.buckets]
    return merge(
        readers,
        skipped_bytes=plan.skipped_bytes,
        reverse=plan.reverse,
        emit=lambda rows: _emit(plan, rows),
    )


@dataclass(slots=True)
class PlacedRow(Row):
    """A row of one of several tables; `start` is the start of its table's period."""

    start: datetime


def _tables(plan: TablesPlan) -> Rows:
    """Read table after table; one that does not exist has no rows."""
    for start, inner in plan.plans:
        placed = partial(_placed, start)
        try:
            yield from through(rows_of(inner, None), placed)
        except TableNotFoundError:
            continue


def _placed(start: datetime, rows: Sequence[Row]) -> Rows:
    yield Emit([PlacedRow(row.key, row.cells, start) for row in rows])
