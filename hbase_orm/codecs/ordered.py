"""The encodings of HBase's Java class `OrderedBytes`: a header byte for the type, then the value.

`desc` inverts every byte, including header and terminator. The null of `OrderedBytes` (05) is not
supported. Numbers of any precision are in `ordered_numeric`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, KeyPlacement, invert
from hbase_orm.codecs.floats import FLOAT32, FLOAT64, Real, flip, sorted_encode, unflip
from hbase_orm.codecs.numbers import Int8, Int16, Int32, Int64, Integer
from hbase_orm.codecs.source import Scope, counted, guarded, inverted, plus
from hbase_orm.codecs.text import plain_bytes, utf8

_END = b"\x00"
_TEXT = b"\x34"
_BLOB = b"\x37"
_BLOB_COPY = b"\x38"
_MORE = 0x80  # another byte of a blob follows
_PAYLOAD_BITS = 7  # so 7 bytes become 8
_PAYLOAD = 0x7F


def _seven_of_eight(groups: bytes) -> bytes:
    bits = 0
    for byte in groups:
        bits = bits << _PAYLOAD_BITS | byte & _PAYLOAD
    length, spare = divmod(_PAYLOAD_BITS * len(groups), 8)
    return (bits >> spare).to_bytes(length, "big")


def _body(codec: Codec[Any], header: bytes, data: bytes) -> bytes:
    """Check the header, and return the ascending bytes after it."""
    plain = invert(data) if codec.desc else data
    if plain[:1] != header:
        raise codec.corrupt(data)
    return plain[1:]


def _headed(layout: struct.Struct) -> struct.Struct:
    """Return a `struct.Struct` with a header byte before the number."""
    return struct.Struct(">B" + layout.format.removeprefix(">"))


def _header(codec: Codec[Any], header: bytes) -> int:
    return (invert(header) if codec.desc else header)[0]


@dataclass(frozen=True, slots=True)
class _Int(Integer):
    header: ClassVar[bytes]
    layout: ClassVar[struct.Struct]

    @property
    def width_bytes(self) -> int:
        return 1 + self.layout.size

    def encode(self, value: int, /) -> bytes:
        if not isinstance(value, int):
            raise self.misfit(value)
        try:
            data = self.header + self.layout.pack(value - self.least)
        except struct.error:
            raise self.misfit(value) from None
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> int:
        body = _body(self, self.header, data)
        if len(body) != self.layout.size:
            raise self.corrupt(data)
        return int.from_bytes(body, "big") + self.least

    def inline_encode(self, value: str, scope: Scope) -> str:
        number = counted(value, self.least, self._last, desc=self.desc)
        pack = scope.bind(_headed(self.layout).pack, "pack")
        packed = f"{pack}({_header(self, self.header)}, {number})"
        return guarded(value, int, packed, self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        parts, decode = scope.local("parts"), scope.bind(self.decode, "decode")
        unpacked = f"({parts} := {scope.bind(_headed(self.layout).unpack, 'unpack')}({data}))"
        number = f"{self._last} - {parts}[1]" if self.desc else plus(f"{parts}[1]", self.least)
        return f"({number} if {unpacked}[0] == {_header(self, self.header)} else {decode}({data}))"


@dataclass(frozen=True, slots=True)
class OrderedInt8(_Int):
    """Signed integers: a header byte, then 1 byte."""

    name: ClassVar[str] = "ordered.int8"
    header: ClassVar[bytes] = b"\x29"
    layout: ClassVar[struct.Struct] = Int8.layout
    least: ClassVar[int] = Int8.least


@dataclass(frozen=True, slots=True)
class OrderedInt16(_Int):
    """Signed integers: a header byte, then 2 bytes."""

    name: ClassVar[str] = "ordered.int16"
    header: ClassVar[bytes] = b"\x2a"
    layout: ClassVar[struct.Struct] = Int16.layout
    least: ClassVar[int] = Int16.least


@dataclass(frozen=True, slots=True)
class OrderedInt32(_Int):
    """Signed integers: a header byte, then 4 bytes."""

    name: ClassVar[str] = "ordered.int32"
    header: ClassVar[bytes] = b"\x2b"
    layout: ClassVar[struct.Struct] = Int32.layout
    least: ClassVar[int] = Int32.least


@dataclass(frozen=True, slots=True)
class OrderedInt64(_Int):
    """Signed integers: a header byte, then 8 bytes."""

    name: ClassVar[str] = "ordered.int64"
    header: ClassVar[bytes] = b"\x2c"
    layout: ClassVar[struct.Struct] = Int64.layout
    least: ClassVar[int] = Int64.least


@dataclass(frozen=True, slots=True)
class _OrderedReal(Real):
    header: ClassVar[bytes]

    @property
    def width_bytes(self) -> int:
        return 1 + self.layout.size

    def encode(self, value: float, /) -> bytes:
        data = self.header + flip(self.pack(value))
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> float:
        body = _body(self, self.header, data)
        if len(body) != self.layout.size:
            raise self.corrupt(data)
        return self.unpack(unflip(body))

    def inline_encode(self, value: str, scope: Scope) -> str:
        pack = scope.bind(_headed(self.layout).pack, "pack")
        (plain,), (mirrored,) = self.header, invert(self.header)
        positive = inverted(f"{pack}({plain}, -{value})", scope, desc=self.desc)
        negative = f"{pack}({mirrored}, {value})"  # inverted below, with the number's bits
        return sorted_encode(
            self, value, scope, positive, inverted(negative, scope, desc=not self.desc)
        )


@dataclass(frozen=True, slots=True)
class OrderedFloat32(_OrderedReal):
    """Java's `float`: a header byte, then 4 bytes."""

    name: ClassVar[str] = "ordered.float32"
    header: ClassVar[bytes] = b"\x30"
    layout: ClassVar[struct.Struct] = FLOAT32


@dataclass(frozen=True, slots=True)
class OrderedFloat64(_OrderedReal):
    """Java's `double`: a header byte, then 8 bytes."""

    name: ClassVar[str] = "ordered.float64"
    header: ClassVar[bytes] = b"\x31"
    layout: ClassVar[struct.Struct] = FLOAT64


@dataclass(frozen=True, slots=True)
class OrderedUtf8(Codec[str]):
    """UTF-8 text that ends with 00, so it cannot contain NUL."""

    name: ClassVar[str] = "ordered.utf8"
    python_type: ClassVar[type] = str

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def encode(self, value: str, /) -> bytes:
        """Return header, text and terminator.

        Raises:
            CodecError: The value is not a str, or has a lone surrogate or a NUL.
        """
        data = utf8(self, value)
        if _END in data:
            raise self.refuse(
                value,
                "the text holds NUL, which this codec uses as the end of the text",
                fix="use codecs.text()",
            )
        data = _TEXT + data + _END
        return invert(data) if self.desc else data

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that encodes a text without NUL, with header and terminator."""
        data = inverted(f"({_TEXT!r} + {value}.encode() + {_END!r})", scope, desc=self.desc)
        return guarded(value, str, data, self.encode, scope, f"'\\0' not in {value}")

    @property
    def is_self_delimiting(self) -> bool:
        """True: 00 ends the text."""
        return True

    def end_of(self, data: bytes, position: int) -> int:
        """Return the position after the 00 that ends the text at `position`.

        Raises:
            CodecError: No 00 follows.
        """
        stop = data.find(invert(_END) if self.desc else _END, position)
        if stop < 0:
            raise self.corrupt(data[position:])
        return stop + 1

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return header and text, without the terminator."""
        return self.encode(prefix)[:-1]

    def decode(self, data: bytes, /) -> str:
        """Return the text.

        Raises:
            CodecError: The header or the terminator is wrong, or the text is not UTF-8.
        """
        body = _body(self, _TEXT, data)
        if not body or body.find(_END) != len(body) - 1:
            raise self.corrupt(data)
        try:
            return body[:-1].decode()
        except UnicodeDecodeError:
            raise self.corrupt(data) from None


@dataclass(frozen=True, slots=True)
class OrderedBlob(Codec[bytes]):
    """Any bytes, in the format of `encodeBlobVar`: each stored byte holds 7 bits of the value.

    The high bit of a stored byte is set if another byte follows.
    """

    name: ClassVar[str] = "ordered.blob"
    python_type: ClassVar[type] = bytes

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def ordered(self) -> bool:
        """Always False: the high bit of the last byte is not set, so the byte sorts too early."""
        return False

    @property
    def is_self_delimiting(self) -> bool:
        """True: only the last byte's high bit is not set."""
        return True

    def end_of(self, data: bytes, position: int) -> int:
        """Return the position after the last byte of the encoding that begins at `position`.

        Raises:
            CodecError: `data` ends before the last byte of the encoding.
        """
        for at in range(position + 1, len(data)):
            if bool(data[at] & _MORE) is self.desc:
                return at + 1
        raise self.corrupt(data[position:])

    def encode(self, value: bytes, /) -> bytes:
        """Return the header, and 8 bytes for every 7 bytes of the value.

        Raises:
            CodecError: The value is not bytes.
        """
        plain_bytes(self, value)
        groups = bytearray()
        for at in range(0, len(value), _PAYLOAD_BITS):
            chunk = value[at : at + _PAYLOAD_BITS]
            count = -(-8 * len(chunk) // _PAYLOAD_BITS)
            bits = int.from_bytes(chunk, "big") << _PAYLOAD_BITS * count - 8 * len(chunk)
            groups += bytes(_MORE | bits >> _PAYLOAD_BITS * n & _PAYLOAD for n in range(count))[
                ::-1
            ]
        groups[-1:] = bytes((groups[-1] & _PAYLOAD,)) if groups else _END
        data = _BLOB + groups
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> bytes:
        """Return the decoded bytes, without the header.

        Raises:
            CodecError: The bytes are not a result of `encode`.
        """
        body = _body(self, _BLOB, data)
        value = b"".join(_seven_of_eight(body[at : at + 8]) for at in range(0, len(body), 8))
        if self.encode(value) != data:
            raise self.corrupt(data)
        return value


@dataclass(frozen=True, slots=True)
class OrderedBlobCopy(Codec[bytes]):
    """Bytes, stored unchanged after a header byte.

    Ascending bytes have no terminator, so they can only be the last part of a row key.
    """

    name: ClassVar[str] = "ordered.blobcopy"
    python_type: ClassVar[type] = bytes
    place: ClassVar[KeyPlacement] = KeyPlacement.LAST
    instead: ClassVar[str] = '"ordered.blob" or codecs.raw()'

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def is_self_delimiting(self) -> bool:
        """True if descending: then an inverted 00 ends the bytes."""
        return self.desc

    def end_of(self, data: bytes, position: int) -> int:
        """Return the position after the inverted 00 that ends descending bytes.

        Raises:
            CodecError: No inverted 00 follows.
        """
        stop = data.find(invert(_END), position)
        if stop < 0:
            raise self.corrupt(data[position:])
        return stop + 1

    def encode(self, value: bytes, /) -> bytes:
        """Return the header and the bytes; if descending, inverted and with a terminator.

        Raises:
            CodecError: The value is not bytes; or it contains 00, and the codec is descending.
        """
        plain_bytes(self, value)
        if not self.desc:
            return _BLOB_COPY + value
        if _END in value:
            raise self.refuse(
                value,
                "the bytes hold 0x00, which this codec uses as their end when descending",
                fix="use ordered.blob",
            )
        return invert(_BLOB_COPY + value + _END)

    def encode_prefix(self, prefix: bytes, /) -> bytes:
        """Return the header and `prefix`, without the terminator; if descending, inverted."""
        data = self.encode(prefix)
        return data[:-1] if self.desc else data

    def decode(self, data: bytes, /) -> bytes:
        """Return the decoded bytes, without header and terminator.

        Raises:
            CodecError: The header is wrong, or the terminator of descending bytes is missing.
        """
        body = _body(self, _BLOB_COPY, data)
        if not self.desc:
            return body
        if not body or body.find(_END) != len(body) - 1:
            raise self.corrupt(data)
        return body[:-1]


CODECS: tuple[type[Codec[Any]], ...] = (
    OrderedInt8,
    OrderedInt16,
    OrderedInt32,
    OrderedInt64,
    OrderedFloat32,
    OrderedFloat64,
    OrderedUtf8,
    OrderedBlob,
    OrderedBlobCopy,
)
