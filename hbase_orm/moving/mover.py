"""Hands over all rows of the old table, page by page, and finds out whether none is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hbase_orm.index.entries.guard_cell import guard_of
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext
from hbase_orm.index.protocol.requests import guarded_row
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS, get_rows, scan_page
from hbase_orm.moving.adoption import adopt, adopt_absent
from hbase_orm.moving.joint_seals import seal_unchanged_rows
from hbase_orm.moving.missing_tables import if_there
from hbase_orm.moving.seal import SealedRow, seal_row
from hbase_orm.moving.translation import RowMoves, TableMove, data_cells, is_sealed
from hbase_orm.ops import KeyRange, Protocol, Row, run_all


@dataclass(frozen=True, slots=True)
class MovedPage:
    """The result of handing over a page of the old table.

    Attributes:
        seen: The number of rows of the page, deleted ones included.
        handed_over: The number of rows that this page sealed or adopted.
        next: The old key at which the next page starts; None after the last page.
    """

    seen: int
    handed_over: int
    next: bytes | None


@dataclass(frozen=True, slots=True)
class CheckedPage:
    """The result of checking a page of the old table.

    Attributes:
        seen: The number of rows of the page, deleted ones included.
        left: The old keys of rows that are not sealed, or that the new table does not have.
        newest_ms: The greatest timestamp of the guards; 0 for an empty page. The greatest one of
            all pages is the floor for writes in the phase NEW.
        next: The old key at which the next page starts; None after the last page.
    """

    seen: int
    left: tuple[bytes, ...]
    newest_ms: int
    next: bytes | None


def move_page(
    moves: RowMoves, key_range: KeyRange, context: GuardContext, *, page_rows: int = PAGE_ROWS
) -> Protocol[MovedPage]:
    """Seal and adopt the rows of one page of the old table, in parallel; it is safe to repeat.

    Programs may read and write the tables at the same time, in the phases PREPARED and MOVING.

    Args:
        moves: The moves of the old table's rows.
        key_range: The range of old keys, from the start of the page to the end of all pages.
        context: The clocks, random numbers and catalog leases.
        page_rows: The number of rows of a page.

    Raises:
        HBaseORMError: As for `seal_row` and `adopt`; the page may be handed over in part.
    """
    page = yield from _page(moves, key_range, page_rows, context)
    left = yield from _left(moves, page, context)
    sealed = yield from seal_unchanged_rows(moves.old, left, context)
    yield from run_all([_handed_over(moves, row, context, sealed.get(row.key)) for row in left])
    return MovedPage(len(page), len(left), _next(page))


def _handed_over(
    moves: RowMoves, row: Row, context: GuardContext, sealed: SealedRow | None
) -> Protocol[None]:
    """Adopt a row of the old table as a scan has read it; seal it first if it is not `sealed`."""
    if sealed is None:
        sealed = yield from seal_row(moves.old, row.key, context, as_read=guarded_row(row.cells))
    if not sealed.cells:
        return
    move = moves.of_row(row.key)
    moved = move.to_new(row.key, sealed.cells, context.now_ms())
    if moved is not None:
        yield from adopt(move, sealed, moved, context)
        return
    counters = move.counters_of_absent(row.key, sealed.cells, context.now_ms())
    if counters is not None:
        yield from adopt_absent(move, sealed, counters.key, context)


def check_page(
    moves: RowMoves, key_range: KeyRange, context: GuardContext, *, page_rows: int = PAGE_ROWS
) -> Protocol[CheckedPage]:
    """Return the rows of one page of the old table that still have to be handed over.

    The move may go on to NEW if no page has such a row, and if all pages were read after the leases
    of the phases before MOVING had ended. Nothing is written.
    """
    page = yield from _page(moves, key_range, page_rows, context)
    left = yield from _left(moves, page, context)
    newest_ms = max((_guard_ms(row) for row in page), default=0)
    return CheckedPage(len(page), tuple(row.key for row in left), newest_ms, _next(page))


def _page(
    moves: RowMoves, key_range: KeyRange, page_rows: int, context: GuardContext
) -> Protocol[list[Row]]:
    """Return a page of the old table, with deleted rows: their guards are read too."""
    columns = (*moves.old.families, GUARD_COLUMN)
    return (yield from scan_page(moves.old.table, columns, key_range, page_rows, context))


def _left(moves: RowMoves, page: Sequence[Row], context: GuardContext) -> Protocol[list[Row]]:
    """Return the rows of a page that are not sealed, or whose guard their new table lacks."""
    now_ms = context.now_ms()
    left = {row.key for row in page if not is_sealed(moves.old, row)}
    sealed: dict[str, list[_SealedRow]] = {}
    for row in page:
        cells = data_cells(row)
        if row.key in left or not cells:
            continue
        move = moves.of_row(row.key)
        moved = move.to_new(row.key, cells, now_ms)
        moved = moved or move.counters_of_absent(row.key, cells, now_ms)
        if moved is not None:
            sealed.setdefault(move.new.table, []).append(_SealedRow(move, row.key, moved.key))
    for of_table in sealed.values():
        left |= yield from _without_guard(of_table, context)
    return [row for row in page if row.key in left]


class _SealedRow(NamedTuple):
    move: TableMove
    old_key: bytes
    new_key: bytes


def _without_guard(rows: Sequence[_SealedRow], context: GuardContext) -> Protocol[set[bytes]]:
    """Return the old keys of those rows of one new table for which it has no guard."""
    move, keys = rows[0].move, [row.new_key for row in rows]
    read = get_rows(move.new.table, keys, context, (GUARD_COLUMN,))
    nothing: list[Row | None] = [None] * len(keys)
    stored = yield from if_there(move, read, nothing)
    return {row.old_key for row, guard in zip(rows, stored, strict=True) if guard is None}


def _guard_ms(row: Row) -> int:
    guard = guard_of(row.cells.get(GUARD_COLUMN))
    return 0 if guard is None else guard.timestamp_ms


def _next(page: Sequence[Row]) -> bytes | None:
    return page[-1].key + b"\x00" if page else None
