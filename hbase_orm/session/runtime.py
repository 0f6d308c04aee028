"""What sessions of one engine share: the gateway behind its driver, the clock, the catalog view."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from typing import Any, Final, TypeVar
from weakref import WeakSet

from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.bounded import Patience
from hbase_orm.gateway.drive import Driver, Outcome
from hbase_orm.gateway.grouped import run_grouped
from hbase_orm.gateway.read_sizes import ReadSizes
from hbase_orm.index.catalog import CATALOG_TABLE, LEASE_S, CatalogView, read_entry
from hbase_orm.index.catalog_entry import CatalogEntry
from hbase_orm.index.targets import GuardContext
from hbase_orm.ops import Operation, Protocol, Sleep
from hbase_orm.schema import TableSchema
from hbase_orm.session.ahead import RowsAhead
from hbase_orm.session.clean_up import CleanUp
from hbase_orm.session.unclosed import Unclosed

logger = logging.getLogger("hbase_orm.session")

R = TypeVar("R")
T = TypeVar("T")

# A put in the same millisecond as a delete of its row is lost to the tombstone: 1 ms between the
# answer to the delete and the put made that 0 of 1,200; 2 ms leave room for the clock's grain.
TIE_S: Final = 0.002
_MANY: Final = 10_000
_ROW_LOCKS: Final = 64
_AHEAD_MS: Final = 20
_LONGEST_WAIT_S: Final = 1.0


def wall_clock_ms() -> int:
    """Return this machine's time, milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Runtime:
    """Executes requests and protocols for the sessions of one engine. Threads may share it.

    Attributes:
        gateway: Executes single requests.
        catalog: This process's view of the catalog.
        guard_context: Clocks, randomness and the catalog's permission for guarded writes.
        lease_s: How long what was read of the catalog may be acted on, seconds.
        unclosed: The reads under way.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        parallel: int,
        fan_out: int = 1,
        timestamps: str = "server",
        repairs_on_read: bool = False,
        defers_clean_up: bool = False,
        now_ms: Callable[[], int] = wall_clock_ms,
        monotonic_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        lease_s: float = LEASE_S,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            gateway: Where requests go.
            parallel: How many protocols run side by side.
            fan_out: How many scanners of one statement are opened and read side by side, at most
                as many as `parallel`; 1 makes every request of a statement in turn.
            timestamps: Who stamps plain rows whose model does not say it: "server" or "client".
            repairs_on_read: Whether stale index entries that statements meet are repaired.
            defers_clean_up: Whether dead index entries are deleted after the write, by a thread.
            now_ms: The wall clock of guarded rows, and of those that the client stamps.
            monotonic_s: A clock for leases and waits.
            sleep: Waits so many seconds.
            lease_s: How long what was read of the catalog may be acted on.
        """
        self.gateway = gateway
        self.repairs_on_read = repairs_on_read
        self.lease_s = lease_s
        self.unclosed = Unclosed()
        self.catalog = CatalogView(monotonic_s, lease_s)
        self._clean_up = CleanUp(lambda: Patience(gateway, monotonic_s).execute)
        self.guard_context = GuardContext(
            now_ms=now_ms,
            nonce=lambda: os.urandom(8),
            jitter=random.random,
            permit=self.catalog.permit,
            put_off=self._clean_up.put_off if defers_clean_up else None,
        )
        self._driver = Driver(gateway, parallel=parallel, sleep=sleep, clock=monotonic_s)
        self._read_sizes = ReadSizes()
        self._fan_out = fan_out
        self._timestamps = timestamps
        self._last_stamp_ms = 0
        self._monotonic_s = monotonic_s
        self._sleep = sleep
        self._looked_up: dict[str, tuple[float, CatalogEntry | None]] = {}
        self._contexts: dict[int, GuardContext] = {}
        self._deleted: dict[tuple[str, bytes], float] = {}
        self._last_delete_s = 0.0
        self._ahead = RowsAhead()
        self._lock = threading.Lock()
        self._row_locks = _new_row_locks()
        _RUNTIMES.add(self)

    def free_lock_in_child(self) -> None:
        """Replace the locks, which a fork copies as held by threads that the child lacks."""
        self._lock = threading.Lock()
        self._row_locks = _new_row_locks()
        self._ahead.free_lock_in_child()
        self._clean_up.forget()

    @property
    def parallel(self) -> int:
        """How many protocols run side by side."""
        return self._driver.parallel

    def monotonic_s(self) -> float:
        """Return the seconds of a clock for leases and waits."""
        return self._monotonic_s()

    @property
    def features(self) -> frozenset[Feature]:
        """What the gateway can do."""
        return self.gateway.features

    def execute(self, operation: Operation[R]) -> R:
        """Send one request and return its answer."""
        return self.gateway.execute(operation)

    @contextmanager
    def through(self, gateway: Gateway) -> Iterator[Runtime]:
        """Give one that knows what this one knows and sends through `gateway`, for a block."""
        other = copy(self)
        other.gateway = gateway
        driver = Driver(
            gateway,
            parallel=self._driver.parallel,
            sleep=self._sleep,
            clock=self._monotonic_s,
        )
        other._driver = driver  # noqa: SLF001 - one of this class
        try:
            yield other
        finally:
            driver.let_go()

    def patience(self) -> Patience:
        """Return what sends the requests of one piece of work.

        With a gateway that does not answer, that ends after the time of about one request.
        """
        return self._driver.patience()

    def answering(self, patience: Patience | None = None) -> Callable[[Operation[Any]], Any]:
        """Return what answers the requests and waits of one read."""
        patience = patience or self.patience()

        def answer(operation: Operation[Any]) -> Any:
            if isinstance(operation, Sleep):
                self._sleep(patience.pause_s(operation.seconds))
                return None
            return patience.execute(operation)

        return answer

    def run(self, protocol: Protocol[R]) -> R:
        """Run a protocol to its end."""
        return self._driver.run(protocol)

    def run_many(
        self, protocols: Sequence[Protocol[R]], expected_bytes: Sequence[int] = ()
    ) -> list[Outcome[R]]:
        """Run protocols, what they ask alike as one request; return how each ended, in order.

        Args:
            protocols: What to run.
            expected_bytes: How much each is expected to read at a time at least, if known.
        """
        return run_grouped(
            self._driver,
            protocols,
            expected_bytes=expected_bytes,
            alone=(CATALOG_TABLE,),  # one answer renews the lease for all that ask later
            sizes=self._read_sizes,
        )

    def each(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        """Do the reading work on each item, several at once; return the results in order.

        Raises the first failure, by position, once what had begun has ended.
        """
        return self._driver.each(work, items, self._fan_out)

    def catalog_entry(self, table: str, patience: Patience | None = None) -> CatalogEntry | None:
        """Return what the catalog says of a table, not older than a lease; opens nothing."""
        asked_s, entry = self._looked_up.get(table, (0.0, None))
        if table not in self._looked_up or self._monotonic_s() >= asked_s + self.lease_s:
            asked_s = self._monotonic_s()
            entry = self._driver.run(read_entry(table), patience)
            self._looked_up[table] = (asked_s, entry)
        return entry

    def context_under(self, epoch: int) -> GuardContext:
        """Return `guard_context` for writes prepared by what the catalog said at this epoch."""
        known = self._contexts.get(epoch)
        if known is None:
            permit = self.catalog.permit_under(epoch)
            known = self._contexts[epoch] = replace(self.guard_context, permit=permit)
        return known

    def forget(self, table: str) -> None:
        """Know nothing of a table any more: it was dropped, or made anew."""
        self.catalog.forget(table)
        self._looked_up.pop(table, None)

    def note_deletes(self, rows: Sequence[tuple[str, bytes]]) -> None:
        """Remember rows of which something was deleted; the answer has just come."""
        if not rows:
            return
        now = self._monotonic_s()
        with self._lock:
            if now > self._last_delete_s + TIE_S or len(self._deleted) > _MANY:
                self._deleted = {row: at for row, at in self._deleted.items() if at + TIE_S > now}
            self._deleted.update(dict.fromkeys(rows, now))
            self._last_delete_s = now

    def wait_for_ties(self, rows: Sequence[tuple[str, bytes]]) -> None:
        """Wait until no put of these rows can share a millisecond with a delete of them."""
        now = self._monotonic_s()
        if not self._deleted or now > self._last_delete_s + TIE_S:
            return
        with self._lock:
            noted = [self._deleted[row] for row in rows if row in self._deleted]
        if noted and max(noted) + TIE_S > now:
            self._sleep(max(noted) + TIE_S - now)

    def note_counted(self, row: tuple[str, bytes]) -> None:
        """Remember a row that was incremented or appended to; the answer has just come or not."""
        self._ahead.note(row, self._monotonic_s())

    def wait_for_counts(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Wait until what is written now covers what this process counted in these rows."""
        now_s = self._monotonic_s()
        until_s = self._ahead.until_s(rows, now_s)
        if not until_s:
            return
        if until_s > now_s + _LONGEST_WAIT_S:
            logger.warning(
                "waiting %.1f s for the clock: increments have stamped a row that far ahead",
                until_s - now_s,
            )
        self._sleep(until_s - now_s)

    def stamps(self, schema: TableSchema) -> bool:
        """Say whether this client stamps the cells of a plain model."""
        return (schema.timestamps or self._timestamps) == "client"

    def stamp_ms(self) -> int:
        """Return a timestamp by this machine's clock, above all that it gave before.

        It never goes back. Many in one millisecond run ahead of time; it then waits.
        """
        with self._lock:
            now_ms = self.guard_context.now_ms()
            stamp_ms = self._last_stamp_ms = max(now_ms, self._last_stamp_ms + 1)
        if now_ms + _AHEAD_MS < stamp_ms < now_ms + _AHEAD_MS * 100:
            self._sleep(_AHEAD_MS / 1000)
        return stamp_ms

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self._sleep(seconds)

    def alone(self, row: tuple[str, bytes], work: Callable[[], R]) -> R:
        """Do the work while no other thread of this engine changes the row; return its result.

        It spares them rounds lost to each other; that writes are right does not depend on it, so
        nobody waits long for a lock.
        """
        lock = self._row_locks[hash(row) % len(self._row_locks)]
        try:
            try:
                lock.acquire(timeout=_LONGEST_WAIT_S)
                return work()
            finally:
                _release(lock)
        finally:
            _release(lock)  # an exception from outside may have cut the first short

    def finish_clean_up(self) -> None:
        """Delete the dead index entries that wait, and return when that is done."""
        self._clean_up.finish()

    def close(self) -> None:
        """Finish what was put off, and close the driver and the gateway."""
        try:
            self._clean_up.close()
            self.unclosed.close_dropped()
            self._driver.close()
        finally:
            self.gateway.close()


def _release(lock: threading.RLock) -> None:
    """Free a lock if this thread has it, which an interrupted `acquire` does not tell."""
    with suppress(RuntimeError):
        lock.release()


def _new_row_locks() -> list[threading.RLock]:
    return [threading.RLock() for _ in range(_ROW_LOCKS)]


_RUNTIMES: WeakSet[Runtime] = WeakSet()


def _free_locks_in_child() -> None:
    for runtime in tuple(_RUNTIMES):
        runtime.free_lock_in_child()


os.register_at_fork(after_in_child=_free_locks_in_child)
