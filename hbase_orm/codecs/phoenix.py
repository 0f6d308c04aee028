"""Phoenix's numbers, booleans, texts and bytes, as its class `PDataType` writes them.

Signed numbers have the sign bit flipped; floats are flipped as in `float64`, plus one. `desc`
inverts every byte. Phoenix has no empty text and no empty bytes: it reads them as NULL. Times are
in `phoenix_times`, DECIMAL in `phoenix_decimal`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, Place, invert
from hbase_orm.codecs.fixed import check_width
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
from hbase_orm.codecs.source import Scope, guarded, inverted
from hbase_orm.codecs.text import Raw, plain_bytes, utf8

_NUL = b"\x00"
_BLANK = b" "
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
    """Java has no unsigned numbers: half of the range is not used."""

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
class _Signed(Real):
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
        found = f"{scope.bind(bits.unpack, 'unpack')}({scope.bind(self.layout.pack, 'real')}"
        positive, negative = f"{found}(-{value}))[0]", f"{found}({value}))[0]"
        if self.desc:
            rising, falling = f"{pack}({last - 1} - {positive})", f"{pack}({negative} - 1)"
        else:
            rising, falling = f"{pack}({positive} + 1)", f"{pack}({last + 1} - {negative})"
        return sorted_encode(self, value, scope, rising, falling)


@dataclass(frozen=True, slots=True)
class PhoenixFloat(_Signed):
    """FLOAT, 4 bytes."""

    name: ClassVar[str] = "phoenix.float"
    layout: ClassVar[struct.Struct] = FLOAT32


@dataclass(frozen=True, slots=True)
class PhoenixDouble(_Signed):
    """DOUBLE, 8 bytes."""

    name: ClassVar[str] = "phoenix.double"
    layout: ClassVar[struct.Struct] = FLOAT64


@dataclass(frozen=True, slots=True)
class _UnsignedReal(Real):
    @property
    def ordered(self) -> bool:
        """False: Phoenix lets -0.0 pass, and it sorts after every other number."""
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
    """BOOLEAN: 00 is false, 01 true; descending, the other way round."""

    name: ClassVar[str] = "phoenix.boolean"
    # Of its own descending keys Phoenix 5.2.1 writes fe for true, and reads that as false.
    place: ClassVar[Place] = Place.ASCENDING
    instead: ClassVar[str] = 'codecs.code({False: b"\\x00", True: b"\\x01"}, desc=True)'


@dataclass(frozen=True, slots=True)
class VarChar(Codec[str]):
    """VARCHAR: UTF-8 without NUL, which ends it where more key bytes follow.

    Attributes:
        separator: What ends it there.
    """

    name: ClassVar[str] = "phoenix.varchar"
    python_type: ClassVar[type] = str
    empty_is_null: ClassVar[bool] = True
    separator: ClassVar[bytes] = _NUL

    @property
    def canonical(self) -> bool:
        """True."""
        return True

    @property
    def ordered(self) -> bool:
        """Ascending only: inverted text of varying length sorts only where a key ends it."""
        return not self.desc

    def encode(self, value: str, /) -> bytes:
        """Return the UTF-8 bytes; Phoenix reads none as NULL.

        Raises:
            CodecError: Not a text, a lone surrogate, or a NUL in the text.
        """
        data = utf8(self, value)
        if _NUL in data:
            raise self.refuse(value, "the text holds NUL, which ends a VARCHAR in row keys")
        return invert(data) if self.desc else data

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Encode a text without NUL; a lone surrogate does not encode."""
        data = inverted(f"{value}.encode()", scope, desc=self.desc)
        return guarded(value, str, data, self.encode, scope, f"'\\0' not in {value}")

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Decode the text; bytes that are no UTF-8 do not decode."""
        return f"{inverted(data, scope, desc=self.desc)}.decode()"

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return the UTF-8 bytes."""
        return self.encode(prefix)

    def decode(self, data: bytes, /) -> str:
        """Return the text.

        Raises:
            CodecError: The bytes are no UTF-8.
        """
        try:
            return (invert(data) if self.desc else data).decode()
        except UnicodeDecodeError:
            raise self.corrupt(data) from None


@dataclass(frozen=True, slots=True)
class Char(Codec[str]):
    """CHAR(n): ASCII, padded with blanks on the right.

    Attributes:
        width_bytes: How many bytes, n.
    """

    name: ClassVar[str] = "phoenix.char"
    python_type: ClassVar[type] = str

    width_bytes: int = field(kw_only=True)

    @property
    def canonical(self) -> bool:
        """True."""
        return True

    def __post_init__(self) -> None:
        """Refuse a width below 1."""
        check_width(self.name, self.width_bytes)

    def encode(self, value: str, /) -> bytes:
        """Return `width_bytes` bytes.

        Raises:
            CodecError: Not a text, not ASCII, too long, a blank at the end (it would be lost), or
                a control character (it would sort below the padding).
        """
        data = self._ascii(value)
        if data.endswith(_BLANK):
            raise self.refuse(value, "the text ends with a blank, as the padding does")
        data = data.ljust(self.width_bytes, _BLANK)
        return invert(data) if self.desc else data

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return the characters, not padded; a blank may end them."""
        data = self._ascii(prefix)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> str:
        """Return the text without its padding.

        Raises:
            CodecError: Another width, or not what `encode` returns.
        """
        plain = invert(data) if self.desc else data
        if len(data) != self.width_bytes or not plain.isascii() or min(plain) < _BLANK[0]:
            raise self.corrupt(data)
        return plain.rstrip(_BLANK).decode("ascii")

    def _ascii(self, value: Any) -> bytes:
        data = utf8(self, value)
        if not data.isascii():
            raise self.refuse(value, "CHAR holds characters of one byte only", fix="use VARCHAR")
        if len(data) > self.width_bytes:
            raise self.refuse(value, "the text is too long", width_bytes=self.width_bytes)
        if data and min(data) < _BLANK[0]:
            raise self.refuse(value, "the text holds a control character, which CHAR cannot sort")
        return data


@dataclass(frozen=True, slots=True)
class VarBinary(Raw):
    """VARBINARY: bytes as they are; Phoenix reads none as NULL."""

    name: ClassVar[str] = "phoenix.varbinary"
    place: ClassVar[Place] = Place.LAST_ASCENDING
    instead: ClassVar[str] = "codecs.raw()"
    empty_is_null: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Binary(Codec[bytes]):
    """BINARY(n): shorter values are padded with 00 on the right, and read back so.

    Attributes:
        width_bytes: How many bytes, n.
    """

    name: ClassVar[str] = "phoenix.binary"
    python_type: ClassVar[type] = bytes

    width_bytes: int = field(kw_only=True)

    @property
    def canonical(self) -> bool:
        """True."""
        return True

    def __post_init__(self) -> None:
        """Refuse a width below 1."""
        check_width(self.name, self.width_bytes)

    @property
    def coarse(self) -> bool:
        """Shorter values are padded."""
        return True

    def normalize(self, value: bytes, /) -> bytes:
        """Return `value` padded.

        Raises:
            CodecError: Not bytes, or too long.
        """
        return self.decode(self.encode(value))

    def encode(self, value: bytes, /) -> bytes:
        """Return `width_bytes` bytes.

        Raises:
            CodecError: Not bytes, or too long.
        """
        data = self.encode_prefix(value)
        return data.ljust(self.width_bytes, invert(_NUL) if self.desc else _NUL)

    def encode_prefix(self, prefix: bytes, /) -> bytes:
        """Return the bytes, not padded."""
        if len(plain_bytes(self, prefix)) > self.width_bytes:
            raise self.refuse(prefix, "the value is too long", width_bytes=self.width_bytes)
        return invert(prefix) if self.desc else prefix

    def decode(self, data: bytes, /) -> bytes:
        """Return all bytes, padding included.

        Raises:
            CodecError: Another width.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return invert(data) if self.desc else data


CODECS: tuple[type[Codec[Any]], ...] = (
    *(TinyInt, SmallInt, PhoenixInteger, BigInt),
    *(UnsignedTinyInt, UnsignedSmallInt, UnsignedInt, UnsignedLong),
    *(PhoenixFloat, PhoenixDouble, UnsignedFloat, UnsignedDouble),
    *(PhoenixBoolean, VarChar, Char, VarBinary, Binary),
)
