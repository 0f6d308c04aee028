"""A call to a Thrift gateway over a plain socket, to see whether it answers.

An open port is not enough: it may be a proxy, or HBase may not be running. So a call is made. It is
encoded by hand, because this package does not depend on a Thrift library. Only the header and the
first field of the answer are checked.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

from hbase_orm.server.options import GatewayName
from hbase_orm.server.ports import LOOPBACK

_METHODS: dict[GatewayName, bytes] = {
    "thrift1": b"getTableNames",
    "thrift2": b"listNamespaceDescriptors",
}
_SEQUENCE = 7
_BINARY_CALL = 0x80010001  # strict binary protocol, version 1, type CALL
_BINARY_REPLY = 0x80010002
_COMPACT_ID = 0x82
_COMPACT_CALL = 1 << 5 | 1  # type CALL, version 1
_COMPACT_REPLY = 2 << 5 | 1
_LIST_BINARY = 15
_LIST_COMPACT = 9


@dataclass(frozen=True, slots=True)
class WireFormat:
    """The transport and the protocol of the gateways."""

    is_framed: bool = False
    is_compact: bool = False

    def request(self, method: bytes) -> bytes:
        """Return the bytes of a call of `method` without arguments."""
        if self.is_compact:
            body = bytes([_COMPACT_ID, _COMPACT_CALL, _SEQUENCE, len(method)]) + method + b"\0"
        else:
            body = struct.pack(">II", _BINARY_CALL, len(method)) + method
            body += struct.pack(">IB", _SEQUENCE, 0)
        return struct.pack(">I", len(body)) + body if self.is_framed else body

    def good_reply(self, method: bytes) -> bytes:
        """Return the bytes with which an answer begins if `method` succeeded and returns a list."""
        if self.is_compact:
            head = bytes([_COMPACT_ID, _COMPACT_REPLY, _SEQUENCE, len(method)]) + method
            return head + bytes([_LIST_COMPACT, 0])
        head = struct.pack(">II", _BINARY_REPLY, len(method)) + method
        return head + struct.pack(">IBH", _SEQUENCE, _LIST_BINARY, 0)


def answers(
    gateway: GatewayName,
    port: int,
    wire: WireFormat = WireFormat(),
    *,
    host: str = LOOPBACK,
    timeout_s: float = 5.0,
) -> bool:
    """Return whether the gateway on a port answers a call of its own Thrift interface.

    The call lists tables for Thrift1, and namespaces for Thrift2. The other interface does not have
    this method, so swapped ports are detected.
    """
    method = _METHODS[gateway]
    expected = wire.good_reply(method)
    try:
        with socket.create_connection((host, port), timeout=timeout_s) as connection:
            connection.sendall(wire.request(method))
            if wire.is_framed:
                _read(connection, 4)
            return _read(connection, len(expected)) == expected
    except OSError:
        return False


def _read(connection: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        more = connection.recv(count - len(got))
        if not more:
            break
        got += more
    return got
