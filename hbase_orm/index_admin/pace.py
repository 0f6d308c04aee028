"""Limits the rate of work on many rows, and estimates how much of it is done.

The work is done in rounds. An error or a crash repeats a round, so a round shall take about
`ROUND_S`: the number of its rows follows the speed of the rounds before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hbase_orm.index.catalog.entry import BuildRange
from hbase_orm.ops import Protocol, Sleep, ask

ROUND_ROWS: Final = 2000
"""The largest number of rows between two checkpoints, in all ranges together."""

ROUND_S: Final = 2.0
"""How long a round shall take, in seconds."""

_FIRST_ROWS: Final = 500
_LEAST_ROWS: Final = 20
_MOST_GROWTH: Final = 4
"""How many times the rows of the last round the next one has at most."""

_KEY_BYTES: Final = 16
"""How many leading bytes of a row key the progress fraction uses."""


_LATE_S: Final = 1.0
"""The longest delay that is made up for by a higher rate: after a stall, the rows of one second."""


class RowPace:
    """Limits the average number of rows that are processed per second."""

    def __init__(
        self,
        rows_per_second: float | None,
        monotonic_s: Callable[[], float],
        most_rows: int = ROUND_ROWS,
    ) -> None:
        """Start the clock.

        Args:
            rows_per_second: The largest average number of rows per second; None for no limit.
            monotonic_s: A clock that never goes back.
            most_rows: The largest number of rows of a round.
        """
        self._rows_per_second = rows_per_second
        self._most_rows = most_rows
        self._monotonic_s = monotonic_s
        self._begun_s = self._round_begun_s = monotonic_s()
        self._rows = 0
        self._round_rows = min(_FIRST_ROWS, most_rows)

    @property
    def round_rows(self) -> int:
        """The largest number of rows of the next round.

        With `rows_per_second` these are at most the rows of one second.
        """
        if self._rows_per_second is None:
            return self._round_rows
        return max(1, min(self._round_rows, int(self._rows_per_second)))

    def slow_down(self) -> None:
        """Make the next round smaller: the last one failed."""
        self._round_rows = max(min(_LEAST_ROWS, self._most_rows), self._round_rows // 2)
        self._round_begun_s = self._monotonic_s()

    def keep(self, rows: int) -> Protocol[None]:
        """Count processed rows, and wait until their average rate is within the limit."""
        self._rows += rows
        now_s = self._monotonic_s()
        self._fit_rounds(rows, now_s - self._round_begun_s)
        if self._rows_per_second is not None:
            early_s = self._rows / self._rows_per_second - (now_s - self._begun_s)
            if early_s > 0:
                yield from ask(Sleep(early_s))
            elif early_s < -_LATE_S:
                self._begun_s -= early_s + _LATE_S
        self._round_begun_s = self._monotonic_s()

    def _fit_rounds(self, rows: int, taken_s: float) -> None:
        """Let the next round take about `ROUND_S` at the speed of the last one."""
        if rows < self._round_rows // 2:  # the end of a range says little about the speed
            return
        fitting = rows * (ROUND_S / taken_s) if taken_s > 0 else self._most_rows
        least, most = min(_LEAST_ROWS, self._most_rows), _MOST_GROWTH * self._round_rows
        self._round_rows = round(max(least, min(fitting, most, self._most_rows)))


def fraction_of(each: BuildRange) -> float:
    """Return the finished fraction of a range, as if its row keys were spread evenly.

    Examples:
        >>> fraction_of(BuildRange(b"a", b"c", b"b"))
        0.5
    """
    if each.next is None:
        return 1.0
    start, stop = _number(each.start), _number(each.stop) if each.stop else 1 << 8 * _KEY_BYTES
    return (_number(each.next) - start) / max(1, stop - start)


def _number(key: bytes) -> int:
    return int.from_bytes(key[:_KEY_BYTES].ljust(_KEY_BYTES, b"\x00"), "big")
