"""Codecs of text, bytes and decimal digits of a fixed width.

Shorter text is padded on one side. A text that has the padding character on that side is refused,
because decoding would remove it.

Text and digits may be stored backwards (`digit_reversed`). Consecutive numbers then differ in their
first byte, which spreads their rows over the table. But the bytes do not sort like the values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope, guarded, inverted, literal
from hbase_orm.codecs.text import Raw, Text, plain_bytes, utf8
from hbase_orm.errors import SchemaError

Side = Literal["left", "right"]
NUL = b"\x00"
_MOST_DIGITS = 640  # sys.int_info.str_digits_check_threshold: every setting of Python allows them


def check_width(codec: str, width_bytes: int) -> None:
    """Raise an error for a width below one.

    Raises:
        SchemaError: The width is not a positive integer.
    """
    if not isinstance(width_bytes, int) or width_bytes < 1:
        raise SchemaError("the width must be 1 byte or more", codec=codec, width_bytes=width_bytes)


@dataclass(frozen=True, slots=True)
class FixedText(Codec[str]):
    r"""UTF-8 text of a fixed width.

    Attributes:
        width_bytes: The width in bytes.
        pad: The ASCII character of the padding.
        side: The side on which padding is added.
        digit_reversed: Whether the text is reversed before it is padded.
    """

    name: ClassVar[str] = "text"
    python_type: ClassVar[type] = str

    width_bytes: int = field(kw_only=True)
    pad: bytes = NUL
    side: Side = "right"
    digit_reversed: bool = False

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def __post_init__(self) -> None:
        """Raise an error for a width below 1 and for wrong padding."""
        check_width(self.name, self.width_bytes)
        if len(self.pad) != 1 or not self.pad.isascii():
            raise SchemaError(
                "the padding is not one ASCII character",
                codec=self.name,
                pad=self.pad,
                fix='use pad=b"\\x00"',
            )
        if self.side not in ("left", "right"):
            raise SchemaError("the side is neither left nor right", codec=self.name, side=self.side)

    @property
    def ordered(self) -> bool:
        """Whether the bytes sort like the texts.

        They do if the texts are not reversed, and are padded on the right with 00, which sorts
        before all other characters.
        """
        return self.pad == NUL and self.side == "right" and not self.digit_reversed

    def encode(self, value: str, /) -> bytes:
        """Return `width_bytes` bytes.

        Raises:
            CodecError: The value is not a str, has a lone surrogate, is too long, or has the
                padding at the padded end.
        """
        data = self._stored(value)
        is_right = self.side == "right"
        if data.endswith(self.pad) if is_right else data.startswith(self.pad):
            raise self.refuse(
                value,
                "the text begins or ends with the padding character, which would be lost",
                pad=self.pad,
                side=self.side,
                fix="choose a pad that no value begins or ends with, or leave the width out",
            )
        data = (data.ljust if is_right else data.rjust)(self.width_bytes, self.pad)
        return invert(data) if self.desc else data

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return the common first bytes of the encodings of all texts that start with `prefix`.

        The result is empty if padding may come before the text, or if the text is stored backwards.
        """
        if self.side == "left" or self.digit_reversed:
            return b""
        data = self._stored(prefix)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> str:
        """Return the text without its padding.

        Raises:
            CodecError: The encoding has another width, or is not UTF-8.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        plain = invert(data) if self.desc else data
        plain = plain.rstrip(self.pad) if self.side == "right" else plain.lstrip(self.pad)
        try:
            text = plain.decode()
        except UnicodeDecodeError:
            raise self.corrupt(data) from None
        return text[::-1] if self.digit_reversed else text

    def inline_encode(self, value: str, scope: Scope) -> str | None:
        """Return an expression that encodes and pads a text; None if the text is reversed."""
        if self.digit_reversed:
            return None
        stored = scope.local("stored")
        fill, own = ("ljust", "ends") if self.side == "right" else ("rjust", "starts")
        width, pad = literal(self.width_bytes), literal(self.pad)
        data = inverted(f"{stored}.{fill}({width}, {pad})", scope, desc=self.desc)
        fits = f"len({stored} := {value}.encode()) <= {width}"
        is_plain = f"not {stored}.{own}with({pad})"
        return guarded(value, str, data, self.encode, scope, fits, is_plain)

    def _stored(self, value: Any) -> bytes:
        data = utf8(self, value)
        if len(data) > self.width_bytes:
            raise self.refuse(
                value, "the text is too long", bytes=len(data), width_bytes=self.width_bytes
            )
        return value[::-1].encode() if self.digit_reversed else data


@dataclass(frozen=True, slots=True)
class ReversedText(Text):
    """UTF-8 text that is stored backwards, so that the bytes do not sort like the text."""

    @property
    def ordered(self) -> bool:
        """Always False, because the last character is stored first."""
        return False

    def stored(self, value: str, /) -> bytes:
        """Return the UTF-8 bytes of the reversed text; they must not contain the separator.

        Raises:
            CodecError: The value is not a str, or has a lone surrogate.
        """
        utf8(self, value)
        return value[::-1].encode()

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return empty bytes.

        The text is stored backwards, so texts with one prefix have no common first bytes.
        """
        utf8(self, prefix)
        return b""

    def decode(self, data: bytes, /) -> str:
        """Return the text.

        Raises:
            CodecError: The bytes are not UTF-8.
        """
        return Text.decode(self, data)[::-1]


@dataclass(frozen=True, slots=True)
class FixedRaw(Raw):
    """Bytes of a fixed width.

    Attributes:
        width_bytes: The width in bytes.
    """

    width_bytes: int = field(kw_only=True)

    def __post_init__(self) -> None:
        """Raise an error for a width below 1."""
        check_width(self.name, self.width_bytes)

    @property
    def ordered(self) -> bool:
        """Always True: bytes of one width sort, also if they are inverted."""
        return True

    @property
    def minimum(self) -> bytes:
        """All bytes 00."""
        return bytes(self.width_bytes)

    def encode(self, value: bytes, /) -> bytes:
        """Return `value`; if descending, with every bit inverted.

        Raises:
            CodecError: The value is not bytes, or has another width.
        """
        if len(plain_bytes(self, value)) != self.width_bytes:
            raise self.refuse(
                value, "the value has another width", bytes=len(value), width_bytes=self.width_bytes
            )
        return invert(value) if self.desc else value

    def encode_prefix(self, prefix: bytes, /) -> bytes:
        """Return `prefix`; if descending, with every bit inverted."""
        if len(plain_bytes(self, prefix)) > self.width_bytes:
            raise self.refuse(prefix, "the value is too long", width_bytes=self.width_bytes)
        return invert(prefix) if self.desc else prefix

    def decode(self, data: bytes, /) -> bytes:
        """Return the value: `data`, or `data` with every bit inverted if descending.

        Raises:
            CodecError: The encoding has another width.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return invert(data) if self.desc else data

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression for bytes of the right width; other values are given to `encode`."""
        data = inverted(value, scope, desc=self.desc)
        fits = f"len({value}) == {literal(self.width_bytes)}"
        return guarded(value, bytes, data, self.encode, scope, fits)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression for bytes of the right width; other bytes are given to `decode`."""
        plain, decode = inverted(data, scope, desc=self.desc), scope.bind(self.decode, "decode")
        return f"({plain} if len({data}) == {literal(self.width_bytes)} else {decode}({data}))"


@dataclass(frozen=True, slots=True)
class Digits(Codec[int]):
    """Natural numbers as ASCII decimal digits with leading zeros.

    Attributes:
        width_bytes: The number of digits.
        digit_reversed: Whether the last digit comes first.
    """

    name: ClassVar[str] = "digits"
    python_type: ClassVar[type] = int

    width_bytes: int = field(kw_only=True)
    digit_reversed: bool = False

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def __post_init__(self) -> None:
        """Raise an error for a width below 1, or too many digits for Python's `int`."""
        check_width(self.name, self.width_bytes)
        if self.width_bytes > _MOST_DIGITS:
            raise SchemaError(
                "the number has too many digits",
                codec=self.name,
                width_bytes=self.width_bytes,
                most=_MOST_DIGITS,
                fix="store long numbers as text: codecs.text(width_bytes=...)",
            )

    @property
    def ordered(self) -> bool:
        """Whether the first digit is stored first, so that the bytes sort like the numbers."""
        return not self.digit_reversed

    @property
    def minimum(self) -> int:
        """Zero."""
        return 0

    @property
    def maximum(self) -> int:
        """All nines."""
        return int(10**self.width_bytes) - 1

    def encode(self, value: int, /) -> bytes:
        """Return the digits in ASCII; if descending, with every bit inverted.

        Raises:
            CodecError: The value is not an integer, is negative, or has too many digits.
        """
        if not isinstance(value, int):
            raise self.refuse(value, "the value is not an integer", expected="int")
        if not 0 <= value <= self.maximum:
            raise self.refuse(value, "the integer is out of range", minimum=0, maximum=self.maximum)
        data = b"%0*d" % (self.width_bytes, value)
        data = data[::-1] if self.digit_reversed else data
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> int:
        """Return the decoded number.

        Raises:
            CodecError: The encoding has another width, or has bytes that are not digits.
        """
        plain = invert(data) if self.desc else data
        if len(data) != self.width_bytes or not plain.isdigit():
            raise self.corrupt(data)
        return int(plain[::-1] if self.digit_reversed else plain)

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that formats the number."""
        way = "[::-1]" if self.digit_reversed else ""
        digits = f"(b'%0{literal(self.width_bytes)}d' % {value}){way}"
        data = inverted(digits, scope, desc=self.desc)
        fits = f"0 <= {value} <= {self.maximum}"
        return guarded(value, int, data, self.encode, scope, fits)
