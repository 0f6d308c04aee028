"""Deletes stale index entries, and verifies entries that a crash left unverified.

An entry that its row does not have may be stale, or belong to a write in progress. If the row's
guard is not older than the entry, the entry is stale, and is deleted. Otherwise the repair first
*fences* the row: it puts a new guard, so that a write in progress fails its check-and-mutate. Then
it deletes the entry.

An entry that is young and needs a fence is skipped, so that writers are not disturbed. In tables
without guards, the repair compares timestamps instead: see `index.protocol.last_writer_wins`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from hbase_orm.errors import CorruptRowError
from hbase_orm.index.entries.targets import (
    ENTRY_FAMILY,
    Entry,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowBefore,
    with_guard,
)
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol import fence as fencing
from hbase_orm.index.protocol import last_writer_wins as lww
from hbase_orm.index.protocol.claims import (
    StoredClaim,
    corrupt_claim,
    free_mutation,
    read_claim,
    swap,
)
from hbase_orm.index.protocol.covering import verified_entry
from hbase_orm.index.protocol.requests import read_before
from hbase_orm.index.upkeep.table_pages import (
    PAGE_ROWS,
    doubtful_entries,
    scan_page,
    with_base_keys,
)
from hbase_orm.ops import Delete, KeyRange, MutateRows, Protocol, Row, RowMutation, ask_with_retry

MIN_AGE_MS: Final = 60_000
"""A younger entry gets no fence, which would make a write in progress fail: it is skipped."""


class EntryState(Enum):
    """The result of repairing one entry."""

    VALID = "its row has it"
    VERIFIED = "its row has it; its copies of columns are now verified"
    REPAIRED = "its row does not have it; it was deleted"
    IN_FLIGHT = "it is stale or not verified; it is left, because its write may be in progress"


@dataclass(frozen=True, slots=True)
class RepairCounts:
    """The counts of entries in one repair pass over an index, by result.

    Attributes:
        scanned: All entries that were checked: valid + verified + stale + unrepaired.
        valid: The entries that their rows have.
        stale: repaired + in_flight. Unverified entries that were left count too.
        repaired: The stale entries that were deleted. Rows of the index table that are not entries
            count too, if they were deleted.
        in_flight: The entries that were not repaired, because their writes may be in progress.
        verified: The unverified entries of a covering index that the pass has verified.
        unrepaired: For each entry key, the error. These are entries whose rows do not decode, and
            claims that do not decode.
    """

    scanned: int = 0
    valid: int = 0
    stale: int = 0
    repaired: int = 0
    in_flight: int = 0
    verified: int = 0
    unrepaired: Mapping[bytes, str] = field(default_factory=dict[bytes, str])


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
    """Repair one entry: delete a stale entry, or verify an unverified covering entry.

    If a write of the row may be in progress, the row is fenced first. It is safe to repeat the
    repair, and to repair while other programs write or repair.

    Args:
        target: The write target of the table.
        index: The index.
        context: The clock, the random bytes, the retries and the catalog lease.
        entry_key: The key of the entry.
        entry_timestamp_ms: The newest timestamp of the entry's cells. It is not used for a unique
            index: the claim is read again.
        base_key: The key of the entry's row. In a unique index, this row owns the claim.
        min_age_ms: An entry younger than this is not repaired if the repair needs a fence.

    Raises:
        CorruptRowError: The row or the claim does not decode; the entry is not changed.
    """
    entry = index.entry(entry_key)
    stored = StoredClaim()
    if index.unique:
        stored = yield from read_claim(entry, context)
        if stored.is_corrupt:
            raise corrupt_claim(index, entry_key, stored, row=base_key)
        if stored.claim is None or stored.claim.owner != base_key:
            return EntryState.REPAIRED  # by somebody else
        entry_timestamp_ms = stored.claim.timestamp_ms
    columns = with_guard(target.existence_columns | index.columns | set(index.included))
    before = yield from read_before(target, base_key, columns, context)
    has_entry = entry_key in _keys(target, index, entry_key, base_key, before)
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
        is_left = before.is_sealed or age_ms < min_age_ms or age_ms < -attempts.CLOCK_REFUSE_MS
        if is_left or not (
            yield from fencing.fence(target, base_key, before, entry_timestamp_ms, context)
        ):
            return EntryState.IN_FLIGHT
        guard_ms = attempts.next_timestamp(entry_timestamp_ms, before.newest_seen_ms)
    if has_entry:
        verified = verified_entry(index.included, entry_key, before.values, guard_ms)
        yield from ask_with_retry(MutateRows(index.table, (verified,)), context.retries)
        return EntryState.VERIFIED
    yield from _remove(entry, entry_timestamp_ms, stored, context)
    return EntryState.REPAIRED


def _keys(
    target: GuardedTable, index: IndexTarget, entry_key: bytes, base_key: bytes, before: RowBefore
) -> frozenset[bytes]:
    try:
        return target.entry_keys(index, base_key, before.values)
    except CorruptRowError as error:
        details = {**error.details, "entry": entry_key}
        raise CorruptRowError(error.text, fix=error.fix, **details) from error


def remove_corrupt(
    index: IndexTarget, entry_key: bytes, up_to_ms: int, context: GuardContext
) -> Protocol[None]:
    """Delete a row of an index table that is not an entry.

    In a unique index, such a row is a corrupt claim, which is released instead. The caller must
    have checked that no row has the value.
    """
    if index.unique:
        entry = index.entry(entry_key)
        stored = yield from read_claim(entry, context)
        if stored.is_corrupt:
            yield from swap(entry, stored, free_mutation(entry, stored, context.nonce()))
        return
    deletes = (Delete(ENTRY_FAMILY, up_to_ms),)
    yield from ask_with_retry(
        MutateRows(index.table, (RowMutation(entry_key, (), deletes),)), context.retries
    )


def _remove(
    entry: Entry, up_to_ms: int, stored: StoredClaim, context: GuardContext
) -> Protocol[None]:
    if stored.claim is not None:
        yield from swap(entry, stored, free_mutation(entry, stored, context.nonce()))
    for delete in attempts.dead_entry_deletes((entry,), up_to_ms):
        yield from ask_with_retry(delete, context.retries)


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
    """Check and repair every entry of an index, or every entry in one range of keys.

    Entries whose rows do not decode, and claims that do not decode, are skipped and listed in the
    result. If the index is not unique, rows of the index table that are not entries are deleted.

    Args:
        target: The write target of the table.
        index: The index.
        base_key_of: A function that returns the row key at the end of an entry's key. It is not
            called for a unique index, whose claims hold the row key.
        context: The clock, the random bytes, the retries and the catalog lease.
        min_age_ms: Entries younger than this are not repaired if the repair needs a fence.
        key_range: The range of entry keys to check; None means all.
        page_rows: The number of entries of a page; only one page is held in memory.
    """
    states: Counter[EntryState] = Counter()
    left: dict[bytes, str] = {}
    start = key_range or KeyRange()
    while True:
        page = yield from scan_page(index.table, (ENTRY_FAMILY,), start, page_rows, context)
        if not page:
            return _counted(states, left)
        pairs, corrupt = with_base_keys(index, base_key_of, page)
        for entry in page if corrupt else ():
            if entry.key in corrupt and index.unique:
                left[entry.key] = str(corrupt[entry.key])
            elif entry.key in corrupt:
                yield from remove_corrupt(index, entry.key, newest_ms(entry), context)
                states[EntryState.REPAIRED] += 1
        suspects = yield from doubtful_entries(target, index, pairs, context)
        states[EntryState.VALID] += len(pairs) - len(suspects)
        for entry, base_key in suspects:
            repair = repair_entry(
                target,
                index,
                context,
                entry_key=entry.key,
                entry_timestamp_ms=newest_ms(entry),
                base_key=base_key,
                min_age_ms=min_age_ms,
            )
            try:
                states[(yield from repair)] += 1
            except CorruptRowError as error:
                left[entry.key] = str(error)
        start = KeyRange(page[-1].key + b"\x00", start.stop)


def newest_ms(entry: Row) -> int:
    """Return the newest timestamp of an entry's cells."""
    return max(cell.timestamp_ms for cell in entry.cells.values())


def _counted(states: Counter[EntryState], left: Mapping[bytes, str]) -> RepairCounts:
    repaired, in_flight = states[EntryState.REPAIRED], states[EntryState.IN_FLIGHT]
    valid, verified = states[EntryState.VALID], states[EntryState.VERIFIED]
    scanned = states.total() + len(left)
    stale = repaired + in_flight
    return RepairCounts(scanned, valid, stale, repaired, in_flight, verified, left)
