"""The common part of all floating-point codecs: accepted values, and the flip that makes bits sort.

A 32-bit codec stores the nearest 32-bit float, as a Java cast does, so it is coarse.
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
    """A float in IEEE 754 bits of one width; subclasses say how the bits are stored.

    Attributes:
        layout: Big-endian, 4 or 8 bytes.
    """

    python_type: ClassVar[type] = float
    layout: ClassVar[struct.Struct]

    @property
    def canonical(self) -> bool:
        """True, but for zeros and NaN."""
        return True

    @property
    def width_bytes(self) -> int:
        """Those of the layout."""
        return self.layout.size

    @property
    def coarse(self) -> bool:
        """Whether the layout is narrower than Python's float."""
        return self.layout is FLOAT32

    def accepts_type(self, value: Any, /) -> bool:
        """Take floats, and ints, which type checkers let pass for floats."""
        return isinstance(value, (float, int))

    def normalize(self, value: float, /) -> float:
        """Return the float that will be read back: the nearest that the layout holds.

        Raises:
            CodecError: Not a number, or too large for the layout.
        """
        return self.unpack(self.pack(value))

    def pack(self, value: float, /) -> bytes:
        """Return the IEEE 754 bytes; every NaN has the same ones, as in Java.

        Raises:
            CodecError: Not a number, an int that no double equals, or too large for the layout.
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
        """Return the float of IEEE 754 bytes.

        Raises:
            CodecError: Another width.
        """
        if len(data) != self.layout.size:
            raise self.corrupt(data)
        (number,) = self.layout.unpack(data)
        return float(number)


def sorted_encode(
    codec: Codec[float], value: str, scope: Scope, positive: str, negative: str
) -> str:
    """Return the expression of a codec whose bits are flipped to sort.

    Args:
        codec: The codec.
        value: The variable that holds the number.
        scope: Takes what the expression refers to.
        positive: The expression for a number above zero.
        negative: That for one below; NaN and -0.0 are the codec's own affair.
    """
    zero = scope.bind(codec.encode(0.0), "zero")
    is_plain_zero = f"{value} == 0.0 and {scope.bind(math.copysign, 'copysign')}(1.0, {value}) > 0"
    chosen = (
        f"{positive} if {value} > 0.0 else {negative} if {value} < 0.0 else "
        f"{zero} if {is_plain_zero} else {scope.bind(codec.encode, 'encode')}({value})"
    )
    return guarded(value, float, f"({chosen})", codec.encode, scope)


def flip(data: bytes) -> bytes:
    r"""Return IEEE 754 bytes so that they sort: inverted if negative, else with the sign bit set.

    Examples:
        >>> flip(b"\xc0\x00") < flip(b"\xbf\x00") < flip(b"\x3f\x00")
        True
    """
    return invert(data) if data[0] & _SIGN else bytes((data[0] | _SIGN,)) + data[1:]


def unflip(data: bytes) -> bytes:
    """Return the IEEE 754 bytes that `flip` made sortable."""
    return bytes((data[0] ^ _SIGN,)) + data[1:] if data[0] & _SIGN else invert(data)
