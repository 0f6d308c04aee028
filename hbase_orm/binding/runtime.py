"""The runtime, which the sessions of one engine share: runner, caches, locks and clocks."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from hbase_orm.binding.clean_up import CleanUp
from hbase_orm.binding.open_reads import OpenReads, RowPages
from hbase_orm.binding.row_locks import RowLocks
from hbase_orm.binding.runner import Runner
from hbase_orm.binding.table_holds.exclusive_tables import ExclusiveTables
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.binding.write_clock import WriteClock, wall_clock_ms
from hbase_orm.execute import CorruptRowCount, Reading, stream
from hbase_orm.gateway.base import Gateway
from hbase_orm.index.catalog.lease import LEASE_S
from hbase_orm.index.entries.guard_cell import NONCE_BYTES
from hbase_orm.index.entries.targets import GUARDED_RETRIES, GuardContext
from hbase_orm.moving.moved_requests import through_moves
from hbase_orm.ops import GetRows, Protocol, Row, ask
from hbase_orm.query import OnCorrupt, Select

R = TypeVar("R")
T = TypeVar("T")


class Runtime(Runner):
    """Runs protocols, and holds what all sessions of an engine share. Threads may share it.

    Attributes:
        timeout_s: The time limit of a request to a gateway, in seconds; 0 in memory.
        clock: The clock for timestamps of writes and for waits for HBase's clock.
        writer: The object through which all writes are sent.
        row_locks: The locks of rows, for threads that change the same row.
        clean_up: The object that deletes stale index entries after the writes that left them.
        open_reads: The reads that have not ended or been closed yet.
        exclusive_tables: The tables that this engine uses exclusively.
        corrupt_rows: Counts the corrupt rows that statements left out, and knows what is done with
            them by default.
        statement_watchers: The functions that are called with each statement that was planned to be
            run. Threads call them side by side.
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
        on_corrupt: OnCorrupt = "raise",
        now_ms: Callable[[], int] = wall_clock_ms,
        monotonic_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        lease_s: float = LEASE_S,
        timeout_s: float = 0.0,
    ) -> None:
        """Prepare the runtime; nothing is sent.

        Args:
            gateway: The gateway that executes requests.
            parallel: The largest number of protocols that run in parallel.
            fan_out: How many scanners of one statement are read in parallel, at most `parallel`.
                With 1, the requests of a statement are sent one after another.
            timestamps: Who sets the timestamps of plain rows if their model does not declare it:
                "server" or "client".
            repairs_on_read: Whether statements repair stale index entries that they read.
            defers_clean_up: Whether a thread deletes stale index entries after the write.
            on_corrupt: What statements do with corrupt rows if they do not specify it.
            now_ms: The wall clock for timestamps of guarded rows and of rows with client
                timestamps.
            monotonic_s: A clock for leases and waits.
            sleep: A function that waits a number of seconds.
            lease_s: The time for which a catalog entry may be used after it was read, in seconds.
            timeout_s: The time limit of a request to a gateway; 0 in memory.
        """
        super().__init__(
            gateway,
            parallel=parallel,
            fan_out=fan_out,
            monotonic_s=monotonic_s,
            sleep=sleep,
            lease_s=lease_s,
        )
        self.timeout_s = timeout_s
        self.open_reads = OpenReads()
        self.row_locks = RowLocks()
        self.corrupt_rows = CorruptRowCount(on_corrupt)
        self.exclusive_tables = ExclusiveTables(self, now_ms)
        self.statement_watchers: list[Callable[[Select[Any]], None]] = []
        self.clean_up = CleanUp(lambda: self.patience().execute)
        self.clock = WriteClock(now_ms, monotonic_s, timestamps=timestamps)
        context = GuardContext(
            now_ms=now_ms,
            nonce=partial(os.urandom, NONCE_BYTES),
            retries=replace(GUARDED_RETRIES, jitter=random.random),
            permit=self.catalog.leases.permit,
            put_off=self.clean_up.put_off if defers_clean_up else None,
        )
        self.writer = TableWriter(
            gateway.features, self.catalog, self.clock, context, repairs_on_read=repairs_on_read
        )
        _RUNTIMES.add(self)

    def run(self, protocol: Protocol[R]) -> R:
        """Run a protocol to its end; reads of a table to which rows move read both tables.

        Raises:
            SchemaDriftError: A read of a table whose rows were handed over to another table.
        """
        writer = self.writer
        return self._driver.run(through_moves(protocol, writer.moves, writer.guard_context))

    def rows(self, request: GetRows) -> Sequence[Row | None]:
        """Return the answer to one request for rows by key; see `run`.

        Most reads of a program are a single get. While no rows are moved, it needs no protocol.
        """
        catalog = self.catalog
        if not catalog.has_moves:
            rows = self.patience().execute(request)
            if catalog.is_current(request.table):
                return rows
        return self.run(ask(request))

    def read(
        self, reading: Reading[T], after: Callable[[], Protocol[None] | None] | None = None
    ) -> RowPages[T]:
        """Return an iterator that runs a read page by page; close it to release open scanners.

        Earlier reads that the program dropped without closing them are closed first.

        Args:
            reading: The generator that makes the requests of the read and emits rows.
            after: A function that is called when the read has ended and its scanners are closed. It
                returns a protocol to run then, or None.
        """
        self.open_reads.close_dropped()
        then = None if after is None else partial(self._run_after, after)
        moved = through_moves(reading, self.writer.moves, self.guard_context)
        return self.open_reads.handle(stream(moved, self.answering(), self.each, after=then))

    def show_statement(self, stmt: Select[Any]) -> None:
        """Call the watchers with a statement that was planned and is about to be run."""
        for watcher in tuple(self.statement_watchers):
            watcher(stmt)

    def _run_after(self, after: Callable[[], Protocol[None] | None]) -> None:
        protocol = after()
        if protocol is not None:
            self.run(protocol)

    def free_locks_in_child(self) -> None:
        """Replace the locks in a forked child, where threads that held them do not exist.

        Waiting deletes of stale index entries are dropped, because the parent sends them.
        """
        self.row_locks.free_all()
        self.corrupt_rows.free_lock()
        self.clock.free_locks_in_child()
        self.clean_up.forget()
        self.exclusive_tables.forget()

    @property
    def guard_context(self) -> GuardContext:
        """The clocks, random numbers and catalog leases for guarded writes."""
        return self.writer.guard_context

    @property
    def lease_s(self) -> float:
        """The time for which a catalog entry may be used after it was read, in seconds."""
        return self.catalog.lease_s

    def close(self) -> None:
        """Finish the deferred clean-up, and close the driver and the gateway."""
        try:
            self.clean_up.close()
            self.open_reads.close_dropped()
        finally:
            super().close()


_RUNTIMES: WeakSet[Runtime] = WeakSet()


def _free_locks_in_child() -> None:
    for runtime in tuple(_RUNTIMES):
        runtime.free_locks_in_child()


os.register_at_fork(after_in_child=_free_locks_in_child)
