"""Puts the entries of many rows of the old table into the new indexes together.

Rows that other programs write at the same time are left to a reindex of each row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hbase_orm.errors import CorruptRowError, RowKeyError, ValidationError
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import (
    ENTRY_COLUMN,
    EntryKind,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowBefore,
)
from hbase_orm.index.protocol.guards_in_place import (
    puts_of_cells,
    replace_in_place,
    replaceable_guard,
)
from hbase_orm.ops import Cell, Protocol, ask_with_retry, run_all

_MISFITS = (ValidationError, RowKeyError, CorruptRowError)


def index_unchanged_rows(
    table: GuardedTable,
    indexes: Sequence[IndexTarget],
    rows: Mapping[bytes, RowBefore | None],
    context: GuardContext,
) -> Protocol[set[bytes]]:
    """Put the entries of rows into some indexes; return the keys of the rows that are finished.

    A row is finished if no other program has changed it since it was read. The entries have the
    timestamp of the guard. Then the guard is put again, in place, with the epoch of this program:
    writes of programs that do not know the indexes fail, however late they are sent.

    The other rows must be reindexed one by one: they have changed, they have no guard, or a value
    does not fit an index.

    Args:
        table: The old table with all indexes that its writers maintain.
        indexes: The indexes, which have been empty since no program ignores them. If one of them is
            unique, or the cells of rows expire, no row is finished.
        rows: The rows as they were read, with all data cells.
        context: The clocks and catalog leases.

    Raises:
        CatalogLeaseError: The lease has expired.
        GatewayError: Some requests were not acknowledged.
    """
    if table.expires or any(index.entry_kind is not EntryKind.PLAIN for index in indexes):
        return set()
    epoch = context.permit(table.table)
    guards: dict[bytes, GuardCell] = {}
    entries: defaultdict[str, dict[bytes, Cell]] = defaultdict(dict)
    for key, before in rows.items():
        guard = replaceable_guard(before)
        if before is None or guard is None or guard.is_sealed or guard.is_dead:
            continue
        if guard.epoch > epoch:
            continue
        try:
            needed = [(i.table, table.needed_keys(i, key, before.values)) for i in indexes]
        except _MISFITS:
            continue
        guards[key] = replace(guard, epoch=epoch)
        for name, keys in needed:
            entries[name] |= dict.fromkeys(keys, Cell(b"", guard.timestamp_ms))
    puts = [put for name, of in entries.items() for put in puts_of_cells(name, ENTRY_COLUMN, of)]
    yield from run_all([ask_with_retry(put, context.retries) for put in puts])
    return (yield from replace_in_place(table.table, guards, context))
