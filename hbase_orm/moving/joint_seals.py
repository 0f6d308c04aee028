"""Seals many rows of the old table together.

Rows that other programs write at the same time are left to `seal.seal_row`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GuardContext, GuardedTable
from hbase_orm.index.protocol.guards_in_place import is_replaceable, replace_in_place
from hbase_orm.index.protocol.requests import guarded_row, permitted_epoch
from hbase_orm.moving.seal import SealedRow
from hbase_orm.ops import Protocol, Row


def seal_unchanged_rows(
    table: GuardedTable, rows: Sequence[Row], context: GuardContext
) -> Protocol[dict[bytes, SealedRow]]:
    """Seal those of some rows that have not changed since they were read; return them by key.

    It is safe to repeat, and several processes may do it at once: they all put the same seals.

    The seal replaces the guard in place. Then it is put again, one millisecond later: a late
    request that replaces the guard in the same place, from the time before the rows were moved,
    cannot remove this seal any more.

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
    for key, read in before.items():
        if read is None or read.guard is None or not is_replaceable(read):
            continue
        if not read.guard.is_sealed and read.guard.epoch <= epoch:
            seals[key] = replace(read.guard, is_dead=False, is_sealed=True)
    shown = yield from replace_in_place(table.table, seals, context)
    later = {key: _later(seals[key]) for key in seals if key in shown}
    yield from permitted_epoch(table.table, context)
    sealed = yield from replace_in_place(table.table, later, context)
    return {
        key: SealedRow(key, guard, read.cells)
        for key, guard in later.items()
        if key in sealed and (read := before[key]) is not None
    }


def _later(seal: GuardCell) -> GuardCell:
    return replace(seal, timestamp_ms=seal.timestamp_ms + 1)
