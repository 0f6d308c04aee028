"""Rows whose newest cells may stand ahead of HBase's clock, because they were counted in quickly.

HBase stamps what an increment or an append writes at least 1 ms past the cell before it: a counter
that one thread increments 600 times a second runs ahead of the clock. What the server stamps then
lies below such cells: a put is not seen, a delete leaves them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

STEP_S: Final = 0.001
_MANY: Final = 10_000

Where = tuple[str, bytes]


class RowsAhead:
    """How far ahead the rows may stand that this process counted in. Threads may share it."""

    def __init__(self) -> None:
        """Start with none."""
        self._until_s: dict[Where, float] = {}
        self._last_s = 0.0
        self._limit = _MANY
        self._lock = threading.Lock()

    def free_lock_in_child(self) -> None:
        """Replace the lock, which a fork copies as held by a thread that the child lacks."""
        self._lock = threading.Lock()

    def note(self, row: Where, now_s: float) -> None:
        """Remember an increment or an append, whose answer has just come or was lost."""
        with self._lock:
            until_s = max(now_s, self._until_s.get(row, 0.0) + STEP_S)
            self._until_s[row] = until_s
            self._last_s = max(self._last_s, until_s)
            if len(self._until_s) > self._limit:
                self._until_s = {row: at for row, at in self._until_s.items() if at >= now_s}
                self._limit = max(_MANY, 2 * len(self._until_s))

    def until_s(self, rows: Iterable[Where], now_s: float) -> float:
        """Return when the clock has passed the cells of all these rows; 0 if it has."""
        if now_s > self._last_s + 2 * STEP_S:
            return 0.0
        with self._lock:
            latest_s = max((self._until_s.get(row, 0.0) for row in rows), default=0.0)
        return latest_s + 2 * STEP_S if latest_s + 2 * STEP_S > now_s else 0.0
