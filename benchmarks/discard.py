"""The server's limit: the same requests on a raw socket, the answers received and thrown away.

What hand-written code asks is recorded once, with the size of each answer. Then the requests are
sent again, and as many bytes are received. The numbers of scanners are new in each run: they are
taken from the answers that open them, and put into the requests that use them.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import happybase
from happybase.connection import Hbase
from thriftpy2 import protocol as thrift_protocol
from thriftpy2 import transport as thrift_transport
from thriftpy2.thrift import TClient

_protocols: Any = thrift_protocol  # only some of their functions are typed
_transports: Any = thrift_transport
_BUFFER_BYTES = 1 << 20
_INT32 = struct.Struct(">i")
_TIMEOUT_S = 60.0
_NAME_AT = 8
"""Where the name of the method begins: after the version and the name's length."""
_SEQUENCE_AND_FIELD = 4 + 3
"""Between the name and the first argument: the sequence id, the argument's type and number."""
_STOP = 1
"""What follows the number of a scanner in the answer that opens it."""
_TAIL = _INT32.size + _STOP


@dataclass(slots=True)
class Exchange:
    """A request and the size of its answer.

    Attributes:
        request: The bytes that were sent.
        answer_bytes: How many were received.
        tail: The last bytes of the answer: of one that opens a scanner, the scanner's number.
    """

    request: bytes = b""
    answer_bytes: int = 0
    tail: bytes = b""

    @property
    def method(self) -> bytes:
        """The name of the method."""
        (length,) = _INT32.unpack_from(self.request, _NAME_AT - _INT32.size)
        return self.request[_NAME_AT : _NAME_AT + length]

    @property
    def first_argument_at(self) -> int:
        """Where the value of the first argument begins."""
        return _NAME_AT + len(self.method) + _SEQUENCE_AND_FIELD


class _RecordingSocket:
    """A socket of thriftpy2 that notes what goes through it."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = _transports.TSocket(host, port)
        self._request = b""
        self.exchanges: list[Exchange] = []

    def open(self) -> None:
        self._socket.open()

    def close(self) -> None:
        self._socket.close()

    def is_open(self) -> bool:
        return bool(self._socket.is_open())

    def write(self, data: bytes) -> None:
        self._request += bytes(data)
        self._socket.write(data)

    def flush(self) -> None:
        if self._request:
            self.exchanges.append(Exchange(self._request))
            self._request = b""
        self._socket.flush()

    def read(self, size: int) -> bytes:
        data: bytes = self._socket.read(size)
        exchange = self.exchanges[-1]
        exchange.answer_bytes += len(data)
        exchange.tail = (exchange.tail + data)[-_TAIL:]
        return data


@dataclass(frozen=True, slots=True)
class Discard:
    """Requests that can be sent again.

    Attributes:
        host: The gateway's host.
        port: The gateway's port.
        count: How many units they read.
        exchanges: The requests, and the sizes of their answers.
    """

    host: str
    port: int
    count: int
    exchanges: list[Exchange] = field(repr=False)

    @classmethod
    def of(cls, host: str, port: int, work: Callable[[Any], Any]) -> Self:
        """Record what a function asks of a gateway.

        Args:
            host: The gateway's host.
            port: Its port, of Thrift1: binary protocol, buffered.
            work: Takes a happybase connection; returns how many units it read.
        """
        recording = _RecordingSocket(host, port)
        connection: Any = happybase.Connection(host, port, autoconnect=False)
        connection.transport = _transports.TCyBufferedTransport(recording)
        binary = _protocols.TCyBinaryProtocol(connection.transport, decode_response=False)
        connection.client = TClient(Hbase, binary)
        connection.open()
        try:
            count = work(connection)
        finally:
            connection.close()
        return cls(host, port, count, recording.exchanges)

    @property
    def answer_bytes(self) -> int:
        """The size of all answers."""
        return sum(each.answer_bytes for each in self.exchanges)

    def work(self) -> int:
        """Send the requests, throw the answers away, and return how many units these had.

        Raises:
            ConnectionError: The gateway closes the connection, or an answer is longer than before.
            TimeoutError: An answer is shorter than before: the table was changed.
        """
        scanners: dict[bytes, bytes] = {}
        into = memoryview(bytearray(_BUFFER_BYTES))
        with socket.create_connection((self.host, self.port), timeout=_TIMEOUT_S) as line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for exchange in self.exchanges:
                line.sendall(_renumbered(exchange, scanners))
                last = _receive(line, exchange.answer_bytes, into)
                if exchange.method.startswith(b"scannerOpen"):
                    scanners[exchange.tail[: _INT32.size]] = last[: _INT32.size]
            _refuse_more(line)
        return self.count


def _renumbered(exchange: Exchange, scanners: dict[bytes, bytes]) -> bytes:
    """Return a request with the number that its scanner has in this run."""
    request, method = exchange.request, exchange.method
    if method not in {b"scannerGetList", b"scannerGet", b"scannerClose"}:
        return request
    start = exchange.first_argument_at
    end = start + _INT32.size
    return request[:start] + scanners[request[start:end]] + request[end:]


def _refuse_more(line: socket.socket) -> None:
    line.setblocking(False)
    with suppress(BlockingIOError):
        if line.recv(1):
            raise ConnectionError("an answer is longer than before: the table was changed")


def _receive(line: socket.socket, size: int, into: memoryview) -> bytes:
    """Receive so many bytes, and return the last of them.

    Raises:
        ConnectionError: The gateway has closed the connection.
    """
    last, left = b"", size
    while left:
        received = line.recv_into(into, min(left, len(into)))
        if not received:
            raise ConnectionError("the gateway closed the connection in the middle of an answer")
        left -= received
        last = (last + bytes(into[max(0, received - _TAIL) : received]))[-_TAIL:]
    return last
