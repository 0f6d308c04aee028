"""Deletes index entries that no row has, and verifies those that a crash left unverified.

An entry that its row does not have may be dead, or belong to a write under way. If the row's guard
is at or above the entry's timestamp it is dead. Otherwise the repairer first *fences* the row: it
moves the guard above the entry, so that the write under way loses its check-and-mutate, and then
deletes. No waiting is needed for correctness; young entries are left alone out of politeness.
Rows without guards are told by timestamps: see `index.lww`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from hbase_orm.index import attempt as attempts
from hbase_orm.index import fencing, lww
from hbase_orm.index.asking import ask_patiently, read_before
from hbase_orm.index.claims import StoredClaim, free_mutation, read_claim, swap
from hbase_orm.index.pages import PAGE_ROWS, doubtful_entries, led_to, scan_page
from hbase_orm.index.targets import (
    ENTRY_FAMILY,
    Entry,
    GuardContext,
    GuardedTable,
    IndexTarget,
    with_guard,
)
from hbase_orm.ops import KeyRange, MutateRows, Protocol

MIN_AGE_MS: Final = 60_000
"""Entries younger than this are left: their write is probably under way, and a fence costs it."""


class EntryState(Enum):
    """What the repair found, or made, of one entry."""

    VALID = "its row has it"
    VERIFIED = "its row has it; what it repeats is now verified"
    REPAIRED = "its row does not have it; it is deleted"
    IN_FLIGHT = "its row does not have it; it is left, for its write may be under way"


@dataclass(frozen=True, slots=True)
class RepairCounts:
    """What a repair pass saw: scanned = valid + verified + stale, stale = repaired + in_flight.

    A verified entry is one of a covering index that could not be believed, and now can.
    """

    scanned: int = 0
    valid: int = 0
    stale: int = 0
    repaired: int = 0
    in_flight: int = 0
    verified: int = 0


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
    """Put one entry right: delete it if its row does not have it, verify what it repeats.

    The row is fenced first where that is needed. Safe to repeat, and beside writers and other
    repairers.

    Args:
        target: The indexed table.
        index: The index.
        context: Clocks, randomness and the catalog's permission.
        entry_key: The entry's row key.
        entry_timestamp_ms: The newest timestamp of its cells. Of a unique value the claim is read
            again, and says.
        base_key: The key of the row that it leads to: of a unique value, its owner.
        min_age_ms: An entry younger than this is left where putting it right needs a fence.
    """
    entry = index.entry(entry_key)
    stored = StoredClaim()
    if index.unique:
        stored = yield from read_claim(entry, context)
        if stored.claim is None or stored.claim.owner != base_key:
            return EntryState.REPAIRED  # by somebody else
        entry_timestamp_ms = stored.claim.timestamp_ms
    columns = with_guard(target.existence_columns | index.columns | set(index.included))
    before = yield from read_before(target, base_key, columns, context)
    has_entry = entry_key in target.entry_keys(index, base_key, before.values)
    if has_entry and not index.included:
        return EntryState.VALID
    age_ms = context.now_ms() - entry_timestamp_ms
    if target.is_lww:
        is_gone = yield from lww.remove_if_dead(
            target,
            index,
            entry,
            base_key,
            before,
            entry_ms=entry_timestamp_ms,
            is_old=age_ms >= min_age_ms,
            context=context,
        )
        return EntryState.REPAIRED if is_gone else EntryState.IN_FLIGHT
    guard_ms = before.guard.timestamp_ms if before.guard else 0
    if not fencing.is_dead_entry(before, entry_timestamp_ms):
        # An entry far ahead of the clock would drag the row's guard with it.
        is_left = age_ms < min_age_ms or age_ms < -attempts.CLOCK_REFUSE_MS
        if is_left or not (
            yield from fencing.fence(target, base_key, before, entry_timestamp_ms, context)
        ):
            return EntryState.IN_FLIGHT
        guard_ms = attempts.next_timestamp(entry_timestamp_ms, before.told_ms)
    if has_entry:
        verified = attempts.verified_entry(index, entry_key, before.values, guard_ms)
        yield from ask_patiently(MutateRows(index.table, (verified,)), context)
        return EntryState.VERIFIED
    yield from _remove(entry, entry_timestamp_ms, stored, context)
    return EntryState.REPAIRED


def _remove(
    entry: Entry, up_to_ms: int, stored: StoredClaim, context: GuardContext
) -> Protocol[None]:
    if stored.claim is not None:
        yield from swap(entry, stored, free_mutation(entry, stored, context.nonce()))
    for delete in attempts.dead_entry_deletes((entry,), up_to_ms):
        yield from ask_patiently(delete, context)


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
    """Check every entry of an index (or of one range of it) and put it right.

    Args:
        target: The indexed table.
        index: The index.
        base_key_of: Returns the row key that an entry's key ends with; not asked of an index of
            unique values, whose entries say whose they are.
        context: Clocks, randomness and the catalog's permission.
        min_age_ms: Entries younger than this are left where putting them right needs a fence.
        key_range: Entry keys to look at; None means all.
        page_rows: Entries read at a time; memory holds one page.
    """
    states: Counter[EntryState] = Counter()
    start = key_range or KeyRange()
    while True:
        page = yield from scan_page(index.table, (ENTRY_FAMILY,), start, page_rows, context)
        if not page:
            return _counted(states)
        found = led_to(index, base_key_of, page)
        suspects = yield from doubtful_entries(target, index, found, context)
        states[EntryState.VALID] += len(found) - len(suspects)
        for entry, base_key in suspects:
            state = yield from repair_entry(
                target,
                index,
                context,
                entry_key=entry.key,
                entry_timestamp_ms=max(cell.timestamp_ms for cell in entry.cells.values()),
                base_key=base_key,
                min_age_ms=min_age_ms,
            )
            states[state] += 1
        start = KeyRange(page[-1].key + b"\x00", start.stop)


def _counted(states: Counter[EntryState]) -> RepairCounts:
    repaired, in_flight = states[EntryState.REPAIRED], states[EntryState.IN_FLIGHT]
    valid, verified = states[EntryState.VALID], states[EntryState.VERIFIED]
    scanned = states.total()
    return RepairCounts(scanned, valid, repaired + in_flight, repaired, in_flight, verified)
