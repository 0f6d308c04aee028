"""The value of an absent cell: what a field of a row without its cell reads as."""

from __future__ import annotations

from typing import Any, Final, get_origin

from hbase_orm.schema.tables import ColumnSchema, TableSchema

_OF_EMPTY: Final = frozenset({bool, bytes, dict, float, frozenset, int, list, set, str, tuple})
"""Factories whose values are all the same: the type's own, empty or zero."""


def absent_value(schema: TableSchema, column: ColumnSchema) -> Any:
    """Return what a field reads as without its cell: None, its default, or a counter's 0."""
    if column in schema.numbers:
        return 0
    return None if column.nullable or not column.has_default else column.new_default()


def absent_value_in_entries(column: ColumnSchema) -> Any:
    """Return what a field without its cell is in entries and conditions of indexes.

    None where it has to have a value, and where each read makes another: an entry of that value
    would match no later read.
    """
    if column.nullable or not column.has_default:
        return None
    factory: Any = column.default_factory
    kind = get_origin(factory) or factory
    is_same_always = factory is None or (isinstance(kind, type) and kind in _OF_EMPTY)
    return column.new_default() if is_same_always else None
