"""What a row without a field's cell is taken to have, where that is the same at every read."""

from __future__ import annotations

from typing import Any, Final, get_origin

from hbase_orm.schema.tables import ColumnSchema

_OF_EMPTY: Final = frozenset({bool, bytes, dict, float, frozenset, int, list, set, str, tuple})
"""Factories whose values are all the same: the type's own, empty or zero."""


def absent_value(column: ColumnSchema) -> Any:
    """Return what a field is in every row without its cell, for entries and conditions of indexes.

    None where it has to have a value, and where it reads as one that is made anew each time: an
    entry of that would be nobody's at the next read.
    """
    if column.nullable or not column.has_default:
        return None
    factory: Any = column.default_factory
    if factory is None:
        return column.default
    kind = get_origin(factory) or factory
    return factory() if isinstance(kind, type) and kind in _OF_EMPTY else None
