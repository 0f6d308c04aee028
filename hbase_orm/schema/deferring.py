"""Deferred columns: which columns reads of objects leave out, and which they name instead.

A get names all other columns. A scan reads whole families, but the server sends only the keys of
deferred cells, without values; so a row with any cell is seen.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from hbase_orm.schema.tables import ColumnSchema, TableSchema

NO_FIELDS: Final[frozenset[str]] = frozenset()
"""No deferred field is read."""


def record_types_of(schema: TableSchema) -> tuple[TableSchema, ...]:
    """Return the schemas of the rows of a table: those of all record types, or the model's own."""
    if schema.record_types is None:
        return (schema,)
    return tuple(model.__schema__ for model in schema.record_types.models.values())


def deferred_names(schema: TableSchema) -> frozenset[str]:
    """Return the deferred fields of a model, or of any of its record types."""
    every = (schema, *record_types_of(schema)) if schema.record_types is not None else (schema,)
    return frozenset(column.name for each in every for column in each.deferred)


def left_out(schema: TableSchema, loaded: AbstractSet[str]) -> tuple[ColumnSchema, ...]:
    """Return the columns that reads of objects leave out.

    A column that one record type defers and another does not is read.

    Args:
        schema: The table.
        loaded: The deferred fields that are read nevertheless.
    """
    every = record_types_of(schema)
    if not any(each.deferred for each in every):
        return ()
    read = {
        column.column
        for each in every
        for column in each.columns
        if not column.deferred or column.name in loaded
    }
    deferred = {column.column: column for each in every for column in each.deferred}
    return tuple(column for name, column in deferred.items() if name not in read)


def columns_read(schema: TableSchema, loaded: AbstractSet[str]) -> tuple[bytes, ...]:
    """Return the columns and families that a get of objects requests.

    Args:
        schema: The table.
        loaded: The deferred fields that are read nevertheless.
    """
    hidden = {column.column for column in left_out(schema, loaded)}
    if not hidden:
        return schema.family_names
    every = record_types_of(schema)
    in_parts = {_family(column) for column in hidden}
    in_parts -= {_family(dynamic.prefix) for each in every for dynamic in each.dynamics}
    columns = [name for name in schema.family_names if name not in in_parts]
    for each in every:
        own = [column.column for column in (*each.columns, *each.numbers)]
        own += [] if each.marker is None else [each.marker]
        columns += [name for name in own if _family(name) in in_parts and name not in hidden]
    return tuple(dict.fromkeys(columns))


def _family(column: bytes) -> bytes:
    return column.partition(b":")[0]
