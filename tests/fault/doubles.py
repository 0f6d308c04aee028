# ruff: noqa: ARG002  # every hook gets both sockets, whichever it needs
"""Gateways that misbehave on purpose, over real sockets on loopback."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import thriftpy2.protocol
import thriftpy2.transport
from thriftpy2.thrift import TApplicationException, TMessageType, TType

from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.wire import HBASE1

# Mostly without annotations, and so unknown to the type checker.
_PROTOCOLS: Any = thriftpy2.protocol
_TRANSPORTS: Any = thriftpy2.transport

LOOPBACK = "127.0.0.1"
SERVER_TYPE = "getThriftServerType"
_CHUNK_BYTES = 65_536
_NUMBER = struct.Struct(">i")


class Request:
    """One request a scripted gateway received."""

    def __init__(self, method: str, sequence_id: int, connection: int) -> None:
        self.method = method
        self.sequence_id = sequence_id
        self.connection = connection


Script = Callable[[Request], "bytes | None"]


def names_answer(
    request: Request, names: list[bytes] | None, *, sequence_id: int | None = None, method: str = ""
) -> bytes:
    """Return the bytes of an answer to Thrift1's `getTableNames`."""
    result = HBASE1.Hbase.getTableNames_result()
    result.success = names
    return _message(
        method or request.method,
        TMessageType.REPLY,
        request.sequence_id if sequence_id is None else sequence_id,
        result,
    )


def failure(request: Request, kind: int, text: str) -> bytes:
    """Return the bytes of a TApplicationException."""
    return _message(
        request.method,
        TMessageType.EXCEPTION,
        request.sequence_id,
        TApplicationException(kind, text),
    )


def _message(method: str, kind: int, sequence_id: int, body: Any) -> bytes:
    buffer = _TRANSPORTS.TMemoryBuffer()
    _PROTOCOLS.TBinaryProtocol(buffer).write_struct(body)
    encoded: bytes = buffer.getvalue()
    return _head(method, kind, sequence_id) + encoded


def _head(method: str, kind: int, sequence_id: int) -> bytes:
    name = method.encode()
    version = struct.pack(">HH", 0x8001, kind)
    return version + _NUMBER.pack(len(name)) + name + _NUMBER.pack(sequence_id)


def _server_type(request: Request, interface: int) -> bytes:
    # One field of type i32, numbered 0, then the end of the struct: the same in both interfaces.
    head = _head(request.method, TMessageType.REPLY, request.sequence_id)
    return head + struct.pack(">bhib", TType.I32, 0, interface, TType.STOP)


class ScriptedGateway:
    """Answers each request by a script: bytes are sent, None closes the connection.

    The question for the server's type is answered by itself, unless `is_shy`.
    """

    def __init__(self, script: Script, *, interface: int = 1, is_shy: bool = False) -> None:
        self._script = script
        self._interface = interface
        self._is_shy = is_shy
        self.requests: list[Request] = []
        self.connections = 0
        self.questions = 0
        self._listener = socket.create_server((LOOPBACK, 0))
        self.address = Address(LOOPBACK, self._listener.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections, as a server does that ends."""
        for sock in self._open:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(sock)
            threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True).start()

    def _serve(self, sock: socket.socket, connection: int) -> None:
        transport = _TRANSPORTS.TBufferedTransport(_TRANSPORTS.TSocket(sock=sock))
        protocol = _PROTOCOLS.TBinaryProtocol(transport)
        with suppress(Exception):  # whatever ends a connection ends its thread
            while True:
                method, _, sequence_id = protocol.read_message_begin()
                protocol.skip(TType.STRUCT)
                request = Request(method, sequence_id, connection)
                answer = self._answer(request)
                if answer is None:
                    break
                sock.sendall(answer)
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        sock.close()

    def _answer(self, request: Request) -> bytes | None:
        if request.method == SERVER_TYPE and not self._is_shy:
            self.questions += 1
            return _server_type(request, self._interface)
        self.requests.append(request)
        return self._script(request)


@contextmanager
def scripted(script: Script, *, interface: int = 1, is_shy: bool = False) -> Iterator[Any]:
    gateway = ScriptedGateway(script, interface=interface, is_shy=is_shy)
    try:
        yield gateway
    finally:
        gateway.close()


class Proxy:
    """Passes bytes to a real gateway and back; subclasses break one exchange after `arm`."""

    def __init__(self, upstream_port: int) -> None:
        self._upstream_port = upstream_port
        self._armed = threading.Event()
        self.has_struck = threading.Event()
        self._listener = socket.create_server((LOOPBACK, 0))
        self.address = Address(LOOPBACK, self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self) -> None:
        """Break the next exchange, once."""
        self._armed.set()

    def close(self) -> None:
        self._listener.close()
        for pair in self._pairs:
            self._cut(*pair)

    def _strikes(self) -> bool:
        """Return whether the fault is due now; it happens once for each `arm`."""
        if not self._armed.is_set():
            return False
        self._armed.clear()
        self.has_struck.set()
        return True

    def request(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        """Pass bytes of a request on."""
        server.sendall(data)

    def answer(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        """Pass bytes of an answer back."""
        client.sendall(data)

    @staticmethod
    def _cut(*sockets: socket.socket) -> None:
        for sock in sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection((LOOPBACK, self._upstream_port))
            except OSError:
                return
            self._pairs.append((client, server))
            for source, passed in ((client, self.request), (server, self.answer)):
                threading.Thread(
                    target=self._pump, args=(source, passed, client, server), daemon=True
                ).start()

    def _pump(
        self,
        source: socket.socket,
        passed: Callable[[socket.socket, socket.socket, bytes], None],
        client: socket.socket,
        server: socket.socket,
    ) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                passed(client, server, data)
        self._cut(client, server)


class CutsConnectionBeforeSend(Proxy):
    """The request never reaches the gateway."""

    def request(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        if self._strikes():
            self._cut(client, server)
            return
        server.sendall(data)


class CutsConnectionDuringSend(Proxy):
    """Half a request reaches the gateway."""

    def request(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        if self._strikes():
            server.sendall(data[: len(data) // 2])
            self._cut(client, server)
            return
        server.sendall(data)


class CutsConnectionAfterSend(Proxy):
    """The request is carried out; its answer is lost."""

    def answer(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        if self._strikes():
            self._cut(client, server)
            return
        client.sendall(data)


class AnswersLate(Proxy):
    """One answer waits until `release`, longer than the caller does."""

    def __init__(self, upstream_port: int) -> None:
        super().__init__(upstream_port)
        self._released = threading.Event()

    def release(self) -> None:
        self._released.set()

    def answer(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        if self._strikes():
            self._released.wait(30)
        client.sendall(data)


class ChangesSequenceId(Proxy):
    """One answer carries the number of another request."""

    def answer(self, client: socket.socket, server: socket.socket, data: bytes) -> None:
        if self._strikes():
            name_bytes = _NUMBER.unpack_from(data, 4)[0]
            place = 8 + name_bytes
            number = _NUMBER.unpack_from(data, place)[0]
            data = data[:place] + _NUMBER.pack(number - 1) + data[place + 4 :]
        client.sendall(data)
