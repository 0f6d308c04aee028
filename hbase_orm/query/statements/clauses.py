"""Parts of a statement that have a type of their own, and the statement as a program writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from hbase_orm.errors import CorruptRowError, shown
from hbase_orm.query.statements.aggregates import Aggregate
from hbase_orm.schema import Expr, Order

_SHOWN: Final = 20
"""The number of conditions, or of selected fields, that the text of a statement has."""


@dataclass(frozen=True, slots=True)
class AnyIndex:
    """The type of `ANY_INDEX`: the planner chooses between the row key and the indexes."""


ANY_INDEX: Final = AnyIndex()


OnCorrupt = Literal["raise", "skip"] | Callable[[CorruptRowError], object]
"""What a read does with a row that does not decode; see `Select.on_corrupt`."""


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """The selected values of a statement that does not return objects.

    Attributes:
        items: The selected fields and aggregates; empty if only the existence of rows is read.
        is_bare: Whether a single item is returned by itself, not as a tuple of one.
    """

    items: tuple[Expr[Any], ...]
    is_bare: bool = False


ROWS_ONLY: Final = Selection(())


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """An order into which rows are sorted in memory.

    Attributes:
        orders: The orders, by values; None sorts before every value, or after all with `desc()`.
        max_rows: The largest number of rows that may match; with more rows, QueryError is raised.
    """

    orders: tuple[Order, ...]
    max_rows: int


def as_written(stmt: Any) -> str:
    """Return a statement as a program writes it: `select(Order).where(...).limit(3)`.

    Args:
        stmt: The `Select`.
    """
    calls = [
        f"select({_listed(stmt.items) if stmt.items else stmt.model.__name__})",
        _call("where", stmt.conditions),
        _call("group_by", stmt.groups),
        _call("order_by", stmt.orders),
        _sort(stmt.sort),
        "" if stmt.row_limit is None else f".limit({stmt.row_limit})",
        _using(stmt.model, stmt.index),
        *_related(stmt),
        "" if stmt.entries is None else f".{shown(stmt.entries)}",
        "" if stmt.times is None else stmt.times.as_written(),
        '.consistency("timeline")' if stmt.is_timeline else "",
        ".allow_full_scan()" if stmt.full_scan_allowed else "",
        "" if stmt.caching_rows is None else f".caching({stmt.caching_rows})",
        "" if stmt.corrupt_rule is None else f".on_corrupt({_rule(stmt.corrupt_rule)})",
    ]
    return "".join(calls)


def _listed(items: tuple[Any, ...]) -> str:
    texts = [
        f"func.{item!r}" if isinstance(item, Aggregate) else shown(item) for item in items[:_SHOWN]
    ]
    return ", ".join([*texts, f"… {len(items)} in all"] if len(items) > _SHOWN else texts)


def _call(method: str, arguments: tuple[Any, ...]) -> str:
    return f".{method}({_listed(arguments)})" if arguments else ""


def _sort(sort: Sort | None) -> str:
    if sort is None:
        return ""
    return f".sort_in_memory({_listed(sort.orders)}, max_rows={sort.max_rows})"


def _related(stmt: Any) -> list[str]:
    limits = dict(stmt.related_limits)
    unlimited = tuple(field for field in stmt.related if field.name not in limits)
    return [_call("load_related", unlimited)] + [
        f".load_related({field!r}, limit={limits[field.name]})"
        for field in stmt.related
        if field.name in limits
    ]


def _rule(rule: OnCorrupt) -> str:
    return f'"{rule}"' if isinstance(rule, str) else getattr(rule, "__qualname__", repr(rule))


def _using(model: Any, index: Any) -> str:
    if isinstance(index, AnyIndex):
        return ""
    return f".using({None if index is None else f'{model.__name__}.{index.name}'})"
