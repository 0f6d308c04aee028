"""The common part of floating-point codecs: checks of values, and bytes that sort like numbers.

A 32-bit codec stores the nearest 32-bit float, as a cast in Java does. So it is coarse.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope, guarded

FLOAT32 = struct.Struct(">f")
FLOAT64 = struct.Struct(">d")
_SIGN = 0x80


@dataclass(frozen=True, slots=True)
class Real(Codec[float]):
    """The base of codecs of floats in IEEE 754 format; subclasses decide how the bits are stored.

    Attributes:
        layout: The `struct.Struct` of the number: big-endian, 4 or 8 bytes.
    """

    python_type: ClassVar[type] = float
    layout: ClassVar[struct.Struct]

    @property
    def canonical(self) -> bool:
        """Always True: -0.0 and NaN are ignored, as `Codec.canonical` explains."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of the layout."""
        return self.layout.size

    @property
    def coarse(self) -> bool:
        """Whether the layout is narrower than Python's float."""
        return self.layout is FLOAT32

    def accepts_type(self, value: Any, /) -> bool:
        """Return whether the value is a float, or an int, which type checkers accept as a float."""
        return isinstance(value, (float, int))

    def normalize(self, value: float, /) -> float:
        """Return the float that will be read back: the nearest float of the layout's width.

        Raises:
            CodecError: The value is not a number, or is too large for the width.
        """
        return self.unpack(self.pack(value))

    def pack(self, value: float, /) -> bytes:
        """Return the IEEE 754 bytes; every NaN has the same bytes, as in Java.

        Raises:
            CodecError: The value is not a number, or is too large for the layout. Or it is an int
                that no double equals.
        """
        if not isinstance(value, (float, int)):
            raise self.refuse(value, "the value is not a float", expected="float")
        bits = 8 * self.layout.size
        try:
            number = float(value)
            if isinstance(value, int) and int(number) != value:
                raise self.refuse(value, "the integer cannot be stored exactly as a double")
            return self.layout.pack(math.nan if math.isnan(number) else number)
        except OverflowError:
            raise self.refuse(value, "the number is too large", bits=bits) from None

    def unpack(self, data: bytes, /) -> float:
        """Return the float that IEEE 754 bytes stand for.

        Raises:
            CodecError: The bytes do not have the layout's width.
        """
        if len(data) != self.layout.size:
            raise self.corrupt(data)
        (number,) = self.layout.unpack(data)
        return float(number)


def sorted_encode(
    codec: Codec[float], value: str, scope: Scope, positive: str, negative: str
) -> str:
    """Return the source that encodes a number so that the bytes sort like the numbers.

    Args:
        codec: The codec.
        value: The name of the variable that holds the number.
        scope: The global names of the generated function; names that the source needs are added.
        positive: The source for a number above zero.
        negative: The source for a number below zero. For NaN and -0.0 the codec is called.
    """
    zero = scope.bind(codec.encode(0.0), "zero")
    is_plain_zero = f"{value} == 0.0 and {scope.bind(math.copysign, 'copysign')}(1.0, {value}) > 0"
    chosen = (
        f"{positive} if {value} > 0.0 else {negative} if {value} < 0.0 else "
        f"{zero} if {is_plain_zero} else {scope.bind(codec.encode, 'encode')}({value})"
    )
    return guarded(value, float, f"({chosen})", codec.encode, scope)


def flip(data: bytes) -> bytes:
    r"""Convert IEEE 754 bytes to bytes that sort like the numbers.

    If the number is negative, all bits are inverted. Otherwise, only the sign bit is set.

    Examples:
        >>> flip(b"\xc0\x00") < flip(b"\xbf\x00") < flip(b"\x3f\x00")
        True
    """
    return invert(data) if data[0] & _SIGN else bytes((data[0] | _SIGN,)) + data[1:]


def unflip(data: bytes) -> bytes:
    """Return the IEEE 754 bytes from which `flip` made `data`."""
    return bytes((data[0] ^ _SIGN,)) + data[1:] if data[0] & _SIGN else invert(data)
