"""Decimal numbers in the format of `OrderedBytes.encodeNumeric`, whose bytes sort like the numbers.

A header shows the sign and the size. The exponent follows, unless it is part of the header. Then
follow the base-100 digits. The last digit d is stored as 2·d, every other digit as 2·d + 1. So no
encoding is a prefix of another.

The library's own codec "decimal" has the same bytes. But it refuses infinities and NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.decimals import Hundreds, Number

_NEG_LARGE = 0x08
_NEG_MEDIUM_END = 0x13
_NEG_SMALL = 0x14
_ZERO = b"\x15"
_POS_SMALL = 0x16
_POS_MEDIUM_START = 0x17
_POS_LARGE = 0x22
_MEDIUM_EXPONENTS = range(1, 11)
_EXPONENT_END = 1_000_000  # beyond it Python's default context cannot compute with the number
_MOST_BYTES = 26  # a header, an exponent of 9 bytes at most, and 31 digits in 16 pairs
_INFINITIES = {Decimal("-Infinity"): b"\x07", Decimal("Infinity"): b"\x23"}
_NAN = b"\x26"
_WITHOUT_DIGITS = {_ZERO, _NAN, *_INFINITIES.values()}  # a header without digits

# The variable-length integer of SQLite 4: the first byte is the number or says how to read it.
_ONE_BYTE = 241
_TWO_BYTES = 2288
_THREE_BYTES = 67_824
_LEADS_THREE = 249
_WIDTH_BIAS = 247  # 250 leads a number of 3 bytes, 251 one of 4, …


def varint(number: int) -> bytes:
    """Encode a natural number in 1 to 9 bytes that sort.

    Examples:
        >>> varint(240).hex(), varint(241).hex(), varint(2288).hex(), varint(67824).hex()
        ('f0', 'f101', 'f90000', 'fa0108f0')
    """
    if number < _ONE_BYTE:
        return bytes((number,))
    if number < _TWO_BYTES:
        high, low = divmod(number - 240, 256)
        return bytes((_ONE_BYTE + high, low))
    if number < _THREE_BYTES:
        return bytes((_LEADS_THREE,)) + (number - _TWO_BYTES).to_bytes(2, "big")
    width = max(3, (number.bit_length() + 7) // 8)
    return bytes((_WIDTH_BIAS + width,)) + number.to_bytes(width, "big")


def take_varint(data: bytes) -> tuple[int, bytes]:
    """Return the number that `varint` encoded at the start of `data`, and the bytes after it."""
    lead = data[0]
    if lead < _ONE_BYTE:
        return lead, data[1:]
    if lead < _LEADS_THREE:
        return 240 + 256 * (lead - _ONE_BYTE) + data[1], data[2:]
    if lead == _LEADS_THREE:
        return _TWO_BYTES + int.from_bytes(data[1:3], "big"), data[3:]
    width = lead - _WIDTH_BIAS
    return int.from_bytes(data[1 : 1 + width], "big"), data[1 + width :]


def _head(hundreds: Hundreds) -> bytes:
    exponent = hundreds.exponent
    if exponent in _MEDIUM_EXPONENTS:
        lead = _NEG_MEDIUM_END - exponent if hundreds.is_negative else _POS_MEDIUM_START + exponent
        return bytes((lead,))
    size = varint(abs(exponent))
    if exponent > 0:
        return b"\x08" + invert(size) if hundreds.is_negative else b"\x22" + size
    return b"\x14" + size if hundreds.is_negative else b"\x16" + invert(size)


def _take_head(data: bytes) -> tuple[bool, int, bytes]:
    """Return whether the encoded number is negative, its exponent, and the bytes of its digits."""
    lead, rest = data[0], data[1:]
    if lead in {_NEG_LARGE, _POS_SMALL}:
        size, digits = take_varint(invert(rest))
        digits = invert(digits)
    elif lead in {_NEG_SMALL, _POS_LARGE}:
        size, digits = take_varint(rest)
    else:
        is_negative = lead <= _NEG_MEDIUM_END
        size = _NEG_MEDIUM_END - lead if is_negative else lead - _POS_MEDIUM_START
        return is_negative, size, rest
    exponent = -size if lead in {_NEG_SMALL, _POS_SMALL} else size
    return lead in {_NEG_LARGE, _NEG_SMALL}, exponent, digits


@dataclass(frozen=True, slots=True)
class SortedDecimal(Number):
    """Decimals of at most 31 digits, without trailing zeros."""

    name: ClassVar[str] = "decimal"
    precision: ClassVar[int] = 31

    def encode(self, value: Decimal, /) -> bytes:
        """Return the header, the exponent and the digits; if descending, inverted.

        Raises:
            CodecError: The value is not a Decimal, is not finite, has more than 31 digits, or has
                an exponent beyond one million, positive or negative.
        """
        hundreds = self.split(value)
        if not hundreds.digits:
            return invert(_ZERO) if self.desc else _ZERO
        if abs(2 * hundreds.exponent) > _EXPONENT_END:
            raise self.refuse(value, "the exponent is out of range", maximum=_EXPONENT_END)
        digits = bytes(2 * digit + 1 for digit in hundreds.digits[:-1])
        digits += bytes((2 * hundreds.digits[-1],))
        data = _head(hundreds) + (invert(digits) if hundreds.is_negative else digits)
        return invert(data) if self.desc else data

    @property
    def is_self_delimiting(self) -> bool:
        """Always True: only the last stored digit is even."""
        return True

    def end_of(self, data: bytes, position: int) -> int:
        """Return the position after the last digit of the number that begins at `position`.

        Raises:
            CodecError: The bytes have no last digit.
        """
        plain = invert(data[position:]) if self.desc else data[position:]
        if plain[:1] in _WITHOUT_DIGITS:
            return position + 1
        try:
            _, _, digits = _take_head(plain)
        except IndexError:
            raise self.corrupt(data[position:]) from None
        is_negative = plain[:1] < _ZERO
        for number, digit in enumerate(digits):
            if bool(digit & 1) is is_negative:
                return len(data) - len(digits) + number + 1
        raise self.corrupt(data[position:])

    def decode(self, data: bytes, /) -> Decimal:
        """Return the decoded number.

        Raises:
            CodecError: The bytes are not a result of `encode`.
        """
        plain = invert(data) if self.desc else data
        if plain == _ZERO:
            return Decimal(0)
        if len(data) > _MOST_BYTES:
            raise self.corrupt(data)
        try:
            is_negative, exponent, stored = _take_head(plain)
            digits = tuple(byte // 2 for byte in (invert(stored) if is_negative else stored))
            value = self.join(Hundreds(is_negative, digits, exponent))
            again = self.encode(value)
        except (IndexError, ValueError, OverflowError):  # CodecError is a ValueError
            raise self.corrupt(data) from None
        if again != data:
            raise self.corrupt(data)
        return value


@dataclass(frozen=True, slots=True)
class OrderedNumeric(SortedDecimal):
    """Decimals of at most 31 digits, infinities and NaN.

    Numbers have the same bytes as in `SortedDecimal`. Java writes infinities and NaN only for
    doubles.
    """

    name: ClassVar[str] = "ordered.numeric"

    def encode(self, value: Decimal, /) -> bytes:
        """Return the header, the exponent and the digits; if descending, inverted.

        Raises:
            CodecError: The value is not a Decimal, has more than 31 digits, or has an exponent
                beyond one million, positive or negative.
        """
        if not isinstance(value, Decimal) or value.is_finite():
            return SortedDecimal.encode(self, value)
        data = _NAN if value.is_nan() else _INFINITIES[value]
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> Decimal:
        """Return the decoded number.

        Raises:
            CodecError: The bytes are not a result of `encode`.
        """
        plain = invert(data) if self.desc else data
        if plain == _NAN:
            return Decimal("NaN")
        for value, stored in _INFINITIES.items():
            if plain == stored:
                return value
        return SortedDecimal.decode(self, data)


CODECS: tuple[type[Codec[Any]], ...] = (SortedDecimal, OrderedNumeric)
