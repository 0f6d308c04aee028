"""Checks of the arguments of statements' methods."""

from __future__ import annotations

import sys

from hbase_orm.errors import QueryError
from hbase_orm.schema import Order


def check_orders(orders: tuple[Order, ...]) -> None:
    """Raise an error if an argument is not an order.

    Raises:
        QueryError: An argument is not an order, e.g. a field.
    """
    for order in orders:
        if not isinstance(order, Order):
            raise QueryError(
                "the argument is not an order", got=repr(order), fix="write M.at.desc() or .asc()"
            )


def positive(name: str, value: object, most: int = sys.maxsize) -> int:
    """Check `value`, the argument of the method `name`, and return it.

    Raises:
        QueryError: The argument is not an integer from 1 to `most`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        fix = "give 1 or more"
        fix += "" if name == "sort_in_memory" else ", or leave it out for no bound"
        raise QueryError("the number must be a positive integer", method=name, got=value, fix=fix)
    if value > most:
        raise QueryError(
            "the number is too large", method=name, got=value, most=most, fix=f"give at most {most}"
        )
    return value


def check_level(level: object) -> None:
    """Raise an error if the argument is not a level of consistency.

    Raises:
        QueryError: The argument is neither "strong" nor "timeline".
    """
    if level not in ("strong", "timeline"):
        raise QueryError(
            "the argument is not a level of consistency",
            got=repr(level),
            fix='write .consistency("timeline") or .consistency("strong")',
        )
