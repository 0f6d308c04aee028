"""Answers that no gateway sends end as errors of this library, in time and in little memory."""

from __future__ import annotations

import random
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from thriftpy2.thrift import TApplicationException, TMessageType

from hbase_orm.errors import ConnectionLostError, GatewayError, RegionUnavailableError
from hbase_orm.gateway.thrift.decoding.incoming import MAX_ANSWER_BYTES
from hbase_orm.gateway.thrift.wire import HBASE1, HBASE2, WireStyle
from hbase_orm.ops import (
    Append,
    DescribeTable,
    FetchRows,
    GetRows,
    GetVersions,
    Increment,
    ListRegions,
    ListTables,
    OpenScanner,
    Operation,
)
from tests.fault.garbled import (
    HOSTILE,
    SCAN,
    STYLES,
    Garbler,
    ask_once,
    encoded,
    gateway_answering,
    in_frame,
    seconds_of,
)

_BINARY = WireStyle()
_KINDS = [
    pytest.param(interface, style, id=f"thrift{interface}-{style.transport}-{style.protocol}")
    for interface in (1, 2)
    for style in STYLES
]
_MEMORY_BYTES = 64 << 20
_LONGEST_S = 1.0


def _answers(body: Callable[[str], object], style: WireStyle) -> Callable[[str, int], bytes]:
    return lambda method, number: in_frame(encoded(method, number, body(method), style), style)


@pytest.mark.parametrize(("interface", "style"), _KINDS)
def test_a_hostile_answer_costs_the_connection_and_nothing_else(
    interface: int, style: WireStyle
) -> None:
    empty = HBASE1.Hbase.scannerClose_result()

    for start in HOSTILE[style.protocol]:

        def answer(method: str, number: int, start: bytes = start) -> bytes:
            message = encoded(method, number, empty, style)
            return in_frame(message[:-1] + start, style)

        with (
            gateway_answering(interface, style, answer) as gateway,
            pytest.raises(ConnectionLostError),
        ):
            gateway.execute(ListTables())


@pytest.mark.parametrize(("interface", "style"), _KINDS)
def test_an_answer_cut_anywhere_is_a_lost_connection(interface: int, style: WireStyle) -> None:
    body: object = HBASE1.Hbase.getRow_result(
        success=[
            HBASE1.TRowResult(row=b"a", columns={b"d:a": HBASE1.TCell(value=b"1", timestamp=7)})
        ]
    )
    if interface == 2:
        value = HBASE2.ColumnValue(family=b"d", qualifier=b"a", value=b"1", timestamp=7)
        body = HBASE2.HBase2.get_result(success=HBASE2.Result(row=b"a", values=[value]))
    whole = _answers(lambda _method: body, style)
    lengths = range(len(whole("getRow" if interface == 1 else "get", 1)))

    for length in lengths:

        def cut(method: str, number: int, end: int = length) -> bytes:
            return whole(method, number)[:end]

        with (
            gateway_answering(interface, style, cut) as gateway,
            pytest.raises(ConnectionLostError),
        ):
            gateway.execute(GetRows("t", (b"a",)))

    with gateway_answering(interface, style, whole) as gateway:
        (row,) = gateway.execute(GetRows("t", (b"a",)))

    assert row is not None
    assert row.cells[b"d:a"].value == b"1"


@pytest.mark.parametrize("style", STYLES)
def test_bytes_behind_an_answer_cost_the_connection(style: WireStyle) -> None:
    def answer(method: str, number: int) -> bytes:
        body = HBASE1.Hbase.getTableNames_result(success=[b"t"])
        return in_frame(encoded(method, number, body, style) + b"\x00", style)

    with (
        gateway_answering(1, style, answer) as gateway,
        pytest.raises(ConnectionLostError) as caught,
    ):
        gateway.execute(ListTables())

    assert "follow the answer" in caught.value.details["reason"]


def _t1(method: str, **fields: object) -> object:
    return getattr(HBASE1.Hbase, f"{method}_result")(**fields)


def _t2(method: str, **fields: object) -> object:
    return getattr(HBASE2.HBase2, f"{method}_result")(**fields)


_INCOMPLETE: list[tuple[str, int, Operation[Any], object]] = [
    ("a row without cells", 1, GetRows("t", (b"a",)), _t1("getRow", success=[HBASE1.TRowResult()])),
    (
        "a cell without a value",
        1,
        GetRows("t", (b"a",)),
        _t1("getRow", success=[HBASE1.TRowResult(row=b"a", columns={b"d:a": HBASE1.TCell()})]),
    ),
    (
        "a row that nobody asked for",
        1,
        GetRows("t", (b"a",)),
        _t1("getRow", success=[HBASE1.TRowResult(row=b"x", columns={})]),
    ),
    (
        "a version without a timestamp",
        1,
        GetVersions("t", b"a", (b"d:a",), 1),
        _t1("getVer", success=[HBASE1.TCell(value=b"1")]),
    ),
    ("names that are not text", 1, ListTables(), _t1("getTableNames", success=[b"\xff\xfe"])),
    (
        "a family without anything",
        1,
        DescribeTable("t"),
        _t1("getColumnDescriptors", success={b"d:": HBASE1.ColumnDescriptor()}),
    ),
    (
        "a region without a start",
        1,
        ListRegions("t"),
        _t1("getTableRegions", success=[HBASE1.TRegionInfo(serverName=b"h", id=1, port=1)]),
    ),
    (
        "fewer appended cells than columns",
        1,
        Append("t", b"a", {b"d:a": b"1", b"d:b": b"2"}),
        _t1("append", success=[HBASE1.TCell(value=b"1", timestamp=1)]),
    ),
    (
        "fewer rows than keys",
        2,
        GetRows("t", (b"a", b"b")),
        _t2("getMultiple", success=[HBASE2.Result()]),
    ),
    (
        "another row's cells",
        2,
        GetRows("t", (b"a",)),
        _t2("get", success=HBASE2.Result(row=b"x", values=[HBASE2.ColumnValue(family=b"d")])),
    ),
    (
        "a counter of 3 bytes",
        2,
        Increment("t", b"a", {b"d:n": 1}),
        _t2(
            "increment",
            success=HBASE2.Result(row=b"a", values=[HBASE2.ColumnValue(value=b"123")]),
        ),
    ),
    (
        "a cell of an unknown kind",
        2,
        GetVersions("t", b"a", (), 1, raw=True),
        _t2("get", success=HBASE2.Result(row=b"a", values=[HBASE2.ColumnValue(type=77)])),
    ),
    (
        "a table without a name",
        2,
        DescribeTable("t"),
        _t2("getTableDescriptor", success=HBASE2.Table()),
    ),
    (
        "replicas that are no number",
        2,
        DescribeTable("t"),
        _t2(
            "getTableDescriptor",
            success=HBASE2.Table(
                name=HBASE2.TableName(qualifier=b"t"), attributes={b"REGION_REPLICATION": b"x"}
            ),
        ),
    ),
    (
        "a region without an id",
        1,
        ListRegions("t"),
        _t1("getTableRegions", success=[HBASE1.TRegionInfo(startKey=b"", serverName=b"h", port=1)]),
    ),
    (
        "a region without an id",
        2,
        ListRegions("t"),
        _t2(
            "getAllRegionLocations",
            success=[
                HBASE2.RegionLocation(
                    region=HBASE2.RegionInfo(), server=HBASE2.ServerName(host="h", port=1)
                )
            ],
        ),
    ),
    (
        "a region without anything",
        2,
        ListRegions("t"),
        _t2("getAllRegionLocations", success=[HBASE2.RegionLocation()]),
    ),
]


@pytest.mark.parametrize(
    ("interface", "operation", "body"),
    [pytest.param(*case[1:], id=case[0]) for case in _INCOMPLETE],
)
def test_an_answer_that_lacks_what_every_gateway_sends_is_a_lost_connection(
    interface: int, operation: Operation[Any], body: object
) -> None:
    answer = _answers(lambda _method: body, _BINARY)

    with (
        gateway_answering(interface, _BINARY, answer) as gateway,
        pytest.raises(ConnectionLostError),
    ):
        gateway.execute(operation)


@pytest.mark.parametrize(
    ("interface", "body"),
    [
        (1, _t1("getTableRegions", success=[HBASE1.TRegionInfo(startKey=b"", id=1, port=1)])),
        (
            2,
            _t2(
                "getAllRegionLocations",
                success=[HBASE2.RegionLocation(region=HBASE2.RegionInfo(id=1))],
            ),
        ),
    ],
)
def test_a_region_that_no_server_has_is_not_available(interface: int, body: object) -> None:
    answer = _answers(lambda _method: body, _BINARY)

    with (
        gateway_answering(interface, _BINARY, answer) as gateway,
        pytest.raises(RegionUnavailableError),
    ):
        gateway.execute(ListRegions("t"))


def test_a_scanner_that_answers_more_rows_than_asked_for_is_lost() -> None:
    rows = [
        HBASE1.TRowResult(
            row=b"%03d" % number, columns={b"d:a": HBASE1.TCell(value=b"1", timestamp=7)}
        )
        for number in range(1000)
    ]

    def body(method: str) -> object:
        return _t1(method, success=7 if method == "scannerOpenWithScan" else rows)

    with gateway_answering(1, _BINARY, _answers(body, _BINARY)) as gateway:
        scanner = gateway.execute(OpenScanner(SCAN))
        with pytest.raises(GatewayError):
            gateway.execute(FetchRows(scanner, 2))


def test_a_frame_beyond_the_limit_is_refused_before_it_is_read() -> None:
    style = WireStyle("framed")

    def answer(_method: str, _number: int) -> bytes:
        return (MAX_ANSWER_BYTES + 1).to_bytes(4, "big")

    with (
        gateway_answering(1, style, answer) as gateway,
        pytest.raises(ConnectionLostError) as caught,
    ):
        gateway.execute(ListTables())

    assert "frame" in caught.value.details["reason"]


@pytest.mark.parametrize("kind", [TMessageType.CALL, TMessageType.ONEWAY, 0, 9])
def test_a_message_that_is_no_answer_is_a_lost_connection(kind: int) -> None:
    def answer(method: str, number: int) -> bytes:
        return encoded(method, number, _t1("getTableNames", success=[]), _BINARY, kind)

    with gateway_answering(1, _BINARY, answer) as gateway, pytest.raises(ConnectionLostError):
        gateway.execute(ListTables())


@pytest.mark.parametrize("message", [None, b"\xff\xfe", "no"])
def test_a_refusal_of_any_shape_is_an_error_of_this_library(message: Any) -> None:
    def answer(method: str, number: int) -> bytes:
        kind: Any = None
        body = TApplicationException(kind, message)
        return encoded(method, number, body, _BINARY, TMessageType.EXCEPTION)

    with gateway_answering(1, _BINARY, answer) as gateway, pytest.raises(GatewayError):
        gateway.execute(ListTables())


def _garble(rounds: int, seed: int) -> tuple[float, int]:
    """Make so many requests, each of a new connection; return the slowest's seconds, the growth."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    longest_s = 0.0
    for number in range(rounds):
        chance = random.Random(seed + number)
        interface, style = chance.choice((1, 2)), chance.choice(STYLES)

        def once(
            interface: int = interface, style: WireStyle = style, chance: random.Random = chance
        ) -> None:
            garbler = Garbler(interface, style, chance)
            with (
                gateway_answering(interface, style, garbler) as gateway,
                suppress(GatewayError),
            ):
                ask_once(gateway, interface, chance)

        try:
            longest_s = max(longest_s, seconds_of(once))
        except Exception as exc:
            exc.add_note(f"seed {seed + number}, thrift{interface}, {style}")
            raise
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return longest_s, grown * 1024


def test_garbled_answers_end_as_errors_of_this_library() -> None:
    _, grown = _garble(2_000, seed=1)

    assert grown < _MEMORY_BYTES


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_hundred_thousand_garbled_answers_end_soon_and_in_little_memory(
    capsys: pytest.CaptureFixture[str],
) -> None:
    longest_s, grown = _garble(100_000, seed=1_000_000)

    with capsys.disabled():
        sys.stdout.write(f"\nlongest {longest_s:.3f} s, memory grown by {grown / 2**20:.1f} MiB\n")
    assert longest_s < _LONGEST_S
    assert grown < _MEMORY_BYTES
