"""The options that narrow a statement: conditions, order, limit, index, permission to read all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import click

from hbase_orm.cli.conditions import read_condition, read_index, read_order
from hbase_orm.query import Select, select
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.schema import Order

_Command = Callable[..., Any]

_WHERE = click.option(
    "--where",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="host=a, n!=3, at>=2026-01-31, name^=al (begins with), 'n in 1,2,3', 'unit is null', "
    "'unit is not null'. All conditions must hold.",
)
_ORDER_BY = click.option(
    "--order-by",
    "orders",
    multiple=True,
    metavar="[-]FIELD",
    help="Sort by this field, descending with a minus sign; repeat for further fields.",
)
_REVERSE = click.option(
    "--reverse", is_flag=True, help="Read in the reverse order; without --order-by, of the row key."
)
_LIMIT = click.option(
    "--limit", type=click.IntRange(1), metavar="N", help="Return at most this many rows."
)
_USING = click.option(
    "--using", metavar="INDEX", help="Read through this index; none for the row key."
)
_FULL_SCAN = click.option(
    "--allow-full-scan", is_flag=True, help="Allow a scan of the whole table."
)


def narrowing(*, orders: bool = False, reverse: bool = False) -> Callable[[_Command], _Command]:
    """Return a decorator that adds the options that narrow a command's argument `stmt`.

    For a command without this argument, but with `target`, the statement selects all rows of the
    target's model.

    Args:
        orders: Whether there is `--order-by`.
        reverse: Whether there is `--reverse`, too.
    """
    options = [_WHERE, *([_ORDER_BY] if orders else []), *([_REVERSE] if reverse else [])]
    options += [_LIMIT, _USING, _FULL_SCAN]

    def decorate(command: _Command) -> _Command:
        @wraps(command)
        def run(**given: Any) -> Any:
            narrowed = _narrowed(
                given.pop("stmt") if "stmt" in given else select(given["target"].model),
                given.pop("conditions"),
                given.pop("orders", ()),
                given.pop("limit"),
                given.pop("using"),
                is_reversed=given.pop("reverse", False),
                is_full=given.pop("allow_full_scan"),
            )
            return command(stmt=narrowed, **given)

        for option in reversed(options):
            run = option(run)
        return run

    return decorate


def _narrowed(
    stmt: Select[Any],
    conditions: tuple[str, ...],
    orders: tuple[str, ...],
    limit: int | None,
    using: str | None,
    *,
    is_reversed: bool,
    is_full: bool,
) -> Select[Any]:
    """Return a statement with further conditions, and another order, limit or index.

    Raises:
        click.BadParameter: A text is wrong, or names no field or index of the model.
    """
    stmt = stmt.where(*(read_condition(stmt.model, text) for text in conditions))
    if orders:
        stmt = stmt.order_by(*(read_order(stmt.model, text) for text in orders))
    if is_reversed:
        stmt = stmt.order_by(*_reversed(stmt))
    if limit is not None:
        stmt = stmt.limit(limit)
    if using is not None:
        stmt = stmt.using(read_index(stmt.model, using))
    return stmt.allow_full_scan() if is_full else stmt


def _reversed(stmt: Select[Any]) -> list[Order]:
    """Return the reverse of a statement's order, or of the order of its row keys."""
    if stmt.orders:
        return [replace(order, descending=not order.descending) for order in stmt.orders]
    orders: dict[str, Order] = {}
    for part in stmt.model.__schema__.layout.parts:
        if part.derivation is None or isinstance(part.derivation, (OffsetOf, PeriodOf)):
            (name,) = part.fields
            field: Any = getattr(stmt.model, name)
            orders.setdefault(name, field.asc() if part.is_descending else field.desc())
    return list(orders.values())
