"""The value that a field has if the row has no cell for it."""

from __future__ import annotations

from typing import Any, Final, get_origin

from hbase_orm.schema.tables import ColumnSchema, TableSchema

EMPTY_TYPES: Final = frozenset({bool, bytes, dict, float, frozenset, int, list, set, str, tuple})
"""The types that, as a `default_factory`, return an equal value at each call: empty or zero."""


def absent_value(schema: TableSchema, column: ColumnSchema) -> Any:
    """Return the value of a field in an object whose row has no cell for it.

    It is 0 for a counter or a version. It is the declared default of a field that has a default and
    cannot be None. For every other field it is None.
    """
    if column in schema.numbers:
        return 0
    return None if column.nullable or not column.has_default else column.new_default()


def absent_value_in_entries(column: ColumnSchema) -> Any:
    """Return the value that indexes use for a field if the row has no cell for it.

    The row's index entries have this value, and the conditions of indexes compare it. It is the
    default of a field that has a default and cannot be None. For every other field it is None.

    A `default_factory` that may return another value at each call does not count as a default. An
    entry with such a value would match no later read.
    """
    if column.nullable or not column.has_default:
        return None
    factory: Any = column.default_factory
    kind = get_origin(factory) or factory
    is_same_always = factory is None or (isinstance(kind, type) and kind in EMPTY_TYPES)
    return column.new_default() if is_same_always else None
