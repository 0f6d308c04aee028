"""The probe against scripted peers; the integration tests ask the real gateways."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from hbase_orm.server.options import GatewayName
from hbase_orm.server.ports import free_ports
from hbase_orm.server.probe import WireFormat, answers

_BINARY = WireFormat()
_FRAMED_COMPACT = WireFormat(is_framed=True, is_compact=True)
_LIST = b"\x80\x01\x00\x02\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x07\x0f\x00\x00\x0b\x00\x00\x00\x00\x00"
_ERROR = b"\x80\x01\x00\x02\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x07\x0c\x00\x01\x00\x00"
_UNKNOWN_METHOD = b"\x80\x01\x00\x03\x00\x00\x00\x0dgetTableNames\x00\x00\x00\x07\x0b\x00\x01"
_OTHER_CALL = _LIST.replace(b"\x00\x00\x00\x07", b"\x00\x00\x00\x06")
_COMPACT_LIST = b"\x00\x00\x00\x15\x82\x41\x07\x0dgetTableNames\x09\x00\x08\x00"


@contextmanager
def _peer(reply: bytes) -> Iterator[int]:
    """Serve one connection: read something, send `reply`, close."""

    def serve() -> None:
        connection, _ = server.accept()
        with closing(connection):
            connection.recv(1000)
            connection.sendall(reply)

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(("reply", "wire"), [(_LIST, _BINARY), (_COMPACT_LIST, _FRAMED_COMPACT)])
def test_a_list_is_an_answer(reply: bytes, wire: WireFormat) -> None:
    with _peer(reply) as port:
        assert answers("thrift1", port, wire)


@pytest.mark.parametrize("reply", [_ERROR, _UNKNOWN_METHOD, _OTHER_CALL, b"", b"HTTP/1.1 400"])
def test_anything_else_is_none(reply: bytes) -> None:
    with _peer(reply) as port:
        assert not answers("thrift1", port)


def test_the_other_gateways_answer_is_none() -> None:
    with _peer(_LIST) as port:
        assert not answers("thrift2", port)


@pytest.mark.parametrize("gateway", ["thrift1", "thrift2"])
def test_a_port_where_nobody_listens_does_not_answer(gateway: GatewayName) -> None:
    (port,) = free_ports(1)

    assert not answers(gateway, port)


def test_a_peer_that_never_answers_is_given_up() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        assert not answers("thrift1", server.getsockname()[1], timeout_s=0.1)
