"""Phoenix's numbers and booleans, in the format of its class `PDataType`.

Signed integers have the sign bit flipped. FLOAT and DOUBLE have the sortable bytes of
`codecs.float64`, taken as a number and increased by 1. `desc` inverts every byte.

More codecs of Phoenix are in `phoenix_text` (texts and bytes), `phoenix_times` and
`phoenix_decimal`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, KeyPlacement, invert
from hbase_orm.codecs.floats import FLOAT32, FLOAT64, Real, flip, sorted_encode, unflip
from hbase_orm.codecs.numbers import (
    Boolean,
    Int8,
    Int16,
    Int32,
    Int64,
    Integer,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from hbase_orm.codecs.source import Scope, guarded

_UNSIGNED_OF = {FLOAT32: UInt32.layout, FLOAT64: UInt64.layout}


@dataclass(frozen=True, slots=True)
class TinyInt(Int8):
    """TINYINT, 1 byte."""

    name: ClassVar[str] = "phoenix.tinyint"


@dataclass(frozen=True, slots=True)
class SmallInt(Int16):
    """SMALLINT, 2 bytes."""

    name: ClassVar[str] = "phoenix.smallint"


@dataclass(frozen=True, slots=True)
class PhoenixInteger(Int32):
    """INTEGER, 4 bytes."""

    name: ClassVar[str] = "phoenix.integer"


@dataclass(frozen=True, slots=True)
class BigInt(Int64):
    """BIGINT, 8 bytes."""

    name: ClassVar[str] = "phoenix.bigint"


@dataclass(frozen=True, slots=True)
class _Unsigned(Integer):
    """The base of unsigned integer types.

    Java has only signed integers, so the upper half of the range of the bytes is not used.
    """

    @property
    def maximum(self) -> int:
        return (1 << 8 * self.layout.size - 1) - 1

    def encode(self, value: int, /) -> bytes:
        if not isinstance(value, int) or not 0 <= value <= self.maximum:
            raise self.misfit(value)
        return Integer.encode(self, value)

    def decode(self, data: bytes, /) -> int:
        value = Integer.decode(self, data)
        if value > self.maximum:
            raise self.corrupt(data)
        return value

    def inline_encode(self, value: str, scope: Scope) -> str:
        number = f"{self._last} - {value}" if self.desc else value
        packed = f"{scope.bind(self.layout.pack, 'pack')}({number})"
        fits = f"0 <= {value} <= {self.maximum}"
        return guarded(value, int, packed, self.encode, scope, fits)

    def inline_decode(self, data: str, scope: Scope) -> str:
        number, decode = scope.local("number"), scope.bind(self.decode, "decode")
        plain = Integer.inline_decode(self, data, scope)
        return f"({number} if ({number} := {plain}) <= {self.maximum} else {decode}({data}))"


@dataclass(frozen=True, slots=True)
class UnsignedTinyInt(_Unsigned):
    """UNSIGNED_TINYINT, 1 byte: 0 to 127."""

    name: ClassVar[str] = "phoenix.unsigned_tinyint"
    layout: ClassVar[struct.Struct] = UInt8.layout


@dataclass(frozen=True, slots=True)
class UnsignedSmallInt(_Unsigned):
    """UNSIGNED_SMALLINT, 2 bytes: 0 to 32,767."""

    name: ClassVar[str] = "phoenix.unsigned_smallint"
    layout: ClassVar[struct.Struct] = UInt16.layout


@dataclass(frozen=True, slots=True)
class UnsignedInt(_Unsigned):
    """UNSIGNED_INT, 4 bytes: 0 to 2,147,483,647."""

    name: ClassVar[str] = "phoenix.unsigned_int"
    layout: ClassVar[struct.Struct] = UInt32.layout


@dataclass(frozen=True, slots=True)
class UnsignedLong(_Unsigned):
    """UNSIGNED_LONG, 8 bytes: 0 to 9,223,372,036,854,775,807."""

    name: ClassVar[str] = "phoenix.unsigned_long"
    layout: ClassVar[struct.Struct] = UInt64.layout


@dataclass(frozen=True, slots=True)
class _PhoenixReal(Real):
    def encode(self, value: float, /) -> bytes:
        bits = int.from_bytes(flip(self.pack(value)), "big") + 1
        data = bits.to_bytes(self.layout.size, "big")
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> float:
        bits = int.from_bytes(invert(data) if self.desc else data, "big") - 1
        if bits < 0 or len(data) != self.layout.size:
            raise self.corrupt(data)
        return self.unpack(unflip(bits.to_bytes(self.layout.size, "big")))

    def inline_encode(self, value: str, scope: Scope) -> str:
        bits = _UNSIGNED_OF[self.layout]
        last, pack = (1 << 8 * bits.size) - 1, scope.bind(bits.pack, "pack")
        bits_of = f"{scope.bind(bits.unpack, 'unpack')}({scope.bind(self.layout.pack, 'real')}"
        positive, negative = f"{bits_of}(-{value}))[0]", f"{bits_of}({value}))[0]"
        if self.desc:
            rising, falling = f"{pack}({last - 1} - {positive})", f"{pack}({negative} - 1)"
        else:
            rising, falling = f"{pack}({positive} + 1)", f"{pack}({last + 1} - {negative})"
        return sorted_encode(self, value, scope, rising, falling)


@dataclass(frozen=True, slots=True)
class PhoenixFloat(_PhoenixReal):
    """FLOAT, 4 bytes."""

    name: ClassVar[str] = "phoenix.float"
    layout: ClassVar[struct.Struct] = FLOAT32


@dataclass(frozen=True, slots=True)
class PhoenixDouble(_PhoenixReal):
    """DOUBLE, 8 bytes."""

    name: ClassVar[str] = "phoenix.double"
    layout: ClassVar[struct.Struct] = FLOAT64


@dataclass(frozen=True, slots=True)
class _UnsignedReal(Real):
    @property
    def ordered(self) -> bool:
        """Always False: Phoenix allows -0.0, which sorts after every other number."""
        return False

    @property
    def minimum(self) -> float:
        return 0.0

    def encode(self, value: float, /) -> bytes:
        data = self.pack(value)
        if value < 0:
            raise self.refuse(value, "the number is negative", minimum=0.0)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> float:
        value = self.unpack(invert(data) if self.desc else data)
        if value < 0:
            raise self.corrupt(data)
        return value


@dataclass(frozen=True, slots=True)
class UnsignedFloat(_UnsignedReal):
    """UNSIGNED_FLOAT, 4 bytes of plain IEEE 754."""

    name: ClassVar[str] = "phoenix.unsigned_float"
    layout: ClassVar[struct.Struct] = FLOAT32


@dataclass(frozen=True, slots=True)
class UnsignedDouble(_UnsignedReal):
    """UNSIGNED_DOUBLE, 8 bytes of plain IEEE 754."""

    name: ClassVar[str] = "phoenix.unsigned_double"
    layout: ClassVar[struct.Struct] = FLOAT64


@dataclass(frozen=True, slots=True)
class PhoenixBoolean(Boolean):
    """BOOLEAN: 00 is false and 01 is true; descending, 01 is false and 00 is true."""

    name: ClassVar[str] = "phoenix.boolean"
    # In its own descending keys Phoenix 5.2.1 writes fe for true, but reads fe as false.
    place: ClassVar[KeyPlacement] = KeyPlacement.ASCENDING
    instead: ClassVar[str] = 'codecs.code({False: b"\\x00", True: b"\\x01"}, desc=True)'


CODECS: tuple[type[Codec[Any]], ...] = (
    *(TinyInt, SmallInt, PhoenixInteger, BigInt),
    *(UnsignedTinyInt, UnsignedSmallInt, UnsignedInt, UnsignedLong),
    *(PhoenixFloat, PhoenixDouble, UnsignedFloat, UnsignedDouble),
    PhoenixBoolean,
)
