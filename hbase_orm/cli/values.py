"""Converts texts that a user typed to values of fields, and values to JSON."""

from __future__ import annotations

from datetime import timedelta
from enum import Enum
from typing import Any

import click

from hbase_orm.errors import CodecError
from hbase_orm.rowkey.key_text import value_text
from hbase_orm.schema.typed_values import typed_value


def read_value(field: str, python_type: type, text: str) -> Any:
    """Convert a text that a user typed to a value of the field's type.

    Raises:
        click.BadParameter: The text is not a value of the type, or values of the type cannot be
            written as text.
    """
    try:
        return typed_value(python_type, text)
    except CodecError as error:
        expected = error.details["expected"]
        if expected:
            raise click.BadParameter(f"{field}={text!r}: expected {expected}") from None
        name = python_type.__name__
        raise click.BadParameter(f"{field}: values of {name} cannot be typed here") from None


def json_value(value: Any) -> Any:
    """Return a value that JSON can contain.

    None, bools, ints, floats and texts are unchanged. A timedelta becomes its number of seconds,
    and every other value becomes text.
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    return value if is_plain and not isinstance(value, Enum) else value_text(value)
