"""Describes row keys: the bytes and the value of each component."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

from hbase_orm.rowkey.derivations import OffsetOf
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.rowkey.parts import Part


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one component in a row key.

    Attributes:
        name: The key field, or the kind of the derived component.
        codec: The name of the codec. Empty for hashes and the like, which are not encoded values.
        data: The bytes, including the terminator.
        value: The decoded value. None if the bytes are not an encoded value. Also None for an
            offset as formatted text, which is a time only together with its period.
    """

    name: str
    codec: str
    data: bytes
    value: Any


def pieces(layout: KeyLayout, key: bytes) -> tuple[Piece, ...]:
    """Return the components of a row key in the order of their bytes.

    Raises:
        CorruptRowError: The key does not have this layout.
    """
    layout.decode_parts(key)
    return tuple(_piece(part, data) for part, data in layout.split(key))


def _piece(part: Part, data: bytes) -> Piece:
    if part.derivation is not None and part.derivation.gives_bytes:
        return Piece(part.name, "", data, None)
    codec = f"{part.codec.name} desc" if part.is_descending else part.codec.name
    value = part.value_of(data)
    if isinstance(part.derivation, OffsetOf) and isinstance(value, datetime):
        value = None  # an offset that `strftime` wrote is no time without its period
    return Piece(part.name, codec, data, value)


def layout_text(layout: KeyLayout) -> str:
    """Return a layout in one line, such as `[salt 16][host text][at millis desc]`."""
    return "".join(f"[{_part_text(part)}]" for part in layout.parts)


def _part_text(part: Part) -> str:
    if part.codec.name == part.name or (
        part.derivation is not None and part.derivation.gives_bytes
    ):
        return part.name
    return f"{part.name} {part.codec.name}{' desc' if part.is_descending else ''}"


def describe(layout: KeyLayout, key: bytes) -> str:
    """Return one line for each component of a row key.

    The line shows the name, the codec, the bytes in HBase's notation, and the value.

    Raises:
        CorruptRowError: The key does not have this layout.
    """
    rows = [
        (piece.name, piece.codec, to_string_binary(piece.data), _shown(piece))
        for piece in pieces(layout, key)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _shown(piece: Piece) -> str:
    return "" if piece.value is None else value_text(piece.value)


def value_text(value: Any) -> str:
    """Return a value as one line of text.

    Times are in ISO 8601, members of enums are their names, and text is in quotes.
    """
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return to_string_binary(value)
    if isinstance(value, (date, time)):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds()} s"
    if isinstance(value, (Decimal, UUID, IPv4Address, IPv6Address)):
        return str(value)
    return repr(value)
