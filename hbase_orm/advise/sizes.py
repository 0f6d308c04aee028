"""Sizes of keys and cells, as far as declarations tell them, and their texts."""

from __future__ import annotations

from typing import Final

from hbase_orm.rowkey import KeyLayout
from hbase_orm.rowkey.parts import Part
from hbase_orm.schema import TableSchema

CELL_BYTES: Final = 20
"""HBase's KeyValue without row, family, qualifier and value: the lengths, timestamp and type."""

REGION_BYTES: Final = 10 * 2**30
"""10 GiB: the default `hbase.hregion.max.filesize`, from which HBase splits a region."""

ONLY_REGION_BYTES: Final = 2 * 128 * 2**20
"""SteppingSplitPolicy: a table's only region splits at twice the flush size of 128 MiB."""

_UNITS: Final = ("bytes", "kB", "MB", "GB", "TB", "PB")
_THOUSAND: Final = 1000
_SMALL: Final = 10


def part_bytes(part: Part) -> int:
    """Return the fewest bytes of a part of a row key, its end included."""
    return (part.codec.width_bytes or 0) + len(part.end)


def key_bytes(layout: KeyLayout) -> int:
    """Return the fewest bytes of a row key; texts of varying length count as empty."""
    return sum(map(part_bytes, layout.parts))


def has_exact_key(layout: KeyLayout) -> bool:
    """Return whether every row key has the same length."""
    return all(part.codec.width_bytes is not None for part in layout.parts)


def at_least(layout: KeyLayout) -> str:
    """Return the length of row keys as text."""
    return f"{'' if has_exact_key(layout) else 'at least '}{key_bytes(layout)} bytes"


def row_columns(schema: TableSchema) -> tuple[bytes, ...]:
    """Return the columns of a full row; a field of dynamic columns counts as one column."""
    declared = (column.column for column in (*schema.columns, *schema.numbers))
    return (*declared, *(each.prefix for each in schema.dynamics))


def cell_count(schema: TableSchema) -> int:
    """Return the number of cells in a full row, 1 or more."""
    return max(1, len(row_columns(schema)))


def row_bytes(schema: TableSchema) -> int:
    """Return the fewest bytes of a full row in store files, without encoding or compression."""
    key, codecs = key_bytes(schema.row_layout), schema.column_by_name.values()
    names = sum(len(column) - 1 for column in row_columns(schema))
    values = sum(column.codec.width_bytes or 0 for column in codecs)
    return cell_count(schema) * (CELL_BYTES + key) + names + values


def bytes_text(count: int) -> str:
    """Return a number of bytes as text, such as `1.3 GB`."""
    size, unit = float(count), 0
    while size >= _THOUSAND and unit < len(_UNITS) - 1:
        size, unit = size / _THOUSAND, unit + 1
    shown = f"{size:.0f}" if size >= _SMALL or unit == 0 else f"{size:.1f}"
    return f"{shown} {_UNITS[unit]}"


def one_of(regions: int) -> str:
    """Return the text for one region out of so many."""
    return "its only region" if regions == 1 else f"1 of its {regions} regions"


def time_text(seconds: int) -> str:
    """Return a duration as text, in days, hours, minutes or seconds."""
    for unit, length in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            count = seconds // length
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{seconds} s"


def count_text(count: int) -> str:
    """Return a number as text, with commas."""
    return f"{count:,}"
