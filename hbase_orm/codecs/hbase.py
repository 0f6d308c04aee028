"""The encodings of HBase's Java class `Bytes`, as `Bytes.toBytes` writes them.

Numbers are in two's complement or plain IEEE 754. Negative numbers sort after positive ones, so no
codec of numbers here is `ordered`.

`Bytes` has no descending form. With `desc`, these codecs invert every byte, as HBase's
`Order.DESCENDING` does. The codec "bytes.int64" is in the module `counters`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.floats import FLOAT32, FLOAT64, Real
from hbase_orm.codecs.numbers import Boolean
from hbase_orm.codecs.source import Scope, guarded, inverted
from hbase_orm.codecs.text import Text

_SCALE_BYTES = 4
_SCALE_END = 1 << 31
# The time to convert bytes to decimal digits grows with the square of their number: it is 2 ms for
# this many bytes, and minutes for a megabyte.
_MOST_BYTES = 4096
_MOST_DIGITS = 9864  # of 4096 bytes with a sign: floor(log10(2) * 32767)


@dataclass(frozen=True, slots=True)
class _BytesInteger(Codec[int]):
    python_type: ClassVar[type] = int
    layout: ClassVar[struct.Struct]

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def ordered(self) -> bool:
        """False: negative numbers sort after positive ones."""
        return False

    @property
    def width_bytes(self) -> int:
        return self.layout.size

    @property
    def minimum(self) -> int:
        return -(1 << (8 * self.layout.size - 1))

    @property
    def maximum(self) -> int:
        return -self.minimum - 1

    def encode(self, value: int, /) -> bytes:
        if not isinstance(value, int):
            raise self.refuse(value, "the value is not an integer", expected="int")
        try:
            data = self.layout.pack(value)
        except struct.error:
            raise self.refuse(
                value, "the integer is out of range", minimum=self.minimum, maximum=self.maximum
            ) from None
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> int:
        if len(data) != self.layout.size:
            raise self.corrupt(data)
        return int.from_bytes(invert(data) if self.desc else data, "big", signed=True)

    def inline_encode(self, value: str, scope: Scope) -> str:
        sign = "~" if self.desc else ""  # the number whose bits are the inverted ones
        packed = f"{scope.bind(self.layout.pack, 'pack')}({sign}{value})"
        return guarded(value, int, packed, self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        sign = "~" if self.desc else ""
        return f"({sign}{scope.bind(self.layout.unpack, 'unpack')}({data})[0])"


@dataclass(frozen=True, slots=True)
class BytesInt16(_BytesInteger):
    """Java's `short`: 2 bytes in two's complement."""

    name: ClassVar[str] = "bytes.int16"
    layout: ClassVar[struct.Struct] = struct.Struct(">h")


@dataclass(frozen=True, slots=True)
class BytesInt32(_BytesInteger):
    """Java's `int`: 4 bytes in two's complement."""

    name: ClassVar[str] = "bytes.int32"
    layout: ClassVar[struct.Struct] = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class _BytesReal(Real):
    @property
    def ordered(self) -> bool:
        """False: negative numbers sort after positive ones."""
        return False

    def encode(self, value: float, /) -> bytes:
        data = self.pack(value)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> float:
        return self.unpack(invert(data) if self.desc else data)

    def inline_encode(self, value: str, scope: Scope) -> str:
        packed = inverted(f"{scope.bind(self.layout.pack, 'pack')}({value})", scope, desc=self.desc)
        is_number = f"{value} == {value}"  # NaN equals nothing
        return guarded(value, float, packed, self.encode, scope, is_number)

    def inline_decode(self, data: str, scope: Scope) -> str:
        plain = inverted(data, scope, desc=self.desc)
        return f"{scope.bind(self.layout.unpack, 'unpack')}({plain})[0]"


@dataclass(frozen=True, slots=True)
class BytesFloat32(_BytesReal):
    """Java's `float`: 4 bytes of IEEE 754."""

    name: ClassVar[str] = "bytes.float32"
    layout: ClassVar[struct.Struct] = FLOAT32


@dataclass(frozen=True, slots=True)
class BytesFloat64(_BytesReal):
    """Java's `double`: 8 bytes of IEEE 754."""

    name: ClassVar[str] = "bytes.float64"
    layout: ClassVar[struct.Struct] = FLOAT64


@dataclass(frozen=True, slots=True)
class BytesBool(Boolean):
    """Java's `boolean`: False is 00, True is ff."""

    name: ClassVar[str] = "bytes.bool"
    truth: ClassVar[bytes] = b"\xff"


@dataclass(frozen=True, slots=True)
class BytesDecimal(Codec[Decimal]):
    """Java's `BigDecimal`: 4 bytes of scale, then the unscaled number.

    The scale is kept, so the equal numbers 1.0 and 1.00 have different bytes.
    """

    name: ClassVar[str] = "bytes.decimal"
    python_type: ClassVar[type] = Decimal

    @property
    def ordered(self) -> bool:
        """Always False, because the scale comes first."""
        return False

    def compares(self, value: Any, /) -> bool:
        """Return whether the value is a Decimal other than NaN."""
        return isinstance(value, Decimal) and not value.is_nan()

    def encode(self, value: Decimal, /) -> bytes:
        """Return 5 bytes or more.

        Raises:
            CodecError: The value is not a Decimal or not finite. Or its scale has more than 32
                bits, or it has more than 9,863 digits.
        """
        if not isinstance(value, Decimal):
            raise self.refuse(value, "the value is not a Decimal", expected="Decimal")
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise self.refuse(value, "the number is not finite")
        if not -_SCALE_END <= -exponent < _SCALE_END:
            raise self.refuse(value, "the scale is out of range", bits=32)
        if len(digits) >= _MOST_DIGITS:
            raise self.refuse(
                value,
                "the number has too many digits",
                digits=len(digits),
                maximum=_MOST_DIGITS - 1,
                fix="round it first: round(value, …) or quantize",
            )
        unscaled = int(Decimal((sign, digits, 0)))
        length = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
        data = (-exponent).to_bytes(_SCALE_BYTES, "big", signed=True)
        data += unscaled.to_bytes(length, "big", signed=True)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> Decimal:
        """Return the number, with its scale.

        Raises:
            CodecError: The encoding has less than 5 bytes, or more than 4,100.
        """
        if not _SCALE_BYTES < len(data) <= _SCALE_BYTES + _MOST_BYTES:
            raise self.corrupt(data)
        plain = invert(data) if self.desc else data
        scale = int.from_bytes(plain[:_SCALE_BYTES], "big", signed=True)
        unscaled = Decimal(int.from_bytes(plain[_SCALE_BYTES:], "big", signed=True)).as_tuple()
        return Decimal((unscaled.sign, unscaled.digits, -scale))


@dataclass(frozen=True, slots=True)
class BytesUtf8(Text):
    """UTF-8 text, with the same bytes as `codecs.text()`."""

    name: ClassVar[str] = "bytes.utf8"


CODECS: tuple[type[Codec[Any]], ...] = (
    BytesInt16,
    BytesInt32,
    BytesFloat32,
    BytesFloat64,
    BytesBool,
    BytesDecimal,
    BytesUtf8,
)
