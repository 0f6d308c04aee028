"""The bytes of `PutRows`: a server of the Thrift library reads what `MutateRows` would say."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import thriftpy2.protocol
import thriftpy2.thrift
import thriftpy2.transport
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.errors import RejectedError
from hbase_orm.gateway.thrift.encoding.put_rows import put_rows_call
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.wire import HBASE1, WireStyle
from hbase_orm.ops import ListTables, PutRows

# Mostly without annotations, and so unknown to the type checker.
PROTOCOLS: Any = thriftpy2.protocol
TRANSPORTS: Any = thriftpy2.transport
THRIFT: Any = thriftpy2.thrift

STYLES = [
    WireStyle(transport, protocol)
    for transport in ("buffered", "framed")
    for protocol in ("binary", "compact")
]
COLUMNS = (b"d:a", b"d:", b"e:long")

values = st.one_of(st.none(), st.binary(max_size=3), st.just(b"x" * 5_000))
flat_rows = st.tuples(st.binary(min_size=1, max_size=4), st.binary(max_size=2), values, values)
requests = st.builds(
    PutRows,
    st.just("ns:t"),
    st.just(COLUMNS),
    st.lists(flat_rows, min_size=2, max_size=5).map(tuple),
    st.one_of(st.none(), st.integers(0, 2**63 - 1)),
)


class Compact(PROTOCOLS.TCompactProtocol):  # type: ignore[misc]  # its module has no types
    """Gives methods' names as the binary protocol does."""

    def read_message_begin(self) -> tuple[Any, ...]:
        name, *rest = super().read_message_begin()
        return name.decode(), *rest


class Hears:
    """Notes what each call writes, as row key, column and value."""

    def __init__(self) -> None:
        self.calls: list[tuple[bytes, int | None, list[Any]]] = []

    def getTableNames(self) -> list[bytes]:  # noqa: N802 - a name of HBase's interface
        return [b"t"]

    def mutateRows(self, table: bytes, rows: Any, _: Any) -> None:  # noqa: N802 - HBase's
        self.calls.append((table, None, heard(rows)))

    def mutateRowsTs(self, table: bytes, rows: Any, at: int, _: Any) -> None:  # noqa: N802 - HBase's
        self.calls.append((table, at, heard(rows)))


def heard(rows: Any) -> list[Any]:
    return [
        (row.row, [(each.column, each.value) for each in row.mutations])
        for row in rows
        if all(not each.isDelete and each.writeToWAL for each in row.mutations)
    ]


def meant(request: PutRows) -> list[Any]:
    return [
        (each.row, [(put.column, put.value) for put in each.puts])
        for each in request.as_mutations().mutations
    ]


@contextmanager
def served(style: WireStyle, handler: Hears) -> Iterator[Thrift1Gateway]:
    """Serve Thrift1's interface by the Thrift library's own code, in the style."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener, style, handler), daemon=True)
        server.start()
        address = Address("127.0.0.1", listener.getsockname()[1])
        gateway = Thrift1Gateway.connect([address], style=style, pool_size=1, timeout_s=20)
        try:
            yield gateway
        finally:
            gateway.close()
            server.join(20)


def serve(listener: socket.socket, style: WireStyle, handler: Hears) -> None:
    """Answer on one connection until the peer closes it."""
    framed, compact = style.transport == "framed", style.protocol == "compact"
    wrap = TRANSPORTS.TFramedTransport if framed else TRANSPORTS.TBufferedTransport
    speak = Compact if compact else PROTOCOLS.TBinaryProtocol
    sock, _ = listener.accept()
    with sock:
        protocol = speak(wrap(TRANSPORTS.TSocket(sock=sock)), decode_response=False)
        processor = THRIFT.TProcessor(HBASE1.Hbase, handler)
        with suppress(TRANSPORTS.TTransportException):
            while True:
                processor.process(protocol, protocol)


@given(requests)
def test_a_server_reads_the_rows_that_were_meant(request: PutRows) -> None:
    method, data = put_rows_call(request)

    found = getattr(HBASE1.Hbase, f"{method}_args")()
    buffer = TRANSPORTS.TMemoryBuffer(data)
    found.read(PROTOCOLS.TBinaryProtocol(buffer, decode_response=False))

    assert method == ("mutateRows" if request.timestamp_ms is None else "mutateRowsTs")
    assert heard(found.rowBatches) == meant(request)
    assert (found.tableName, found.attributes) == (b"ns:t", {})
    assert getattr(found, "timestamp", None) == request.timestamp_ms
    assert buffer.read(1) == b""


@pytest.mark.parametrize("style", STYLES, ids=repr)
def test_every_style_of_connection_says_the_same(style: WireStyle) -> None:
    handler = Hears()
    sent = [
        PutRows("t", COLUMNS, ((b"a", b"1", b"", b"x" * 200_000), (b"b", b"2", None, b"z"))),
        PutRows("t", COLUMNS, ((b"a", b"1", b"", b"5"), (b"b", b"2", b"3", b"z")), 7),
    ]

    with served(style, handler) as gateway:
        for request in sent:
            gateway.execute(request)
        after = gateway.execute(ListTables())  # the connection is in step

    assert handler.calls == [(b"t", each.timestamp_ms, meant(each)) for each in sent]
    assert after == ["t"]


def test_a_value_of_the_wrong_type_sends_nothing() -> None:
    handler = Hears()
    wrong: Any = ((b"a", b"1"), (b"b", "text"))

    with served(WireStyle(), handler) as gateway:
        with pytest.raises(RejectedError) as caught:
            gateway.execute(PutRows("t", (b"d:a",), wrong))
        gateway.execute(ListTables())

    assert caught.value.fix
    assert handler.calls == []
