"""Checks of the arguments of statements' methods."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from hbase_orm.errors import QueryError
from hbase_orm.model import Key, ListRelation, Model, RelatedExpr
from hbase_orm.model.hints import field_of
from hbase_orm.query.statements.aggregates import Aggregate
from hbase_orm.schema import Expr, Order, TableSchema


def orders_of(schema: TableSchema, orders: tuple[Order | Expr[Any], ...]) -> tuple[Order, ...]:
    """Return the arguments as orders; a field means its ascending order.

    Raises:
        QueryError: An argument is neither an order nor a field.
    """
    return tuple([_order_of(schema, order) for order in orders])


def _order_of(schema: TableSchema, order: Order | Expr[Any]) -> Order:
    if isinstance(order, Order):
        return order
    if isinstance(order, Expr):
        return order.asc()
    field = field_of(schema)
    raise QueryError(
        "the argument is not an order", got=repr(order), fix=f"write {field} or {field}.desc()"
    )


def check_groups(schema: TableSchema, fields: tuple[Expr[Any], ...]) -> None:
    """Raise an error if an argument of `group_by` is not a field.

    Raises:
        QueryError: An argument is not a field, or is an aggregate.
    """
    for field in fields:
        if not isinstance(field, Expr) or isinstance(field, Aggregate):
            raise QueryError(
                "group_by() takes only fields",
                got=repr(field),
                fix=f"write .group_by({field_of(schema, Key)})",
            )


def positive(name: str, value: object, most: int = sys.maxsize) -> int:
    """Check `value`, the argument of the method `name`, and return it.

    Raises:
        QueryError: The argument is not an integer from 1 to `most`.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        fix = "give 1 or more"
        fix += "" if name in {"sort_in_memory", "arrow"} else ", or leave it out for no bound"
        raise QueryError("the number must be a positive integer", method=name, got=value, fix=fix)
    if value > most:
        raise QueryError(
            "the number is too large", method=name, got=value, most=most, fix=f"give at most {most}"
        )
    return value


def not_an_index(schema: TableSchema, got: object) -> QueryError:
    """Return the error for an argument of `using` that is not an index."""
    names = [f"{schema.model_name}.{index.name}" for index in schema.indexes]
    fix = f"write one of: {', '.join(names)}" if names else "the model declares no index"
    return QueryError("using() takes an index", got=repr(got), fix=fix)


def list_limits(
    model: type[Model], fields: Sequence[RelatedExpr[Any]], limit: object
) -> dict[str, int]:
    """Check the arguments of `load_related`; return the limit for each related list.

    Raises:
        QueryError: A field is not a related field of the model, the limit is not a positive
            integer, or there is a limit and none of the fields is a list.
    """
    for field in fields:
        is_own = isinstance(field, RelatedExpr) and getattr(model, field.name, None) is field
        if not is_own:
            raise _not_related(model, field)
    if limit is None:
        return {}
    most = positive("load_related", limit)
    lists = [
        field.name for field in fields if isinstance(model.__related__[field.name], ListRelation)
    ]
    if not lists:
        raise QueryError(
            "a limit of related objects is for related lists",
            model=model.__name__,
            limit=limit,
            fix="leave limit= out: each of these fields is one object",
        )
    return dict.fromkeys(lists, most)


def _not_related(model: type[Model], got: object) -> QueryError:
    """Return the error for an argument of `load_related` that is not a related field."""
    names = [f"{model.__name__}.{name}" for name in model.__related__]
    fix = f"write one of: {', '.join(names)}" if names else "declare one: Related[...] = related()"
    return QueryError(
        "the argument is not a related field of the model",
        got=repr(got),
        model=model.__name__,
        fix=fix,
    )


def check_corrupt_rule(rule: object) -> None:
    """Raise an error if the argument is not a rule for corrupt rows.

    Raises:
        QueryError: The argument is neither "raise" nor "skip" nor a function.
    """
    # An exception's class would be called, and raise nothing.
    is_error = isinstance(rule, type) and issubclass(rule, BaseException)
    if rule not in ("raise", "skip") and (is_error or not callable(rule)):
        raise QueryError(
            "the argument is not a rule for corrupt rows",
            got=repr(rule),
            fix='give "raise", "skip", or a function of the CorruptRowError',
        )


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
