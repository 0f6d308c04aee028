"""Compiles conditions to a function that checks the values of an object.

The client checks each row with this function. The function also decides which rows have entries in
a partial index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, MappingProxyType
from typing import Any, Final, get_args

from hbase_orm.codecs import Codec
from hbase_orm.codecs.source import Scope, literal
from hbase_orm.errors import QueryError
from hbase_orm.schema.condition_checks import codec_of
from hbase_orm.schema.conditions import (
    And,
    Comparison,
    Condition,
    Contains,
    Expr,
    InValues,
    ItemBetween,
    Not,
    Operator,
    Or,
    StartsWith,
    compared_by,
)
from hbase_orm.schema.entries import EntryExpr
from hbase_orm.schema.functions import FUNCTIONS, FunctionExpr, column_field
from hbase_orm.schema.tables import TableSchema

Match = Callable[[Any], bool]

_MAX_SHAPES: Final = 256
"""The largest number of shapes of conditions that are kept per table; an application has few."""

_SYMBOLS: Final[Mapping[str, str]] = MappingProxyType({each: each for each in get_args(Operator)})


def compile_match(
    schema: TableSchema, conditions: Sequence[Condition], names: Sequence[str] | None = None
) -> Match | None:
    """Return a function that checks an object's `__dict__`, or None if there are no conditions.

    The function returns whether all conditions are true. None equals only None. Every other
    comparison with None is false. A counter without a value is 0.

    Args:
        schema: The schema of the model.
        conditions: The conditions.
        names: The fields whose values the function takes, as a tuple. With None, the function takes
            an object's `__dict__`.
    """
    if not conditions:
        return None
    scope: dict[str, Any] = {}
    source = _source(schema, And(tuple(conditions)), scope)
    lines = ["def match(d):", f"    return {source}"]
    if names is not None:
        lines.insert(1, f"    d = {_mapping(conditions, names, scope)}")
    match: Match = Scope(**scope).compiled(lines, "match")
    return match


class Matches:
    """Compiles conditions on one table, and keeps the code of simple ones. Threads may share it.

    A simple condition compares a plain field with one value other than None. Simple conditions that
    differ only in the compared values have the same shape, and share one compiled code. All other
    conditions are compiled each time.
    """

    def __init__(self, schema: TableSchema) -> None:
        """Start without compiled shapes."""
        self._schema = schema
        self._shapes: dict[Hashable, _MatchShape] = {}

    def of(self, conditions: Sequence[Condition]) -> Match | None:
        """Return the function that `compile_match` returns for these conditions."""
        if not conditions:
            return None
        key = tuple([condition.shape for condition in conditions])
        shape = self._shapes.get(key)
        match = None if shape is None else shape.match(conditions)
        if match is not None:
            return match
        match = compile_match(self._schema, conditions)
        if match is not None and all(_is_plain(condition) for condition in conditions):
            if len(self._shapes) >= _MAX_SHAPES:
                self._shapes.clear()
            self._shapes[key] = _MatchShape.of(self._schema, conditions, match)
        return match


def _is_plain(condition: Condition) -> bool:
    """Return whether a condition compares a plain field with one value other than None."""
    if condition.__class__ is not Comparison or condition.value is None:
        return False
    return not isinstance(condition.field, (EntryExpr, FunctionExpr))


@dataclass(frozen=True, slots=True)
class _MatchShape:
    """The compiled code of simple comparisons, without the compared values.

    Attributes:
        fields: The compared fields, in the order of the conditions.
        codecs: The codecs of these fields.
        code: The code of the function that checks the conditions.
    """

    fields: tuple[Expr[Any], ...]
    codecs: tuple[Codec[Any], ...]
    code: CodeType

    @classmethod
    def of(cls, schema: TableSchema, conditions: Sequence[Condition], match: Any) -> _MatchShape:
        """Return the shape of simple comparisons, with the code of their function `match`."""
        fields = tuple(field for each in conditions for field in compared_by(each))
        return cls(fields, tuple(codec_of(schema, field) for field in fields), match.__code__)

    def match(self, conditions: Sequence[Condition]) -> Match | None:
        """Return the function that checks conditions of this shape, with their own values.

        None if a condition compares a field that is not in `fields`, even if the names are equal.
        """
        scope: dict[str, Any] = {}
        for condition, field, codec in zip(conditions, self.fields, self.codecs, strict=True):
            if condition.__class__ is not Comparison or condition.field is not field:
                return None
            scope[f"c{len(scope)}"] = codec.comparable(condition.value)
        return FunctionType(self.code, scope)


def _mapping(conditions: Sequence[Condition], names: Sequence[str], scope: dict[str, Any]) -> str:
    """Return the source that makes a dict of the compared fields from the tuple `d`."""
    items: dict[str, str] = {}
    maps: dict[str, dict[str, str]] = {}
    for field in (column_field(of) for each in conditions for of in compared_by(each)):
        value = f"d[{names.index(field.name)}]"
        if isinstance(field, EntryExpr):
            key = _constant(field.key, scope)
            maps.setdefault(field.of.name, {}).setdefault(field.name, f"{key}: {value}")
        else:
            items[field.name] = f"{literal(field.name)}: {value}"
    shown = [
        *items.values(),
        *(f"{literal(n)}: {{{', '.join(m.values())}}}" for n, m in maps.items()),
    ]
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
        case (
            Comparison(field=of) | InValues(field=of) | StartsWith(field=of) | ItemBetween(field=of)
        ):
            value = _value(schema, of, scope)
            if not isinstance(of, FunctionExpr) or not of.is_each:
                return _test(schema, condition, value, scope)
            if isinstance(condition, Comparison) and condition.operator == "!=":
                same = Comparison(of, "==", condition.value)
                return f"(not {_of_some_item(schema, same, scope)})"
            return _of_some_item(schema, condition, scope)
        case Contains(field=of, value=item):
            value = _value(schema, of, scope)
            return f"({value} is not None and {_constant(item, scope)} in {value})"
    raise QueryError("the condition has an unknown type", condition=repr(condition))


def _of_some_item(schema: TableSchema, condition: Any, scope: dict[str, Any]) -> str:
    items = _value(schema, condition.field, scope)
    return f"any({_test(schema, condition, 'item', scope)} for item in {items} or ())"


def _test(schema: TableSchema, condition: Condition, value: str, scope: dict[str, Any]) -> str:
    """Return the source of a condition; `value` is the source of the field's value."""
    match condition:
        case InValues(field=of, values=values):
            known = tuple(_comparable(schema, of, value) for value in values)
            return f"({value} in {_constant(known, scope)})"
        case StartsWith(prefix=prefix):
            return f"({value} is not None and {value}.startswith({_constant(prefix, scope)}))"
        case ItemBetween(field=of, low=low, high=high):
            ends = [_constant(_comparable(schema, of, end), scope) for end in (low, high)]
            return f"({ends[0]} <= {value} <= {ends[1]})"
        case Comparison(field=of, operator=operator, value=expected):
            return _comparison(operator, value, _comparable(schema, of, expected), scope)
    raise QueryError("the condition has an unknown type", condition=repr(condition))


def _comparison(operator: Operator, value: str, expected: Any, scope: dict[str, Any]) -> str:
    symbol = _SYMBOLS.get(operator)  # this library's own text, for it becomes source
    if symbol is None:
        raise QueryError("the condition has an unknown operator", operator=operator)
    if operator in {"==", "!="}:
        equal = f"({value} == {_constant(expected, scope)})"
        return equal if operator == "==" else f"(not {equal})"
    if expected is None:
        return "False"
    return f"({value} is not None and {value} {symbol} {_constant(expected, scope)})"


def _value(schema: TableSchema, of: Expr[Any], scope: dict[str, Any]) -> str:
    if isinstance(of, FunctionExpr):
        function = _constant(FUNCTIONS[of.function].of, scope)
        return f"{function}({_value(schema, of.of, scope)})"
    if isinstance(of, EntryExpr):
        return f"d[{literal(of.of.name)}].get({_constant(of.key, scope)})"
    is_number = any(column.name == of.name for column in schema.numbers)
    return f"d.get({literal(of.name)}, {'0' if is_number else 'None'})"


def _comparable(schema: TableSchema, of: Expr[Any], value: Any) -> Any:
    return None if value is None else codec_of(schema, of).comparable(value)


def _constant(value: Any, scope: dict[str, Any]) -> str:
    name = f"c{len(scope)}"
    scope[name] = value
    return name
