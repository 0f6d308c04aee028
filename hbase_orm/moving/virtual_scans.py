"""Reads ranges of new keys, in order, while rows move from the old table to the new one.

The old table is read first, through its index of new keys, then the same range of the new table.
Rows move in this direction only, and a sealed row keeps its entry. So a row that moves between the
two reads is seen twice and never missed, and the new table's answer, which is newer, is taken. This
holds in both directions of a scan.
"""

from __future__ import annotations

from dataclasses import dataclass

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import ENTRY_FAMILY, GuardContext
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS, scan_page
from hbase_orm.moving.missing_tables import if_there
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
        rows: The rows in the order of their new keys, in reverse in the descending order. There may
            be none, although rows follow.
        next: The new key at which the next page starts; None after the last page. In reverse it is
            the new key before which the next page ends.
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
    reverse: bool = False,
) -> Protocol[VirtualPage]:
    """Return the first rows of a range of new keys, each row once; with `reverse` the last rows.

    Before PREPARED the index of new keys may lack rows. So this must not be called then, unless
    each row keeps its key.

    Args:
        move: The tables.
        phase: The phase that this process knows.
        key_range: The range of new keys.
        context: The source of the pauses between attempts.
        columns: As for `virtual_rows`.
        page_rows: The largest number of rows that one request reads.
        reverse: Whether to read from the end of the range.
    """
    wanted = move.columns_of(columns)
    rows: Rows = {}
    window = key_range
    if phase < Phase.NEW:
        rows, window = yield from _page_of_old(
            move, key_range, wanted, context, page_rows, reverse=reverse
        )
    if phase >= Phase.PREPARED:
        of_new, window = yield from _page_of_new(
            move, window, wanted, context, page_rows, reverse=reverse
        )
        rows |= of_new
    return _merged(rows, window, key_range, reverse=reverse)


def _page_of_old(
    move: TableMove,
    key_range: KeyRange,
    wanted: frozenset[bytes],
    context: GuardContext,
    page_rows: int,
    *,
    reverse: bool = False,
) -> Protocol[tuple[Rows, KeyRange]]:
    """Return rows of the old table by new key, and the range of new keys that they cover."""
    entries = move.new_key_table
    table = move.old.table if entries is None else entries
    columns = move.old_columns(wanted) if entries is None else (ENTRY_FAMILY,)
    part = move.entry_range(key_range)
    page = yield from scan_page(table, columns, part, page_rows, context, reverse=reverse)
    keys = [move.key_of_entry(row.key) for row in page]
    if entries is None:
        now_ms = context.now_ms()
        rows: Rows = {row.key: move.to_new(row.key, data_cells(row), now_ms) for row in page}
    else:
        rows = yield from rows_of_old(move, keys, wanted, context)
    # Only an empty page reaches the end of the range.
    return rows, _read_part(key_range, keys[-1], reverse=reverse) if keys else key_range


def _page_of_new(
    move: TableMove,
    window: KeyRange,
    wanted: frozenset[bytes],
    context: GuardContext,
    page_rows: int,
    *,
    reverse: bool = False,
) -> Protocol[tuple[Rows, KeyRange]]:
    """Return rows of the new table by key, deleted ones included, and the range they cover."""
    table, columns, rest = move.new.table, move.new_columns(wanted), window
    rows: Rows = {}
    covered = window
    while len(rows) < page_rows:
        read = scan_page(table, columns, rest, page_rows, context, reverse=reverse)
        page = yield from if_there(move, read, [])
        if not page:
            return rows, window
        rows |= guarded_rows(move, page)
        rest = rest_after(rest, page[-1].key, reverse=reverse)
        covered = _read_part(window, page[-1].key, reverse=reverse)
    return rows, covered


def rest_after(key_range: KeyRange, key: bytes, *, reverse: bool) -> KeyRange:
    """Return the part of a range that a scan of it reads after a row with this key."""
    if reverse:
        return KeyRange(key_range.start, key)
    return KeyRange(key + b"\x00", key_range.stop)


def _read_part(key_range: KeyRange, last: bytes, *, reverse: bool) -> KeyRange:
    """Return the part of a range that a scan has read when it has returned the row `last`."""
    if reverse:
        return KeyRange(last, key_range.stop)
    return KeyRange(key_range.start, last + b"\x00")


def _merged(
    rows: Rows, window: KeyRange, key_range: KeyRange, *, reverse: bool = False
) -> VirtualPage:
    keys = sorted((key for key in rows if key in window), reverse=reverse)
    if reverse:
        following = None if window.start == key_range.start else window.start
    else:
        following = None if window.stop == key_range.stop else window.stop
    return VirtualPage(tuple(row for key in keys if (row := rows[key]) is not None), following)
