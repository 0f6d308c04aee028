"""Phoenix's texts and bytes, in the format of its class `PDataType`.

Phoenix reads empty text and empty bytes as NULL. `desc` inverts every byte.
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
    """VARCHAR: UTF-8 text without NUL.

    Attributes:
        separator: The byte NUL, which ends the text if other parts of a row key follow.
    """

    name: ClassVar[str] = "phoenix.varchar"
    python_type: ClassVar[type] = str
    empty_is_null: ClassVar[bool] = True
    separator: ClassVar[bytes] = _NUL

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def ordered(self) -> bool:
        """True if ascending; inverted text of varying length sorts only with a terminator."""
        return not self.desc

    def encode(self, value: str, /) -> bytes:
        """Return the UTF-8 bytes, inverted if descending; Phoenix reads empty bytes as NULL.

        Raises:
            CodecError: The value is not a str, or has a lone surrogate or a NUL.
        """
        data = utf8(self, value)
        if _NUL in data:
            raise self.refuse(
                value, "the text holds NUL, which Phoenix uses as the end of a VARCHAR in row keys"
            )
        return invert(data) if self.desc else data

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that encodes a text without NUL, and fails for a lone surrogate."""
        data = inverted(f"{value}.encode()", scope, desc=self.desc)
        return guarded(value, str, data, self.encode, scope, f"'\\0' not in {value}")

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that decodes the text, and fails for bytes that are not UTF-8."""
        return f"{inverted(data, scope, desc=self.desc)}.decode()"

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return the UTF-8 bytes, inverted if descending."""
        return self.encode(prefix)

    def decode(self, data: bytes, /) -> str:
        """Return the text.

        Raises:
            CodecError: The bytes are not UTF-8.
        """
        try:
            return (invert(data) if self.desc else data).decode()
        except UnicodeDecodeError:
            raise self.corrupt(data) from None


@dataclass(frozen=True, slots=True)
class Char(Codec[str]):
    """CHAR(n): ASCII text, padded with spaces on the right.

    Attributes:
        width_bytes: The width n in bytes.
    """

    name: ClassVar[str] = "phoenix.char"
    python_type: ClassVar[type] = str

    width_bytes: int = field(kw_only=True)

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def __post_init__(self) -> None:
        """Raise an error for a width below 1."""
        check_width(self.name, self.width_bytes)

    def encode(self, value: str, /) -> bytes:
        """Return `width_bytes` bytes.

        Raises:
            CodecError: The value is not a str, is not ASCII, or is too long. Or it ends with a
                space, which decoding would remove. Or it has a control character, which would sort
                before the padding.
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
        """Return the ASCII bytes of `prefix`, inverted if descending; no padding is added.

        Unlike a value, a prefix may end with a space.
        """
        data = self._ascii(prefix)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> str:
        """Return the text without its padding.

        Raises:
            CodecError: The encoding has another width, or is not a result of `encode`.
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
    """VARBINARY: bytes, stored unchanged; Phoenix reads empty bytes as NULL."""

    name: ClassVar[str] = "phoenix.varbinary"
    place: ClassVar[KeyPlacement] = KeyPlacement.LAST_ASCENDING
    instead: ClassVar[str] = "codecs.raw()"
    empty_is_null: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Binary(Codec[bytes]):
    """BINARY(n): bytes of a fixed width.

    Shorter values are padded with 00 on the right, and are read back with the padding.

    Attributes:
        width_bytes: The width n in bytes.
    """

    name: ClassVar[str] = "phoenix.binary"
    python_type: ClassVar[type] = bytes

    width_bytes: int = field(kw_only=True)

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def __post_init__(self) -> None:
        """Raise an error for a width below 1."""
        check_width(self.name, self.width_bytes)

    @property
    def coarse(self) -> bool:
        """Always True, because shorter values are padded."""
        return True

    def normalize(self, value: bytes, /) -> bytes:
        """Return `value` with its padding, as it will be read back.

        Raises:
            CodecError: The value is not bytes, or is too long.
        """
        return self.decode(self.encode(value))

    def encode(self, value: bytes, /) -> bytes:
        """Return `width_bytes` bytes.

        Raises:
            CodecError: The value is not bytes, or is too long.
        """
        data = self.encode_prefix(value)
        return data.ljust(self.width_bytes, invert(_NUL) if self.desc else _NUL)

    def encode_prefix(self, prefix: bytes, /) -> bytes:
        """Return `prefix` without padding, inverted if descending."""
        if len(plain_bytes(self, prefix)) > self.width_bytes:
            raise self.refuse(prefix, "the value is too long", width_bytes=self.width_bytes)
        return invert(prefix) if self.desc else prefix

    def decode(self, data: bytes, /) -> bytes:
        """Return the decoded bytes, with their padding.

        Raises:
            CodecError: The encoding has another width.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return invert(data) if self.desc else data


CODECS: tuple[type[Codec[Any]], ...] = (VarChar, Char, VarBinary, Binary)
