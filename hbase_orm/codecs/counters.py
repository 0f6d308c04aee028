"""HBase's own counter format: a signed 64-bit number, two's complement, big-endian.

`Increment` adds to exactly these 8 bytes on the server. They do not sort when negative.
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
    """Java's `long`, as `Bytes.toBytes(long)` writes it."""

    name: ClassVar[str] = "bytes.int64"
    python_type: ClassVar[type] = int

    @property
    def canonical(self) -> bool:
        """True."""
        return True

    def __post_init__(self) -> None:
        """Refuse a descending form: HBase adds to these very bytes."""
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
        """Eight."""
        return _WIDTH_BYTES

    def encode(self, value: int, /) -> bytes:
        """Return 8 bytes.

        Raises:
            CodecError: No integer, or outside 64 bits.
        """
        if not isinstance(value, int):
            raise self.refuse(value, "the value is not an integer", expected="int")
        try:
            return value.to_bytes(_WIDTH_BYTES, "big", signed=True)
        except OverflowError:
            raise self.refuse(value, "the integer is out of range", bits=64) from None

    def decode(self, data: bytes, /) -> int:
        """Return the number.

        Raises:
            CodecError: Not 8 bytes.
        """
        if len(data) != _WIDTH_BYTES:
            raise self.corrupt(data)
        return int.from_bytes(data, "big", signed=True)

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Pack the number; one out of range does not pack."""
        packed = f"{scope.bind(_LAYOUT.pack, 'pack')}({value})"
        return guarded(value, int, packed, self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Unpack the number; bytes of another width do not unpack."""
        return f"{scope.bind(_LAYOUT.unpack, 'unpack')}({data})[0]"
