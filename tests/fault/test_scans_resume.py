"""Regions that split, merge and move, gateways that die, scanners that expire, all in mid-scan.

Every kind of reading is half done when it happens, and goes on while it happens: each row comes
once, in order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from hbase_orm import (
    Engine,
    Index,
    Salt,
    connect,
    rowkey,
    select,
)
from hbase_orm.errors import ConnectionLostError, GatewayError, ScannerExpiredError
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import FetchRows, OpenScanner, Operation, Ping
from hbase_orm.query import Select
from hbase_orm.server import EmbeddedServer
from tests.fault.conftest import READ_TIMEOUT_S
from tests.integration.embedded import marks
from tests.support.numbered_rows import Numbered
from tests.support.recording import RecordsRequests, gateway_of, through

pytestmark = [*marks(), pytest.mark.fault]

R = TypeVar("R")

ROWS = 600
LIMIT = 450
KEPT = 5  # of the values 0 to 6
FIRST = 100  # rows read before anything happens
LAST = 100  # rows that are left to read afterwards
CACHING = 20

# A Thrift1 gateway holds a scanner for twice `hbase.client.scanner.timeout.period`, here 6 s.
LEASE_S = 12.0


class Plain(Numbered, table="resumed_plain"):
    """Read by scans."""


class Salted(Numbered, table="resumed_salted"):
    """Read by merges."""

    __rowkey__ = rowkey(Salt(4), Numbered.group, Numbered.n)


class Indexed(Numbered, table="resumed_indexed"):
    """Read through an index."""

    by_v = Index(Numbered.v)


MODELS = (Plain, Salted, Indexed)


class RecordsFailures(RecordsRequests):
    """Keeps what fetches failed with."""

    def __init__(self, inner: Gateway) -> None:
        super().__init__(inner)
        self.failures: list[GatewayError] = []

    def execute(self, operation: Operation[R], /) -> R:
        try:
            return super().execute(operation)
        except GatewayError as error:
            if isinstance(operation, FetchRows):
                self.failures.append(error)
            raise


@dataclass
class Reading:
    """One statement that is being read."""

    name: str
    stream: Iterator[Any]
    expected: list[int]
    found: list[int] = field(default_factory=list)

    def read(self, count: int) -> None:
        """Read so many more rows, as far as there are."""
        for _, obj in zip(range(count), self.stream, strict=False):
            self.found.append(obj.n)

    @property
    def left(self) -> int:
        return len(self.expected) - len(self.found)


@pytest.fixture(scope="module")
def engine(server: EmbeddedServer) -> Iterator[Engine]:
    with connect(server.url) as connected:
        connected.create_tables(*MODELS)
        for model in MODELS:
            with connected.session() as session, session.bulk() as bulk:
                bulk.add_all(model(group="a", n=n, v=n % 7) for n in range(ROWS))
                # Rows around those that are read, so that a range that is too wide shows.
                bulk.add_all(model(group=group, n=1, v=200) for group in ("0", "b"))
        yield connected


@pytest.fixture
def sent(engine: Engine) -> RecordsFailures:
    return RecordsFailures(gateway_of(engine))


def statements() -> Iterator[tuple[str, Select[Any], list[int]]]:
    """Yield every kind of reading and the rows it must give."""
    everything = list(range(ROWS))
    for model in (Plain, Salted):
        rows = select(model).where(model.group == "a")
        name = model.__name__
        yield f"{name} forward", rows, everything
        yield f"{name} reverse", rows.order_by(model.n.desc()), everything[::-1]
        yield f"{name} limited", rows.limit(LIMIT), everything[:LIMIT]
        kept = [n for n in everything if n % 7 != KEPT]
        yield f"{name} filtered", rows.where(model.v != KEPT), kept
    entries = select(Indexed).where(Indexed.v.between(0, 6)).using(Indexed.by_v)
    by_value = sorted(everything, key=lambda n: (n % 7, n))
    yield "index forward", entries, by_value
    yield "index reverse", entries.order_by(Indexed.v.desc()), by_value[::-1]
    yield "index limited", entries.limit(LIMIT), by_value[:LIMIT]


@pytest.fixture
def readings(engine: Engine, sent: RecordsFailures) -> Iterator[list[Reading]]:
    """Return every kind of reading, each at its first rows."""
    session = through(sent, engine).session()
    opened = [
        (name, session.stream(stmt.caching(CACHING)), expected)
        for name, stmt, expected in statements()
    ]
    begun = [Reading(name, stream, expected) for name, stream, expected in opened]
    for reading in begun:
        reading.read(FIRST)
    yield begun
    for _, stream, _ in opened:
        stream.close()


def read_while(work: Callable[[], None], readings: list[Reading]) -> None:
    """Read on, row by row, while `work` goes on; then read all the rest."""
    failures: list[BaseException] = []

    def attempt() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # raised in the test's own thread
            failures.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    while thread.is_alive():
        for reading in readings:
            if reading.left > LAST:
                reading.read(1)
        time.sleep(0.01)
    thread.join()
    if failures:
        raise failures[0]
    assert all(reading.left >= LAST for reading in readings)
    for reading in readings:
        reading.read(ROWS)
        assert reading.found == reading.expected, reading.name


def bounds(server: EmbeddedServer, table: str) -> list[bytes]:
    return [region.start for region in server.admin.regions(table)]


def cuts(n: int) -> dict[str, bytes]:
    """Return for each table a key in the midst of what is read; no two `n` give the same."""
    found = {model.__schema__.table: model.encode_key(group="a", n=n) for model in MODELS}
    (index,) = Indexed.__schema__.indexes
    return {**found, index.table: bytes((n % 7, n % 256))}


def split(server: EmbeddedServer, keys: dict[str, bytes]) -> None:
    for table, row in keys.items():
        server.admin.split(table, row)


def test_regions_that_split(server: EmbeddedServer, readings: list[Reading]) -> None:
    keys = cuts(301)
    assert not any(row in bounds(server, table) for table, row in keys.items())

    read_while(lambda: split(server, keys), readings)

    assert all(row in bounds(server, table) for table, row in keys.items())


def test_regions_that_merge(server: EmbeddedServer, readings: list[Reading]) -> None:
    keys = cuts(198)
    split(server, keys)
    below = {table: row[:-1] + bytes((row[-1] - 1,)) for table, row in keys.items()}

    def merge() -> None:
        for table, row in keys.items():
            server.admin.merge(table, below[table], row)

    read_while(merge, readings)

    assert not any(row in bounds(server, table) for table, row in keys.items())


def test_regions_that_move(server: EmbeddedServer, readings: list[Reading]) -> None:
    places = {table: server.admin.regions(table) for table in cuts(0)}

    def move() -> None:
        for table, regions in places.items():
            for region in regions:
                server.admin.move(table, region.start or b"\x00")

    read_while(move, readings)

    for table, regions in places.items():
        after = server.admin.regions(table)
        assert all(a.server != b.server for a, b in zip(after, regions, strict=True))


def test_a_gateway_that_is_killed_and_comes_back(
    server: EmbeddedServer, readings: list[Reading], sent: RecordsFailures
) -> None:
    def restart() -> None:
        server.kill_gateway("thrift1")
        server.start_gateway("thrift1")

    read_while(restart, readings)

    assert len(sent.failures) >= len(readings)
    assert {type(failure) for failure in sent.failures} <= {
        ConnectionLostError,
        ScannerExpiredError,
    }


def test_connections_that_the_gateway_closes_as_idle(
    readings: list[Reading], sent: RecordsFailures
) -> None:
    time.sleep(READ_TIMEOUT_S + 1)

    read_while(lambda: None, readings)

    assert len(sent.failures) >= len(readings)


@pytest.mark.usefixtures("engine")
def test_scanners_that_expire_while_their_connection_lives(server: EmbeddedServer) -> None:
    with connect(f"{server.url}&pool=1") as engine:
        sent = RecordsFailures(gateway_of(engine))
        session = through(sent, engine).session()
        begun = [
            Reading(name, session.stream(stmt.caching(CACHING)), expected)
            for name, stmt, expected in statements()
        ]
        for reading in begun:
            reading.read(FIRST)
        scanners = sum(isinstance(request, OpenScanner) for request in sent.requests)
        expired = time.monotonic() + LEASE_S + 2
        while time.monotonic() < expired:
            sent.execute(Ping())
            time.sleep(READ_TIMEOUT_S / 4)

        read_while(lambda: None, begun)

    assert {(type(failure), failure.text) for failure in sent.failures} == {
        (ScannerExpiredError, "the scanner is closed or expired")
    }
    assert len(sent.failures) == scanners
