"""Checks and adjusts the options of statements that read the past."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hbase_orm.errors import QueryError
from hbase_orm.query import ANY_INDEX, Select


def by_row_key(stmt: Select[Any]) -> Select[Any]:
    """Return the statement, changed to use no indexes if it reads the past.

    Raises:
        QueryError: The statement names an index or loads related objects, which exist only for the
            present.
    """
    if stmt.times is None:
        return stmt
    if stmt.index is not ANY_INDEX and stmt.index is not None:
        raise QueryError(
            "a read of the past cannot use an index, which has entries for present rows only",
            index=repr(stmt.index),
            fix="leave .using() out, and limit the row key or add .allow_full_scan()",
        )
    if stmt.related:
        raise QueryError(
            "a read of the past cannot load related objects, which are read in their present state",
            fields=[repr(field) for field in stmt.related],
            fix="leave .load_related() out",
        )
    return replace(stmt, index=None)
