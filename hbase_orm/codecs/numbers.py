"""Codecs of numbers with a fixed width, big-endian, whose bytes sort like the values.

Unsigned integers are stored as big-endian bytes. Signed integers have the sign bit flipped, so that
negative values sort first. Doubles are IEEE 754 bytes. Positive doubles have the sign bit flipped,
negative doubles have every bit flipped. This is the total order of IEEE 754-2019 5.10. `desc`
inverts every bit.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.floats import sorted_encode
from hbase_orm.codecs.source import Scope, counted, either, guarded, inverted, plus
from hbase_orm.errors import CodecError

_SIGN_BIT = 1 << 63
_ALL_BITS = (1 << 64) - 1
_DOUBLE = struct.Struct(">d")
_UINT64 = struct.Struct(">Q")


@dataclass(frozen=True, slots=True)
class Integer(Codec[int]):
    """The base of codecs of integers, which store the number minus `least` as big-endian bytes.

    Attributes:
        layout: The `struct.Struct` of the stored number: big-endian and unsigned.
        least: The smallest number that the codec can store.
    """

    python_type: ClassVar[type] = int
    layout: ClassVar[struct.Struct]
    least: ClassVar[int] = 0

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding, 1 to 8 bytes."""
        return self.layout.size

    @property
    def minimum(self) -> int:
        """The smallest value."""
        return self.least

    @property
    def maximum(self) -> int:
        """The largest value."""
        return self._last

    def encode(self, value: int, /) -> bytes:
        """Return the number minus `least` in big-endian bytes; if descending, inverted.

        Raises:
            CodecError: The value is not an integer, or is out of range.
        """
        if not isinstance(value, int):
            raise self.misfit(value)
        try:
            data = self.layout.pack(value - self.least)
        except struct.error:
            raise self.misfit(value) from None
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> int:
        """Return the decoded number.

        Raises:
            CodecError: The encoding has another width.
        """
        if len(data) != self.layout.size:
            raise self.corrupt(data)
        return int.from_bytes(invert(data) if self.desc else data, "big") + self.least

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the number, and fails if it is out of range."""
        number = counted(value, self.least, self._last, desc=self.desc)
        packed = f"{scope.bind(self.layout.pack, 'pack')}({number})"
        return guarded(value, int, packed, self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that unpacks the number, and raises for bytes of another width."""
        number = f"{scope.bind(self.layout.unpack, 'unpack')}({data})[0]"
        return f"({self._last} - {number})" if self.desc else f"({plus(number, self.least)})"

    @property
    def _last(self) -> int:
        """The number whose ascending bytes are all FF."""
        return self.least + (1 << 8 * self.layout.size) - 1

    def misfit(self, value: Any) -> CodecError:
        """Return the error to raise for a value that is not an integer, or is out of range."""
        if not isinstance(value, int):
            return self.refuse(value, "the value is not an integer", expected="int")
        return self.refuse(
            value, "the integer is out of range", minimum=self.minimum, maximum=self.maximum
        )


@dataclass(frozen=True, slots=True)
class UInt8(Integer):
    """Unsigned, 1 byte: 0 to 255."""

    name: ClassVar[str] = "uint8"
    layout: ClassVar[struct.Struct] = struct.Struct(">B")


@dataclass(frozen=True, slots=True)
class UInt16(Integer):
    """Unsigned, 2 bytes: 0 to 65,535."""

    name: ClassVar[str] = "uint16"
    layout: ClassVar[struct.Struct] = struct.Struct(">H")


@dataclass(frozen=True, slots=True)
class UInt32(Integer):
    """Unsigned, 4 bytes: 0 to 4,294,967,295."""

    name: ClassVar[str] = "uint32"
    layout: ClassVar[struct.Struct] = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class UInt64(Integer):
    """Unsigned, 8 bytes: 0 to 18,446,744,073,709,551,615."""

    name: ClassVar[str] = "uint64"
    layout: ClassVar[struct.Struct] = _UINT64


@dataclass(frozen=True, slots=True)
class Int8(Integer):
    """Signed, 1 byte with the sign bit flipped."""

    name: ClassVar[str] = "int8"
    layout: ClassVar[struct.Struct] = struct.Struct(">B")
    least: ClassVar[int] = -(1 << 7)


@dataclass(frozen=True, slots=True)
class Int16(Integer):
    """Signed, 2 bytes with the sign bit flipped."""

    name: ClassVar[str] = "int16"
    layout: ClassVar[struct.Struct] = struct.Struct(">H")
    least: ClassVar[int] = -(1 << 15)


@dataclass(frozen=True, slots=True)
class Int32(Integer):
    """Signed, 4 bytes with the sign bit flipped."""

    name: ClassVar[str] = "int32"
    layout: ClassVar[struct.Struct] = struct.Struct(">I")
    least: ClassVar[int] = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Int64(Integer):
    """Signed, 8 bytes with the sign bit flipped."""

    name: ClassVar[str] = "int64"
    layout: ClassVar[struct.Struct] = _UINT64
    least: ClassVar[int] = -_SIGN_BIT


@dataclass(frozen=True, slots=True)
class Float64(Codec[float]):
    """A double in 8 bytes that sort: -inf < … < -0.0 < 0.0 < … < inf < NaN."""

    name: ClassVar[str] = "float64"
    python_type: ClassVar[type] = float

    @property
    def canonical(self) -> bool:
        """Always True: -0.0 and NaN are ignored, as `Codec.canonical` explains."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 8 bytes."""
        return 8

    def normalize(self, value: float, /) -> float:
        """Return `value` as a float.

        Raises:
            CodecError: The value is not a number, or is an int that is not exactly a double.
        """
        self.encode(value)
        return float(value)

    def encode(self, value: float, /) -> bytes:
        """Return the 8 bytes of a number; an int is stored as the equal float.

        Raises:
            CodecError: The value is not a number, or is an int that is not exactly a double.
        """
        if not isinstance(value, (float, int)):
            raise self.refuse(value, "the value is not a float", expected="float")
        try:
            number = float(value)
        except OverflowError:
            raise self.refuse(value, "the integer is too large for a double") from None
        if isinstance(value, int) and int(number) != value:
            raise self.refuse(value, "the integer cannot be stored exactly as a double")
        if math.isnan(number):
            number = math.nan  # NaNs with different signs and payloads would not sort together
        (bits,) = _UINT64.unpack(_DOUBLE.pack(number))
        bits ^= _ALL_BITS if bits & _SIGN_BIT else _SIGN_BIT
        return _UINT64.pack(bits ^ _ALL_BITS if self.desc else bits)

    def decode(self, data: bytes, /) -> float:
        """Return the float that 8 bytes stand for.

        Raises:
            CodecError: The encoding does not have 8 bytes.
        """
        if len(data) != _DOUBLE.size:
            raise self.corrupt(data)
        (bits,) = _UINT64.unpack(data)
        if self.desc:
            bits ^= _ALL_BITS
        bits ^= _SIGN_BIT if bits & _SIGN_BIT else _ALL_BITS
        (number,) = _DOUBLE.unpack(_UINT64.pack(bits))
        return float(number)

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the number, with the bits changed so that they sort."""
        pack = scope.bind(_DOUBLE.pack, "pack")
        positive = inverted(f"{pack}(-{value})", scope, desc=self.desc)
        negative = inverted(f"{pack}({value})", scope, desc=not self.desc)
        return sorted_encode(self, value, scope, positive, negative)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that unpacks the number, after the bits are changed back."""
        unpack = scope.bind(_DOUBLE.unpack, "unpack")
        plain, mirrored = f"{unpack}({data})[0]", f"{unpack}({inverted(data, scope)})[0]"
        if self.desc:
            return f"({plain} if {data} >= b'\\x80' else -{mirrored})"
        return f"(-{plain} if {data} >= b'\\x80' else {mirrored})"

    def accepts_type(self, value: Any, /) -> bool:
        """Return whether the value is a float, or an int, which type checkers accept as a float."""
        return isinstance(value, (float, int))


@dataclass(frozen=True, slots=True)
class Boolean(Codec[bool]):
    """False is 00, True is 01.

    Attributes:
        truth: The byte for True in the ascending form.
    """

    name: ClassVar[str] = "bool"
    python_type: ClassVar[type] = bool
    truth: ClassVar[bytes] = b"\x01"

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 1 byte."""
        return 1

    def encode(self, value: bool, /) -> bytes:  # noqa: FBT001 - the value is what is encoded
        """Return one byte.

        Raises:
            CodecError: The value is not a bool.
        """
        if not isinstance(value, bool):
            raise self.refuse(value, "the value is not a bool", expected="bool")
        return self.truth if value is not self.desc else b"\x00"

    def decode(self, data: bytes, /) -> bool:
        """Return False for 00 and True for `truth`; if descending, the opposite.

        Raises:
            CodecError: The bytes are neither 00 nor `truth`.
        """
        if data not in (b"\x00", self.truth):
            raise self.corrupt(data)
        return (data == self.truth) is not self.desc

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that compares the value with True and False."""
        known = {truth: self.encode(truth) for truth in (False, True)}
        return either(value, "is", known, scope.bind(self.encode, "encode"))

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that compares the bytes with both encodings."""
        known = {self.encode(truth): truth for truth in (False, True)}
        return either(data, "==", known, scope.bind(self.decode, "decode"))
