"""Locks of rows, for threads of one engine that change the same row."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

R = TypeVar("R")

_COUNT: Final = 64
_LONGEST_WAIT_S: Final = 1.0


class RowLocks:
    """Locks that let one thread at a time change a row. Threads share it.

    The locks avoid conflicts between threads of one engine. They are not needed for correct writes,
    so a thread waits at most one second for a lock, and then continues without it.
    """

    def __init__(self) -> None:
        """Start without locked rows."""
        self.free_all()

    def free_all(self) -> None:
        """Replace all locks in a forked child, where the threads that held them do not exist."""
        self._locks = [threading.RLock() for _ in range(_COUNT)]

    def hold(self, row: tuple[str, bytes], work: Callable[[], R]) -> R:
        """Run `work` while the lock of a row is held; return the result of `work`.

        If the lock is not free within a second, `work` runs without the lock.

        Args:
            row: The table and the row key.
            work: The function to run while the lock is held.
        """
        lock = self._locks[hash(row) % len(self._locks)]
        try:
            try:
                lock.acquire(timeout=_LONGEST_WAIT_S)
                return work()
            finally:
                _release(lock)
        finally:
            _release(lock)  # an exception from outside may have interrupted the first release


def _release(lock: threading.RLock) -> None:
    """Release a lock if this thread holds it, which is uncertain after an interrupted `acquire`."""
    with suppress(RuntimeError):
        lock.release()
