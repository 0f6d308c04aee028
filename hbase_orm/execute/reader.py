"""Rows of key ranges as a sans-I/O protocol that survives lost scanners.

A scanner may expire, its connection may be cut, its region may move: the reader then opens a new
one after the last key it handed out. Nothing is lost and nothing is repeated, since a scan is in
key order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import ConnectionLostError, GatewayError, RetryableError, ScannerExpiredError
from hbase_orm.execute.pace import Pace
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    KeyRange,
    OpenScanner,
    Protocol,
    Row,
    Scan,
    ScannerId,
    Sleep,
    ask,
)

MAX_FAILURES: Final = 6
"""Failures in a row, without one row in between, after which a scan gives up."""

FIRST_PAUSE_S: Final = 0.05

_LOW: Final = 8

# Where a filter lets hardly a row through, what is left is for the same rows without conditions.
_SHARE_WITH_CONDITIONS: Final = 0.5


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
        self._scan: Scan | None = None
        self._scanner: ScannerId | None = None
        self._failures = 0

    @property
    def is_done(self) -> bool:
        """Say whether every range is exhausted; rows may be left to take."""
        return self._scan is None and not self._waiting

    @property
    def is_low(self) -> bool:
        """Say whether it is time to fetch: of the last answer, an eighth at most is left."""
        return not self.is_done and len(self.rows) * _LOW <= self._page_rows

    def take(self) -> list[Row]:
        """Return the rows that are there, and keep none."""
        rows, self.rows = self.rows, []
        return rows

    def fill(self) -> Protocol[bool]:
        """Fetch until there are more rows; say False when every range is exhausted.

        Raises:
            GatewayError: The scan failed repeatedly, or HBase rejects it.
        """
        held = len(self.rows)
        while len(self.rows) == held:
            if self._scan is None:
                if not self._waiting:
                    return False
                self._scan = self._waiting.popleft()
            try:
                yield from self._fetch(self._scan)
            except (ScannerExpiredError, ConnectionLostError, RetryableError) as error:
                self._scanner = None
                if isinstance(error, ConnectionLostError):
                    # No answer in time: the server may be passing over row after row for one that
                    # its filter lets through. Without conditions each call answers soon.
                    self._scan = replace(self._scan, filter=self._unconditional)
                self._pace.restart()
                self._failures += 1
                if self._failures >= MAX_FAILURES:
                    raise
                yield from ask(Sleep(FIRST_PAUSE_S * 2**self._failures))
        return True

    def _fetch(self, scan: Scan) -> Protocol[None]:
        if self._scanner is None:
            self._scanner = yield from ask(OpenScanner(scan))
        share = 1.0 if scan.filter == self._unconditional else _SHARE_WITH_CONDITIONS
        rows = yield from ask(FetchRows(self._scanner, self._pace.rows, share))
        if rows:
            self._failures = 0
            self._page_rows = len(rows)
            self._pace.note(rows)
            self.rows.extend(rows)
            self._scan = _after(scan, rows[-1].key)
            return
        scanner, self._scanner, self._scan = self._scanner, None, None
        try:
            yield from ask(CloseScanner(scanner))
        except GatewayError:
            return  # everything was read; the lease releases the scanner


def _after(scan: Scan, key: bytes) -> Scan:
    """Return what is left of a scan whose last row had this key."""
    whole = scan.key_range
    rest = KeyRange(whole.start, key) if scan.reverse else KeyRange(key + b"\x00", whole.stop)
    return replace(scan, key_range=rest)
