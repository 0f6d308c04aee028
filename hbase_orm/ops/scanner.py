"""Scans that survive the loss of their scanner: it expires, its connection breaks, a region moves.

Nothing is lost and nothing is repeated, since a scan is in key order: another scanner is opened
after the last row that was read.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hbase_orm.errors import GatewayError, HBaseORMError
from hbase_orm.ops.operation import Protocol
from hbase_orm.ops.protocol import RetryPolicy, ask, retry
from hbase_orm.ops.ranges import KeyRange
from hbase_orm.ops.requests import CloseScanner, FetchRows, OpenScanner, Scan
from hbase_orm.ops.rows import Row, ScannerId


class ResumableScan:
    """A scan, and the scanner that is open for what is left of it.

    Attributes:
        rest: What is left to read; the caller may give it another filter.
        is_done: Whether all rows were read.
    """

    __slots__ = ("_scanner", "is_done", "rest")

    def __init__(self, scan: Scan) -> None:
        """Prepare to read `scan`; nothing is opened yet."""
        self.rest = scan
        self.is_done = False
        self._scanner: ScannerId | None = None

    def fetch(self, rows: int, share: float = 1.0) -> Protocol[list[Row]]:
        """Return the next rows; none at the end, where the scanner is closed.

        Opens a scanner if there is none. After an error call `forget_scanner` and fetch again, or
        `close`.

        Args:
            rows: How many rows at most.
            share: The part of the time for one request that the fetch may take.
        """
        if self._scanner is None:
            self._scanner = yield from ask(OpenScanner(self.rest))
        fetched = yield from ask(FetchRows(self._scanner, rows, share))
        if fetched:
            self.rest = _after(self.rest, fetched[-1].key)
        else:
            self.is_done = True
            yield from self.close()
        return fetched

    def forget_scanner(self) -> None:
        """Let the next fetch open another scanner, after the last row that was read."""
        self._scanner = None

    def close(self) -> Protocol[None]:
        """Close the scanner if one is open; if that fails, its lease releases it."""
        scanner, self._scanner = self._scanner, None
        if scanner is None:
            return
        try:
            yield from ask(CloseScanner(scanner))
        except GatewayError:
            return


def first_rows(scan: Scan, policy: RetryPolicy) -> Protocol[list[Row]]:
    """Return the first rows of a scan, as many as its `caching_rows`, by a scanner of its own.

    The scanner is closed before the rows are returned; one that expires is opened again, as often
    as the policy allows.
    """
    return retry(partial(fetch_once, scan), policy.for_scans())


def fetch_once(scan: Scan) -> Protocol[list[Row]]:
    """Return the first rows of a scan as `first_rows` does, and raise the first error."""
    reading = ResumableScan(scan)
    try:
        rows = yield from reading.fetch(scan.caching_rows)
    except HBaseORMError:
        yield from reading.close()
        raise
    yield from reading.close()
    return rows


def _after(scan: Scan, key: bytes) -> Scan:
    """Return what is left of a scan whose last row had this key."""
    whole = scan.key_range
    rest = KeyRange(whole.start, key) if scan.reverse else KeyRange(key + b"\x00", whole.stop)
    return replace(scan, key_range=rest)
