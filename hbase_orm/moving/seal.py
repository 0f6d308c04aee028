"""Seals rows of the old table: after that they never change there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hbase_orm.errors import ConflictError
from hbase_orm.index.entries.guard_cell import GuardCell, final_seal, sealed_guard
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GuardContext,
    GuardedTable,
    RowBefore,
    RowChange,
)
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol.guards_in_place import replace_in_place
from hbase_orm.index.protocol.requests import permitted_epoch, read_before, refuse_corrupt_guard
from hbase_orm.moving.counter_seals import seal_counters
from hbase_orm.ops import Cell, CheckAndMutate, Protocol, Put, RowMutation
from hbase_orm.ops.conditional_changes import ConditionalChanges

MAX_SEAL_ROUNDS: Final = 100
"""The number of attempts to seal a row that other programs write all the time."""


@dataclass(frozen=True, slots=True)
class SealedRow:
    """A row that is sealed, with all its data cells; it never changes again.

    Attributes:
        key: The key in the old table.
        guard: The final seal. Its timestamp is later than all that the old table's writers wrote or
            deleted for the row, in the table and in index tables.
        cells: The data cells, with the counters as they were before they were sealed. If the row
            was absent or deleted, there are none but counters.
    """

    key: bytes
    guard: GuardCell
    cells: Mapping[bytes, Cell]


def seal_row(
    table: GuardedTable, key: bytes, context: GuardContext, *, as_read: RowBefore | None = None
) -> Protocol[SealedRow]:
    """Seal a row of the old table, unless it is sealed already; an absent row is sealed too.

    First its guard is sealed, then its counters: increments do not look at the guard. It is safe to
    repeat, and several processes may do it at once.

    Args:
        table: The old table.
        key: The row's key there.
        context: The clocks, random numbers and catalog leases.
        as_read: The row with its guard and all data cells, if it was read before. It may have
            changed since: then its guard has changed, too. None means that it is read first.

    Raises:
        CorruptRowError: The row's guard does not decode.
        ConflictError: Other programs wrote the row at every attempt.
        CatalogLeaseError: The lease has expired, or the row has a newer epoch.
        GatewayError: The row could not be read, or the answers to the changes were lost.
    """
    columns = (*table.families, GUARD_COLUMN)
    changes = ConditionalChanges()
    for rounds in range(1, MAX_SEAL_ROUNDS + 1):
        before, as_read = as_read, None
        if before is None:
            before = yield from read_before(table, key, columns, context)
        if before.guard is not None and before.guard.is_sealed:
            guard = yield from _final(table, key, before.guard, context)
            if guard is None:
                continue
            return (yield from _with_counters(table, key, guard, before.cells, context))
        refuse_corrupt_guard(table, RowChange(key), before)
        guard = yield from _sealed(table, key, before, context, changes)
        if guard is not None:
            return (yield from _with_counters(table, key, guard, before.cells, context))
        if rounds > 1:
            yield from context.retries.pause(rounds)
    raise changes.error(
        ConflictError(
            "other writers changed the row at every attempt to seal it",
            table=table.table,
            row=key,
            rounds=MAX_SEAL_ROUNDS,
            fix="continue the move later",
        )
    )


def _final(
    table: GuardedTable, key: bytes, seal: GuardCell, context: GuardContext
) -> Protocol[GuardCell | None]:
    """Return a final seal; put it in the place of a provisional one. None if that was removed."""
    if not seal.is_provisional:
        return seal
    final = final_seal(seal)
    shown = yield from replace_in_place(table.table, {key: final}, context)
    return final if shown else None


def _sealed(
    table: GuardedTable,
    key: bytes,
    before: RowBefore,
    context: GuardContext,
    changes: ConditionalChanges,
) -> Protocol[GuardCell | None]:
    """Seal a guard if it is unchanged, and return it; None if it changed, or without an answer."""
    epoch = yield from permitted_epoch(table.table, context)
    attempts.check_epoch(table.table, before, epoch)
    guard = sealed_guard(
        before.guard,
        timestamp_ms=seal_timestamp(before),
        nonce=context.nonce(),
        epoch=epoch,
    )
    put = Put(GUARD_COLUMN, guard.encode(), guard.timestamp_ms)
    mutation = RowMutation(key, puts=(put,))  # without TTL: the row must not come to life again
    request = CheckAndMutate(table.table, GUARD_COLUMN, before.guard_bytes, mutation)
    return guard if (yield from changes.ask(request)) else None


def _with_counters(
    table: GuardedTable,
    key: bytes,
    guard: GuardCell,
    cells: Mapping[bytes, Cell],
    context: GuardContext,
) -> Protocol[SealedRow]:
    """Seal the counters of a row whose guard is sealed, if the table has any; return the row."""
    if not table.counters:
        return SealedRow(key, guard, cells)
    counters = yield from seal_counters(table, key, context)
    others = {column: cell for column, cell in cells.items() if column not in table.counters}
    return SealedRow(key, guard, {**others, **counters})


def seal_timestamp(before: RowBefore) -> int:
    """Return the timestamp of a seal: later than everything that was read of the row."""
    return before.newest_seen_ms + 1
