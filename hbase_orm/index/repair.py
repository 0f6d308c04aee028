"""Deletes index entries that no row has.

An entry that its row does not have may be dead, or belong to a write under way. If the row's guard
is at or above the entry's timestamp it is dead. Otherwise the repairer first *fences* the row: it
moves the guard above the entry, so that the write under way loses its check-and-mutate, and then
deletes. No waiting is needed for correctness; young entries are left alone out of politeness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hbase_orm.errors import (
    ConnectionLostError,
    RetryableError,
)
from hbase_orm.index import attempt as attempts
from hbase_orm.index.guard import ask_patiently, read_before
from hbase_orm.index.guard_cell import next_guard
from hbase_orm.index.pages import PAGE_ROWS, entries_without_row, scan_page
from hbase_orm.index.targets import (
    ENTRY_FAMILY,
    GUARD_COLUMN,
    Entry,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowBefore,
    with_guard,
)
from hbase_orm.ops import (
    CheckAndMutate,
    KeyRange,
    Protocol,
    RowMutation,
    ask,
)

MIN_AGE_MS: Final = 60_000
"""Entries younger than this are left: their write is probably under way, and a fence costs it."""


class EntryState(Enum):
    """What the repair found, or made, of one entry."""

    VALID = "its row has it"
    REPAIRED = "its row does not have it; it is deleted"
    IN_FLIGHT = "its row does not have it; it is left, for its write may be under way"


@dataclass(frozen=True, slots=True)
class RepairCounts:
    """What a repair pass saw: scanned = valid + stale, stale = repaired + in_flight."""

    scanned: int = 0
    valid: int = 0
    stale: int = 0
    repaired: int = 0
    in_flight: int = 0


def repair_entry(
    target: GuardedTable,
    index: IndexTarget,
    context: GuardContext,
    *,
    entry_key: bytes,
    entry_timestamp_ms: int,
    base_key: bytes,
    min_age_ms: int = MIN_AGE_MS,
) -> Protocol[EntryState]:
    """Delete one entry if its row does not have it, fencing the row first where that is needed.

    Safe to repeat, and beside writers and other repairers.
    """
    columns = with_guard(target.existence_columns | index.columns)
    before = yield from read_before(target, base_key, columns, context)
    if entry_key in target.entry_keys(index, base_key, before.values):
        return EntryState.VALID
    if not is_dead_entry(before, entry_timestamp_ms):
        age_ms = context.now_ms() - entry_timestamp_ms
        # An entry far ahead of the clock would drag the row's guard with it.
        if age_ms < min_age_ms or age_ms < -attempts.CLOCK_REFUSE_MS:
            return EntryState.IN_FLIGHT
        if not (yield from fence(target, base_key, before, entry_timestamp_ms, context)):
            return EntryState.IN_FLIGHT
    entry = Entry(index.table, entry_key)
    for delete in attempts.dead_entry_deletes((entry,), entry_timestamp_ms):
        yield from ask_patiently(delete, context)
    return EntryState.REPAIRED


def is_dead_entry(before: RowBefore, entry_timestamp_ms: int) -> bool:
    """Say whether no write under way can still need an entry that the row does not have."""
    return before.guard is not None and before.guard.timestamp_ms >= entry_timestamp_ms


def fence(
    target: GuardedTable,
    base_key: bytes,
    before: RowBefore,
    entry_timestamp_ms: int,
    context: GuardContext,
) -> Protocol[bool]:
    """Move a row's guard to or above an entry's timestamp; say whether that surely happened.

    A row without data gets a dead guard, which expires.
    """
    epoch = context.permit(target.table)
    attempts.check_epoch(target.table, before, epoch)
    is_dead = not target.exists(before.cells)
    guard = next_guard(
        before.guard,
        timestamp_ms=attempts.next_timestamp(entry_timestamp_ms, before.told_ms),
        nonce=context.nonce(),
        epoch=epoch,
        is_dead=is_dead,
    )
    deletes, puts = attempts.guard_changes(guard)
    ttl_ms = attempts.DEAD_GUARD_TTL_MS if is_dead else None
    mutation = RowMutation(base_key, puts, deletes, ttl_ms)
    request = CheckAndMutate(target.table, GUARD_COLUMN, before.guard_bytes, mutation)
    try:
        return (yield from ask(request))
    except (RetryableError, ConnectionLostError):
        return False


def repair_pass(
    target: GuardedTable,
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    context: GuardContext,
    *,
    min_age_ms: int = MIN_AGE_MS,
    key_range: KeyRange | None = None,
    page_rows: int = PAGE_ROWS,
) -> Protocol[RepairCounts]:
    """Check every entry of an index (or of one range of it) and delete the dead ones.

    Args:
        target: The indexed table.
        index: The index.
        base_key_of: Returns the row key that an entry's key ends with.
        context: Clocks, randomness and the catalog's permission.
        min_age_ms: Entries younger than this are left where deleting needs a fence.
        key_range: Entry keys to look at; None means all.
        page_rows: Entries read at a time; memory holds one page.
    """
    scanned = valid = repaired = 0
    start = key_range or KeyRange()
    while True:
        page = yield from scan_page(index.table, (ENTRY_FAMILY,), start, page_rows, context)
        if not page:
            in_flight = scanned - valid - repaired
            return RepairCounts(scanned, valid, scanned - valid, repaired, in_flight)
        suspects = yield from entries_without_row(target, index, base_key_of, page, context)
        states = [EntryState.VALID] * (len(page) - len(suspects))
        for entry in suspects:
            state = yield from repair_entry(
                target,
                index,
                context,
                entry_key=entry.key,
                entry_timestamp_ms=max(cell.timestamp_ms for cell in entry.cells.values()),
                base_key=base_key_of(entry.key),
                min_age_ms=min_age_ms,
            )
            states.append(state)
        scanned += len(page)
        valid += states.count(EntryState.VALID)
        repaired += states.count(EntryState.REPAIRED)
        start = KeyRange(page[-1].key + b"\x00", start.stop)
