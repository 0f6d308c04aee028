"""Reads rows by their new keys, wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext, IndexTarget
from hbase_orm.index.upkeep.table_pages import get_rows, keys_of
from hbase_orm.moving.missing_tables import if_there
from hbase_orm.moving.translation import TableMove, data_cells
from hbase_orm.ops import Protocol, Row

Rows = dict[bytes, Row | None]
"""Rows by their new keys, in the new layout and without guards; None if a row does not exist."""

ALL_COLUMNS: Final[tuple[bytes, ...]] = ()


def virtual_rows(
    move: TableMove,
    phase: Phase,
    keys: Sequence[bytes],
    context: GuardContext,
    columns: tuple[bytes, ...] = ALL_COLUMNS,
) -> Protocol[list[Row | None]]:
    """Return the rows with these new keys; for a row that does not exist, the result has None.

    The new table decides about a row for which it has a guard; about other rows the old table
    decides. The new table is read first. If it has no guard then, nobody can have written the row
    there until then. So the old row is current, even if it is sealed and adopted meanwhile.

    Args:
        move: The tables.
        phase: The phase that this process knows.
        keys: The new keys.
        context: The source of the pauses between attempts.
        columns: Columns and families of the new table; all if empty. If the table has an anchor,
            its cell is returned too.
    """
    wanted = move.columns_of(columns)
    keys = list(dict.fromkeys(keys))
    if phase < Phase.PREPARED:
        rows = yield from rows_of_old(move, keys, wanted, context)
    else:
        rows = yield from rows_of_new(move, keys, wanted, context)
    if phase in {Phase.PREPARED, Phase.MOVING}:
        unguarded = [key for key in keys if key not in rows]
        rows |= yield from rows_of_old(move, unguarded, wanted, context)
    return [rows.get(key) for key in keys]


def rows_of_new(
    move: TableMove, keys: Sequence[bytes], wanted: frozenset[bytes], context: GuardContext
) -> Protocol[Rows]:
    """Return the rows for which the new table has a guard; None for rows that are deleted."""
    read = get_rows(move.new.table, keys, context, move.new_columns(wanted))
    return guarded_rows(move, (yield from if_there(move, read, [])))


def guarded_rows(move: TableMove, rows: Sequence[Row | None]) -> Rows:
    """Return those of some rows of the new table that have a guard, by key, and without it."""
    guarded = [row for row in rows if row is not None and GUARD_COLUMN in row.cells]
    return {row.key: existing(move, Row(row.key, data_cells(row))) for row in guarded}


def existing(move: TableMove, row: Row) -> Row | None:
    """Return a row of the new table if its cells show that it exists; else None."""
    return row if move.new.exists(row.cells) else None


def rows_of_old(
    move: TableMove, keys: Sequence[bytes], wanted: frozenset[bytes], context: GuardContext
) -> Protocol[Rows]:
    """Return the rows with these new keys as the old table has them, sealed or not."""
    old_keys = list(dict.fromkeys(map(move.old_key, keys)))
    stored = yield from get_rows(move.old.table, old_keys, context, move.old_columns(wanted))
    by_key = dict(zip(old_keys, stored, strict=True))
    now_ms = context.now_ms()
    return {key: translated(move, key, by_key[move.old_key(key)], now_ms) for key in keys}


def translated(move: TableMove, new_key: bytes, old_row: Row | None, now_ms: int) -> Row | None:
    """Return an old row in the new layout, if it exists and has this new key; else None."""
    row = None if old_row is None else move.to_new(old_row.key, data_cells(old_row), now_ms)
    return row if row is not None and row.key == new_key else None


def rows_of_entries(
    move: TableMove,
    phase: Phase,
    index: IndexTarget,
    entries: Mapping[bytes, bytes],
    context: GuardContext,
    *,
    columns: tuple[bytes, ...] = ALL_COLUMNS,
) -> Protocol[dict[bytes, Row]]:
    """Return the rows that have some entries of an index of the new table, by entry key.

    From PREPARED on the index tables of the new table have the entries of all rows, wherever the
    rows are. An entry that its row does not have is stale and left out.

    Args:
        move: The tables.
        phase: The phase that this process knows.
        index: The index, one of the new table's.
        entries: The keys of entries as the index table has them, each with the new key of its row.
        context: The source of the pauses between attempts.
        columns: As for `virtual_rows`.
    """
    wanted = tuple(move.columns_of(columns) | index.columns)
    keys = list(dict.fromkeys(entries.values()))
    rows = yield from virtual_rows(move, phase, keys, context, wanted)
    by_key = dict(zip(keys, rows, strict=True))
    having = {entry: by_key[key] for entry, key in entries.items()}
    return {
        entry: row
        for entry, row in having.items()
        if row is not None and entry in keys_of(move.new, index, row)
    }
