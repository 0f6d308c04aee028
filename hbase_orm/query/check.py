"""Conditions as one generated function over an object's values: the client's check of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hbase_orm.codecs.source import Scope
from hbase_orm.errors import QueryError
from hbase_orm.query.bounds import codec_of
from hbase_orm.schema import (
    And,
    Comparison,
    Condition,
    Contains,
    EntryExpr,
    Expr,
    InValues,
    Not,
    Or,
    StartsWith,
    TableSchema,
    compared_by,
)

Check = Callable[[Any], bool]


def compile_check(
    schema: TableSchema, conditions: Sequence[Condition], names: Sequence[str] | None = None
) -> Check | None:
    """Return a function of an object's `__dict__`, or None when there is nothing to check.

    None equals only None; every other comparison with None is false; an absent counter is 0.

    Args:
        schema: The table.
        conditions: All of them must hold.
        names: The function is of a tuple of these fields' values instead.
    """
    if not conditions:
        return None
    scope: dict[str, Any] = {}
    source = _source(schema, And(tuple(conditions)), scope)
    lines = ["def check(d):", f"    return {source}"]
    if names is not None:
        lines.insert(1, f"    d = {_mapping(conditions, names, scope)}")
    check: Check = Scope(**scope).compiled(lines, "check")
    return check


def _mapping(conditions: Sequence[Condition], names: Sequence[str], scope: dict[str, Any]) -> str:
    """Return a dict display of the fields compared, as an object has them, of a tuple `d`."""
    items: dict[str, str] = {}
    maps: dict[str, dict[str, str]] = {}
    for field in (field for each in conditions for field in compared_by(each)):
        value = f"d[{names.index(field.name)}]"
        if isinstance(field, EntryExpr):
            key = _constant(field.key, scope)
            maps.setdefault(field.of.name, {}).setdefault(field.name, f"{key}: {value}")
        else:
            items[field.name] = f"{field.name!r}: {value}"
    shown = [*items.values(), *(f"{n!r}: {{{', '.join(m.values())}}}" for n, m in maps.items())]
    return f"{{{', '.join(shown)}}}"


def _source(schema: TableSchema, condition: Condition, scope: dict[str, Any]) -> str:
    match condition:
        case And(conditions=inner):
            return "(" + " and ".join(_source(schema, part, scope) for part in inner) + ")"
        case Or(conditions=inner):
            return "(" + " or ".join(_source(schema, part, scope) for part in inner) + ")"
        case Not(condition=single):
            return f"(not {_source(schema, single, scope)})"
    return _leaf(schema, condition, scope)


def _leaf(schema: TableSchema, condition: Condition, scope: dict[str, Any]) -> str:
    match condition:
        case InValues(field=of, values=values):
            known = tuple(_comparable(schema, of, value) for value in values)
            return f"({_value(schema, of, scope)} in {_constant(known, scope)})"
        case StartsWith(field=of, prefix=prefix):
            value = _value(schema, of, scope)
            return f"({value} is not None and {value}.startswith({_constant(prefix, scope)}))"
        case Contains(field=of, value=item):
            value = _value(schema, of, scope)
            return f"({value} is not None and {_constant(item, scope)} in {value})"
        case Comparison():
            return _comparison(schema, condition, scope)
    raise QueryError("this condition is not known", condition=repr(condition))


def _comparison(schema: TableSchema, comparison: Comparison, scope: dict[str, Any]) -> str:
    value = _value(schema, comparison.field, scope)
    expected = _constant(_comparable(schema, comparison.field, comparison.value), scope)
    if comparison.operator in {"==", "!="}:
        equal = f"({value} == {expected})"
        return equal if comparison.operator == "==" else f"(not {equal})"
    if comparison.value is None:
        return "False"
    return f"({value} is not None and {value} {comparison.operator} {expected})"


def _value(schema: TableSchema, of: Expr[Any], scope: dict[str, Any]) -> str:
    if isinstance(of, EntryExpr):
        return f"d[{of.of.name!r}].get({_constant(of.key, scope)})"
    is_number = any(column.name == of.name for column in schema.numbers)
    return f"d.get({of.name!r}, {'0' if is_number else 'None'})"


def _comparable(schema: TableSchema, of: Expr[Any], value: Any) -> Any:
    return None if value is None else codec_of(schema, of).comparable(value)


def _constant(value: Any, scope: dict[str, Any]) -> str:
    name = f"c{len(scope)}"
    scope[name] = value
    return name
