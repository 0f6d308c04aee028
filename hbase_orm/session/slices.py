"""Reads ranges of the entries of wide rows: first the rows that match, then the entries of each.

What tells that a row exists is read without its entries. Only of a row that fulfils the conditions
a scanner is opened that reads the range.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from hbase_orm.errors import ConnectionLostError, RetryableError, ScannerExpiredError
from hbase_orm.execute import Emit, Rows, released, rows_of, stream
from hbase_orm.ops import (
    FetchRows,
    GetRows,
    KeyRange,
    OpenScanner,
    Row,
    Scan,
    Sleep,
    ask,
)
from hbase_orm.query import GetPlan, Plan, SaltedScanPlan, ScanPlan, TablesPlan, compile_check
from hbase_orm.query.slices import EXISTENCE, Slice, columns_beside, has_anchor, slice_of
from hbase_orm.schema import EntryRange
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalogued import answerer
from hbase_orm.session.gets import GET_MANY_ROWS
from hbase_orm.session.identity import READ_IN_PART
from hbase_orm.session.runtime import Runtime

TRIES: Final = 5
"""How often one row's entries are asked for, while the scanner is lost each time."""

FIRST_PAUSE_S: Final = 0.1


Pages = Generator[Sequence[Row], None, None]


class Looked:
    """Sees the rows that are found before their entries are read; this one does nothing."""

    def pages(self, pages: Pages) -> Pages:
        """Pass the pages of rows on."""
        return pages

    def beside(self, rows: int) -> None:
        """Note that rows came once more: those that were found, with other cells."""


def sliced(
    chosen: Plan, asked: EntryRange, bound: BoundModel, runtime: Runtime, looked: Looked
) -> Generator[Sequence[Row], None, None]:
    """Yield the rows that match, one at a time, each with the asked entries alone.

    Close it to release open scanners.
    """
    schema = bound.schema
    columns = columns_beside(schema, chosen.conditions, chosen.loaded)
    part = slice_of(schema, asked)
    check = compile_check(schema, chosen.conditions)
    read = _by_anchor if has_anchor(schema) else _by_any_cell
    with released(read(chosen, bound, columns, runtime)) as pages:
        for page in looked.pages(pages):
            bound.load_names(page)
            for row in page:
                own = bound.of_row(row)
                if not own.exists(row):
                    continue
                if check is not None and not check(own.hydrate(row, chosen.loaded).__dict__):
                    continue
                yield [_with_entries(own, row, part, runtime, looked)]


def _by_anchor(
    chosen: Plan, bound: BoundModel, columns: tuple[bytes, ...], runtime: Runtime
) -> Pages:
    """Yield the rows of a model whose columns tell that a row exists."""
    plan = _narrowed(chosen, columns)
    return stream(rows_of(plan, bound.guarded), runtime.answering(), runtime.each)


def _narrowed(plan: Plan, columns: tuple[bytes, ...]) -> Plan:
    """Return the plan that reads nothing but `columns`."""
    if isinstance(plan, GetPlan):
        return replace(plan, columns=columns, families=())
    if not isinstance(plan, TablesPlan):
        return replace(plan, columns=columns)
    inner = tuple((start, _narrowed(each, columns)) for start, each in plan.plans)
    return replace(plan, columns=columns, plans=inner)


def _by_any_cell(
    chosen: Plan, bound: BoundModel, columns: tuple[bytes, ...], runtime: Runtime
) -> Pages:
    """Yield the rows of a model of which any cell makes one, other programs' too."""
    if isinstance(chosen, GetPlan):
        yield from _got(chosen, columns, runtime)
        return
    rows = rows_of(_existing(chosen), bound.guarded)
    with released(stream(rows, answerer(chosen, bound, runtime), runtime.each)) as pages:
        for page in pages:
            for start in range(0, len(page), GET_MANY_ROWS):
                yield _filled(page[start : start + GET_MANY_ROWS], bound, columns, runtime)


def _got(chosen: GetPlan, columns: tuple[bytes, ...], runtime: Runtime) -> Iterator[Sequence[Row]]:
    table, families = chosen.schema.table, chosen.schema.family_names
    found = runtime.execute(GetRows(table, chosen.keys, columns))
    for key, row in zip(chosen.keys, found, strict=True):
        if row is not None:
            yield [row]
            continue
        scan = Scan(table, _alone(key), families, bytes(EXISTENCE), caching_rows=1)
        if _first_row(scan, runtime) is not None:
            yield [Row(key, {})]


def _existing(plan: Plan) -> Plan:
    """Return the plan that reads one cell of each row, whatever its columns."""
    match plan:
        case ScanPlan() | SaltedScanPlan():
            alone = bytes(EXISTENCE)
            return replace(plan, columns=(), filter=alone, unconditional=alone, mask=None)
        case TablesPlan(plans=plans):
            return replace(plan, plans=tuple((start, _existing(each)) for start, each in plans))
        case GetPlan(keys=keys):
            return ScanPlan(
                plan.schema,
                plan.conditions,
                plan.limit,
                plan.order,
                ranges=tuple(map(_alone, keys)),
                caching_rows=1,
                filter=bytes(EXISTENCE),
                unconditional=bytes(EXISTENCE),
            )
    return plan


def _filled(
    rows: Sequence[Row], bound: BoundModel, columns: tuple[bytes, ...], runtime: Runtime
) -> Sequence[Row]:
    """Return rows of which one cell was read with the cells of `columns`."""
    if not columns:
        return rows
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        by_table.setdefault(bound.of_row(row).schema.table, []).append(row)
    cells = {}
    for table, some in by_table.items():
        found = runtime.execute(GetRows(table, tuple(row.key for row in some), columns))
        cells.update(
            {
                (table, row.key): {} if full is None else full.cells
                for row, full in zip(some, found, strict=True)
            }
        )
    return [replace(row, cells=cells[bound.of_row(row).schema.table, row.key]) for row in rows]


def _alone(key: bytes) -> KeyRange:
    return KeyRange(key, key + b"\x00")


def _with_entries(
    bound: BoundModel, row: Row, part: Slice | None, runtime: Runtime, looked: Looked
) -> Row:
    """Return a row with the asked entries, and with no others that a condition had read."""
    dynamics = bound.schema.dynamics
    cells = {c: cell for c, cell in row.cells.items() if not any(d.holds(c) for d in dynamics)}
    if part is not None:
        found = _first_row(part.scan_of(bound.schema.table, row.key), runtime)
        if found is not None:
            looked.beside(1)
            cells.update(found.cells)
    return replace(row, cells=cells)


def _first_row(scan: Scan, runtime: Runtime) -> Row | None:
    """Return the first row of a scan, whose scanner is closed however that ends.

    Raises:
        GatewayError: The scan failed repeatedly, or HBase rejects it.
    """
    with released(stream(_fetched_once(scan), runtime.answering())) as pages:
        return next((row for page in pages for row in page), None)


def _fetched_once(scan: Scan) -> Rows:
    """Emit what the first fetch gives; a scan that lost its scanner is opened again."""
    for failures in range(TRIES):
        try:
            scanner = yield from ask(OpenScanner(scan))
            rows = yield from ask(FetchRows(scanner, 1))
        except (ScannerExpiredError, ConnectionLostError, RetryableError):
            if failures + 1 == TRIES:
                raise
            yield from ask(Sleep(FIRST_PAUSE_S * 2**failures))
            continue
        yield Emit(rows)
        return


def leave_out_others(asked: EntryRange, obj: Any) -> None:
    """Take the dynamic columns that were not read out of an object, which now says so."""
    obj.__dict__[READ_IN_PART] = repr(asked)
    for dynamic in type(obj).__schema__.dynamics:
        if dynamic.name != asked.of.name:
            obj.__dict__.pop(dynamic.name, None)
