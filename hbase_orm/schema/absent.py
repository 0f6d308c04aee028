"""The value that a field has if the row has no cell for it."""

from __future__ import annotations

from typing import Any, Final, get_origin

from hbase_orm.schema.tables import ColumnSchema, TableSchema

_OF_EMPTY: Final = frozenset({bool, bytes, dict, float, frozenset, int, list, set, str, tuple})
"""Factories whose values are all the same: the type's own, empty or zero."""


def absent_value(schema: TableSchema, column: ColumnSchema) -> Any:
    """Return the value of a field without a cell: None, its default, or 0 for a counter."""
    if column in schema.numbers:
        return 0
    return None if column.nullable or not column.has_default else column.new_default()


def absent_value_in_entries(column: ColumnSchema) -> Any:
    """Return the value of a field without a cell in index entries and conditions of indexes.

    None for a required field. None also if a `default_factory` returns a new value at each read,
    because an entry with that value would match no later read.
    """
    if column.nullable or not column.has_default:
        return None
    factory: Any = column.default_factory
    kind = get_origin(factory) or factory
    is_same_always = factory is None or (isinstance(kind, type) and kind in _OF_EMPTY)
    return column.new_default() if is_same_always else None
