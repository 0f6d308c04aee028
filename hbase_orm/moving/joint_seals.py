"""Seals many rows of the old table together.

Rows that other programs write at the same time are left to `seal.seal_row`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.index.entries.guard_cell import GuardCell, final_seal, provisional_seal
from hbase_orm.index.entries.targets import GuardContext, GuardedTable
from hbase_orm.index.protocol.guards_in_place import replace_in_place, replaceable_guard
from hbase_orm.index.protocol.requests import guarded_row, permitted_epoch
from hbase_orm.moving.seal import SealedRow
from hbase_orm.ops import Protocol, Row


def seal_unchanged_rows(
    table: GuardedTable, rows: Sequence[Row], context: GuardContext
) -> Protocol[dict[bytes, SealedRow]]:
    """Seal those of some rows that have not changed since they were read; return them by key.

    It is safe to repeat, and several processes may do it at once: they all put the same seals.

    A provisional seal replaces the guard in place. If it shows, the final seal is put, one
    millisecond later. A late request that replaces the guard in the same place, from the time
    before the rows were moved, could remove a provisional seal, but no final one. So everybody else
    who meets a provisional seal puts the final one, too, before the row is adopted.

    Args:
        table: The old table. If it has counters, nothing is sealed.
        rows: The rows as they were read, with their guards and all data cells.
        context: The clocks and catalog leases.

    Raises:
        CatalogLeaseError: The lease has expired.
        GatewayError: Some requests were not acknowledged; any of the rows may be sealed.
    """
    if table.counters:
        return {}
    epoch = yield from permitted_epoch(table.table, context)
    before = {row.key: guarded_row(row.cells) for row in rows}
    seals: dict[bytes, GuardCell] = {}
    first: dict[bytes, GuardCell] = {}
    for key, read in before.items():
        guard = replaceable_guard(read)
        if guard is None:
            continue
        if guard.is_provisional:
            seals[key] = guard
        elif not guard.is_sealed and guard.epoch <= epoch:
            first[key] = provisional_seal(guard)
    shown = yield from replace_in_place(table.table, first, context)
    seals |= {key: first[key] for key in first if key in shown}
    final = {key: final_seal(seal) for key, seal in seals.items()}
    sealed = yield from replace_in_place(table.table, final, context)
    return {
        key: SealedRow(key, guard, read.cells)
        for key, guard in final.items()
        if key in sealed and (read := before[key]) is not None
    }
