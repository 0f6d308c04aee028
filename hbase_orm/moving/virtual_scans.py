"""Reads ranges of new keys, in order, while rows move from the old table to the new one.

The old table is read first, through its index of new keys, then the same range of the new table.
Rows move in this direction only, and a sealed row keeps its entry. So a row that moves between the
two reads is seen twice and never missed, and the new table's answer, which is newer, is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hbase_orm.index.entries.targets import ENTRY_FAMILY, GuardContext
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS, scan_page
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.moving.translation import TableMove, data_cells
from hbase_orm.moving.virtual_reads import (
    ALL_COLUMNS,
    Rows,
    guarded_rows,
    rows_of_old,
)
from hbase_orm.ops import KeyRange, Protocol, Row


@dataclass(frozen=True, slots=True)
class VirtualPage:
    """A page of rows in the new layout.

    Attributes:
        rows: The rows in the order of their new keys. There may be none, although rows follow.
        next: The new key at which the next page starts; None after the last page.
    """

    rows: tuple[Row, ...]
    next: bytes | None


def virtual_page(
    move: TableMove,
    phase: Phase,
    key_range: KeyRange,
    context: GuardContext,
    columns: tuple[bytes, ...] = ALL_COLUMNS,
    *,
    page_rows: int = PAGE_ROWS,
) -> Protocol[VirtualPage]:
    """Return the first rows of a range of new keys, each row once.

    Before PREPARED the index of new keys may lack rows, so this must not be called.

    Args:
        move: The tables.
        phase: The phase that this process knows: PREPARED, MOVING or NEW.
        key_range: The range of new keys.
        context: The source of the pauses between attempts.
        columns: As for `virtual_rows`.
        page_rows: The largest number of rows that one request reads.
    """
    wanted = move.columns_of(columns)
    of_old: Rows = {}
    window = key_range
    if phase < Phase.NEW:
        of_old, window = yield from _page_of_old(move, key_range, wanted, context, page_rows)
    of_new, window = yield from _page_of_new(move, window, wanted, context, page_rows)
    return _merged(of_old | of_new, window, key_range)


def _page_of_old(
    move: TableMove,
    key_range: KeyRange,
    wanted: frozenset[bytes],
    context: GuardContext,
    page_rows: int,
) -> Protocol[tuple[Rows, KeyRange]]:
    """Return rows of the old table by new key, and the range of new keys that they cover."""
    if move.new_key_table is None:
        table, columns = move.old.table, move.old_columns(wanted)
        page = yield from scan_page(table, columns, key_range, page_rows, context)
        rows: Rows = {row.key: move.to_new(row.key, data_cells(row)) for row in page}
    else:
        table, columns = move.new_key_table, (ENTRY_FAMILY,)
        page = yield from scan_page(table, columns, key_range, page_rows, context)
        rows = yield from rows_of_old(move, [entry.key for entry in page], wanted, context)
    return rows, _window(page, key_range)


def _page_of_new(
    move: TableMove,
    window: KeyRange,
    wanted: frozenset[bytes],
    context: GuardContext,
    page_rows: int,
) -> Protocol[tuple[Rows, KeyRange]]:
    """Return rows of the new table by key, deleted ones included, and the range they cover."""
    columns, rest = move.new_columns(wanted), window
    rows: Rows = {}
    while len(rows) < page_rows:
        page = yield from scan_page(move.new.table, columns, rest, page_rows, context)
        if not page:
            return rows, window
        rows |= guarded_rows(move, page)
        rest = KeyRange(page[-1].key + b"\x00", window.stop)
    return rows, KeyRange(window.start, rest.start)


def _window(page: Sequence[Row], key_range: KeyRange) -> KeyRange:
    """Return the part of a range that a page has read: only an empty page reaches the end."""
    return KeyRange(key_range.start, page[-1].key + b"\x00") if page else key_range


def _merged(rows: Rows, window: KeyRange, key_range: KeyRange) -> VirtualPage:
    keys = sorted(key for key in rows if key in window)
    following = None if window.stop == key_range.stop else window.stop
    return VirtualPage(tuple(row for key in keys if (row := rows[key]) is not None), following)
