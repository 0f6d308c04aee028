"""Runs a plan: which requests it makes and which rows they give, in the plan's order.

`rows_of(plan, ...)` is a sans-I/O generator: it yields requests, `SideBySide` with protocols that
may run at once, and `Emit` with rows as they become known. `stream` drives it on a gateway and
hands the rows out; closing the iterator early closes every scanner still open on the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hbase_orm.errors import HBaseORMError, QueryError, TableNotFoundError
from hbase_orm.execute.merge import merge
from hbase_orm.execute.pace import pace_of
from hbase_orm.execute.reader import RangeReader
from hbase_orm.execute.steps import Emit, Rows, advance, throw
from hbase_orm.index.entries import base_key_of, index_target
from hbase_orm.index.targets import GuardedTable, IndexTarget
from hbase_orm.ops import (
    GetRows,
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
            return _look_up(plan, guarded)
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
    rows = yield from ask(GetRows(schema.table, plan.keys, plan.fetched))
    yield Emit([row for row in rows if row is not None])


def _reader(plan: ScanPlan | SaltedScanPlan, ranges: Sequence[KeyRange]) -> RangeReader:
    pace = pace_of(plan)
    scans = [
        Scan(
            table=plan.schema.table,
            key_range=key_range,
            columns=plan.fetched,
            filter=plan.filter,
            reverse=plan.reverse,
            caching_rows=pace.caching_rows,
        )
        for key_range in _row_ranges(plan, ranges)
    ]
    return RangeReader(scans, pace, plan.unconditional)


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
class IndexedRow(Row):
    """A row found through an index; `entry` is the key of the entry that led to it."""

    entry: bytes


@dataclass(slots=True)
class PlacedRow(Row):
    """A row of one of several tables; `start` is the start of its table's period."""

    start: datetime


def _tables(plan: TablesPlan) -> Rows:
    """Read table after table; one that does not exist has no rows."""
    for start, inner in plan.plans:
        rows = rows_of(inner, None)
        try:
            yield from _placed(rows, start)
        except TableNotFoundError:
            continue
        finally:
            rows.close()


def _placed(rows: Rows, start: datetime) -> Rows:
    step = next(rows, None)
    while step is not None:
        if isinstance(step, Emit):
            yield Emit([PlacedRow(row.key, row.cells, start) for row in step.rows])
            step = advance(rows, None)
            continue
        try:
            answer = yield step
        except HBaseORMError as error:
            step = throw(rows, error)
        else:
            step = advance(rows, answer)


def _look_up(plan: IndexPlan, guarded: GuardedTable) -> Rows:
    """Read entries, get their rows, and keep each row that has its entry.

    An entry may be stale: the row is the truth, and a row that changed while the index was being
    read counts once.
    """
    index = index_target(plan.schema, plan.index)
    base_key = base_key_of(plan.index)
    pace = pace_of(plan)
    scans = [
        Scan(plan.index.table, r, reverse=plan.reverse, caching_rows=pace.caching_rows)
        for r in plan.ranges
    ]
    reader = RangeReader(scans, pace)
    seen: set[bytes] = set()
    while (yield from reader.fill()):
        entries = [entry.key for entry in reader.take()]
        keys = tuple(dict.fromkeys(base_key(entry) for entry in entries))
        rows = yield from ask(GetRows(plan.schema.table, keys, plan.fetched))
        found = dict(zip(keys, rows, strict=True))
        pace.weigh([row for row in rows if row is not None])
        yield Emit(_verified(guarded, index, [(e, found[base_key(e)]) for e in entries], seen))


def _verified(
    guarded: GuardedTable,
    index: IndexTarget,
    pairs: Sequence[tuple[bytes, Row | None]],
    seen: set[bytes],
) -> list[Row]:
    kept: list[Row] = []
    for entry, row in pairs:
        if row is None or row.key in seen:
            continue
        values = {column: cell.value for column, cell in row.cells.items()}
        if entry in guarded.entry_keys(index, row.key, values):
            seen.add(row.key)
            kept.append(IndexedRow(row.key, row.cells, entry))
    return kept
