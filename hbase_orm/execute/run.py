"""Runs a plan: makes its requests and emits its rows, in the plan's order.

`rows_of(plan, ...)` is a sans-I/O generator: it yields requests, `SideBySide` with protocols that
may run in parallel, and `Emit` with rows. `stream` runs it on a gateway and yields the rows.
`close_now` ends this stream early and closes its open scanners on the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain

from hbase_orm.errors import QueryError, TableNotFoundError
from hbase_orm.execute.by_entries import look_up
from hbase_orm.execute.corrupt_rows import name_row
from hbase_orm.execute.merge import merge
from hbase_orm.execute.reader import RangeReader, pace_of
from hbase_orm.execute.steps import Emit, Rows, through
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.ops import (
    CorruptRow,
    GetRows,
    KeyRange,
    Row,
    Scan,
    StaleRow,
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


def rows_of(plan: Plan, guarded: GuardedTable | None) -> Rows:
    """Return a generator that yields the requests of a plan, and `Emit` steps with its rows.

    Args:
        plan: The plan.
        guarded: The description of the table and its indexes. Only an index plan needs it.
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
    raise QueryError("there is no way to run this kind of plan", plan=plan.kind)


def iter_nothing() -> Rows:
    """Yield nothing: the rows of an empty plan."""
    yield from ()


def get_of(plan: GetPlan) -> GetRows:
    """Return the request for the rows of a plan; a second request may have to follow it."""
    return GetRows(plan.schema.table, plan.keys, plan.fetched, *plan.timestamps, plan.is_timeline)


def _get(plan: GetPlan) -> Rows:
    request = get_of(plan)
    rows = yield from plan.schema.storage.get(request, plan.families)
    yield Emit([row for row in rows if row is not None])


def _reader(plan: ScanPlan | SaltedScanPlan, ranges: Sequence[KeyRange]) -> RangeReader:
    pace = pace_of(plan)
    before_ms, from_ms = plan.timestamps
    scans = [
        Scan(
            table=plan.schema.table,
            key_range=key_range,
            columns=plan.fetched,
            filter=_with_mask(plan, plan.filter),
            reverse=plan.reverse,
            caching_rows=pace.caching_rows,
            before_ms=before_ms,
            from_ms=from_ms,
            is_timeline=plan.is_timeline,
        )
        for key_range in plan.schema.storage.row_ranges(ranges, reverse=plan.reverse)
    ]
    return RangeReader(scans, pace, _with_mask(plan, plan.unconditional))


def _with_mask(plan: ScanPlan | SaltedScanPlan, sent: bytes | None) -> bytes | None:
    """Return the filter `sent` joined by AND with the plan's mask; None if there is neither.

    A mask leaves out the values of some cells in every call, also in calls without conditions.
    """
    if sent is None or plan.mask is None:
        return sent or plan.mask
    return b"(" + sent + b") AND (" + plan.mask + b")"


def _emit(plan: ScanPlan | SaltedScanPlan, rows: Sequence[Row]) -> Emit:
    streams = (plan.ranges,) if isinstance(plan, ScanPlan) else plan.buckets
    ranges = chain.from_iterable(streams)
    return Emit(plan.schema.storage.objects(rows, ranges, reverse=plan.reverse))


def _scan(plan: ScanPlan) -> Rows:
    reader = _reader(plan, plan.ranges)
    while (yield from reader.fill()):
        yield _emit(plan, reader.take())


def _merge(plan: SaltedScanPlan) -> Rows:
    """Merge the rows of the buckets by the key without the salt."""
    readers = [_reader(plan, ranges) for ranges in plan.buckets]
    return merge(
        readers,
        skipped_bytes=plan.skipped_bytes,
        reverse=plan.reverse,
        emit=lambda rows: _emit(plan, rows),
    )


@dataclass(slots=True)
class PeriodRow(Row):
    """A row of a model with a table for each period. `start` is the start of this period."""

    start: datetime


@dataclass(slots=True)
class StalePeriodRow(PeriodRow, StaleRow):
    """A row of a period's table that a replica returned."""


def as_stale(row: Row) -> Row:
    """Return the row, marked as a row that a replica returned."""
    if isinstance(row, StaleRow):
        return row
    if isinstance(row, PeriodRow):
        return StalePeriodRow(row.key, row.cells, row.start)
    return StaleRow(row.key, row.cells)


def _tables(plan: TablesPlan) -> Rows:
    """Read one table after another; a missing table counts as empty."""
    convert = _timeline_rows_of_period if plan.is_timeline else _of_period
    for start, inner in plan.plans:
        of_period = partial(convert, start, inner.schema.table)
        try:
            yield from through(rows_of(inner, None), of_period)
        except TableNotFoundError:
            continue


def _of_period(start: datetime, table: str, emit: Emit) -> Rows:
    yield Emit([_row_of_period(row, start, table) for row in emit.rows])


def _row_of_period(row: Row, start: datetime, table: str) -> Row:
    if isinstance(row, CorruptRow):
        name_row(row.error, table, row.key)
        return row
    return PeriodRow(row.key, row.cells, start)


def _timeline_rows_of_period(start: datetime, table: str, emit: Emit) -> Rows:
    rows = [_row_of_period(row, start, table) for row in emit.rows]
    pairs = zip(rows, emit.rows, strict=True)
    yield Emit([as_stale(row) if isinstance(read, StaleRow) else row for row, read in pairs])
