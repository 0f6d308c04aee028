"""Types of arguments: row keys, times and numbers of rows."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import click

from hbase_orm.errors import RowKeyError
from hbase_orm.schema.typed_values import read_key

_MOST: Final = 10**30 - 1  # Decimal reads 1e999999, whose int has a million digits


class KeyType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    r"""A row key in HBase's notation; users may also type `\xff`, a doubled backslash, and `ü`."""

    name = "key"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """Return the bytes of the row key."""
        if isinstance(value, bytes):
            return value
        try:
            return read_key(value)
        except RowKeyError:
            self.fail(f"{value!r} has a backslash that is neither \\xNN nor \\\\.", param, ctx)


class InstantType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    """A time in ISO 8601 with an offset, or a date, which means midnight in UTC."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Return the time."""
        if isinstance(value, datetime):
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a time in ISO 8601.", param, ctx)
        if at.tzinfo is None and len(value) <= len("2026-01-31"):
            return at.replace(tzinfo=UTC)
        if at.tzinfo is None:
            self.fail(f"{value!r} has no offset from UTC: add one, as +00:00.", param, ctx)
        return at


class CountType(click.ParamType):  # type: ignore[type-arg] # older click has no argument for it
    """A whole number, which may be large: 5000000, 5_000_000 or 5e6."""

    name = "number"

    def __init__(self, least: int = -_MOST) -> None:
        """Accept numbers from `least` on."""
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        try:
            number = Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not a number.", param, ctx)
        is_small = number.is_finite() and abs(number) <= _MOST
        if not is_small or number != number.to_integral_value():
            self.fail(f"{value!r} is not a whole number of up to 30 digits.", param, ctx)
        if number < self._least:
            self.fail(f"{value!r} is not in the range x>={self._least}.", param, ctx)
        return int(number)


COUNT = CountType()
POSITIVE = CountType(1)
INSTANT = InstantType()
KEY = KeyType()
