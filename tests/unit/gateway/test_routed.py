"""Each request goes to the gateway that does it best."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import pytest

from hbase_orm import ops
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.routed import RoutedGateway, needs_atomic
from hbase_orm.ops import Delete, Operation, Put, RowMutation, ScannerId

R = TypeVar("R")

_PUT = RowMutation(b"r", (Put(b"d:a", b"1"), Put(b"d:b", b"1")))
_PUT_AT_7 = RowMutation(b"s", (Put(b"d:a", b"1", 7),))
_PUT_FOR_1_S = RowMutation(b"s", (Put(b"d:a", b"1"),), ttl_ms=1000)
_DELETE = RowMutation(b"r", deletes=(Delete(b"d:a"), Delete(b"e")))
_MIXED = RowMutation(b"r", (Put(b"d:a", b"1", 7),), (Delete(b"d:a", 6),))
_MIXED_AT_ONE_TIME = RowMutation(b"r", (Put(b"d:a", b"1"),), (Delete(b"d:b"),))
_TWO_TIMES = RowMutation(b"r", (Put(b"d:a", b"1", 7), Put(b"d:b", b"1", 8)))
_SCANNER = ScannerId(0, None)
_FAMILY = ops.FamilyDescriptor(b"d")
_TABLE = ops.TableDescriptor("t", (_FAMILY,))

_DATA: list[Operation[Any]] = [
    ops.ListRegions("t", needs_times=True),
    ops.Append("t", b"r", {b"d:a": b"1", b"d:b": b"2"}),
    ops.CloseScanner(_SCANNER),
    ops.DisableTable("t"),
    ops.DropTable("t"),
    ops.EnableTable("t"),
    ops.FetchRows(_SCANNER, 1),
    ops.GetRows("t", (b"r",)),
    ops.Increment("t", b"r", {b"d:a": 1}),
    ops.ListTables(),
    ops.MutateRow("t", _DELETE),
    ops.MutateRow("t", _PUT),
    ops.MutateRows("t", ()),
    ops.MutateRows("t", (_PUT, _PUT)),
    ops.MutateRows("t", (_PUT_AT_7, _PUT_AT_7)),
    ops.OpenScanner(ops.Scan("t")),
    ops.Ping(),
    ops.PutRows("t", (b"d:a",), ((b"r", b"1"),), 7),
]
_ATOMIC: list[Operation[Any]] = [
    ops.AddFamily("t", _FAMILY),
    ops.DeleteFamily("t", b"d"),
    ops.TruncateTable("t"),
    ops.CheckAndMutate("t", b"d:a", b"", _PUT),
    ops.CreateNamespace("n"),
    ops.CreateTable(_TABLE),
    ops.DescribeTable("t"),
    ops.DropNamespace("n"),
    ops.GetRows("t", (b"r",), is_timeline=True),
    ops.GetVersions("t", b"r"),
    ops.GetVersionsOfRows("t", (b"r", b"s")),
    ops.GetVersions("t", b"r", raw=True),
    ops.Increment("t", b"r", {b"d:a": 1, b"d:b": 1}),
    ops.ListNamespaces(),
    ops.ListRegions("t"),
    ops.ModifyFamily("t", b"d", {"versions": 2}),
    ops.ModifyTable("t", {"durability": "SYNC_WAL"}),
    ops.MutateRow("t", _MIXED),
    ops.MutateRow("t", _MIXED_AT_ONE_TIME),
    ops.MutateRow("t", _TWO_TIMES),
    ops.MutateRows("t", (_PUT, _PUT_AT_7)),
    ops.MutateRows("t", (_PUT, _PUT_FOR_1_S)),
    ops.OpenScanner(ops.Scan("t", is_timeline=True)),
    ops.PutStampedRows("t", (ops.StampedRows((b"d:a",), ((b"r", b"1"),), ((7,),)),)),
    ops.ReadFirstRows(ops.Scan("t"), 3),
]


class _Noting:
    """Notes what it is asked, and answers the gateway's name."""

    def __init__(self, name: str, *features: Feature) -> None:
        self.name = name
        self.features = frozenset(features)
        self.asked: list[Operation[Any]] = []
        self.times_s: list[float] = []
        self.is_closed = False

    def execute(self, operation: Operation[R], /) -> R:
        self.asked.append(operation)
        return cast("R", self.name)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        self.times_s.append(timeout_s)
        return self.execute(operation)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def data() -> _Noting:
    return _Noting("data", Feature.RAW_READ)


@pytest.fixture
def atomic() -> _Noting:
    return _Noting("atomic", Feature.SCHEMA)


@pytest.mark.parametrize("operation", _DATA, ids=repr)
def test_reads_and_plain_writes_go_to_the_data_gateway(
    data: _Noting, atomic: _Noting, operation: Operation[Any]
) -> None:
    assert RoutedGateway(data, atomic).execute(operation) == "data"


@pytest.mark.parametrize("operation", _ATOMIC, ids=repr)
def test_what_is_atomic_conditional_or_complete_goes_to_the_other(
    data: _Noting, atomic: _Noting, operation: Operation[Any]
) -> None:
    assert RoutedGateway(data, atomic).execute(operation) == "atomic"


@pytest.mark.parametrize("operation", _ATOMIC, ids=repr)
def test_without_a_second_gateway_everything_goes_to_the_first(
    data: _Noting, operation: Operation[Any]
) -> None:
    assert RoutedGateway(data).execute(operation) == "data"


def test_every_kind_of_request_is_routed_above() -> None:
    kinds = {
        kind
        for kind in vars(ops).values()
        if isinstance(kind, type) and issubclass(kind, Operation) and kind is not Operation
    }

    for_drivers = {ops.Nested, ops.RenewTimeLimit, ops.SideBySide, ops.Sleep, ops.Together}
    assert {type(operation) for operation in _DATA + _ATOMIC} == kinds - for_drivers


def test_a_ping_asks_both(data: _Noting, atomic: _Noting) -> None:
    gateway = RoutedGateway(data, atomic)

    gateway.execute(ops.Ping())
    gateway.execute_within(ops.Ping(), 3.0)

    assert (len(data.asked), len(atomic.asked)) == (2, 2)


def test_the_time_of_a_request_is_passed_on(data: _Noting, atomic: _Noting) -> None:
    gateway = RoutedGateway(data, atomic)

    gateway.execute_within(ops.ListTables(), 3.0)
    gateway.execute_within(ops.ListNamespaces(), 4.0)

    assert (data.times_s, atomic.times_s) == ([3.0], [4.0])


def test_features_are_those_of_both_and_closing_closes_both(data: _Noting, atomic: _Noting) -> None:
    gateway = RoutedGateway(data, atomic)

    gateway.close()

    assert gateway.features == {Feature.RAW_READ, Feature.SCHEMA}
    assert data.is_closed
    assert atomic.is_closed


def test_features_without_a_second_gateway_are_the_firsts(data: _Noting) -> None:
    gateway = RoutedGateway(data)
    gateway.close()

    assert gateway.features == {Feature.RAW_READ}
    assert data.is_closed


def test_repr_shows_both() -> None:
    assert repr(RoutedGateway(_Noting("data"))).endswith("atomic=None)")


def test_one_increment_is_thrift1s() -> None:
    assert not needs_atomic(ops.Increment("t", b"r", {b"d:a": 1}))
