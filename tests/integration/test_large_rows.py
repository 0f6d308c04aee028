"""Rows from 10 bytes to 10 MB are read to the end from a gateway with a heap of 512 MB."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

import pytest

from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    GetVersionsOfRows,
    KeyRange,
    MutateRow,
    MutateRows,
    OpenScanner,
    Put,
    Row,
    RowMutation,
    Scan,
    TableDescriptor,
)
from hbase_orm.server import EmbeddedServer, ServerOptions
from tests.integration.embedded import marks

pytestmark = marks()

_TIMEOUT_S = 200.0
_MUTATION_BYTES = 2_000_000

_Shape = tuple[int, int]
"""Cells of a row, bytes of each."""

_TINY: _Shape = (1, 10)
_FULL_PIECE: _Shape = (8, 10)
_THOUSAND: _Shape = (1_000, 10_000)
_HUNDRED: _Shape = (100, 100_000)
_ONE: _Shape = (1, 5_000_000)
_LARGEST: _Shape = (1, 9_900_000)
_LARGE_ROWS = 14

_SOME = (
    *[_LARGEST] * _LARGE_ROWS,
    *[_TINY] * 1_500,
    _THOUSAND,
    _FULL_PIECE,
    _HUNDRED,
    *[_TINY] * 20,
)
_MANY = (
    *[_ONE] * 45,
    *[_TINY] * 3_000,
    *[_THOUSAND] * 4,
    *[_TINY] * 2_000,
    *[_HUNDRED] * 4,
    *[_TINY, _FULL_PIECE, _THOUSAND, _HUNDRED, _TINY] * 4,
)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(ServerOptions(ephemeral=True, heap="512m")) as started:
        yield started


@pytest.fixture(params=[1, 2])
def gateway(server: EmbeddedServer, request: pytest.FixtureRequest) -> Iterator[Gateway]:
    with closing(_connected(server, request.param)) as opened:
        yield opened


def _connected(server: EmbeddedServer, interface: int) -> Gateway:
    port = server.ports["thrift1" if interface == 1 else "thrift2"]
    kind = Thrift1Gateway if interface == 1 else Thrift2Gateway
    return kind.connect([Address("127.0.0.1", port)], timeout_s=_TIMEOUT_S)


def _load(server: EmbeddedServer, table: str, shapes: tuple[_Shape, ...]) -> None:
    chance = random.Random(5)
    with closing(_connected(server, 2)) as gateway:
        families = (FamilyDescriptor(b"d"), FamilyDescriptor(b"e"))
        gateway.execute(CreateTable(TableDescriptor(table, families)))
        small: list[RowMutation] = []
        for number, (count, size) in enumerate(shapes):
            puts = [
                Put(b"%c:%05d" % (b"de"[cell % 2], cell), chance.randbytes(size))
                for cell in range(count)
            ]
            if count * size < 1_000:
                small.append(RowMutation(_key(number), tuple(puts)))
                continue
            at_once = max(1, _MUTATION_BYTES // size)
            for start in range(0, count, at_once):
                part = RowMutation(_key(number), tuple(puts[start : start + at_once]))
                gateway.execute(MutateRow(table, part))
        for start in range(0, len(small), 500):
            gateway.execute(MutateRows(table, tuple(small[start : start + 500])))


def _key(number: int) -> bytes:
    return b"%06d" % number


def _shape(row: Row) -> _Shape:
    sizes = {len(cell.value) for cell in row.cells.values()}
    assert len(sizes) == 1
    return len(row.cells), sizes.pop()


def _read(
    gateway: Gateway, table: str, columns: tuple[bytes, ...] = (), *, sent: bytes | None = None
) -> Iterator[tuple[bytes, _Shape]]:
    scanner = gateway.execute(OpenScanner(Scan(table, KeyRange(), columns, filter=sent)))
    while rows := gateway.execute(FetchRows(scanner, 1_000)):
        yield from ((row.key, _shape(row)) for row in rows)
    gateway.execute(CloseScanner(scanner))


@pytest.fixture(scope="module")
def some(server: EmbeddedServer) -> str:
    _load(server, "some", _SOME)
    return "some"


def test_a_scan_of_small_and_large_rows_returns_each_whole(gateway: Gateway, some: str) -> None:
    expected = [(_key(number), shape) for number, shape in enumerate(_SOME)]

    assert list(_read(gateway, some)) == expected


def test_a_scan_that_cannot_be_cut_reads_large_rows_too(gateway: Gateway, some: str) -> None:
    sent = b"SingleColumnValueFilter('d','none',!=,'binary:1')"

    assert sum(1 for _ in _read(gateway, some, sent=sent)) == len(_SOME)


def test_many_large_rows_are_read_by_their_keys(gateway: Gateway, some: str) -> None:
    keys = tuple(map(_key, range(len(_SOME))))
    wanted = keys[:_LARGE_ROWS] + keys[-30:]

    rows = gateway.execute(GetRows(some, wanted))

    assert [row and row.key for row in rows] == list(wanted)


def test_the_versions_of_many_large_rows_are_read(server: EmbeddedServer, some: str) -> None:
    keys = tuple(map(_key, range(_LARGE_ROWS)))

    with closing(_connected(server, 2)) as gateway:
        found = gateway.execute(GetVersionsOfRows(some, keys, (b"d",), 2))

    assert [len(versions) for versions in found] == [1] * _LARGE_ROWS


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_many_large_rows_among_small_ones_leave_the_server_alive(
    server: EmbeddedServer,
) -> None:
    _load(server, "many", _MANY)
    expected = [(_key(number), shape) for number, shape in enumerate(_MANY)]

    for interface in (1, 2):
        with closing(_connected(server, interface)) as gateway:
            assert list(_read(gateway, "many")) == expected
