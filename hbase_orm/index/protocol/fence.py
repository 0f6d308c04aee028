"""The fence: changes a row's guard, so that every write in progress of the row fails its check."""

from __future__ import annotations

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.index.entries.guard_cell import next_guard
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext, GuardedTable, RowBefore
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol.requests import permitted_epoch, refuse_sealed
from hbase_orm.ops import CheckAndMutate, Protocol, RowMutation, ask


def is_dead_entry(before: RowBefore, entry_timestamp_ms: int) -> bool:
    """Return whether an entry that the row does not have is stale.

    It is stale if the row's guard is not older than the entry. An entry that is newer than the
    guard may belong to a write in progress.
    """
    return before.guard is not None and before.guard.timestamp_ms >= entry_timestamp_ms


def fence(
    target: GuardedTable,
    base_key: bytes,
    before: RowBefore,
    entry_timestamp_ms: int,
    context: GuardContext,
) -> Protocol[bool]:
    """Give a row a new guard that is not older than an entry; return whether this succeeded.

    False means that another write changed the guard, or that the outcome is unknown. If the row
    does not exist, the new guard is a dead one, which expires.

    Args:
        target: The table.
        base_key: The row key.
        before: The row that was read; the guard must be unchanged since then.
        entry_timestamp_ms: The timestamp of the entry.
        context: The clocks, random numbers and catalog leases.

    Raises:
        RowMovedError: The row was handed over to another table.
    """
    epoch = yield from permitted_epoch(target.table, context)
    refuse_sealed(target, base_key, before)
    before = attempts.with_plausible_guard(before, epoch)
    attempts.check_epoch(target.table, before, epoch)
    is_dead = not target.exists(before.cells)
    guard = next_guard(
        before.guard,
        timestamp_ms=attempts.next_timestamp(entry_timestamp_ms, before.newest_seen_ms),
        nonce=context.nonce(),
        epoch=0,  # it puts no entries: the row's epoch stays that of who did
        is_dead=is_dead,
    )
    deletes, puts = attempts.guard_changes(guard)
    expires = is_dead and not target.keeps_dead_guards
    ttl_ms = attempts.DEAD_GUARD_TTL_MS if expires else None
    mutation = RowMutation(base_key, puts, deletes, ttl_ms)
    request = CheckAndMutate(target.table, GUARD_COLUMN, before.guard_bytes, mutation)
    try:
        return (yield from ask(request))
    except (RetryableError, ConnectionLostError):
        return False
