"""Scanners whose first rows are read in one call, so that a small scan is one round trip.

A scanner takes three calls at least: to open it, to fetch, and to close it. Thrift2 has a call that
does all of this for the first rows of a scan (`ReadFirstRows`). Only a scan with more rows opens a
scanner, after the last of them. It sees the rows as they are then, like any scan that is resumed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, Final

from hbase_orm.errors import RetryableError, ScannerExpiredError
from hbase_orm.gateway.checks import check_request
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    FirstRows,
    OpenScanner,
    Operation,
    ReadFirstRows,
    Row,
    Scan,
    ScannerId,
)

MOST_ROWS: Final = 128
"""How many rows at most are read before a scanner is opened, if more may be fetched than known."""

_NUMBERS = count()

ScannerRequest = OpenScanner | FetchRows | CloseScanner

Send = Callable[[Operation[Any]], Any]
"""A function that sends one request to the gateway that suits it, and returns the answer."""


def begins_with_rows(scan: Scan) -> bool:
    """Return whether the first rows of a scan are read in one call.

    With a filter that few rows pass, one call could take as long as the whole scan. In a timeline
    scan, two calls could be answered by replicas of different age.
    """
    return scan.filter is None and not scan.is_timeline and not scan.key_range.is_empty


class BegunScan:
    """A scan whose first rows were read in one call: the `owner` of its `ScannerId`.

    Like any scanner it is used by one thread at a time.
    """

    __slots__ = ("_is_closed", "_rest", "_rows", "_scanner")

    def __init__(self, scan: Scan, first: FirstRows) -> None:
        """Keep the first rows of `scan`."""
        self._is_closed = False
        self._rows = first.rows
        rest = scan.after(first.rows[-1].key) if first.rows else scan
        self._rest = None if first.is_all else rest
        self._scanner: ScannerId | None = None

    @classmethod
    def open(cls, request: OpenScanner, send: Send) -> ScannerId:
        """Read the first rows of a scan, or all that will be fetched; return its scanner."""
        scan = request.scan
        count = request.wanted_rows or min(scan.caching_rows, MOST_ROWS)
        first = send(ReadFirstRows(scan, count))
        return ScannerId(next(_NUMBERS), cls(scan, first))

    def fetch(self, request: FetchRows, send: Send) -> list[Row]:
        """Return the next rows.

        Raises:
            ScannerExpiredError: The scanner is closed, or cannot be opened at the moment.
        """
        if self._is_closed:
            raise ScannerExpiredError(
                "the scanner is closed", fix="open a new scanner after the last key seen"
            )
        held = self._rows[: request.count]
        fetched: list[Row] = []
        if len(held) < request.count and self._rest is not None:
            try:
                fetched = self._fetch_rest(request, request.count - len(held), self._rest, send)
            except ScannerExpiredError:
                if not held:
                    raise
        # Dropped only now: after another error the rows are still to be returned.
        self._rows = self._rows[len(held) :]
        return held + fetched

    def _fetch_rest(self, request: FetchRows, count: int, rest: Scan, send: Send) -> list[Row]:
        if self._scanner is None:
            self._scanner = self._opened(rest, send)
        fetched: list[Row] = send(replace(request, scanner=self._scanner, count=count))
        return fetched

    def _opened(self, rest: Scan, send: Send) -> ScannerId:
        scanner: ScannerId
        try:
            scanner = send(OpenScanner(rest))
        except RetryableError as error:
            # Opening is repeated until a server answers, but fetching is not.
            raise ScannerExpiredError(
                "no server reads the rest of the scan at the moment",
                reason=error.text,
                fix="open a new scanner after the last key seen",
            ) from error
        return scanner

    def close(self, send: Send) -> None:
        """Close the scanner, if one was opened."""
        self._is_closed, self._rows = True, []
        scanner, self._scanner = self._scanner, None
        if scanner is not None:
            send(CloseScanner(scanner))


def answer_of_begun_scan(request: ScannerRequest, send: Send) -> ScannerId | list[Row] | None:
    """Answer a request for a scan whose first rows are read in one call.

    Raises:
        ScannerExpiredError: The scanner is closed.
        RejectedError: The request is wrong.
    """
    check_request(request)
    if isinstance(request, OpenScanner):
        return BegunScan.open(request, send)
    begun = request.scanner.owner
    assert isinstance(begun, BegunScan)
    if isinstance(request, FetchRows):
        return begun.fetch(request, send)
    begun.close(send)
    return None
