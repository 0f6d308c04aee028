"""Types of arguments: row keys and times."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import click

from hbase_orm.errors import RowKeyError
from hbase_orm.rowkey.notation import from_string_binary, to_string_binary

_TYPED = re.compile(r"\\x(?P<byte>[0-9A-Fa-f]{2})|\\\\|(?P<stray>\\)|[^\x00-\x7F]+")


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
