"""A scan begins with one call of Thrift2, and opens a scanner only for more rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from hbase_orm.errors import (
    ConnectionLostError,
    RegionUnavailableError,
    RejectedError,
    ScannerExpiredError,
)
from hbase_orm.gateway.begun_scans import MOST_ROWS
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.routed import RoutedGateway
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    FamilyDescriptor,
    FetchRows,
    KeyRange,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    ReadFirstRows,
    RowMutation,
    Scan,
    ScannerId,
    TableDescriptor,
)

R = TypeVar("R")


class Watched(MemoryGateway):
    """A gateway that notes its requests, and can fail."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.fail: Callable[[Operation[Any]], Exception | None] = lambda _: None

    def execute(self, operation: Operation[R], /) -> R:
        self.asked.append(type(operation).__name__)
        error = self.fail(operation)
        if error is not None:
            raise error
        return super().execute(operation)


class Both:
    """Thrift1 and Thrift2 of one HBase, which are two gateways of the same rows here."""

    def __init__(self, rows: int) -> None:
        self.data = Watched()
        self.atomic = Watched()
        puts = tuple(RowMutation(b"%04d" % n, (Put(b"d:x", b"1", 7),)) for n in range(rows))
        for gateway in (self.data, self.atomic):
            gateway.execute(CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),))))
            gateway.execute(MutateRows("t", puts))
            gateway.asked.clear()
        self.gateway = RoutedGateway(self.data, self.atomic)

    @property
    def asked(self) -> tuple[list[str], list[str]]:
        return self.atomic.asked, self.data.asked

    def open(self, **options: Any) -> ScannerId:
        return self.gateway.execute(OpenScanner(Scan("t", **options)))

    def fetch(self, scanner: ScannerId, count: int) -> list[int]:
        return [int(row.key) for row in self.gateway.execute(FetchRows(scanner, count))]

    def close(self, scanner: ScannerId) -> None:
        self.gateway.execute(CloseScanner(scanner))


def test_a_small_scan_is_one_call() -> None:
    both = Both(5)

    scanner = both.open()
    rows = [both.fetch(scanner, 3) for _ in range(3)]
    both.close(scanner)

    assert rows == [[0, 1, 2], [3, 4], []]
    assert both.asked == (["ReadFirstRows"], [])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("count", [1, 50, 127, 128, 129, 1000])
def test_a_scanner_reads_what_follows_the_first_rows(count: int, *, reverse: bool) -> None:
    both = Both(300)

    scanner, rows = both.open(reverse=reverse), list[int]()
    while fetched := both.fetch(scanner, count):
        assert len(fetched) == min(count, 300 - len(rows))
        rows += fetched
    both.close(scanner)

    assert rows == sorted(range(300), reverse=reverse)
    assert both.atomic.asked == ["ReadFirstRows"]
    assert both.data.asked[0] == "OpenScanner"
    assert both.data.asked[-1] == "CloseScanner"
    assert both.data.asked.count("OpenScanner") == 1


def test_no_more_rows_are_read_first_than_the_scan_wants() -> None:
    both = Both(300)
    reads: list[int] = []

    def note(operation: Operation[Any]) -> None:
        if isinstance(operation, ReadFirstRows):
            reads.append(operation.count)

    both.atomic.fail = note
    both.close(both.open(caching_rows=30))
    both.close(both.open(caching_rows=30_000))

    assert reads == [30, MOST_ROWS]


def test_a_timeline_scan_is_one_scanner() -> None:
    both = Both(3)
    both.open(is_timeline=True)
    assert both.asked == (["OpenScanner"], [])


@pytest.mark.parametrize(
    "options",
    [{"filter": b"PrefixFilter('0')"}, {"key_range": KeyRange(b"a", b"a")}],
    ids=["with a filter", "empty"],
)
def test_other_scans_open_a_scanner_at_once(options: dict[str, Any]) -> None:
    both = Both(3)
    both.close(both.open(**options))
    assert both.asked == ([], ["OpenScanner", "CloseScanner"])


def test_without_thrift2_a_scanner_is_opened_at_once() -> None:
    both = Both(3)
    gateway = RoutedGateway(both.data)
    gateway.execute(CloseScanner(gateway.execute(OpenScanner(Scan("t")))))
    assert both.data.asked == ["OpenScanner", "CloseScanner"]


def test_rows_that_were_read_are_returned_although_no_scanner_can_be_opened() -> None:
    both = Both(200)
    scanner = both.open()
    both.data.fail = lambda _: RegionUnavailableError("a region moves")

    assert both.fetch(scanner, 150) == [*range(MOST_ROWS)]
    with pytest.raises(ScannerExpiredError, match="at the moment"):
        both.fetch(scanner, 150)
    both.data.fail = lambda _: None
    assert both.fetch(scanner, 150) == [*range(MOST_ROWS, 200)]


def test_rows_that_were_read_are_there_after_an_error() -> None:
    both = Both(200)
    scanner = both.open()
    both.data.fail = lambda _: ConnectionLostError("the gateway is silent")

    with pytest.raises(ConnectionLostError):
        both.fetch(scanner, 150)
    both.data.fail = lambda _: None

    assert both.fetch(scanner, 150) == [*range(150)]


def test_an_error_of_the_first_call_is_one_of_opening() -> None:
    both = Both(3)
    both.atomic.fail = lambda _: RegionUnavailableError("a region moves")
    with pytest.raises(RegionUnavailableError):
        both.open()


def test_a_closed_scanner_is_gone() -> None:
    both = Both(3)
    scanner = both.open()
    both.close(scanner)
    both.close(scanner)

    with pytest.raises(ScannerExpiredError):
        both.fetch(scanner, 1)


def test_a_fetch_of_no_rows_is_refused() -> None:
    both = Both(3)
    with pytest.raises(RejectedError):
        both.fetch(both.open(), 0)
