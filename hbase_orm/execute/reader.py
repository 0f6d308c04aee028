"""Rows of key ranges as a sans-I/O protocol that survives lost scanners.

It asks for few rows at first and for four times as many each time, up to as many bytes as a
connection moves at ease: a statement with a limit needs few rows of each range, and one without a
limit does not show their size before the first of them are there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import ConnectionLostError
from hbase_orm.ops import Protocol, ResumableScan, RetryPolicy, Row, Scan
from hbase_orm.query import IndexPlan, SaltedScanPlan, ScanPlan

RETRIES: Final = RetryPolicy(attempts=6, first_pause_s=0.1).for_scans()
"""Retries of consecutive failures, without a row in between."""

_LOW: Final = 8

# Where a filter lets hardly a row through, what is left is for the same rows without conditions.
_SHARE_WITH_CONDITIONS: Final = 0.5

GROWTH: Final = 4

FETCH_BYTES: Final = 2 << 20
"""About the most bytes of one answer: the amount that HBase's own scanners fetch at once."""

MERGED_BYTES: Final = 32 << 20
"""Most bytes that all buckets of a merge hold together."""

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
        """Begin with `first_rows`; without `most_bytes` rows may have any size."""
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
        self.estimate_row_size(rows)

    def restart(self) -> None:
        """Begin with few rows again, because the next rows may be larger."""
        self._wanted = self._first_rows
        self._row_bytes = 0

    def estimate_row_size(self, rows: Sequence[Row]) -> None:
        """Expect the next rows to be as large as these, some of which are measured."""
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


class RangeReader:
    """Reads the rows of several ranges of one table, range after range.

    Attributes:
        rows: Rows fetched and not yet taken, in order.
    """

    def __init__(
        self, scans: Sequence[Scan], pace: Pace, unconditional: bytes | None = None
    ) -> None:
        """Prepare to read `scans` one after the other; nothing is opened yet.

        Args:
            scans: The ranges, in the order of the rows.
            pace: How many rows to fetch at once; no other reader's.
            unconditional: The filter that takes the place of a scan's own after a call was not
                answered in time: it drops no row, and may leave cells out.
        """
        self.rows: list[Row] = []
        self._pace = pace
        self._unconditional = unconditional
        self._page_rows = 0
        self._waiting = deque(scans)
        self._scan: ResumableScan | None = None
        self._failures = 0

    @property
    def is_done(self) -> bool:
        """Return whether every range is exhausted; rows may be left to take."""
        return self._scan is None and not self._waiting

    @property
    def is_low(self) -> bool:
        """Return whether it is time to fetch: at most an eighth of the last answer is left."""
        return not self.is_done and len(self.rows) * _LOW <= self._page_rows

    def take(self) -> list[Row]:
        """Return the fetched rows and remove them from the reader."""
        rows, self.rows = self.rows, []
        return rows

    def fill(self) -> Protocol[bool]:
        """Fetch until there are more rows; return False when every range is exhausted.

        Raises:
            GatewayError: The scan failed repeatedly, or HBase rejects it.
        """
        held = len(self.rows)
        while len(self.rows) == held:
            if self._scan is None:
                if not self._waiting:
                    return False
                self._scan = ResumableScan(self._waiting.popleft())
            try:
                yield from self._fetch(self._scan)
            except RETRIES.errors as error:
                self._begin_again(self._scan, error)
                if self._failures >= RETRIES.attempts:
                    raise
                yield from RETRIES.pause(self._failures)
        return True

    def _fetch(self, scan: ResumableScan) -> Protocol[None]:
        share = 1.0 if scan.rest.filter == self._unconditional else _SHARE_WITH_CONDITIONS
        rows = yield from scan.fetch(self._pace.rows, share)
        if scan.is_done:
            self._scan = None
            return
        self._failures = 0
        self._page_rows = len(rows)
        self._pace.note(rows)
        self.rows.extend(rows)

    def _begin_again(self, scan: ResumableScan, error: Exception) -> None:
        scan.forget_scanner()
        if isinstance(error, ConnectionLostError):
            # No answer in time: the server may be passing over row after row for one that its
            # filter lets through. Without conditions each call answers soon.
            scan.rest = replace(scan.rest, filter=self._unconditional)
        self._pace.restart()
        self._failures += 1
