"""HBase's counter format: a signed 64-bit number in two's complement, big-endian.

HBase's increment changes these 8 bytes on the server. Negative numbers sort after positive numbers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.source import Scope, guarded
from hbase_orm.errors import SchemaError

_WIDTH_BYTES = 8
_LAYOUT = struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class Long(Codec[int]):
    """The codec of Java's `long`, with the bytes that `Bytes.toBytes(long)` returns."""

    name: ClassVar[str] = "bytes.int64"
    python_type: ClassVar[type] = int

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def __post_init__(self) -> None:
        """Raise an error for a descending form, which HBase could not increment."""
        if self.desc:
            raise SchemaError(
                "counters have no descending form", codec=self.name, fix="use codecs.int64()"
            )

    @property
    def ordered(self) -> bool:
        """False: negative numbers sort after positive ones."""
        return False

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 8 bytes."""
        return _WIDTH_BYTES

    def encode(self, value: int, /) -> bytes:
        """Return 8 bytes.

        Raises:
            CodecError: The value is not an integer, or does not fit 64 bits.
        """
        if not isinstance(value, int):
            raise self.refuse(value, "the value is not an integer", expected="int")
        try:
            return value.to_bytes(_WIDTH_BYTES, "big", signed=True)
        except OverflowError:
            raise self.refuse(value, "the integer is out of range", bits=64) from None

    def decode(self, data: bytes, /) -> int:
        """Return the decoded number.

        Raises:
            CodecError: The encoding does not have 8 bytes.
        """
        if len(data) != _WIDTH_BYTES:
            raise self.corrupt(data)
        return int.from_bytes(data, "big", signed=True)

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the number, and fails if it is out of range."""
        packed = f"{scope.bind(_LAYOUT.pack, 'pack')}({value})"
        return guarded(value, int, packed, self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that unpacks the number, and raises for bytes of another width."""
        return f"{scope.bind(_LAYOUT.unpack, 'unpack')}({data})[0]"
