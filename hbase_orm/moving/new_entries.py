"""Puts the entries of many rows of the old table into the new indexes together.

Rows that other programs write at the same time are left to a reindex of each row.
"""

from __future__ import annotations

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
    BATCH_ROWS,
    is_replaceable,
    replace_in_place,
)
from hbase_orm.ops import (
    Protocol,
    PutStampedRows,
    StampedRows,
    ask_with_retry,
    run_all,
)

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
    entries: dict[str, list[tuple[bytes, int]]] = {}
    for key, before in rows.items():
        if before is None or before.guard is None or not is_replaceable(before):
            continue
        guard = before.guard
        if guard.is_sealed or guard.is_dead or guard.epoch > epoch:
            continue
        try:
            needed = [(i.table, table.needed_keys(i, key, before.values)) for i in indexes]
        except _MISFITS:
            continue
        guards[key] = replace(guard, epoch=epoch)
        for name, keys in needed:
            entries.setdefault(name, []).extend((each, guard.timestamp_ms) for each in keys)
    puts = [put for name, of_table in entries.items() for put in _puts(name, of_table)]
    yield from run_all([ask_with_retry(put, context.retries) for put in puts])
    return (yield from replace_in_place(table.table, guards, context))


def _puts(table: str, entries: Sequence[tuple[bytes, int]]) -> list[PutStampedRows]:
    """Return the puts of the entries of one index table, each with its timestamp."""
    newest: dict[bytes, int] = {}
    for key, stamp_ms in entries:
        newest[key] = max(stamp_ms, newest.get(key, 0))
    stamped = list(newest.items())
    batches = [stamped[at : at + BATCH_ROWS] for at in range(0, len(stamped), BATCH_ROWS)]
    return [
        PutStampedRows(
            table,
            (
                StampedRows(
                    (ENTRY_COLUMN,),
                    tuple((key, b"") for key, _ in batch),
                    tuple((stamp_ms,) for _, stamp_ms in batch),
                ),
            ),
        )
        for batch in batches
    ]
