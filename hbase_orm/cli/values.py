"""Converts texts that a user typed to values of fields, and values to JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any
from uuid import UUID

import click

from hbase_orm.cli.parameters import read_key
from hbase_orm.rowkey.key_text import value_text

_TRUTHS = MappingProxyType({"true": True, "false": False})


def _instant(text: str) -> datetime:
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        # A day has no offset: it begins at midnight in UTC, as everywhere in this library.
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    return value


_READERS: Mapping[type, tuple[Callable[[str], Any], str]] = MappingProxyType(
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


def read_value(field: str, python_type: type, text: str) -> Any:
    """Convert a text that a user typed to a value of the field's type.

    Raises:
        click.BadParameter: The text is not a value of the type, or values of the type cannot be
            written as text.
    """
    read, expected = _reader(field, python_type)
    try:
        return read(text)
    except (ValueError, ArithmeticError, KeyError):  # Decimal raises the second, look-ups the last
        raise click.BadParameter(f"{field}={text!r}: expected {expected}") from None


def _reader(field: str, python_type: type) -> tuple[Callable[[str], Any], str]:
    if issubclass(python_type, Enum):
        members = python_type.__members__
        return members.__getitem__, f"one of {', '.join(members)}"
    reader = _READERS.get(python_type)
    if reader is None:
        raise click.BadParameter(f"{field}: values of {python_type.__name__} cannot be typed here")
    return reader


def json_value(value: Any) -> Any:
    """Return a value that JSON can contain.

    None, bools, ints, floats and texts are unchanged. A timedelta becomes its number of seconds,
    and every other value becomes text.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return value if is_plain and not isinstance(value, Enum) else value_text(value)
