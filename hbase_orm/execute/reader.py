"""Reads rows of key ranges as a sans-I/O protocol; new scanners replace failed ones.

A reader fetches few rows first. Each later fetch is four times as large, up to a number of rows and
a size in bytes. A statement with a limit may need only few rows of each range, and the size of rows
is unknown before the first fetch.
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
"""The retry policy of a reader. A fetch that returns rows sets the number of failures to 0."""

_LOW: Final = 8

# The share of the time limit for a fetch with conditions. If the filter passes hardly any row, the
# fetch may not be answered in this time; the rest is for a fetch without conditions.
_SHARE_WITH_CONDITIONS: Final = 0.5

GROWTH: Final = 4

FETCH_BYTES: Final = 2 << 20
"""The approximate largest size of one answer: as much as HBase's own scanners fetch per call."""

MERGED_BYTES: Final = 32 << 20
"""The approximate largest size of the rows that all buckets of one merge hold in memory."""

_LEAST_BYTES: Final = 64 << 10
_SAMPLE: Final = 16
# A cell's timestamp and the lengths of its column and value.
_CELL_BYTES: Final = 16


class Pace:
    """Decides how many rows the next fetch of a scanner requests.

    Attributes:
        caching_rows: The number of rows that the gateway fetches from a region server in one call.
    """

    def __init__(
        self, first_rows: int, most_rows: int, *, most_bytes: int | None, caching_rows: int
    ) -> None:
        """Start with `first_rows` rows; if `most_bytes` is None, the size of rows is ignored."""
        self.caching_rows = caching_rows
        self._first_rows = self._wanted = first_rows
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._row_bytes = 0

    @classmethod
    def steady(cls, rows: int) -> Pace:
        """Return a pace that requests the same number of rows at every fetch."""
        return cls(rows, rows, most_bytes=None, caching_rows=rows)

    @property
    def rows(self) -> int:
        """The number of rows to request, 1 or more."""
        if self._most_bytes is None or not self._row_bytes:
            return self._wanted
        return max(1, min(self._wanted, self._most_bytes // self._row_bytes))

    def note(self, rows: Sequence[Row]) -> None:
        """Record the rows of an answer, and make the next fetch larger if their size allows it."""
        self._wanted = min(self._wanted * GROWTH, self._most_rows)
        self.estimate_row_size(rows)

    def restart(self) -> None:
        """Start with few rows again, because the next rows may be larger."""
        self._wanted = self._first_rows
        self._row_bytes = 0

    def estimate_row_size(self, rows: Sequence[Row]) -> None:
        """Estimate the size of the next rows from some of these rows."""
        if self._most_bytes is None or not rows:
            return
        sample = rows[:: -(-len(rows) // _SAMPLE)]
        self._row_bytes = sum(map(_bytes_of, sample)) // len(sample)


def pace_of(plan: ScanPlan | SaltedScanPlan | IndexPlan) -> Pace:
    """Return a new pace for one range reader of a plan."""
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
    return row.content_bytes + _CELL_BYTES * len(row.columns)


class RangeReader:
    """Reads the rows of several ranges of one table, one range after another.

    Attributes:
        rows: The fetched rows that are not taken yet, in order.
    """

    def __init__(
        self, scans: Sequence[Scan], pace: Pace, unconditional: bytes | None = None
    ) -> None:
        """Prepare to read `scans` one after another, without opening a scanner.

        Args:
            scans: The scans of the ranges, in the order of the rows.
            pace: The pace of this reader, which no other reader uses.
            unconditional: If a call of a scan is not answered in time, the scan continues with this
                filter instead of its own. The filter passes every row, but may leave out cells.
                None means no filter.
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
        """Whether every range is read to its end; `rows` may still hold fetched rows."""
        return self._scan is None and not self._waiting

    @property
    def is_low(self) -> bool:
        """Whether the reader is not done and should be filled again.

        It should be filled if `rows` has at most an eighth of the number of rows in the last
        answer.
        """
        return not self.is_done and len(self.rows) * _LOW <= self._page_rows

    def take(self) -> list[Row]:
        """Return the fetched rows and remove them from the reader."""
        rows, self.rows = self.rows, []
        return rows

    def fill(self) -> Protocol[bool]:
        """Fetch more rows and return True; return False if every range is read to its end.

        Raises:
            GatewayError: The scan failed repeatedly, or HBase rejects the scan.
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
            # The call was not answered in time: the server may be skipping row after row that the
            # filter does not pass. Without conditions each call is answered soon.
            scan.rest = replace(scan.rest, filter=self._unconditional)
        self._pace.restart()
        self._failures += 1
