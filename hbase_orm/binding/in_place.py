"""Detects values that a program changed in place, by comparing them with the row that was read.

A dict or a list does not report its changes, so its bytes are compared at flush.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final
from uuid import UUID

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from hbase_orm.model import Model
from hbase_orm.model.mapping.entries import entry_cells
from hbase_orm.ops import Cell, Row
from hbase_orm.schema import ColumnSchema, TableSchema

UNCHANGING: Final = (
    *(int, float, Decimal, str, bytes, bool, datetime, date, time, timedelta),
    *(UUID, IPv4Address, IPv6Address, Enum),
)


def can_change(codec: Codec[Any]) -> bool:
    """Return whether a codec's values can change in place."""
    return not issubclass(codec.python_type, UNCHANGING)


def mutable_columns(schema: TableSchema) -> tuple[ColumnSchema, ...]:
    """Return the columns whose values can change in place."""
    return tuple(column for column in schema.columns if can_change(column.codec))


def has_mutable_values(schema: TableSchema) -> bool:
    """Return whether objects of a model can have values that change in place."""
    return bool(schema.dynamics or mutable_columns(schema))


def is_changed_in_place(schema: TableSchema, obj: Model, row: Row) -> bool:
    """Return whether a value of `obj` that can change in place differs from its cell in `row`.

    Raises:
        CodecError, ValidationError: A value does not fit.
    """
    cells = _mutable_cells(schema, obj.__dict__)
    old = _mutable_part(schema, obj.__dict__, row.cells)
    if old.keys() != cells.keys():
        return True
    differing = {column: value for column, value in cells.items() if old[column].value != value}
    return bool(changed_cells(schema, old, differing))


def row_in_place(schema: TableSchema, obj: Model) -> Row:
    """Return a row with only those values of `obj` that can change in place.

    `is_changed_in_place` can later compare the object with this row.

    Raises:
        CodecError, ValidationError: A value does not fit.
    """
    cells = _mutable_cells(schema, obj.__dict__)
    return Row(b"", {column: Cell(value, 0) for column, value in cells.items()})


def changes_in_maps_only(schema: TableSchema) -> bool:
    """Return whether only the maps of dynamic columns can change in place, and not their values."""
    is_plain = not any(can_change(each.codec) for each in schema.dynamics)
    return bool(schema.dynamics) and is_plain and not mutable_columns(schema)


def entries_read(schema: TableSchema, obj: Model) -> tuple[object, ...] | None:
    """Return the names and values of all dynamic columns of an object, to compare by identity.

    For a model of which `changes_in_maps_only` is true, two results that are item by item the same
    objects mean that nothing was changed in place between them. The result is None if a map is no
    dict any more.
    """
    read: list[object] = []
    for dynamic in schema.dynamics:
        entries = obj.__dict__.get(dynamic.name)
        if type(entries) is not dict:
            return None
        read += entries
        read += entries.values()
    return tuple(read)


def mutable_names(schema: TableSchema) -> list[str]:
    """Return the names of the fields whose values can change in place."""
    columns = [column.name for column in mutable_columns(schema)]
    return columns + [dynamic.name for dynamic in schema.dynamics]


def _mutable_cells(schema: TableSchema, values: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return the encoded values that can change in place, by column."""
    cells: dict[bytes, bytes] = {}
    for column in mutable_columns(schema):
        value = values.get(column.name)
        if value is not None:
            cells[column.column] = column.codec.encode(value)
    for dynamic in schema.dynamics:
        cells.update(entry_cells(schema, dynamic, values.get(dynamic.name, {})))
    return cells


def _mutable_part(
    schema: TableSchema, values: Mapping[str, Any], cells: Mapping[bytes, Cell]
) -> dict[bytes, Cell]:
    """Return the cells that belong to a field in `values` and whose values can change in place."""
    names = (each.column for each in mutable_columns(schema) if each.name in values)
    columns = {column for column in names if column in cells}
    return {column: cells[column] for column in columns | loaded_entries(schema, values, cells)}


def loaded_entries(
    schema: TableSchema, values: Mapping[str, Any], cells: Iterable[bytes]
) -> frozenset[bytes]:
    """Return those columns in `cells` that are dynamic columns of a field in `values`."""
    loaded = [dynamic for dynamic in schema.dynamics if dynamic.name in values]
    return frozenset(column for dynamic in loaded for column in cells if dynamic.holds(column))


def changed_cells(
    schema: TableSchema, old: Mapping[bytes, Cell], differing: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the cells in `differing` whose decoded values differ from those in `old`.

    Some codecs have several encodings of one value. For example, JSON that another program wrote
    with other spaces has other bytes, but the same value.
    """
    return {
        column: value
        for column, value in differing.items()
        if column not in old or _is_other(_codec_of(schema, column), old[column].value, value)
    }


def _codec_of(schema: TableSchema, column: bytes) -> Codec[Any] | None:
    """Return the codec of a column's cells; None for the marker, which belongs to no field."""
    for dynamic in schema.dynamics:
        if dynamic.holds(column):
            return dynamic.codec
    return next((each.codec for each in schema.columns if each.column == column), None)


def _is_other(codec: Codec[Any] | None, before: bytes, after: bytes) -> bool:
    if codec is None or codec.canonical:
        return True
    try:
        return codec.encode(codec.decode(before)) != after
    except CodecError:
        return True
