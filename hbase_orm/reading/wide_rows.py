"""Reads ranges of dynamic columns in wide rows: first the matching rows, then each row's range.

The matching rows are read without most dynamic columns: only those that the conditions compare are
read. Then a scanner reads the range of each row that fulfils the conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import CorruptRowError
from hbase_orm.execute import Emit, Rows, as_stale, name_row, rows_of, through
from hbase_orm.ops import (
    CorruptRow,
    GetRows,
    KeyRange,
    Protocol,
    RetryPolicy,
    Row,
    Scan,
    StaleRow,
    ask,
    first_rows,
)
from hbase_orm.query import GetPlan, Plan, SaltedScanPlan, ScanPlan, compile_match
from hbase_orm.query.statements.slices import EXISTENCE, columns_beside, has_anchor, slice_of
from hbase_orm.reading.by_key import GET_MANY_ROWS
from hbase_orm.schema import EntryRange

RETRIES: Final = RetryPolicy(attempts=5, first_pause_s=0.1)
"""The retry policy for the scan of one row's dynamic columns."""


class ReadObserver:
    """Sees the rows of a read before their dynamic columns are read. This class does nothing."""

    def page(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows of a page, before they are checked against the conditions."""
        return rows

    def note_extra_rows(self, rows: int) -> None:
        """Receive the number of rows that were read again, for a range of dynamic columns."""


def rows_with_entries(
    chosen: Plan, entries: EntryRange, bound: BoundModel, observer: ReadObserver
) -> Rows:
    """Return the matching rows, one at a time, each with only the requested dynamic columns."""
    columns = columns_beside(bound.schema, chosen.conditions, chosen.loaded)
    if has_anchor(bound.schema):
        rows = rows_of(_narrowed(chosen, columns), bound.guarded)
    else:
        rows = _rows_of_any_cell(chosen, bound, columns)
    return through(rows, _EntryReader(chosen, entries, bound, observer).answer)


class _EntryReader:
    """Reads a range of dynamic columns of each row that exists and fulfils the conditions."""

    def __init__(
        self, chosen: Plan, entries: EntryRange, bound: BoundModel, observer: ReadObserver
    ) -> None:
        self._chosen = chosen
        self._bound = bound
        self._observer = observer
        self._slice = slice_of(bound.schema, entries)
        self._check = compile_match(bound.schema, chosen.conditions)

    def answer(self, emit: Emit) -> Rows:
        """Emit the rows that match, each with its range of dynamic columns."""
        names = yield from self._bound.load_names(emit.rows)
        for row in self._observer.page(emit.rows):
            if isinstance(row, CorruptRow):
                yield Emit([row])
                continue
            own = self._bound.with_table_of_row(row)
            try:
                is_wanted = own.exists(row) and self._matches(own, row)
            except CorruptRowError as error:
                name_row(error, own.schema.table, row.key)
                yield Emit([CorruptRow(row.key, {}, error)])
                continue
            if is_wanted:
                yield Emit([(yield from self._with_entries(own, row))])
        del names  # held until the rows have been used

    def _matches(self, bound: BoundModel, row: Row) -> bool:
        check = self._check
        return check is None or check(bound.hydrate(row, self._chosen.loaded).__dict__)

    def _with_entries(self, bound: BoundModel, row: Row) -> Protocol[Row]:
        """Read the requested dynamic columns of a row; return the row with only these.

        Dynamic columns that were read only because a condition compares them are removed.
        """
        dynamics = bound.schema.dynamics
        cells = {c: cell for c, cell in row.cells.items() if not any(d.holds(c) for d in dynamics)}
        if self._slice is not None:
            scan = self._slice.scan_of(bound.schema.table, row.key)
            read = yield from _first_row(_as_chosen(scan, self._chosen))
            if read is not None:
                self._observer.note_extra_rows(1)
                cells.update(read.cells)
                row = _stale_like(read, row)
        return row.with_cells(cells)


def _narrowed(plan: Plan, columns: tuple[bytes, ...]) -> Plan:
    """Return the plan changed to read only `columns`."""

    def narrow(each: Plan) -> Plan:
        if isinstance(each, GetPlan):
            return replace(each, columns=columns, families=())
        return replace(each, columns=columns)

    return plan.in_each_table(narrow)


def _rows_of_any_cell(chosen: Plan, bound: BoundModel, columns: tuple[bytes, ...]) -> Rows:
    """Return the rows of a model in which any cell makes a row exist, even an undeclared cell."""
    if isinstance(chosen, GetPlan):
        return _rows_by_key(chosen, columns)
    existing = rows_of(chosen.in_each_table(_of_existence), bound.guarded)
    return through(existing, partial(_with_columns, chosen, bound, columns))


def _rows_by_key(chosen: GetPlan, columns: tuple[bytes, ...]) -> Rows:
    table, families = chosen.schema.table, chosen.schema.family_names
    request = GetRows(table, chosen.keys, columns, *chosen.timestamps, chosen.is_timeline)
    rows = yield from ask(request)
    for key, row in zip(chosen.keys, rows, strict=True):
        if row is not None:
            yield Emit([row])
            continue
        scan = Scan(table, KeyRange.single(key), families, bytes(EXISTENCE), caching_rows=1)
        existing = yield from _first_row(_as_chosen(scan, chosen))
        if existing is not None:
            yield Emit([_stale_like(existing, Row(key, {}))])


def _of_existence(plan: Plan) -> Plan:
    """Return the plan changed to read one cell of each row, without the value.

    The cell shows that the row exists. Gets become scans. Other plans than gets and scans are
    returned unchanged.
    """
    exists = bytes(EXISTENCE)
    match plan:
        case ScanPlan() | SaltedScanPlan():
            return replace(plan, columns=(), filter=exists, unconditional=exists, mask=None)
        case GetPlan(keys=keys):
            return ScanPlan(
                plan.schema,
                plan.conditions,
                plan.limit,
                plan.order,
                ranges=tuple(map(KeyRange.single, keys)),
                caching_rows=1,
                filter=exists,
                unconditional=exists,
                times=plan.times,
                is_timeline=plan.is_timeline,
            )
    return plan


def _with_columns(chosen: Plan, bound: BoundModel, columns: tuple[bytes, ...], emit: Emit) -> Rows:
    """Get the cells of `columns` for rows that were read with one cell only, and emit the rows."""
    for start in range(0, len(emit.rows), GET_MANY_ROWS):
        rows = emit.rows[start : start + GET_MANY_ROWS]
        if not columns:
            yield Emit(rows)
            continue
        by_table: dict[str, list[Row]] = {}
        for row in rows:
            table = bound.with_table_of_row(row).schema.table
            by_table.setdefault(table, []).append(row)
        full = {}
        for table, some in by_table.items():
            keys = tuple(row.key for row in some)
            timestamps, is_timeline = chosen.timestamps, chosen.is_timeline
            answer = yield from ask(GetRows(table, keys, columns, *timestamps, is_timeline))
            full.update({(table, row.key): row for row in answer if row is not None})
        tables = [bound.with_table_of_row(row).schema.table for row in rows]
        whole = [full.get((table, row.key)) for table, row in zip(tables, rows, strict=True)]
        yield Emit(
            [
                _stale_like(read, row).with_cells({} if read is None else read.cells)
                for row, read in zip(rows, whole, strict=True)
            ]
        )


def _as_chosen(scan: Scan, plan: Plan) -> Scan:
    """Return the scan with the timestamps and the consistency of a plan."""
    before_ms, from_ms = plan.timestamps
    return replace(scan, before_ms=before_ms, from_ms=from_ms, is_timeline=plan.is_timeline)


def _stale_like(read: Row | None, row: Row) -> Row:
    """Return `row`, as a stale row if `read` is one; both belong to the same object."""
    return as_stale(row) if isinstance(read, StaleRow) else row


def _first_row(scan: Scan) -> Protocol[Row | None]:
    """Return the first row of a scan, or None if the scan has no rows.

    A lost scanner is opened again.
    """
    rows = yield from first_rows(scan, RETRIES)
    return next(iter(rows), None)


def leave_out_others(entries: EntryRange, obj: Any) -> None:
    """Remove all fields of dynamic columns from `obj`, except the field of `entries`.

    The range that was read is noted in `obj`.
    """
    obj.__state__.entry_range = repr(entries)
    for dynamic in type(obj).__schema__.dynamics:
        if dynamic.name != entries.of.name:
            obj.__dict__.pop(dynamic.name, None)
