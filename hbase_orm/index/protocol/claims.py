"""Unique values: for each value the index table has a claim, which holds the owner's row key.

A claim is written by check-and-mutate before the data row changes. It is released by
check-and-mutate after the row has changed. So a row that has a value owns the value's claim at
every moment. If a row owns a claim but does not have the value, the claim is stale, or the row's
write is in progress. Another writer that needs the value then fences the owner, so that a write in
progress fails its check, and takes over the claim.

A claim is released by a FREE marker with a TTL. A delete is not used: its tombstone would hide a
later claim with an earlier timestamp. Every claim and every marker has a different nonce, so that a
check never confuses two of them.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hbase_orm.errors import (
    ConflictError,
    CorruptRowError,
    UniqueViolationError,
)
from hbase_orm.index.entries.targets import (
    Entry,
    EntryKind,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowBefore,
    with_guard,
)
from hbase_orm.index.protocol import fence as fencing
from hbase_orm.index.protocol.attempt import DEAD_GUARD_TTL_MS, Attempt
from hbase_orm.index.protocol.requests import read_before, refuse_sealed
from hbase_orm.ops import (
    MAX_ROW_KEY_BYTES,
    Cell,
    CheckAndMutate,
    Delete,
    GetRows,
    Protocol,
    Put,
    RowMutation,
    ask_with_retry,
)
from hbase_orm.ops.conditional_changes import ConditionalChanges

logger = logging.getLogger("hbase_orm.index")

CLAIM_COLUMN: Final = b"d:o"

FREE_TTL_MS: Final = DEAD_GUARD_TTL_MS
"""How long a FREE marker lives: as long as the guard of a deleted row, for the same reason."""

MAX_CLAIM_ROUNDS: Final = 50
"""The number of attempts to claim a value before a write gives up, after some four seconds."""

POLITE_ROUNDS: Final = 5
"""How often a write waits before it fences the owner of a young claim.

The owner's write may be in progress, and a fence makes it fail.
"""

YOUNG_MS: Final = 2_000

_HEAD: Final = struct.Struct(">cQ8s")
_OWNED, _FREE = b"C", b"F"


@dataclass(frozen=True, slots=True)
class Claim:
    """The decoded claim of one value.

    Attributes:
        owner: The row key of the row that owns the value.
        timestamp_ms: The newest timestamp of the owner's attempts that put the claim.
        nonce: The nonce of the write that made the claim.
    """

    owner: bytes
    timestamp_ms: int
    nonce: bytes

    def encode(self) -> bytes:
        """Return the value of the claim's cell."""
        return _HEAD.pack(_OWNED, self.timestamp_ms, self.nonce) + self.owner

    @classmethod
    def decode(cls, value: bytes) -> Claim | None:
        """Return the claim that is encoded in `value`; None if it is a FREE marker.

        Raises:
            CorruptRowError: The bytes are not a claim.
        """
        if len(value) >= _HEAD.size and value[:1] in {_OWNED, _FREE}:
            kind, timestamp_ms, nonce = _HEAD.unpack_from(value)
            owner = value[_HEAD.size :]
            if kind == _FREE:
                return None
            if 0 < len(owner) <= MAX_ROW_KEY_BYTES:
                return cls(owner, timestamp_ms, nonce)
        raise CorruptRowError("the claim of a unique value does not decode", value=value)


class StoredClaim(NamedTuple):
    """The cell of one value's claim, as it is stored.

    Attributes:
        value: The stored bytes; empty if there is no cell.
        timestamp_ms: The timestamp of the cell; -1 if there is no cell.
        claim: The decoded claim; None if no row owns the value, or if the cell is corrupt.
        is_corrupt: Whether the cell does not hold a valid claim or FREE marker. The owner of the
            value is then not known.
    """

    value: bytes = b""
    timestamp_ms: int = -1
    claim: Claim | None = None
    is_corrupt: bool = False

    @classmethod
    def of(cls, cell: Cell | None) -> StoredClaim:
        """Return the stored claim in `cell`, which is None if there is no cell.

        The result is corrupt in two cases:

        - The bytes do not decode.
        - The decoded claim has a later timestamp than the cell. Then another program wrote it.
        """
        if cell is None:
            return cls()
        try:
            claim = Claim.decode(cell.value)
        except CorruptRowError:
            return cls(cell.value, cell.timestamp_ms, is_corrupt=True)
        is_corrupt = claim is not None and claim.timestamp_ms > cell.timestamp_ms
        return cls(cell.value, cell.timestamp_ms, None if is_corrupt else claim, is_corrupt)


def read_claim(entry: Entry, context: GuardContext) -> Protocol[StoredClaim]:
    """Read the cell with the claim of a value from the index table."""
    get = GetRows(entry.table, (entry.key,), (CLAIM_COLUMN,))
    (row,) = yield from ask_with_retry(get, context.retries)
    return StoredClaim.of(row.cells.get(CLAIM_COLUMN) if row else None)


def corrupt_claim(
    index: IndexTarget, entry_key: bytes, stored: StoredClaim, **details: object
) -> CorruptRowError:
    """Return the error of a claim that is corrupt."""
    return CorruptRowError(
        "the claim of a unique value does not decode, so the row that has the value is unknown",
        table=index.table,
        index=index.name,
        entry=entry_key,
        **details,
        value=stored.value,
        fix="another program wrote it; repair it with engine.verify_index(M, index, repair=True)",
    )


def claims_of(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries that are claims, sorted."""
    return sorted(entry for entry in entries if entry.kind is EntryKind.CLAIM)


def claim_all(
    target: GuardedTable, attempt: Attempt, entries: Sequence[Entry], context: GuardContext
) -> Protocol[None]:
    """Write the claims `entries` for the row of an attempt.

    If another row has one of the values, an error is raised before any claim is written. If the
    attempt fails later, its claims are stale. Other writers may take over stale claims.

    Raises:
        UniqueViolationError: Another row has one of the values.
        CorruptRowError: A claim is corrupt, and the row does not have its value yet.
        ConflictError: Other writers changed the claim at every attempt.
        GatewayError: A claim failed; the row must not be changed.
    """
    if len(entries) > 1:
        for entry in entries:
            stored = yield from read_claim(entry, context)
            if claim := _foreign(target.index_of(entry), stored, attempt.row):
                yield from _owner_before(target, entry, claim, attempt.row, context)
    for entry in entries:
        yield from claim_value(target, attempt, entry, context)


def _foreign(index: IndexTarget, stored: StoredClaim, row: bytes) -> Claim | None:
    """Return the decoded claim if a row other than `row` owns it; else None."""
    claim = stored.claim
    return None if claim is None or claim.owner == index.owner_of(row) else claim


def claim_value(
    target: GuardedTable, attempt: Attempt, entry: Entry, context: GuardContext
) -> Protocol[None]:
    """Write the claim of one value for the row of an attempt.

    If the row owns the claim already, the claim is written again with other bytes. So a writer that
    has read the old claim cannot take it over.
    """
    changes = ConditionalChanges()
    for rounds in range(1, MAX_CLAIM_ROUNDS + 1):
        stored = yield from read_claim(entry, context)
        if stored.claim is not None and stored.claim.nonce == attempt.guard.nonce:
            return  # made by a request whose answer was lost
        if (yield from _may_replace(target, attempt, entry, stored, context, rounds)) and (
            yield from swap(entry, stored, claim_mutation(target, attempt, entry, stored), changes)
        ):
            return
        yield from context.retries.pause(rounds)
    raise changes.error(
        ConflictError(
            "other writers claimed the value at every attempt",
            index=target.index_of(entry).name,
            row=attempt.row,
            rounds=MAX_CLAIM_ROUNDS,
            fix="write the row again",
        )
    )


def _may_replace(  # noqa: PLR0917  # one question, and all it depends on
    target: GuardedTable,
    attempt: Attempt,
    entry: Entry,
    stored: StoredClaim,
    context: GuardContext,
    rounds: int,
) -> Protocol[bool]:
    """Return whether a claim may be replaced now; first fence its owner if that is necessary.

    A fence is necessary if another row owns the claim and may have a write in progress. If such a
    claim is also young, the result is False in the first `POLITE_ROUNDS` rounds: its write may end.
    """
    if stored.is_corrupt and entry not in attempt.old_entries:
        raise corrupt_claim(target.index_of(entry), entry.key, stored, row=attempt.row)
    claim = _foreign(target.index_of(entry), stored, attempt.row)
    if claim is None:
        return True  # also of a corrupt one: of rows that have the value there is one at most
    before = yield from _owner_before(target, entry, claim, attempt.row, context)
    if fencing.is_dead_entry(before, claim.timestamp_ms):
        return True
    is_young = abs(context.now_ms() - claim.timestamp_ms) < YOUNG_MS
    if is_young and rounds <= POLITE_ROUNDS:
        return False
    return (yield from fence_owner(target, entry, claim, before, context))


def _owner_before(
    target: GuardedTable, entry: Entry, claim: Claim, row: bytes, context: GuardContext
) -> Protocol[RowBefore]:
    """Return the row that owns `claim`; raise an error if that row has the value.

    Raises:
        UniqueViolationError: The owner has the value, so `row` cannot have it.
    """
    index = target.index_of(entry)
    columns = with_guard(target.existence_columns | index.columns)
    owner = index.row_of(claim.owner)
    before = yield from read_before(target, owner, columns, context)
    refuse_sealed(target, owner, before)
    if entry.key in target.entry_keys(index, owner, before.values):
        raise UniqueViolationError(
            "another row already has this unique value",
            index=index.name,
            table=target.table,
            row=row,
            owner=claim.owner,
            fix="write another value, or first change the row that has this one",
        )
    return before


def fence_owner(
    target: GuardedTable, entry: Entry, claim: Claim, before: RowBefore, context: GuardContext
) -> Protocol[bool]:
    """Fence the owner of a claim, so that its writes in progress fail; see `fence.fence`."""
    owner = target.index_of(entry).row_of(claim.owner)
    return (yield from fencing.fence(target, owner, before, claim.timestamp_ms, context))


def claim_mutation(
    target: GuardedTable, attempt: Attempt, entry: Entry, stored: StoredClaim
) -> RowMutation:
    """Return the mutation that puts an attempt's claim, with a later timestamp than `stored`."""
    owner = target.index_of(entry).owner_of(attempt.row)
    timestamp_ms = covering_timestamp(attempt, owner, stored.claim)
    claim = Claim(owner, timestamp_ms, attempt.guard.nonce)
    cell_ms = max(timestamp_ms, stored.timestamp_ms + 1)
    return RowMutation(entry.key, puts=(Put(CLAIM_COLUMN, claim.encode(), cell_ms),))


def covering_timestamp(attempt: Attempt, owner: bytes, replaced: Claim | None) -> int:
    """Return the timestamp of a claim: the attempt's, or the replaced claim's if that is later.

    The timestamp of `replaced` counts only if `owner`, the row of the attempt, owns it. A later
    attempt of the row may have made it. With an earlier timestamp, other writers could treat the
    claim as older than the row's guard.
    """
    if replaced is None or replaced.owner != owner:
        return attempt.timestamp_ms
    return max(attempt.timestamp_ms, replaced.timestamp_ms)


def free_mutation(entry: Entry, stored: StoredClaim, nonce: bytes) -> RowMutation:
    """Return the mutation that releases a claim: it puts a FREE marker and deletes older cells."""
    timestamp_ms = stored.timestamp_ms + 1
    free = _HEAD.pack(_FREE, timestamp_ms, nonce)
    return RowMutation(
        entry.key,
        puts=(Put(CLAIM_COLUMN, free, timestamp_ms),),
        deletes=(Delete(CLAIM_COLUMN, stored.timestamp_ms),),
        ttl_ms=FREE_TTL_MS,
    )


def release(
    target: GuardedTable,
    entries: Iterable[Entry],
    row: bytes,
    up_to_ms: int,
    context: GuardContext,
) -> Protocol[None]:
    """Release the claims among `entries` that `row` owns; the row does not have their values now.

    Two kinds of claims are not released:

    - a claim with a timestamp after `up_to_ms`, because it may belong to a write in progress
    - a corrupt claim, because the repair handles it
    """
    for entry in claims_of(entries):
        stored = yield from read_claim(entry, context)
        if stored.is_corrupt:
            logger.warning("the claim %r in %s does not decode", entry.key, entry.table)
        claim = stored.claim
        is_own = claim is not None and claim.owner == target.index_of(entry).owner_of(row)
        if claim is not None and is_own and claim.timestamp_ms <= up_to_ms:
            mutation = free_mutation(entry, stored, context.nonce())
            yield from swap(entry, stored, mutation)


def swap(
    entry: Entry,
    stored: StoredClaim,
    mutation: RowMutation,
    changes: ConditionalChanges | None = None,
) -> Protocol[bool]:
    """Apply `mutation` if the claim has not changed since it was read; return True if applied.

    `stored` is the claim as it was read. False means that the claim has changed since then, or that
    the outcome is unknown.
    """
    request = CheckAndMutate(entry.table, CLAIM_COLUMN, stored.value, mutation)
    return (changes or ConditionalChanges()).ask(request)
