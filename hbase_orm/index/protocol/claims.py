"""Unique values: the index table has one row for each value, which names the owning row.

A claim is made by check-and-mutate before the data row changes, and given up, also by
check-and-mutate, after it has changed. So a row that shows a value owns it at every moment. A claim
whose row does not show the value is stale, or its write is under way: whoever wants the value
first fences the owner (that write then loses its check) and then takes the claim over.

A claim is given up by a FREE marker that expires, not by a delete, whose tombstone would hide a
later claim of a lower timestamp. Every record is different, so no check mistakes one for another.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    RetryableError,
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
from hbase_orm.index.protocol.requests import read_before
from hbase_orm.ops import (
    MAX_ROW_KEY_BYTES,
    Cell,
    CheckAndMutate,
    Delete,
    GetRows,
    Protocol,
    Put,
    RowMutation,
    ask,
    ask_with_retry,
)

logger = logging.getLogger("hbase_orm.index")

CLAIM_COLUMN: Final = b"d:o"

FREE_TTL_MS: Final = DEAD_GUARD_TTL_MS
"""How long a FREE marker lives: as long as the guard of a deleted row, for the same reason."""

MAX_CLAIM_ROUNDS: Final = 50
"""Lost claims before a write gives up, after some four seconds."""

POLITE_ROUNDS: Final = 5
"""How often a write waits for a young claim of another row to become that row's value."""

YOUNG_MS: Final = 2_000

_HEAD: Final = struct.Struct(">cQ8s")
_OWNED, _FREE = b"C", b"F"


@dataclass(frozen=True, slots=True)
class Claim:
    """A decoded claim.

    Attributes:
        owner: The row key of the row that owns the value.
        timestamp_ms: Not below that of any write of the owner that relies on the claim.
        nonce: The nonce of the write that made it.
    """

    owner: bytes
    timestamp_ms: int
    nonce: bytes

    def encode(self) -> bytes:
        """Return the cell's value."""
        return _HEAD.pack(_OWNED, self.timestamp_ms, self.nonce) + self.owner

    @classmethod
    def decode(cls, value: bytes) -> Claim | None:
        """Return the claim that `value` holds; None if it says that nobody owns the value.

        Raises:
            CorruptRowError: No version of this library wrote these bytes.
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
    """What the index table says of one value.

    Attributes:
        value: The cell as stored; empty where there is none.
        timestamp_ms: The cell's timestamp; -1 where there is none.
        claim: The claim, or None where nobody owns the value, or it does not decode.
        is_corrupt: Whether it does not decode: nobody knows which row owns the value.
    """

    value: bytes = b""
    timestamp_ms: int = -1
    claim: Claim | None = None
    is_corrupt: bool = False

    @classmethod
    def of(cls, cell: Cell | None) -> StoredClaim:
        """Return what a cell that was read says.

        A claim's timestamp is never above its cell's; one that is, is another program's.
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
    """Read who owns a value."""
    get = GetRows(entry.table, (entry.key,), (CLAIM_COLUMN,))
    (row,) = yield from ask_with_retry(get, context.retries)
    return StoredClaim.of(row.cells.get(CLAIM_COLUMN) if row else None)


def corrupt_claim(
    index: IndexTarget, entry_key: bytes, stored: StoredClaim, **details: object
) -> CorruptRowError:
    """Return the error of a claim that does not decode."""
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
    """Return the entries that are claims, in a fixed order."""
    return sorted(entry for entry in entries if entry.kind is EntryKind.CLAIM)


def claim_all(
    target: GuardedTable, attempt: Attempt, entries: Sequence[Entry], context: GuardContext
) -> Protocol[None]:
    """Claim values for the row of a try; return when it owns them all.

    Of several, none is claimed while another row is seen to have one. Claims of a try that fails
    all the same are stale, and taken over by whoever wants the values.

    Raises:
        UniqueViolationError: Another row shows one of the values.
        CorruptRowError: A claim does not decode, and the row does not have the value yet.
        ConflictError: Other writers won every round.
        GatewayError: The row must not be changed.
    """
    if len(entries) > 1:
        for entry in entries:
            stored = yield from read_claim(entry, context)
            if claim := _foreign(stored, attempt.row):
                yield from _owner_before(target, entry, claim, attempt.row, context)
    for entry in entries:
        yield from claim_value(target, attempt, entry, context)


def _foreign(stored: StoredClaim, row: bytes) -> Claim | None:
    """Return the claim of another row, if there is one."""
    claim = stored.claim
    return None if claim is None or claim.owner == row else claim


def claim_value(
    target: GuardedTable, attempt: Attempt, entry: Entry, context: GuardContext
) -> Protocol[None]:
    """Claim one value for the row of a try; repeat an earlier claim of the same row.

    Who takes a claim over checks its bytes, and so loses against a try that began later.
    """
    for rounds in range(1, MAX_CLAIM_ROUNDS + 1):
        stored = yield from read_claim(entry, context)
        if stored.claim is not None and stored.claim.nonce == attempt.guard.nonce:
            return  # made by a request whose answer was lost
        if (yield from _may_replace(target, attempt, entry, stored, context, rounds)) and (
            yield from swap(entry, stored, claim_mutation(attempt, entry, stored))
        ):
            return
        yield from context.retries.pause(rounds)
    raise ConflictError(
        "other writers claimed the value at every attempt",
        index=target.index_of(entry).name,
        row=attempt.row,
        rounds=MAX_CLAIM_ROUNDS,
        fix="write the row again",
    )


def _may_replace(  # noqa: PLR0917  # one question, and all it depends on
    target: GuardedTable,
    attempt: Attempt,
    entry: Entry,
    stored: StoredClaim,
    context: GuardContext,
    rounds: int,
) -> Protocol[bool]:
    """Return whether a claim may be replaced now, having fenced its owner where that is needed."""
    if stored.is_corrupt and entry not in attempt.old_entries:
        raise corrupt_claim(target.index_of(entry), entry.key, stored, row=attempt.row)
    claim = _foreign(stored, attempt.row)
    if claim is None:
        return True  # also of a corrupt one: of rows that have the value there is one at most
    before = yield from _owner_before(target, entry, claim, attempt.row, context)
    if fencing.is_dead_entry(before, claim.timestamp_ms):
        return True
    is_young = abs(context.now_ms() - claim.timestamp_ms) < YOUNG_MS
    if is_young and rounds <= POLITE_ROUNDS:
        return False
    return (yield from fence_owner(target, claim, before, context))


def _owner_before(
    target: GuardedTable, entry: Entry, claim: Claim, row: bytes, context: GuardContext
) -> Protocol[RowBefore]:
    """Return the row that owns a value without showing it.

    Raises:
        UniqueViolationError: It shows the value.
    """
    index = target.index_of(entry)
    columns = with_guard(target.existence_columns | index.columns)
    before = yield from read_before(target, claim.owner, columns, context)
    if entry.key in target.entry_keys(index, claim.owner, before.values):
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
    target: GuardedTable, claim: Claim, before: RowBefore, context: GuardContext
) -> Protocol[bool]:
    """Make a write under way of a claim's owner lose; return whether that surely happened."""
    return (yield from fencing.fence(target, claim.owner, before, claim.timestamp_ms, context))


def claim_mutation(attempt: Attempt, entry: Entry, stored: StoredClaim) -> RowMutation:
    """Return the put of a try's claim, above whatever the cell holds."""
    timestamp_ms = covering_timestamp(attempt, stored.claim)
    claim = Claim(attempt.row, timestamp_ms, attempt.guard.nonce)
    cell_ms = max(timestamp_ms, stored.timestamp_ms + 1)
    return RowMutation(entry.key, puts=(Put(CLAIM_COLUMN, claim.encode(), cell_ms),))


def covering_timestamp(attempt: Attempt, replaced: Claim | None) -> int:
    """Return a timestamp not below that of any try of the row that relies on the claim.

    A later try of the row may have made the claim that this one replaces. While its timestamp
    stands, nobody takes the claim for one that the row's guard has left behind.
    """
    if replaced is None or replaced.owner != attempt.row:
        return attempt.timestamp_ms
    return max(attempt.timestamp_ms, replaced.timestamp_ms)


def free_mutation(entry: Entry, stored: StoredClaim, nonce: bytes) -> RowMutation:
    """Return the mutation that frees a claim: an expiring marker, with all older cells deleted."""
    timestamp_ms = stored.timestamp_ms + 1
    free = _HEAD.pack(_FREE, timestamp_ms, nonce)
    return RowMutation(
        entry.key,
        puts=(Put(CLAIM_COLUMN, free, timestamp_ms),),
        deletes=(Delete(CLAIM_COLUMN, stored.timestamp_ms),),
        ttl_ms=FREE_TTL_MS,
    )


def release(
    entries: Iterable[Entry], row: bytes, up_to_ms: int, context: GuardContext
) -> Protocol[None]:
    """Give up a row's claims of values that it does not show at its guard's timestamp.

    A claim above `up_to_ms` belongs to a write that may be under way, and is left. So is one that
    does not decode, to the repair.
    """
    for entry in claims_of(entries):
        stored = yield from read_claim(entry, context)
        if stored.is_corrupt:
            logger.warning("the claim %r in %s does not decode", entry.key, entry.table)
        claim = stored.claim
        if claim is not None and claim.owner == row and claim.timestamp_ms <= up_to_ms:
            mutation = free_mutation(entry, stored, context.nonce())
            yield from swap(entry, stored, mutation)


def swap(entry: Entry, stored: StoredClaim, mutation: RowMutation) -> Protocol[bool]:
    """Replace exactly the record that was read; return whether that surely happened."""
    request = CheckAndMutate(entry.table, CLAIM_COLUMN, stored.value, mutation)
    try:
        return (yield from ask(request))
    except (RetryableError, ConnectionLostError):
        return False
