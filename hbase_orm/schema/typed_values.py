"""Converts texts that people write, in a shell or a CSV file, to values of fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from hbase_orm.errors import CodecError, RowKeyError
from hbase_orm.rowkey.notation import from_string_binary, to_string_binary

_TYPED: Final = re.compile(r"\\x(?P<byte>[0-9A-Fa-f]{2})|\\\\|(?P<stray>\\)|[^\x00-\x7F]+")
_TRUTHS: Final = MappingProxyType({"true": True, "false": False})


def read_key(text: str) -> bytes:
    r"""Return the bytes of a row key that a user typed.

    Raises:
        RowKeyError: A backslash is neither `\xNN` nor doubled.
    """
    return from_string_binary(_TYPED.sub(_as_shown, text))


def _as_shown(match: re.Match[str]) -> str:
    typed = match.group()
    if match["stray"]:
        raise RowKeyError(
            "the key has a backslash without the character that it escapes",
            text=match.string,
            position=match.start(),
        )
    if match["byte"]:
        return r"\x" + match["byte"].upper()
    # Bytes of an argument that are no UTF-8 come as surrogates.
    return to_string_binary(b"\\" if typed == r"\\" else typed.encode(errors="surrogateescape"))


def _instant(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        # A day has no offset: it begins at midnight in UTC, as everywhere in this library.
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    return value


_READERS: Final[Mapping[type, tuple[Callable[[str], Any], str]]] = MappingProxyType(
    {
        str: (str, "text"),
        bytes: (read_key, r"bytes as HBase prints them, as a\x00\xFF"),
        bool: (_TRUTHS.__getitem__, "true or false"),
        int: (int, "a whole number"),
        float: (float, "a number"),
        Decimal: (Decimal, "a decimal number"),
        UUID: (UUID, "a UUID"),
        IPv4Address: (IPv4Address, "an IPv4 address"),
        IPv6Address: (IPv6Address, "an IPv6 address"),
        datetime: (_instant, "ISO 8601 with an offset, as 2026-01-31T08:00:00+00:00, or a date"),
        date: (date.fromisoformat, "a date, as 2026-01-31"),
        time: (time.fromisoformat, "a time of day, as 08:00:00.5"),
        timedelta: (lambda text: timedelta(seconds=float(text)), "a number of seconds"),
    }
)
"""For each type, the function that converts text to a value, and the expected form of the text."""


def typed_value(python_type: type, text: str) -> Any:
    """Convert a text to a value of a field's type.

    Raises:
        CodecError: The text is not a value of the type; the detail `expected` describes the form.
            It is empty if values of the type cannot be written as text.
    """
    read, expected = _reader(python_type)
    try:
        return read(text)
    except (ValueError, ArithmeticError, KeyError) as error:  # of Decimal, and of look-ups
        raise CodecError("the text is not a value", text=text, expected=expected) from error


def _reader(python_type: type) -> tuple[Callable[[str], Any], str]:
    if issubclass(python_type, Enum):
        members = python_type.__members__
        return members.__getitem__, f"one of {', '.join(members)}"
    if python_type not in _READERS:
        raise CodecError("values of the type cannot be written as text", expected="")
    return _READERS[python_type]
