"""Phoenix's texts and bytes, as its class `PDataType` writes them.

Phoenix has no empty text and no empty bytes: it reads them as NULL. `desc` inverts every byte.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, KeyPlacement, invert
from hbase_orm.codecs.fixed import check_width
from hbase_orm.codecs.source import Scope, guarded, inverted
from hbase_orm.codecs.text import Raw, plain_bytes, utf8

_NUL = b"\x00"
_BLANK = b" "


@dataclass(frozen=True, slots=True)
class VarChar(Codec[str]):
    """VARCHAR: UTF-8 without NUL; a NUL ends it if more key bytes follow.

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
            raise self.refuse(
                value, "the text holds NUL, which Phoenix uses as the end of a VARCHAR in row keys"
            )
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
            raise self.refuse(
                value,
                "the text ends with a space, which Phoenix could not distinguish from padding",
            )
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
            raise self.refuse(
                value, "CHAR stores only characters that take one byte", fix="use VARCHAR"
            )
        if len(data) > self.width_bytes:
            raise self.refuse(value, "the text is too long", width_bytes=self.width_bytes)
        if data and min(data) < _BLANK[0]:
            raise self.refuse(
                value, "the text holds a control character, which would sort wrongly in a CHAR"
            )
        return data


@dataclass(frozen=True, slots=True)
class VarBinary(Raw):
    """VARBINARY: bytes as they are; Phoenix reads none as NULL."""

    name: ClassVar[str] = "phoenix.varbinary"
    place: ClassVar[KeyPlacement] = KeyPlacement.LAST_ASCENDING
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


CODECS: tuple[type[Codec[Any]], ...] = (VarChar, Char, VarBinary, Binary)
