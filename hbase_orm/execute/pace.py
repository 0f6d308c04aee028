"""How many rows to ask for at once: few at first, then more, and never too many bytes.

A statement with a limit needs few rows of each range, and one without a limit tells nothing of
their size before the first of them are there. So a scan begins small, asks for four times as many
each time, and stops growing where an answer would be larger than a connection moves at ease.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.ops import Row
from hbase_orm.query import IndexPlan, SaltedScanPlan, ScanPlan

GROWTH: Final = 4

FETCH_BYTES: Final = 2 << 20
"""About the most bytes of one answer; HBase's own scanners fetch so many from a region server."""

MERGED_BYTES: Final = 32 << 20
"""What all buckets of a merge hold at most, however many they are."""

_LEAST_BYTES: Final = 64 << 10
_SAMPLE: Final = 16
# A cell's timestamp and the lengths of its column and value.
_CELL_BYTES: Final = 16


class Pace:
    """How many rows the next fetch of one scanner asks for.

    Attributes:
        caching_rows: What the scanner is opened with: rows a gateway fetches from a region server.
    """

    def __init__(
        self, first_rows: int, most_rows: int, *, most_bytes: int | None, caching_rows: int
    ) -> None:
        """Begin with `first_rows`; None for `most_bytes` means whatever the rows weigh."""
        self.caching_rows = caching_rows
        self._first_rows = self._wanted = first_rows
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._row_bytes = 0

    @classmethod
    def steady(cls, rows: int) -> Pace:
        """Return the pace that is always the same."""
        return cls(rows, rows, most_bytes=None, caching_rows=rows)

    @property
    def rows(self) -> int:
        """How many rows to ask for, 1 or more."""
        if self._most_bytes is None or not self._row_bytes:
            return self._wanted
        return max(1, min(self._wanted, self._most_bytes // self._row_bytes))

    def note(self, rows: Sequence[Row]) -> None:
        """Take account of an answer: the next one may be larger if rows are small."""
        self._wanted = min(self._wanted * GROWTH, self._most_rows)
        self.weigh(rows)

    def restart(self) -> None:
        """Begin with few rows again: what comes from now on may be larger."""
        self._wanted = self._first_rows
        self._row_bytes = 0

    def weigh(self, rows: Sequence[Row]) -> None:
        """Expect the next rows to be as large as these, some of which are looked at."""
        if self._most_bytes is None or not rows:
            return
        sample = rows[:: -(-len(rows) // _SAMPLE)]
        self._row_bytes = sum(map(_bytes_of, sample)) // len(sample)


def pace_of(plan: ScanPlan | SaltedScanPlan | IndexPlan) -> Pace:
    """Return the pace of one range reader of a plan; each reader needs its own."""
    wanted = plan.fetches
    if wanted.is_fixed:
        return Pace.steady(wanted.first)
    most_bytes, caching_rows = FETCH_BYTES, plan.caching_rows
    if isinstance(plan, SaltedScanPlan):
        most_bytes = min(FETCH_BYTES, max(MERGED_BYTES // len(plan.buckets), _LEAST_BYTES))
        caching_rows = min(wanted.most, caching_rows)
        if plan.limit is not None:
            caching_rows = min(caching_rows, 2 * wanted.first)
    return Pace(wanted.first, wanted.most, most_bytes=most_bytes, caching_rows=caching_rows)


def _bytes_of(row: Row) -> int:
    return len(row.key) + sum(
        len(column) + len(cell.value) + _CELL_BYTES for column, cell in row.cells.items()
    )
