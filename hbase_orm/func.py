"""Functions of fields: `func.count()`, `func.sum(Reading.value)`, `func.lower(Account.email)`.

An aggregate is selected: `select(func.count(), func.max(Reading.at)).where(...)` gives one tuple,
and with `.group_by(Reading.host)` one a group. The others are compared and indexed:
`Index(func.lower(email))` serves `.where(func.lower(Account.email) == "a@x.org")`, which without
the index is checked row by row. None of them needs an index.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, TypeVar

from hbase_orm.query.statements.aggregates import Aggregate
from hbase_orm.schema import Expr, FunctionExpr

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


def lower(field: Expr[str] | Expr[str | None], /) -> Expr[str]:
    """Return a text in lower case, as `str.lower` makes it; None of None."""
    return FunctionExpr("lower", field)


def digit_reversed(field: Expr[str] | Expr[str | None], /) -> Expr[str]:
    """Return a text reversed, so that `startswith` on it matches endings.

    `func.digit_reversed(M.phone).startswith("7654")` finds the numbers that end with 4567.
    """
    return FunctionExpr("digit_reversed", field)


def day(field: Expr[datetime] | Expr[datetime | None], /) -> Expr[date]:
    """Return the date of a time, in UTC; None of None."""
    return FunctionExpr("day", field)


def each(
    field: Expr[list[T]]
    | Expr[list[T] | None]
    | Expr[set[T]]
    | Expr[set[T] | None]
    | Expr[frozenset[T]]
    | Expr[frozenset[T] | None]
    | Expr[tuple[T, ...]]
    | Expr[tuple[T, ...] | None],
    /,
) -> Expr[T]:
    """Return the items of a collection: a condition holds if it holds for one item.

    `!=` is the negation of `==`: no item equals the value. Of several conditions each may hold of
    another item, but both ends of `between` are compared with the same one.
    """
    return FunctionExpr("each", field)
