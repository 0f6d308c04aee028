"""Conditions as one generated function over an object's values: the client's check of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hbase_orm.errors import QueryError
from hbase_orm.rowkey.layout import compiled
from hbase_orm.schema import (
    And,
    Comparison,
    Condition,
    Expr,
    InValues,
    Not,
    Or,
    StartsWith,
    TableSchema,
)

Check = Callable[[dict[str, Any]], bool]


def compile_check(schema: TableSchema, conditions: Sequence[Condition]) -> Check | None:
    """Return a function of an object's `__dict__`, or None when there is nothing to check.

    None equals only None; every other comparison with None is false; an absent counter is 0.
    """
    if not conditions:
        return None
    scope: dict[str, Any] = {}
    counters = frozenset(column.name for column in schema.counters)
    source = _source(And(tuple(conditions)), counters, scope)
    check: Check = compiled(["def check(d):", f"    return {source}"], scope, "check")
    return check


def _source(condition: Condition, counters: frozenset[str], scope: dict[str, Any]) -> str:
    match condition:
        case And(conditions=inner):
            return "(" + " and ".join(_source(part, counters, scope) for part in inner) + ")"
        case Or(conditions=inner):
            return "(" + " or ".join(_source(part, counters, scope) for part in inner) + ")"
        case Not(condition=single):
            return f"(not {_source(single, counters, scope)})"
        case InValues(field=of, values=values):
            return f"({_value(of, counters)} in {_constant(values, scope)})"
        case StartsWith(field=of, prefix=prefix):
            value = _value(of, counters)
            return f"(({value}) is not None and {value}.startswith({_constant(prefix, scope)}))"
        case Comparison():
            return _comparison(condition, counters, scope)
    raise QueryError("this condition is not known", condition=repr(condition))


def _comparison(comparison: Comparison, counters: frozenset[str], scope: dict[str, Any]) -> str:
    value = _value(comparison.field, counters)
    if comparison.operator in {"==", "!="}:
        equal = f"({value} == {_constant(comparison.value, scope)})"
        return equal if comparison.operator == "==" else f"(not {equal})"
    if comparison.value is None:
        return "False"
    expected = _constant(comparison.value, scope)
    return f"({value} is not None and {value} {comparison.operator} {expected})"


def _value(of: Expr[Any], counters: frozenset[str]) -> str:
    return f"d.get({of.name!r}, {'0' if of.name in counters else 'None'})"


def _constant(value: Any, scope: dict[str, Any]) -> str:
    name = f"c{len(scope)}"
    scope[name] = value
    return name
