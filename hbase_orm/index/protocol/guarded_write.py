"""The guarded write: the protocol that changes a row with index entries.

The steps of `guarded_write`, a sans-I/O protocol:

1. Read the row and its guard.
2. Claim unique values and put the index entries of the new row.
3. Change the row by one check-and-mutate on the guard.
4. Verify covering entries, and delete the entries that the row no longer has.

A reader that checks entries against rows then never misses a row, whichever process crashes.

The rules of the protocol, each in its own function:

- R1 entries before data: `entries_then_row`
- R2 continue only after every put of an entry was acknowledged: `put_entries`
- R3 change the row by one atomic request with a check of its guard: `change_row`
- R4 keep the guard after a delete of the row: `attempt.guard_changes`
- R5 after a failed or unanswered attempt delete nothing, and find out its outcome: `settle`
- R6 delete stale entries only up to the write's timestamp: `attempt.dead_entry_deletes`
- timestamps only grow: `attempt.next_timestamp` above `attempt.newest_timestamp`, for which
  `requests.read_before` looks at the tombstones of rows without a guard
- the repairer's fence: `fence.fence`

Writes of programs without this library are not detected; see the documentation on guarded tables.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar

from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    DuplicateRowError,
    GatewayError,
    HBaseORMError,
    RejectedError,
    RetryableError,
    RowNotFoundError,
)
from hbase_orm.index.entries.change_checks import check_change
from hbase_orm.index.entries.guard_cell import nonces_of
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    Entry,
    GuardContext,
    GuardedTable,
    RowBefore,
    RowChange,
    WriteOutcome,
)
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol import claims
from hbase_orm.index.protocol.attempt import Attempt
from hbase_orm.index.protocol.requests import (
    joined,
    read_before,
    refuse_corrupt_guard,
    refuse_sealed,
)
from hbase_orm.index.protocol.write_errors import denied, not_written, unknown_outcome
from hbase_orm.ops import CheckAndMutate, Protocol, Sleep, ask, ask_all_with_retry

R = TypeVar("R")

logger = logging.getLogger("hbase_orm.index")

MAX_ROUNDS: Final = 100
"""The number of attempts before a write gives up, after some ten seconds.

With eight writers of two rows, a write needs about two attempts, and sometimes twenty or more. If
the writes of a row need a hundred, the model needs another row key.
"""

COUNTER_TIE_S: Final = 0.002
"""The pause after a delete of counters, which would hide increments in the same millisecond."""


class AttemptFate(Enum):
    """The outcome of an attempt whose row change HBase did not acknowledge."""

    APPLIED = "its nonce is in the row's guard, as the nonce or among the predecessors"
    UNMOVED = "the row still has the guard that was read: the same request may be sent again"
    SUPERSEDED = "another write changed the guard first: the attempt is never applied"
    UNKNOWN = "more writes happened than the guard remembers"


@dataclass(slots=True)
class History:
    """The state of one guarded write across its attempts and leases.

    Attributes:
        left: All entries that may exist, because attempts put them or the row had them before.
        put: The entries that this write has put.
        sent: The attempts whose row change was sent, by nonce.
        in_doubt: The nonces of attempts whose outcome is unknown.
        last_ms: The timestamp of the last attempt. The next attempt has the same or a later one, so
            that its deletes include the entries in `left`.
        rounds: The number of attempts.
        before_move: The state of the same write in the table from which the row's table takes over
            rows; None if it was not written there.
    """

    left: frozenset[Entry] = frozenset()
    put: frozenset[Entry] = frozenset()
    sent: dict[bytes, Attempt] = field(default_factory=dict)
    in_doubt: set[bytes] = field(default_factory=set)
    last_ms: int = 0
    rounds: int = 0
    before_move: History | None = None

    def in_old_table(self) -> History:
        """Return the state of the same write in the table from which rows are taken over."""
        self.before_move = self.before_move or History()
        return self.before_move

    def forget_other_tables(self, tables: Collection[str]) -> None:
        """Remove entries from `left` and `put` unless their index table is in `tables`."""
        self.left = frozenset(entry for entry in self.left if entry.table in tables)
        self.put = frozenset(entry for entry in self.put if entry.table in tables)


def guarded_write(
    target: GuardedTable,
    change: RowChange,
    context: GuardContext,
    history: History | None = None,
    *,
    as_read: RowBefore | None = None,
) -> Protocol[WriteOutcome]:
    """Change one row and its index entries; return the acknowledged write.

    If the outcome of an attempt cannot be found out, a "put", "replace" or "delete" is repeated. An
    "insert", and a change that depends on the row, is not repeated. An error other than
    ConnectionLostError means that the row was not changed. After the row is changed, no error is
    raised: failures of the remaining steps are logged.

    Args:
        target: The table with the indexes that the catalog makes writers maintain.
        change: The change of the row.
        context: The clocks, random numbers and catalog leases.
        history: The state of the same write before a lease expired. The write continues from there.
        as_read: The row with its guard and all columns that the change needs, if it was read
            before. It may have changed since: then its guard has changed, too. None means that it
            is read first.

    Raises:
        DuplicateRowError: The row to insert exists already.
        UniqueViolationError: Another row has a unique value; `index` and `owner` name it.
        ConflictError: The row to update does not exist, or other writers changed the row at every
            attempt.
        RowMovedError: The row was handed over to another table.
        RowNotFoundError: The row to reindex does not exist; nothing needs to be done.
        ClockError: The row's timestamps are more than an hour in the clock's future.
        CorruptRowError: The row's guard, or the claim of a unique value, does not decode.
        CatalogLeaseError: The lease expired: read the catalog again and repeat the write with the
            same history.
        RetryableError: The row was not written; the same write may be repeated.
        RejectedError: HBase refuses the request; the row was not changed.
        ConnectionLostError: The outcome is unknown; the error has `table` and `row`.
    """
    check_change(target, change)
    history = history or History()
    history.forget_other_tables({index.table for index in target.maintained})
    try:
        return (yield from _rounds(target, change, context, history, as_read))
    except RowNotFoundError:
        raise  # a row that is gone needs no reindexing, whatever became of a try
    except HBaseORMError as error:
        if history.in_doubt:
            raise unknown_outcome(target, change, history.in_doubt) from error
        if isinstance(error, ConnectionLostError):
            raise not_written(target, change) from error
        raise


def _rounds(
    target: GuardedTable,
    change: RowChange,
    context: GuardContext,
    history: History,
    before: RowBefore | None,
) -> Protocol[WriteOutcome]:
    columns = target.read_columns(change)
    while history.rounds < MAX_ROUNDS:
        history.rounds += 1
        if before is None:
            is_new = change.kind == "insert" and history.rounds == 1
            before = yield from read_before(target, change.row, columns, context, is_new=is_new)
        attempt = _next_attempt(target, change, before, context, history)
        history.last_ms = attempt.timestamp_ms
        history.put |= attempts.entries_to_put(target, attempt)
        history.left |= attempt.old_entries | history.put
        winner, before = yield from _try_once(target, attempt, columns, context, history)
        if winner is not None:
            return (yield from _tidy(target, winner, context, history))
        if change.is_relative and history.in_doubt:
            raise unknown_outcome(target, change, history.in_doubt)
        if history.rounds > 1:
            yield from context.retries.pause(history.rounds)
            before = None
    raise ConflictError(
        "other writers changed the row at every attempt",
        table=target.table,
        row=change.row,
        rounds=history.rounds,
        fix="let fewer programs write the row at the same time, or use several rows instead",
    )


def _next_attempt(
    target: GuardedTable,
    change: RowChange,
    before: RowBefore,
    context: GuardContext,
    history: History,
) -> Attempt:
    epoch = context.permit(target.table)
    refuse_sealed(target, change.row, before)
    before = attempts.with_plausible_guard(before, epoch)
    attempts.check_epoch(target.table, before, epoch)
    if change.check is not None:
        change.check(before)
    if change.decide is not None:
        change = change.decide(before)
        check_change(target, change)
    refuse_corrupt_guard(target, change, before)
    if change.kind == "insert" and target.exists(before.cells):
        raise DuplicateRowError("the row exists already", table=target.table, row=change.row)
    if change.kind == "update" and not target.exists(before.cells):
        raise ConflictError(
            "the row was deleted after it was loaded",
            table=target.table,
            row=change.row,
            fix="to write the row again, add a new object with all its fields",
        )
    if change.kind == "reindex" and not target.exists(before.cells):
        raise RowNotFoundError("the row no longer exists", table=target.table, row=change.row)
    now_ms = context.now_ms()
    t = max(attempts.next_timestamp(now_ms, before.newest_seen_ms), history.last_ms)
    attempts.check_clock(target.table, change.row, t, now_ms)
    return attempts.plan_attempt(
        target, change, before, timestamp_ms=t, nonce=context.nonce(), epoch=epoch
    )


def _try_once(
    target: GuardedTable,
    attempt: Attempt,
    columns: tuple[bytes, ...],
    context: GuardContext,
    history: History,
) -> Protocol[tuple[Attempt | None, RowBefore | None]]:
    """Make one attempt; return the attempt that was applied, and the row if it was read again.

    The applied attempt may be an earlier attempt whose answer was lost. It is None if no attempt
    was applied. The row is None if it was not read again.
    """
    answer = yield from entries_then_row(target, attempt, context, history)
    sends = 1
    while answer is not True:
        verdict, winner, now = yield from settle(target, attempt, columns, context, history)
        if verdict is not AttemptFate.UNMOVED:
            return winner, now
        if isinstance(answer, RejectedError) or sends == context.retries.attempts:
            raise answer if isinstance(answer, GatewayError) else denied(attempt)
        yield from context.retries.pause(sends)
        answer = yield from change_row(target, attempt, context, history)
        sends += 1
    return attempt, None


def entries_then_row(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: History
) -> Protocol[bool | GatewayError]:
    """Write claims and put entries, then change the row (R1); return the result of `change_row`."""
    entries = attempts.entries_to_put(target, attempt)
    if target.has_claims and (claimed := claims.claims_of(entries)):
        yield from claims.claim_all(target, attempt, claimed, context)
    yield from put_entries(entries, attempt, context)
    return (yield from change_row(target, attempt, context, history))


def put_entries(
    entries: frozenset[Entry], attempt: Attempt, context: GuardContext
) -> Protocol[None]:
    """Put index entries, and wait until every put was acknowledged (R2).

    The puts have explicit timestamps, so they may be sent again.

    Raises:
        GatewayError: A put was not acknowledged; the data row must not be changed.
    """
    yield from ask_all_with_retry(
        attempts.entry_puts(entries, attempt.timestamp_ms), context.retries
    )


def change_row(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: History
) -> Protocol[bool | GatewayError]:
    """Change the data row by one check-and-mutate on its guard (R3); return the answer or error.

    Raises:
        CatalogLeaseError: The lease expired after the row was read; nothing was sent.
    """
    context.permit(target.table)
    history.sent[attempt.guard.nonce] = attempt
    try:
        answer = yield from ask(check_on_guard(target, attempt))
    except (RetryableError, RejectedError) as error:
        return error  # not applied
    except GatewayError as error:
        history.in_doubt.add(attempt.guard.nonce)
        return error
    if not answer:
        history.in_doubt.add(attempt.guard.nonce)
    return answer


def check_on_guard(target: GuardedTable, attempt: Attempt) -> CheckAndMutate:
    """Return the request that changes the row only if its guard is unchanged."""
    expected = attempt.before.guard_bytes
    return CheckAndMutate(target.table, GUARD_COLUMN, expected, attempt.mutation)


def settle(
    target: GuardedTable,
    attempt: Attempt,
    columns: tuple[bytes, ...],
    context: GuardContext,
    history: History,
) -> Protocol[tuple[AttemptFate, Attempt | None, RowBefore]]:
    """Determine the outcome of an attempt that was not acknowledged; delete nothing (R5).

    Return the outcome, the applied attempt (None if none was applied), and the row as it is now. An
    attempt counts as failed only if its nonce is not in the guard. The answer False does not prove
    a failure, because the gateway may have sent the request twice.
    """
    now = yield from read_before(target, attempt.row, columns, context)
    ring = nonces_of(now.guard)
    for nonce in ring:
        if nonce in history.sent:
            return AttemptFate.APPLIED, history.sent[nonce], now
    # The nonce alone is not enough: a guard that is replaced in place keeps it.
    if now.guard_bytes == attempt.before.guard_bytes:
        return AttemptFate.UNMOVED, None, now
    if attempt.before.nonce in ring:
        history.in_doubt.discard(attempt.guard.nonce)
        return AttemptFate.SUPERSEDED, None, now
    return AttemptFate.UNKNOWN, None, now


def _tidy(
    target: GuardedTable, won: Attempt, context: GuardContext, history: History
) -> Protocol[WriteOutcome]:
    """Verify covering entries; delete the entries and claims that the row no longer has.

    The row is already written, so every failure is logged, and the repair does the rest.
    """
    dead = history.left - won.new_entries
    is_tidy = True
    try:
        put = history.put & won.new_entries
        verified = attempts.verified_entries(target, put, won.cells, won.timestamp_ms)
        deletes = attempts.dead_entry_deletes(dead, won.timestamp_ms)
        if context.put_off is not None:
            context.put_off(deletes)
            deletes = ()
        yield from ask_all_with_retry(joined((*verified, *deletes)), context.retries)
        if target.has_claims:
            yield from claims.release(target, dead, won.row, won.timestamp_ms, context)
    except HBaseORMError as error:
        is_tidy = False
        logger.warning(
            "index entries of row %r of %s are left untidy: %s", won.row, target.table, error
        )
    if any(delete.timestamp_ms is None for delete in won.mutation.deletes):
        yield from ask(Sleep(COUNTER_TIE_S))
    return WriteOutcome(won.timestamp_ms, won.guard.encode(), won.cells, history.rounds, is_tidy)
