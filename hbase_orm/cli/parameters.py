"""Types of arguments: row keys and times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from hbase_orm.errors import RowKeyError
from hbase_orm.schema.typed_values import read_key


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


INSTANT = InstantType()
KEY = KeyType()
