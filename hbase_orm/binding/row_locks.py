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
    """Lets one thread at a time change a row. Threads share it.

    It spares writers rounds lost to each other; that writes are right does not depend on it, so
    nobody waits long for a lock.
    """

    def __init__(self) -> None:
        """Start with every row free."""
        self.free_all()

    def free_all(self) -> None:
        """Free every row; for a forked child, where the parent's threads do not exist."""
        self._locks = [threading.RLock() for _ in range(_COUNT)]

    def hold(self, row: tuple[str, bytes], work: Callable[[], R]) -> R:
        """Hold the lock of a row while the work runs; return its result.

        Args:
            row: The table and the row key.
            work: What to do while no other thread of this engine changes the row.
        """
        lock = self._locks[hash(row) % len(self._locks)]
        try:
            try:
                lock.acquire(timeout=_LONGEST_WAIT_S)
                return work()
            finally:
                _release(lock)
        finally:
            _release(lock)  # an exception from outside may have cut the first short


def _release(lock: threading.RLock) -> None:
    """Free a lock if this thread has it; after an interrupted `acquire` that is uncertain."""
    with suppress(RuntimeError):
        lock.release()
