"""Gives writes their timestamps, and delays writes that older cells or tombstones would hide.

HBase's timestamps are whole milliseconds. A put in the same millisecond as a delete of its row is
hidden by the tombstone. HBase gives each increment or append a timestamp at least 1 ms later than
the timestamp of the existing cell. So frequent increments may give a counter timestamps in the
server's future. A later put with the server's time is then hidden by the counter's cell, and a
delete leaves this cell in place. Before such a write, `WriteClock` waits until HBase's clock has
passed these timestamps.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from hbase_orm.ops import Protocol, Sleep, ask
from hbase_orm.schema import TableSchema

logger = logging.getLogger("hbase_orm.session")

RowId = tuple[str, bytes]
"""A table and a row key."""

# 1 ms between the answer to a delete and a put of its row lost none of 1,200 puts to the tombstone;
# 2 ms leave room for the clock's grain.
TIE_S: Final = 0.002
_INCREMENT_S: Final = 0.001
_MOST_ROWS: Final = 10_000
_FASTEST_MS: Final = 20
_LONG_WAIT_S: Final = 1.0


def wall_clock_ms() -> int:
    """Return this machine's time, milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class CounterClockSkew:
    """Estimates how far in the future the cells of this process's increments and appends are.

    Threads may share it.
    """

    def __init__(self) -> None:
        """Start without rows."""
        self._until_s: dict[RowId, float] = {}
        self._last_s = 0.0
        self._limit = _MOST_ROWS
        self._lock = threading.Lock()

    def free_lock_in_child(self) -> None:
        """Replace the lock in a forked child, where a thread that held it does not exist."""
        self._lock = threading.Lock()

    def note(self, row: RowId, now_s: float) -> None:
        """Record an increment or an append that was sent, whether or not an answer came."""
        with self._lock:
            until_s = max(now_s, self._until_s.get(row, 0.0) + _INCREMENT_S)
            self._until_s[row] = until_s
            self._last_s = max(self._last_s, until_s)
            if len(self._until_s) > self._limit:
                self._until_s = {row: at for row, at in self._until_s.items() if at >= now_s}
                self._limit = max(_MOST_ROWS, 2 * len(self._until_s))

    def until_s(self, rows: Iterable[RowId], now_s: float) -> float:
        """Return the time from which writes of these rows are newer than the counters' cells.

        The result is a time of the monotonic clock, in seconds; 0 if no wait is needed.
        """
        if now_s > self._last_s + 2 * _INCREMENT_S:
            return 0.0
        with self._lock:
            latest_s = max((self._until_s.get(row, 0.0) for row in rows), default=0.0)
        return latest_s + 2 * _INCREMENT_S if latest_s + 2 * _INCREMENT_S > now_s else 0.0


class WriteClock:
    """Returns timestamps, and waits if older cells would hide a write. Threads may share it.

    Attributes:
        now_ms: A function that returns this machine's time in milliseconds since 1970.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        monotonic_s: Callable[[], float],
        *,
        timestamps: str = "server",
    ) -> None:
        """Start without recorded writes.

        Args:
            now_ms: A function that returns this machine's time in milliseconds since 1970.
            monotonic_s: A clock that never goes back.
            timestamps: Who sets the timestamps of plain rows if their model does not declare it:
                "server" or "client".
        """
        self.now_ms = now_ms
        self._monotonic_s = monotonic_s
        self._timestamps = timestamps
        self._last_stamp_ms = 0
        self._deleted: dict[RowId, float] = {}
        self._last_delete_s = 0.0
        self._skew = CounterClockSkew()
        self._lock = threading.Lock()

    def free_locks_in_child(self) -> None:
        """Replace the locks in a forked child, where threads that held them do not exist."""
        self._lock = threading.Lock()
        self._skew.free_lock_in_child()

    def stamps(self, schema: TableSchema) -> bool:
        """Return whether this client sets the timestamps of a plain model's cells."""
        return (schema.timestamps or self._timestamps) == "client"

    def stamp(self) -> Protocol[int]:
        """Return this machine's time in milliseconds, greater than every earlier return value.

        If many calls in one millisecond move the result into the future, the method waits first.
        """
        with self._lock:
            now_ms = self.now_ms()
            stamp_ms = self._last_stamp_ms = max(now_ms, self._last_stamp_ms + 1)
        if now_ms + _FASTEST_MS < stamp_ms < now_ms + _FASTEST_MS * 100:
            yield from ask(Sleep(_FASTEST_MS / 1000))
        return stamp_ms

    def note_deletes(self, rows: Sequence[RowId]) -> None:
        """Record rows in which cells were just deleted."""
        if not rows:
            return
        now_s = self._monotonic_s()
        with self._lock:
            if now_s > self._last_delete_s + TIE_S or len(self._deleted) > _MOST_ROWS:
                recent = {row: at for row, at in self._deleted.items() if at + TIE_S > now_s}
                self._deleted = recent
            self._deleted.update(dict.fromkeys(rows, now_s))
            self._last_delete_s = now_s

    def wait_out_tombstone_tie(self, rows: Sequence[RowId]) -> Protocol[None]:
        """Wait until no put of these rows can be in the same millisecond as a recorded delete."""
        now_s = self._monotonic_s()
        if not self._deleted or now_s > self._last_delete_s + TIE_S:
            return
        with self._lock:
            times = [self._deleted[row] for row in rows if row in self._deleted]
        if times and max(times) + TIE_S > now_s:
            yield from ask(Sleep(max(times) + TIE_S - now_s))

    def note_increment(self, row: RowId) -> None:
        """Record a row that was just incremented or appended to, acknowledged or not."""
        self._skew.note(row, self._monotonic_s())

    def wait_out_counter_skew(self, rows: Iterable[RowId]) -> Protocol[None]:
        """Wait until writes of these rows get later timestamps than this process's increments."""
        now_s = self._monotonic_s()
        until_s = self._skew.until_s(rows, now_s)
        if not until_s:
            return
        if until_s > now_s + _LONG_WAIT_S:
            logger.warning(
                "waiting %.1f s: increments have given a row timestamps that far in the future",
                until_s - now_s,
            )
        yield from ask(Sleep(until_s - now_s))
