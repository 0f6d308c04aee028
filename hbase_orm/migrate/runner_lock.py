"""The lock of the runner: one program at a time works on the tables of a history.

- The lock's cell has a fencing number, which only grows, and a nonce, which each change replaces.
- The runner renews its lock on a thread of its own, because a step may wait or work for hours
  between two checkpoints. Without renewal for one lease, as another program sees it by its own
  monotonic clock, that program takes the lock over. No two clocks are compared.
- Whatever the runner records is conditional on the lock's exact bytes, in the same row. A runner
  that was suspended and has lost its lock records nothing: `LockLostError` ends its work.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from hbase_orm.binding.runner import Runner
from hbase_orm.binding.table_holds.renewals import RENEWALS_PER_LEASE, Renewals
from hbase_orm.errors import HBaseORMError
from hbase_orm.migrate.errors import LockHeldError, LockLostError
from hbase_orm.migrate.history import (
    Change,
    LockCell,
    MigrationHistory,
    create_history,
    read_history,
    record_change,
)
from hbase_orm.ops import Protocol, RenewTimeLimit, Sleep, ask

logger = logging.getLogger("hbase_orm.migrate")

_ID_BYTES: Final = 8
_LOOKS_PER_RENEWAL: Final = 2

_TO_TAKE_OVER: Final = (
    "wait until it has finished; if it was killed, its lock lapses when it has not renewed it for "
    "a lease, as this program sees it: run the command again"
)


def _silent() -> None:
    """Do nothing: the default function for waits."""


@dataclass(frozen=True, slots=True)
class LockClaim:
    """What a runner needs to take the lock.

    Attributes:
        id: A random id.
        holder: The runner and its purpose, for people.
        lease_s: The lease, in seconds.
        now_ms: A function that returns the time, for people and for timestamps.
        monotonic_s: A monotonic clock.
        on_wait: A function that is called during waits for another runner's lock.
    """

    id: str
    holder: str
    lease_s: float
    now_ms: Callable[[], int]
    monotonic_s: Callable[[], float]
    on_wait: Callable[[], None] = _silent

    def lock(self, fence: int) -> LockCell:
        """Return the lock of this runner."""
        return LockCell(
            fence, self.id, self.holder, self.now_ms(), self.lease_s, _random_text(), is_held=True
        )


def _random_text() -> str:
    return os.urandom(_ID_BYTES).hex()


def take_lock(table: str, claim: LockClaim) -> Protocol[MigrationHistory]:
    """Take the lock; return the history. The table must exist.

    If another runner has the lock, watch it for its lease. Then take it over, unless it was
    renewed meanwhile.

    Raises:
        LockHeldError: Another runner is at work.
    """
    history = yield from read_history(table)
    if history.lock is not None and history.lock.is_held and history.lock.id != claim.id:
        history = yield from _watched(table, history, history.lock, claim)
    fence = 1 if history.lock is None else history.lock.fence + 1
    taken = yield from record_change(
        table, history, claim.lock(fence), Change(), now_ms=claim.now_ms()
    )
    if taken is not None:
        return taken
    now = yield from read_history(table)
    if now.lock is None or now.lock.id != claim.id:
        raise _held(table, now.lock)
    return now


def _watched(
    table: str, history: MigrationHistory, lock: LockCell, claim: LockClaim
) -> Protocol[MigrationHistory]:
    """Return the history as soon as nobody has the lock any more.

    Raises:
        LockHeldError: The runner has renewed its lock, or recorded something.
    """
    lease_s = max(lock.lease_s, claim.lease_s)
    until_s = claim.monotonic_s() + lease_s
    while (left_s := until_s - claim.monotonic_s()) > 0:
        claim.on_wait()
        nap_s = lock.lease_s / RENEWALS_PER_LEASE / _LOOKS_PER_RENEWAL
        yield from ask(Sleep(min(left_s, nap_s)))
        yield from ask(RenewTimeLimit())
        now = yield from read_history(table)
        if now.lock is None or not now.lock.is_held:
            return now
        if now.lock_bytes != history.lock_bytes:
            raise _held(table, now.lock)
    return history


def _held(table: str, lock: LockCell | None) -> LockHeldError:
    since = None if lock is None else datetime.fromtimestamp(lock.since_ms / 1000, UTC)
    return LockHeldError(
        "another runner is at work on these migrations",
        table=table,
        holder=None if lock is None else lock.holder,
        since=None if since is None else since.isoformat(timespec="seconds"),
        lapses_after_s=None if lock is None else lock.lease_s,
        fix=_TO_TAKE_OVER,
    )


class RunnerLock:
    """Holds the lock within a with block, and records what the runner has done.

    Threads may share it.
    """

    def __init__(
        self,
        runner: Runner,
        table: str,
        purpose: str,
        *,
        now_ms: Callable[[], int],
        on_wait: Callable[[], None] = _silent,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            runner: What runs protocols.
            table: The table of the history; it is created if it is missing.
            purpose: What the runner does, for the errors of other runners.
            now_ms: A function that returns the time.
            on_wait: A function that is called during waits for another runner's lock.
        """
        self._runner = runner
        self._table = table
        self._claim = LockClaim(
            _random_text(),
            f"{purpose}, process {os.getpid()} on {socket.gethostname()}",
            runner.catalog.lease_s,
            now_ms,
            runner.catalog.monotonic_s,
            on_wait,
        )
        self._mutex = threading.Lock()
        self._history = MigrationHistory()
        self._is_lost = False
        self._renewals = Renewals(self._renew, self._claim.lease_s, "the migrations' lock", logger)

    @property
    def history(self) -> MigrationHistory:
        """The history as the last change left it."""
        return self._history

    @property
    def holder(self) -> str:
        """The name of this runner."""
        return self._claim.holder

    @property
    def now_ms(self) -> int:
        """The time by this runner's clock."""
        return self._claim.now_ms()

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            LockHeldError: Another runner is at work.
            FeatureMissingError: The engine has no Thrift2 gateway.
        """
        try:
            self._history = self._runner.run(self._taken())
        except LockHeldError:
            raise
        except BaseException:  # also an interrupt: the lock may be taken, and is released
            self._release()
            raise
        self._renewals.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Release the lock; if that fails, it lapses after a lease."""
        self._renewals.end()
        self._release()

    def check(self) -> None:
        """Raise an error if this runner knows that it has lost its lock; nothing is sent.

        Raises:
            LockLostError: It has.
        """
        if self._is_lost:
            raise _lost(self._table)

    def record(self, change: Change) -> MigrationHistory:
        """Record a change, and renew the lock; return the new history.

        Raises:
            LockLostError: Another runner has taken over; nothing was recorded.
            GatewayError: It is unknown whether the change was recorded.
        """
        with self._mutex:
            self.check()
            return self._recorded(change, is_held=True)

    def _taken(self) -> Protocol[MigrationHistory]:
        yield from create_history(self._table)
        return (yield from take_lock(self._table, self._claim))

    def _renew(self) -> bool:
        with self._mutex:
            if not self._is_lost:
                try:
                    self._recorded(Change(), is_held=True)
                except LockLostError:
                    return False
            return not self._is_lost

    def _release(self) -> None:
        with self._mutex:
            if self._is_lost:
                return
            try:
                if self._history.lock is None:
                    self._history = self._runner.run(read_history(self._table))
                if self._has_lock(self._history):
                    self._recorded(Change(), is_held=False)
            except HBaseORMError as error:
                logger.warning("the migrations' lock was not released, it will lapse: %s", error)

    def _has_lock(self, history: MigrationHistory) -> bool:
        return history.lock is not None and history.lock.id == self._claim.id

    def _recorded(self, change: Change, *, is_held: bool) -> MigrationHistory:
        while True:
            lock = self._history.lock
            if lock is None:
                raise AssertionError(change)
            wanted = replace(lock, nonce=_random_text(), is_held=is_held)
            history = self._runner.run(
                record_change(self._table, self._history, wanted, change, now_ms=self.now_ms)
            )
            if history is not None:
                self._history = history
                return history
            stored = self._runner.run(read_history(self._table))
            if not self._has_lock(stored):
                self._is_lost = True
                raise _lost(self._table)
            # An earlier change of this runner, which was interrupted, has arrived meanwhile.
            self._history = stored


def _lost(table: str) -> LockLostError:
    return LockLostError(
        "another runner has taken over, because this one did not renew its lock for a lease",
        table=table,
        fix="look at 'hbase-orm current'; the other runner goes on where this one was",
    )
