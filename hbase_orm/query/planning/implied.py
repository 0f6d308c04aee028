"""Decides whether a statement's conditions imply the conditions of a partial index.

Only then may the statement use the index, because other rows have no entry. A condition of the
index counts as implied in three cases:

- The statement has the same condition.
- The statement limits the field to some values, and each value fulfils the condition.
- The statement limits the field to a range, and every value in it fulfils the condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.query.conditions.bounds import Alternative, Bounds
from hbase_orm.query.planning.pushdown import holds
from hbase_orm.schema import (
    And,
    Comparison,
    Condition,
    FunctionExpr,
    InValues,
    Not,
    Or,
    StartsWith,
    TableSchema,
    codec_of,
)
from hbase_orm.schema.canonical import condition_text

_Leaf = Comparison | InValues | StartsWith


def is_implied(schema: TableSchema, alternative: Alternative, where: Sequence[Condition]) -> bool:
    """Return whether each row that fulfils `alternative` also fulfils all conditions in `where`."""
    stated = frozenset(map(condition_text, alternative.conditions))
    return all(_implies(schema, alternative, stated, each) for each in where)


def _implies(
    schema: TableSchema, alternative: Alternative, stated: frozenset[str], where: Condition
) -> bool:
    if condition_text(where) in stated:
        return True
    match where:
        case And(conditions=inner):
            return all(_implies(schema, alternative, stated, each) for each in inner)
        case Or(conditions=inner):
            return any(_implies(schema, alternative, stated, each) for each in inner)
        case Not(condition=Comparison() | InValues() | StartsWith() as leaf):
            return _follows(schema, alternative, leaf, wanted=False)
        case Comparison() | InValues() | StartsWith():
            return _follows(schema, alternative, where, wanted=True)
    return False


def _follows(schema: TableSchema, alternative: Alternative, leaf: _Leaf, *, wanted: bool) -> bool:
    """Return whether a comparison has the result `wanted` for every value within the bounds."""
    of = leaf.field
    if isinstance(of, FunctionExpr) and of.is_each:
        return False  # a condition on one item of a collection shows nothing about the others
    bounds = alternative.bounds.get(of.name)
    if isinstance(leaf, Comparison) and leaf.operator == "!=":
        leaf, wanted = Comparison(of, "==", leaf.value), not wanted
    return bounds is not None and _decided(bounds, leaf, codec_of(schema, of), wanted=wanted)


def _decided(bounds: Bounds, leaf: _Leaf, codec: Codec[Any], *, wanted: bool) -> bool:
    if bounds.equals is not None:
        return all(holds(leaf, value, codec) is wanted for value in bounds.equals)
    match leaf:
        case StartsWith(prefix=prefix):
            return wanted and bounds.prefix is not None and _starts(bounds.prefix, prefix)
        case Comparison(operator="==", value=value):
            return not wanted and _leaves_out(bounds, value, codec)
        case Comparison(value=value):
            return wanted and value is not None and _lies_within(bounds, leaf, codec)
    return False


def _starts(text: Any, prefix: Any) -> bool:
    return type(text) is type(prefix) and bool(text.startswith(prefix))


def _leaves_out(bounds: Bounds, value: Any, codec: Codec[Any]) -> bool:
    """Return whether the bounds exclude a value."""
    if value is None:
        return bounds.excludes_none
    value = codec.comparable(value)
    return _is_above(bounds, value, included=True) or _is_below(bounds, value, included=True)


def _lies_within(bounds: Bounds, comparison: Comparison, codec: Codec[Any]) -> bool:
    value = codec.comparable(comparison.value)
    match comparison.operator:
        case ">":
            return _is_above(bounds, value, included=True)
        case ">=":
            return _is_above(bounds, value, included=False)
        case "<":
            return _is_below(bounds, value, included=True)
    return _is_below(bounds, value, included=False)


def _is_above(bounds: Bounds, value: Any, *, included: bool) -> bool:
    """Return whether all values within the bounds are above a value.

    If `included` is false, values within the bounds may also be equal to `value`.
    """
    low = bounds.low
    if low is None:
        return False
    return bool(low.value > value or (low.value == value and not (included and low.included)))


def _is_below(bounds: Bounds, value: Any, *, included: bool) -> bool:
    high = bounds.high
    if high is None:
        return False
    return bool(high.value < value or (high.value == value and not (included and high.included)))
