"""Decimal numbers as base-100 digits: the common part of HBase's and Phoenix's decimal formats.

Trailing zeros are not stored: 1.50 is read back as 1.5, which is equal. Numbers with too many
digits are refused, whereas the Java classes would silently round them.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec


@dataclass(frozen=True, slots=True)
class Hundreds:
    """A number in base 100: 0.abc… * 100 ** exponent.

    The first and the last of the digits abc… are not 0.

    Attributes:
        is_negative: Whether the number is below zero.
        digits: The base-100 digits, each 0 to 99; empty for zero.
        exponent: The number of base-100 digits before the decimal point. It may be negative, or
            larger than the number of `digits`.
    """

    is_negative: bool
    digits: tuple[int, ...]
    exponent: int


@dataclass(frozen=True, slots=True)
class Number(Codec[Decimal]):
    """The base of codecs of Decimals with limited precision; subclasses encode the base-100 digits.

    Attributes:
        precision: The largest number of significant decimal digits.
    """

    python_type: ClassVar[type] = Decimal
    precision: ClassVar[int]

    @property
    def canonical(self) -> bool:
        """Always True, because trailing zeros are not stored."""
        return True

    @property
    def coarse(self) -> bool:
        """Always True: trailing zeros are lost, so a number may print differently."""
        return True

    def compares(self, value: Any, /) -> bool:
        """Return whether the value is a Decimal other than NaN."""
        return isinstance(value, Decimal) and not value.is_nan()

    def normalize(self, value: Decimal, /) -> Decimal:
        """Return the equal number that will be read back.

        Raises:
            CodecError: As for `encode`.
        """
        return self.decode(self.encode(value))

    def split(self, value: Decimal, /) -> Hundreds:
        """Return the base-100 digits of a number.

        Raises:
            CodecError: The value is not a Decimal, is not finite, or has too many digits.
        """
        if not isinstance(value, Decimal):
            raise self.refuse(value, "the value is not a Decimal", expected="Decimal")
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise self.refuse(value, "the number is not finite")
        text = "".join(map(str, digits)).lstrip("0")
        exponent += len(text) - len(text.rstrip("0"))
        text = text.rstrip("0")
        if len(text) > self.precision:
            raise self.refuse(
                value,
                "the number has too many digits",
                digits=len(text),
                maximum=self.precision,
                fix="round it first, as the Java classes do: round(value, …) or quantize",
            )
        if not text:
            return Hundreds(is_negative=False, digits=(), exponent=0)
        text += "0" * (exponent % 2)
        exponent -= exponent % 2
        text = text.zfill(len(text) + len(text) % 2)
        pairs = tuple(int(text[at : at + 2]) for at in range(0, len(text), 2))
        return Hundreds(bool(sign), pairs, exponent // 2 + len(pairs))

    def join(self, hundreds: Hundreds, /) -> Decimal:
        """Return the Decimal with these digits, without trailing zeros in its fraction."""
        text = "".join(f"{pair:02d}" for pair in hundreds.digits).rstrip("0")
        exponent = 2 * hundreds.exponent - len(text)
        text = text.lstrip("0")
        if 0 < exponent <= self.precision - len(text):
            text, exponent = text + "0" * exponent, 0
        return Decimal((hundreds.is_negative, tuple(map(int, text)), exponent))
