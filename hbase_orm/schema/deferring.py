"""Deferred columns: the columns that are left out when objects are read.

A get requests all other columns by name. A scan reads whole families, but the server sends deferred
cells without their values. So the scan also returns a row that has only deferred cells.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from hbase_orm.schema.tables import ColumnSchema, TableSchema

NO_FIELDS: Final[frozenset[str]] = frozenset()
"""An empty set of field names."""


def record_types_of(schema: TableSchema) -> tuple[TableSchema, ...]:
    """Return the schemas that rows of a model can have.

    For the base model of record types, these are the schemas of all its record types. For any other
    model, it is only the model's own schema.
    """
    if schema.record_types is None:
        return (schema,)
    types = schema.record_types.models
    return tuple(_as_bound(schema, data, model.__schema__) for data, model in types.items())


def _as_bound(base: TableSchema, data: bytes, own: TableSchema) -> TableSchema:
    """Return the schema of a record type with what the base's schema knows of its rows."""
    if own.layout.lookups and base.namespace is not None:
        own = replace(own, namespace=base.namespace)
    known = base.type_existence.get(data)
    return own if known is None else replace(own, existence=known)


def deferred_names(schema: TableSchema) -> frozenset[str]:
    """Return the names of a model's deferred fields.

    For the base of record types, the deferred fields of all its record types are included.
    """
    every = (schema, *record_types_of(schema)) if schema.record_types is not None else (schema,)
    return frozenset(column.name for each in every for column in each.deferred)


def left_out(schema: TableSchema, loaded: AbstractSet[str]) -> tuple[ColumnSchema, ...]:
    """Return the columns that reads of objects leave out.

    A column is left out if it is deferred and its field is not in `loaded`. It is not left out if
    another record type of the table reads the same column.

    Args:
        schema: The schema of the model.
        loaded: The names of the deferred fields that are read nevertheless.
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

    A family is requested whole if none of its columns is left out, or if it has dynamic columns. Of
    any other family, the get requests each column that is not left out, and the anchor or marker.

    Args:
        schema: The schema of the model.
        loaded: The names of the deferred fields that are read nevertheless.
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
        columns += [name for name in own if _family(name) in in_parts and name not in hidden]
        shows = each.marker if each.anchor is None else each.anchor.column
        columns += [shows] if shows is not None and _family(shows) in in_parts else []
    return tuple(dict.fromkeys(columns))


def _family(column: bytes) -> bytes:
    return column.partition(b":")[0]
