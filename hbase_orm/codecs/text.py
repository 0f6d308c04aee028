"""Codecs of text and bytes of varying length.

UTF-8 sorts like the code points. In a row key, a text ends with the codec's `separator`, or with
`00 01` if the codec has none. Ascending text at the end of a row key needs neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope, guarded, inverted, literal
from hbase_orm.errors import SchemaError


def utf8(codec: Codec[Any], value: Any) -> bytes:
    """Return the UTF-8 bytes of a text.

    Raises:
        CodecError: The value is not a str, or has a lone surrogate.
    """
    if not isinstance(value, str):
        raise codec.refuse(value, "the value is not a str", expected="str")
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise codec.refuse(value, "the text has a lone surrogate", position=error.start) from None


def plain_bytes(codec: Codec[Any], value: Any) -> bytes:
    """Check that a value is bytes, and return it.

    Raises:
        CodecError: The value is not bytes.
    """
    if not isinstance(value, bytes):
        raise codec.refuse(value, "the value is not bytes", expected="bytes")
    return value


@dataclass(frozen=True, slots=True)
class Text(Codec[str]):
    """UTF-8 text of any length.

    Attributes:
        separator: The bytes that end the text if other parts follow in a row key. Values that
            contain them are refused. With None, the text ends with `00 01`, and every `00` in it is
            encoded as `00 ff`. So any text fits.
    """

    name: ClassVar[str] = "text"
    python_type: ClassVar[type] = str

    separator: bytes | None = None

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    def __post_init__(self) -> None:
        """Raise an error for an empty separator."""
        if self.separator == b"":
            raise SchemaError("the separator is empty", codec=self.name, fix='use b"\\x00"')

    @property
    def ordered(self) -> bool:
        """True if ascending; inverted text of varying length sorts only with a terminator."""
        return not self.desc

    @property
    def minimum(self) -> str:
        """The empty text."""
        return ""

    def encode(self, value: str, /) -> bytes:
        """Return the UTF-8 bytes; if descending, with every bit inverted.

        Raises:
            CodecError: The value is not a str, has a lone surrogate, contains the separator, or
                ends with the beginning of the separator.
        """
        data = self.stored(value)
        if self.separator is not None and (data + self.separator).find(self.separator) < len(data):
            raise self.refuse(
                value,
                "the text contains the separator, or ends with the beginning of the separator",
                separator=self.separator,
                fix="choose a separator that no value contains, or leave separator= out: the "
                "text is then escaped",
            )
        return invert(data) if self.desc else data

    def stored(self, value: str, /) -> bytes:
        """Return the ascending bytes, without a check for the separator.

        Raises:
            CodecError: The value is not a str, or has a lone surrogate.
        """
        return utf8(self, value)

    def encode_prefix(self, prefix: str, /) -> bytes:
        """Return the UTF-8 bytes of `prefix`; if descending, with every bit inverted.

        Unlike a value, a prefix may end with the beginning of the separator.
        """
        data = utf8(self, prefix)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> str:
        """Return the text.

        Raises:
            CodecError: The bytes are not UTF-8.
        """
        try:
            return (invert(data) if self.desc else data).decode()
        except UnicodeDecodeError:
            raise self.corrupt(data) from None

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that encodes the text, and fails for a lone surrogate."""
        if self.separator is None:
            data = inverted(f"{value}.encode()", scope, desc=self.desc)
            return guarded(value, str, data, self.encode, scope)
        stored, separator = scope.local("stored"), self.separator
        taken = f"({stored} := {value}.encode())"
        if len(separator) == 1:  # no text can end with a part of it; `in` is fast with a number
            is_whole = f"{int(separator[0])} not in {taken}"
        else:
            end = literal(separator)
            is_whole = f"({taken} + {end}).find({end}) == len({stored})"
        data = inverted(stored, scope, desc=self.desc)
        return guarded(value, str, data, self.encode, scope, is_whole)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that decodes the text, and fails for bytes that are not UTF-8."""
        return f"{inverted(data, scope, desc=self.desc)}.decode()"


@dataclass(frozen=True, slots=True)
class Raw(Codec[bytes]):
    """Bytes of any length, stored unchanged; if descending, with every bit inverted."""

    name: ClassVar[str] = "raw"
    python_type: ClassVar[type] = bytes

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def ordered(self) -> bool:
        """True if ascending; inverted bytes of varying length sort only with a terminator."""
        return not self.desc

    @property
    def minimum(self) -> bytes:
        """Empty bytes."""
        return b""

    def encode(self, value: bytes, /) -> bytes:
        """Return `value`; if descending, with every bit inverted.

        Raises:
            CodecError: The value is not bytes.
        """
        data = plain_bytes(self, value)
        return invert(data) if self.desc else data

    def encode_prefix(self, prefix: bytes, /) -> bytes:
        """Return `prefix`; if descending, with every bit inverted."""
        return self.encode(prefix)

    def decode(self, data: bytes, /) -> bytes:
        """Return the value: `data`, or `data` with every bit inverted if descending."""
        return invert(data) if self.desc else data

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression for the value's bytes, inverted if descending."""
        data = inverted(value, scope, desc=self.desc)
        return guarded(value, bytes, data, self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression for the bytes of the value, inverted back if descending."""
        return inverted(data, scope, desc=self.desc)
