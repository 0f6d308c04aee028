"""Phoenix's DECIMAL: an exponent byte, base-100 digits, and 0x66 at the end of negative numbers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.decimals import Hundreds, Number

_ZERO = b"\x80"
_NEGATIVE_END = b"\x66"
_MAX_BYTES = 21  # PDataType.MAX_BIG_DECIMAL_BYTES: a negative number of 20 digits loses its end
_POSITIVE = 0x80
_EXPONENT_BIAS = 64
_LEAST_EXPONENT = -62  # PDecimal reads smaller numbers back with the wrong sign of the exponent
_GREATEST_EXPONENT = 63


@dataclass(frozen=True, slots=True)
class PhoenixDecimal(Number):
    """DECIMAL: at most 38 digits, from 1E-126 to below 1E+126, without trailing zeros.

    Attributes:
        separator: The bytes that end the number if other parts of a row key follow. The default is
            00, as in Phoenix. Numbers whose encoding contains these bytes are refused.
    """

    name: ClassVar[str] = "phoenix.decimal"
    precision: ClassVar[int] = 38

    separator: bytes | None = b"\x00"

    @property
    def ordered(self) -> bool:
        """True if ascending; inverted bytes of varying length sort only with a terminator."""
        return not self.desc

    def encode(self, value: Decimal, /) -> bytes:
        """Return 1 to 21 bytes.

        Raises:
            CodecError: The value is not a Decimal or not finite, has more than 38 digits, or is out
                of range. Or its bytes contain the separator.
        """
        hundreds = self.split(value)
        if not hundreds.digits:
            return invert(_ZERO) if self.desc else _ZERO
        if not _LEAST_EXPONENT <= hundreds.exponent <= _GREATEST_EXPONENT:
            raise self.refuse(value, "the number is out of range", minimum=1e-126, maximum=1e126)
        data = _negative(hundreds) if hundreds.is_negative else _positive(hundreds)
        if self.separator is not None and self.separator in data:
            raise self.refuse(
                value, "the number's bytes hold the separator", separator=self.separator
            )
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> Decimal:
        """Return the number.

        Raises:
            CodecError: The bytes are not a result of `encode`.
        """
        plain = invert(data) if self.desc else data
        if plain == _ZERO:
            return Decimal(0)
        if len(data) > _MAX_BYTES:
            raise self.corrupt(data)
        try:
            value = self.join(_hundreds(plain))
            again = self.encode(value)
        except (IndexError, ValueError):  # CodecError is one
            raise self.corrupt(data) from None
        if again != data:
            raise self.corrupt(data)
        return value


def _positive(hundreds: Hundreds) -> bytes:
    head = _POSITIVE | _EXPONENT_BIAS + hundreds.exponent
    return bytes((head, *(digit + 1 for digit in hundreds.digits)))


def _negative(hundreds: Hundreds) -> bytes:
    head = _POSITIVE - 1 - _EXPONENT_BIAS - hundreds.exponent
    data = bytes((head, *(101 - digit for digit in hundreds.digits)))
    return data if len(data) == _MAX_BYTES else data + _NEGATIVE_END


def _hundreds(data: bytes) -> Hundreds:
    if data[0] & _POSITIVE:
        digits = tuple(byte - 1 for byte in data[1:])
        return Hundreds(
            is_negative=False, digits=digits, exponent=(data[0] ^ _POSITIVE) - _EXPONENT_BIAS
        )
    digits = tuple(101 - byte for byte in data[1:].removesuffix(_NEGATIVE_END))
    return Hundreds(
        is_negative=True, digits=digits, exponent=_POSITIVE - 1 - _EXPONENT_BIAS - data[0]
    )


CODECS: tuple[type[Codec[Any]], ...] = (PhoenixDecimal,)
