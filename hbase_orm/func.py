"""Functions of fields: `func.count()`, `func.sum(Reading.value)`.

An aggregate is selected: `select(func.count(), func.max(Reading.at)).where(...)` gives one tuple,
and with `.group_by(Reading.host)` one a group.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hbase_orm.query.aggregates import Aggregate
from hbase_orm.schema import Expr

T = TypeVar("T")


def count(field: Expr[Any] | None = None, /) -> Expr[int]:
    """Return the number of rows, or of those where a field is not None.

    Args:
        field: The field; without one, every row counts.
    """
    return Aggregate("count", field)


def sum(field: Expr[T], /) -> Expr[T]:  # noqa: A001 - called func.sum, as in SQL
    """Return the sum of a field's values that are not None; of none at all it is zero.

    Integers, floats, decimals and timedeltas can be added. Floats are added in the order of the
    rows.
    """
    return Aggregate("sum", field)


def min(field: Expr[T], /) -> Expr[T]:  # noqa: A001 - called func.min, as in SQL
    """Return the least of a field's values that are not None; None if there are none."""
    return Aggregate("min", field)


def max(field: Expr[T], /) -> Expr[T]:  # noqa: A001 - called func.max, as in SQL
    """Return the greatest of a field's values that are not None; None if there are none."""
    return Aggregate("max", field)
