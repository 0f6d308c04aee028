"""Functions of fields: `func.count()`, `func.sum(Reading.value)`, `func.lower(Account.email)`.

Aggregates can be selected: `select(func.count(), func.max(Reading.at)).where(...)` returns one
tuple. With `.group_by(Reading.host)` it returns one tuple for each group.

The other functions can be used in conditions, in `order_by`, in `group_by` and in indexes.
`Index(func.lower(email))` speeds up `.where(func.lower(Account.email) == "a@x.org")`. Without the
index this condition is checked row by row. No condition needs an index.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar, overload

from hbase_orm.query.statements.aggregates import Aggregate
from hbase_orm.schema import Expr, FunctionExpr

T = TypeVar("T")


def count(field: Expr[Any] | None = None, /) -> Expr[int]:
    """Return the number of rows, or the number of rows in which a field is not None.

    Args:
        field: The field whose values are counted; without a field, all rows are counted.
    """
    return Aggregate("count", field)


@overload
def sum(field: Expr[T | None], /) -> Expr[T]: ...
@overload
def sum(field: Expr[T], /) -> Expr[T]: ...
def sum(field: Expr[Any], /) -> Expr[Any]:
    """Return the sum of a field's values that are not None; the sum is zero without any values.

    So the sum is never None, not even of a field that may be None. Integers, floats, decimals and
    timedeltas can be added. Floats are added in the order of the rows.
    """
    return Aggregate("sum", field)


@overload  # an expression of no value would fit all
def avg(  # type: ignore[overload-overlap]
    field: Expr[int] | Expr[int | None] | Expr[float] | Expr[float | None], /
) -> Expr[float | None]: ...
@overload
def avg(  # type: ignore[overload-overlap]
    field: Expr[Decimal] | Expr[Decimal | None], /
) -> Expr[Decimal | None]: ...
@overload
def avg(field: Expr[timedelta] | Expr[timedelta | None], /) -> Expr[timedelta | None]: ...
def avg(field: Expr[Any], /) -> Expr[Any]:
    """Return the average of a field's values that are not None; None if no row has a value.

    The average of integers and floats is a float, that of decimals a Decimal, and that of
    timedeltas a timedelta. Integers and decimals are added exactly, and the result is rounded once:
    a Decimal to the precision of the current decimal context. Floats are added in the order of the
    rows.
    """
    return Aggregate("avg", field)


@overload
def min(field: Expr[T | None], /) -> Expr[T | None]: ...
@overload
def min(field: Expr[T], /) -> Expr[T | None]: ...
def min(field: Expr[Any], /) -> Expr[Any]:
    """Return the smallest value of a field, ignoring None; None if no row has a value."""
    return Aggregate("min", field)


@overload
def max(field: Expr[T | None], /) -> Expr[T | None]: ...
@overload
def max(field: Expr[T], /) -> Expr[T | None]: ...
def max(field: Expr[Any], /) -> Expr[Any]:
    """Return the greatest value of a field, ignoring None; None if no row has a value."""
    return Aggregate("max", field)


@overload
def lower(field: Expr[str], /) -> Expr[str]: ...
@overload
def lower(field: Expr[str | None], /) -> Expr[str | None]: ...
def lower(field: Expr[Any], /) -> Expr[Any]:
    """Return a text in lower case, as `str.lower` does; return None for None."""
    return FunctionExpr("lower", field)


@overload
def digit_reversed(field: Expr[str], /) -> Expr[str]: ...
@overload
def digit_reversed(field: Expr[str | None], /) -> Expr[str | None]: ...
def digit_reversed(field: Expr[Any], /) -> Expr[Any]:
    """Return a text reversed, so that `startswith` on the reversed text matches endings.

    `func.digit_reversed(M.phone).startswith("7654")` finds the numbers that end with 4567.
    """
    return FunctionExpr("digit_reversed", field)


@overload
def day(field: Expr[datetime], /) -> Expr[date]: ...
@overload
def day(field: Expr[datetime | None], /) -> Expr[date | None]: ...
def day(field: Expr[Any], /) -> Expr[Any]:
    """Return the date of a time, in UTC; return None for None."""
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
    """Return the items of a collection: a condition is true if it is true for at least one item.

    But `!=` is the negation of `==`: it is true if no item equals the value. If a statement has
    several conditions, different items may fulfil them. But `between` compares one item with both
    bounds.
    """
    return FunctionExpr("each", field)
