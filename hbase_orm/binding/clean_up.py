"""Deferred clean-up: stale index entries are deleted a moment after the write that left them.

A delete has the timestamp of its write, so it may be sent late or twice. An entry that a later
write puts again is newer and stays. If a delete is never sent, the stale entry remains. Queries
skip it, and the index repair deletes it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final

from hbase_orm.errors import HBaseORMError
from hbase_orm.ops import MutateRows, Operation, RowMutation

logger = logging.getLogger("hbase_orm.session")

WAIT_S: Final = 0.1
"""How long deletes of stale entries are collected before they are sent, in seconds."""

BATCH_ROWS: Final = 500
MOST_WAITING: Final = 10_000
"""The most deletes that may wait. A writer that adds more sends all of them itself."""


class CleanUp:
    """Collects deletes of stale entries and sends them, many at a time. Threads may share it."""

    def __init__(
        self,
        executing: Callable[[], Callable[[Operation[Any]], Any]],
        wait_s: float | None = None,
    ) -> None:
        """Prepare; a thread is started when there is something to send.

        Args:
            executing: A function that is called before the waiting deletes are sent. It returns the
                function that executes each request.
            wait_s: The time for which deletes are collected, in seconds; None means the default.
        """
        self._executing = executing
        self._wait_s = WAIT_S if wait_s is None else wait_s
        self._is_closed = False
        self.forget()

    def forget(self) -> None:
        """Drop the waiting deletes in a forked child, because the parent sends them."""
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._waiting: dict[tuple[str, bytes], RowMutation] = {}
        self._timer: threading.Timer | None = None

    def put_off(self, deletes: Iterable[MutateRows]) -> None:
        """Add deletes, all with timestamps, to be sent a moment later.

        All waiting deletes are sent immediately if too many wait, if no thread can be started, or
        after `close`.
        """
        with self._lock:
            for request in deletes:
                for mutation in request.mutations:
                    self._add(request.table, mutation)
            is_for_now = len(self._waiting) > MOST_WAITING or not self._has_timer()
        if is_for_now:
            self.finish()

    def _has_timer(self) -> bool:
        """Return whether a thread will send the waiting deletes; start one if there is none."""
        if self._is_closed:
            return False
        if self._timer is None and self._waiting:
            timer = threading.Timer(self._wait_s, self.finish)
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError:  # no thread can be started, as when the interpreter ends
                return False
            self._timer = timer
        return True

    def _add(self, table: str, mutation: RowMutation) -> None:
        known = self._waiting.get((table, mutation.row))
        if known is None or _up_to_ms(known) < _up_to_ms(mutation):
            self._waiting[table, mutation.row] = mutation

    def close(self) -> None:
        """Send the waiting deletes. Deletes that are added later are sent immediately."""
        with self._lock:
            self._is_closed = True
        self.finish()

    def finish(self) -> None:
        """Send the waiting deletes and wait for the answers; log failures."""
        with self._sending:
            with self._lock:
                waiting, self._waiting = self._waiting, {}
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            of_table: dict[str, list[RowMutation]] = {}
            for (table, _), mutation in waiting.items():
                of_table.setdefault(table, []).append(mutation)
            execute = self._executing()
            for table, mutations in of_table.items():
                self._send(table, mutations, execute)

    def _send(
        self,
        table: str,
        mutations: list[RowMutation],
        execute: Callable[[Operation[Any]], Any],
    ) -> None:
        rest = iter(mutations)
        while batch := tuple(islice(rest, BATCH_ROWS)):
            try:
                execute(MutateRows(table, batch))
            except HBaseORMError as error:  # for example because the gateway is closed
                logger.warning("stale entries in %s were not deleted: %s", table, error)


def _up_to_ms(mutation: RowMutation) -> int:
    return max(delete.timestamp_ms or 0 for delete in mutation.deletes)
