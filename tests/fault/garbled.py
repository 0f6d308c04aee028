"""Gateways that answer with garbled bytes, in memory: every method, both interfaces, all styles."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import thriftpy2.protocol
import thriftpy2.transport
from thriftpy2.thrift import TApplicationException, TMessageType, TType

from hbase_orm.gateway.thrift.gateway import ThriftGateway
from hbase_orm.gateway.thrift.handshake import ThriftConnection
from hbase_orm.gateway.thrift.pool import Address, Pool
from hbase_orm.gateway.thrift.thrift1 import _ROW_CALLS, Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import _ANSWERS, Thrift2Gateway
from hbase_orm.gateway.thrift.wire import HBASE1, HBASE2, CheckedClient, Line, WireStyle
from hbase_orm.ops import (
    AddFamily,
    Append,
    CheckAndMutate,
    CreateNamespace,
    CreateTable,
    Delete,
    DeleteFamily,
    DescribeTable,
    DisableTable,
    DropNamespace,
    DropTable,
    EnableTable,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    KeyRange,
    ListNamespaces,
    ListRegions,
    ListTables,
    ModifyFamily,
    ModifyTable,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Ping,
    Put,
    PutRows,
    PutStampedRows,
    RowMutation,
    Scan,
    StampedRows,
    TableDescriptor,
    TruncateTable,
)

# Mostly without annotations, and so unknown to the type checker.
_PROTOCOLS: Any = thriftpy2.protocol
_TRANSPORTS: Any = thriftpy2.transport
_MAKERS = {"binary": _PROTOCOLS.TBinaryProtocol, "compact": _PROTOCOLS.TCompactProtocol}

_INT32 = struct.Struct(">i")
_ADDRESS = Address("127.0.0.1", 1)
_TIMEOUT_S = 20.0

_PUT = RowMutation(b"a", (Put(b"d:a", b"1"),))
_TABLE = TableDescriptor("t", (FamilyDescriptor(b"d"),))

COMMON: tuple[Operation[Any], ...] = (
    Ping(),
    ListTables(),
    ListRegions("t"),
    DescribeTable("t"),
    EnableTable("t"),
    DisableTable("t"),
    DropTable("t"),
    CreateTable(_TABLE),
    GetRows("t", (b"a",)),
    GetRows("t", (b"a", b"b"), (b"d:a",)),
    GetVersions("t", b"a", (b"d:a",), 3),
    MutateRow("t", _PUT),
    MutateRows("t", (_PUT, RowMutation(b"b", (Put(b"d:a", b"1"),)))),
    PutRows("t", (b"d:a",), ((b"a", b"1"), (b"b", b"2"))),
    CheckAndMutate("t", b"d:a", b"", _PUT),
    Increment("t", b"a", {b"d:n": 1}),
    Append("t", b"a", {b"d:a": b"1", b"d:b": b"2"}),
)
THRIFT2: tuple[Operation[Any], ...] = (
    *COMMON,
    AddFamily("t", FamilyDescriptor(b"d")),
    DeleteFamily("t", b"d"),
    ModifyFamily("t", b"d", {"versions": 2}),
    ModifyTable("t", {"durability": "SYNC_WAL"}),
    TruncateTable("t"),
    CreateNamespace("n"),
    DropNamespace("n"),
    ListNamespaces(),
    GetVersions("t", b"a", (), 3, raw=True),
    GetVersionsOfRows("t", (b"a", b"b"), (b"d:a",), 3),
    MutateRow("t", RowMutation(b"a", (Put(b"d:a", b"1", 7),), (Delete(b"d:b", 6),))),
    MutateRow("t", RowMutation(b"a", (), (Delete(b"d:b"),))),
    MutateRows("t", (RowMutation(b"a", (), (Delete(b"d:b"),)), _PUT)),
    PutStampedRows("t", (StampedRows((b"d:a",), ((b"a", b"1"), (b"b", b"2")), ((1,), (2,))),)),
)
SCAN = Scan("t", KeyRange(), (b"d:a",))

STYLES = tuple(
    WireStyle(transport, protocol)
    for transport in ("buffered", "framed")
    for protocol in ("binary", "compact")
)


# --- a socket in memory ---------------------------------------------------------------------------


class AnsweringSocket:
    """Answers each request by a function of method and sequence id; then the peer is gone."""

    def __init__(self, answer: Callable[[str, int], bytes], style: WireStyle) -> None:
        self._answer = answer
        self._style = style
        self._left = b""

    def send(self, data: bytes) -> int:
        self._left = self._answer(*_request(data, self._style))
        return len(data)

    def recv(self, size: int, _flags: int = 0) -> bytes:
        piece, self._left = self._left[:size], self._left[size:]
        return piece

    def poll(self, milliseconds: float) -> list[int]:
        return [1] if milliseconds else []

    def shutdown(self, _how: int) -> None:
        pass

    def close(self) -> None:
        pass


def _request(data: bytes, style: WireStyle) -> tuple[str, int]:
    """Return method and sequence id of a request."""
    at = 4 if style.transport == "framed" else 0
    if style.protocol == "binary":
        (length,) = _INT32.unpack_from(data, at + 4)
        (sequence_id,) = _INT32.unpack_from(data, at + 8 + length)
        return data[at + 8 : at + 8 + length].decode(), sequence_id
    at, shift, sequence_id = at + 2, 0, 0
    while True:
        byte = data[at]
        at += 1
        sequence_id |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return data[at + 1 : at + 1 + data[at]].decode(), sequence_id


@contextmanager
def gateway_answering(
    interface: int, style: WireStyle, answer: Callable[[str, int], bytes]
) -> Iterator[ThriftGateway]:
    """Lend a gateway all of whose connections answer so."""

    def connection(_address: Address, deadline: float) -> ThriftConnection:
        line = Line("127.0.0.1", 1, style)
        peer: Any = AnsweringSocket(answer, style)  # stands for a socket, and for its poll object
        line.socket.sock = line.socket.answers = peer
        line.set_deadline(deadline)
        if interface == 1:
            return ThriftConnection(line, CheckedClient(line, HBASE1.Hbase, _ROW_CALLS))
        return ThriftConnection(line, CheckedClient(line, HBASE2.HBase2, _ANSWERS))

    kind = Thrift1Gateway if interface == 1 else Thrift2Gateway
    gateway = kind(Pool(connection, [_ADDRESS]), timeout_s=_TIMEOUT_S)
    try:
        yield gateway
    finally:
        gateway.close()


# --- right answers --------------------------------------------------------------------------------


def encoded(
    method: str, sequence_id: int, body: Any, style: WireStyle, kind: int = TMessageType.REPLY
) -> bytes:
    """Return the message without a frame."""
    buffer = _TRANSPORTS.TMemoryBuffer()
    protocol = _MAKERS[style.protocol](buffer)
    protocol.write_message_begin(method, kind, sequence_id)
    protocol.write_struct(body)
    protocol.write_message_end()
    data: bytes = buffer.getvalue()
    return data


def in_frame(message: bytes, style: WireStyle) -> bytes:
    """Return the message as it travels."""
    return _INT32.pack(len(message)) + message if style.transport == "framed" else message


def result_of(interface: int, method: str, chance: random.Random) -> Any:
    """Return an answer to the method that fits: values, or one of the exceptions it may raise."""
    service = HBASE1.Hbase if interface == 1 else HBASE2.HBase2
    result = getattr(service, f"{method}_result")()
    faults = [field for number, field in result.thrift_spec.items() if number]
    if faults and chance.random() < 0.1:
        field = chance.choice(faults)
        setattr(result, field[1], _filled(field[2](), chance))
        return result
    return _filled(result, chance, only=0) if 0 in result.thrift_spec else result


def _filled(made: Any, chance: random.Random, only: int | None = None) -> Any:
    for number, field in made.thrift_spec.items():
        if only in (None, number):
            inner = field[2] if len(field) > 3 else None
            setattr(made, field[1], _value(field[0], inner, field[1], chance))
    return made


def _value(kind: int, inner: Any, name: str, chance: random.Random) -> Any:
    of = inner if isinstance(inner, tuple) else (inner, None)
    if kind == TType.STRUCT:
        return _filled(inner(), chance)
    if kind == TType.LIST:
        return [_value(of[0], of[1], name, chance) for _ in range(chance.choice((1, 2, 2, 3)))]
    if kind == TType.MAP:
        value = inner[1] if isinstance(inner[1], tuple) else (inner[1], None)
        columns = (b"d:a", b"d:b", b"d:c")[: chance.randint(1, 3)]
        return {column: _value(value[0], value[1], "value", chance) for column in columns}
    return _single(kind, name, chance)


def _single(kind: int, name: str, chance: random.Random) -> Any:
    if kind in (TType.STRING, TType.BINARY):
        if name in ("row", "key"):
            return chance.choice((b"a", b"b"))
        return chance.choice((b"d", b"", b"\xff\xfe", b"12345678", b"x" * chance.randint(1, 300)))
    return chance.random() < 0.5 if kind == TType.BOOL else chance.choice((4, 1, 0, 100))


def refusal(method: str, sequence_id: int, style: WireStyle, chance: random.Random) -> bytes:
    """Return the message of a TApplicationException."""
    body = TApplicationException(chance.randint(-1, 12), chance.choice((None, "no", "x" * 500)))
    return encoded(method, sequence_id, body, style, TMessageType.EXCEPTION)


# --- wrong ones -----------------------------------------------------------------------------------

_EXTREMES = (0, 1, -1, 2**31 - 1, -(2**31), 2**30, 100_000_000, 65_536)

HOSTILE: dict[str, tuple[bytes, ...]] = {
    "binary": (
        # Lists, sets and maps of 2^31 - 1 elements without bytes, as a field of any number.
        *(
            bytes([container, 0, number, element, 0x7F, 0xFF, 0xFF, 0xFF])
            for container in (TType.LIST, TType.SET)
            for element in (0, 1, 5, 7, 16, 99, 255)
            for number in (0, 1, 99)
        ),
        *(
            bytes([TType.MAP, 0, number, element, element, 0x7F, 0xFF, 0xFF, 0xFF])
            for element in (0, 1, 9)
            for number in (0, 2, 99)
        ),
        # Lists of lists, each of the greatest length.
        bytes([TType.LIST, 0, 0]) + b"\x0f\x7f\xff\xff\xff" * 2000,
        bytes([TType.LIST, 0, 0]) + b"\x0c\x7f\xff\xff\xff" + b"\x00" * 5000,
        # Structs in structs.
        b"\x0c\x00\x63" * 30_000,
        b"\x0c\x00\x00" * 30_000,
        # Texts of 2 GiB and of negative lengths.
        *(
            bytes([TType.STRING, 0, number]) + length
            for length in (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff")
            for number in (0, 1, 99)
        ),
    ),
    "compact": (
        *(
            bytes([0x10 * delta + container]) + bytes([0xF0 + element]) + b"\xff\xff\xff\xff\x07"
            for delta in (1, 2, 15)
            for container in (9, 10)
            for element in (0, 1, 2, 12, 15)
        ),
        b"\x09\x00" + b"\xf9\xff\xff\xff\xff\x07" * 2000,
        b"\x1c" * 30_000,
        b"\x18" + b"\xff" * 100_000,
        b"\x18\xff\xff\xff\xff\x07",
        b"\x1b\xff\xff\xff\xff\x07\x00",
        b"\x0f" * 100,
    ),
}
"""What begins a struct that no gateway sends."""


def garbled(message: bytes, head_bytes: int, style: WireStyle, chance: random.Random) -> bytes:
    """Return the message with one to three faults; its method and number mostly stay."""
    data = bytearray(message)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        start = 0 if chance.random() < 0.05 else min(head_bytes, max(len(data) - 1, 0))
        at = chance.randint(start, max(start, len(data) - 1))
        chance.choice(_FAULTS)(data, at, head_bytes, style, chance)
    return bytes(data)


def _flip(data: bytearray, at: int, _head: int, _style: WireStyle, chance: random.Random) -> None:
    data[at : at + 1] = bytes([(data[at] if at < len(data) else 0) ^ 1 << chance.randint(0, 7)])


def _length(data: bytearray, at: int, _head: int, _style: WireStyle, chance: random.Random) -> None:
    data[at : at + 4] = _INT32.pack(chance.choice(_EXTREMES))


def _type(data: bytearray, at: int, _head: int, _style: WireStyle, chance: random.Random) -> None:
    data[at : at + 1] = bytes([chance.randint(0, 20)])


def _cut(data: bytearray, at: int, _head: int, _style: WireStyle, _chance: random.Random) -> None:
    del data[at:]


def _drop(data: bytearray, at: int, _head: int, _style: WireStyle, chance: random.Random) -> None:
    del data[at : at + chance.randint(1, 8)]


def _insert(data: bytearray, at: int, _head: int, _style: WireStyle, chance: random.Random) -> None:
    data[at:at] = chance.randbytes(chance.randint(1, 16))


def _repeat(data: bytearray, at: int, _head: int, _style: WireStyle, chance: random.Random) -> None:
    data[at:at] = data[at : at + chance.randint(1, 64)] * chance.randint(1, 20)


def _hostile(data: bytearray, at: int, head: int, style: WireStyle, chance: random.Random) -> None:
    place = head if chance.random() < 0.7 else at
    data[place:place] = chance.choice(HOSTILE[style.protocol])


_FAULTS = (_flip, _length, _type, _cut, _drop, _insert, _repeat, _hostile)


class Garbler:
    """Answers every request of one kind of gateway with a fitting message that has faults."""

    def __init__(self, interface: int, style: WireStyle, chance: random.Random) -> None:
        self._interface = interface
        self._style = style
        self._chance = chance

    def __call__(self, method: str, sequence_id: int) -> bytes:
        chance, style = self._chance, self._style
        if chance.random() < 0.1:
            message = refusal(method, sequence_id, style, chance)
        else:
            body = result_of(self._interface, method, chance)
            message = encoded(method, sequence_id, body, style)
        head_bytes = message.index(method.encode()) + len(method)
        head_bytes += 4 if style.protocol == "binary" else 0
        # A call of a request of several calls is right now and then, or the others never come.
        if chance.random() < 0.9:
            message = garbled(message, head_bytes, style, chance)
        framed = in_frame(message, style)
        if style.transport == "framed" and chance.random() < 0.05:
            framed = _INT32.pack(chance.choice(_EXTREMES)) + framed[4:]
        return framed


def ask_once(gateway: ThriftGateway, interface: int, chance: random.Random) -> None:
    """Make one request of any kind; scans open, fetch twice."""
    operations = COMMON if interface == 1 else THRIFT2
    number = chance.randint(0, len(operations) + 4)
    if number < len(operations):
        repr(gateway.execute(operations[number]))
        return
    scanner = gateway.execute(OpenScanner(SCAN))
    for _ in range(2):
        repr(gateway.execute(FetchRows(scanner, 3)))


def seconds_of(work: Callable[[], object]) -> float:
    """Return the processor's seconds that the work took."""
    start = time.process_time()
    work()
    return time.process_time() - start
