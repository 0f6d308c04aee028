"""Scans that continue after their scanner expired, its connection broke, or a region moved.

A new scanner starts after the last row that was read. Because a scan is in key order, no row is
skipped or read twice.
"""

from __future__ import annotations

from functools import partial

from hbase_orm.errors import GatewayError, HBaseORMError
from hbase_orm.ops.operation import Protocol
from hbase_orm.ops.protocol import RetryPolicy, ask, retry
from hbase_orm.ops.requests import CloseScanner, FetchRows, OpenScanner, Scan
from hbase_orm.ops.rows import Row, ScannerId


class ResumableScan:
    """A scan with its open scanner and the range that is not read yet.

    Attributes:
        rest: The scan of the rows that are not read yet. The caller may replace it by a scan with
            another filter.
        is_done: Whether all rows are read.
    """

    __slots__ = ("_scanner", "_wanted_rows", "is_done", "rest")

    def __init__(self, scan: Scan, wanted_rows: int | None = None) -> None:
        """Prepare to read `scan`, without opening a scanner.

        Args:
            scan: The scan.
            wanted_rows: How many rows will be fetched at most, if that is known.
        """
        self.rest = scan
        self.is_done = False
        self._wanted_rows = wanted_rows
        self._scanner: ScannerId | None = None

    def fetch(self, rows: int, share: float = 1.0) -> Protocol[list[Row]]:
        """Return the next rows; at the end of the scan close the scanner and return an empty list.

        Opens a scanner if none is open. After an error, either call `forget_scanner` and fetch
        again, or call `close`.

        Args:
            rows: The largest number of rows.
            share: The part of the read's time limit that the request may use, as in `FetchRows`.
        """
        if self._scanner is None:
            self._scanner = yield from ask(OpenScanner(self.rest, self._wanted_rows))
        fetched = yield from ask(FetchRows(self._scanner, rows, share))
        if fetched:
            self.rest = self.rest.after(fetched[-1].key)
        else:
            self.is_done = True
            yield from self.close()
        return fetched

    def forget_scanner(self) -> None:
        """Make the next fetch open a new scanner, after the last row that was read."""
        self._scanner = None

    def close(self) -> Protocol[None]:
        """Close the scanner if one is open. If that fails, the scanner ends with its lease."""
        scanner, self._scanner = self._scanner, None
        if scanner is None:
            return
        try:
            yield from ask(CloseScanner(scanner))
        except GatewayError:
            return


def first_rows(scan: Scan, policy: RetryPolicy) -> Protocol[list[Row]]:
    """Return the first `caching_rows` rows of a scan.

    The scanner is closed before the rows are returned. After an error that `policy` lists, or if
    the scanner expires, a new scanner reads the rows again. `policy` limits the number of attempts.
    """
    return retry(partial(fetch_once, scan), policy.for_scans())


def fetch_once(scan: Scan) -> Protocol[list[Row]]:
    """Return the first `caching_rows` rows of a scan, in a single attempt, without retries."""
    reading = ResumableScan(scan, scan.caching_rows)
    try:
        rows = yield from reading.fetch(scan.caching_rows)
    except HBaseORMError:
        yield from reading.close()
        raise
    yield from reading.close()
    return rows
