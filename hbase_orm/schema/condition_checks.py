"""Refuses conditions on fields of other models or with values of a wrong type."""

from __future__ import annotations

import types
from collections.abc import Sequence
from datetime import datetime, time
from numbers import Number
from typing import Any, Union, get_args, get_origin

from hbase_orm.codecs import Codec
from hbase_orm.codecs.structures import Packed
from hbase_orm.errors import QueryError
from hbase_orm.schema.conditions import (
    And,
    Comparison,
    Condition,
    Contains,
    Expr,
    InValues,
    ItemBetween,
    Not,
    Or,
    StartsWith,
)
from hbase_orm.schema.entries import EntryExpr, dynamic_of, stored_column
from hbase_orm.schema.functions import FunctionExpr, function_codec
from hbase_orm.schema.tables import TableSchema

_COLLECTIONS = (list, set, frozenset, tuple)
_UNORDERED = (dict, set, frozenset, types.UnionType)


def check_conditions(schema: TableSchema, conditions: Sequence[Condition]) -> None:
    """Raise an error for conditions on fields of other models or with values of a wrong type.

    Raises:
        QueryError: A condition is wrong; the error names the field, the value and the expected
            type.
    """
    for condition in conditions:
        match condition:
            case And(conditions=inner) | Or(conditions=inner):
                check_conditions(schema, inner)
            case Not(condition=single):
                check_conditions(schema, (single,))
            case Comparison(field=of, operator=operator, value=value):
                check_order(of, codec_of(schema, of), operator)
                _check_values(schema, of, (value,))
            case InValues(field=of, values=values):
                _check_values(schema, of, values)
            case StartsWith(field=of, prefix=prefix):
                _check_prefix(schema, of, prefix)
            case Contains(field=of, value=item):
                check_item(of, codec_of(schema, of), item)
            case ItemBetween(field=of, low=low, high=high):
                check_order(of, codec_of(schema, of), "<=")
                _check_values(schema, of, (low, high))
            case _:
                raise QueryError("the condition has an unknown type", condition=repr(condition))


def codec_of(schema: TableSchema, of: Expr[Any]) -> Codec[Any]:
    """Return the codec of an expression's values.

    Args:
        schema: The schema of the model.
        of: A field of the model, one of its dynamic columns, or a function such as
            `func.lower(field)`.

    Raises:
        QueryError: The field belongs to another model. Or no dynamic column can have the name. Or
            the function does not work on the field's type.
    """
    if isinstance(of, FunctionExpr):
        return function_codec(of, codec_of(schema, of.of))
    if isinstance(of, EntryExpr):
        stored_column(schema, of)
        return dynamic_of(schema, of.of).codec
    if not schema.has_field(of):
        raise QueryError(
            "the field does not belong to the selected model",
            field=repr(of),
            model=schema.model_name,
            fix=f"use the fields of {schema.model_name}",
        )
    return schema.codecs[of.name]


def _check_prefix(schema: TableSchema, of: Expr[Any], prefix: object) -> None:
    codec = codec_of(schema, of)
    if not isinstance(prefix, (str, bytes)) or not isinstance(prefix, codec.python_type):
        raise QueryError(
            "startswith() works only on text fields with text, and on bytes fields with bytes",
            field=repr(of),
            prefix=prefix,
            expected=codec.python_type.__name__,
            fix=f"give a prefix of type {codec.python_type.__name__}"
            if issubclass(codec.python_type, (str, bytes))
            else "compare other values by ==, or with between() where they have an order",
        )


def _check_values(schema: TableSchema, of: Expr[Any], values: Sequence[Any]) -> None:
    codec = codec_of(schema, of)
    for value in values:
        check_value(of, codec, value)
        if value is None and isinstance(of, FunctionExpr) and of.is_each:
            raise QueryError(
                "the items of a collection are never None",
                field=repr(of),
                fix=f"compare the collection itself: {of.of!r} == []",
            )


# --- one value ------------------------------------------------------------------------------------


def check_value(of: Expr[Any], codec: Codec[Any], value: Any) -> None:
    """Raise an error for a value that cannot be compared with stored values.

    Raises:
        QueryError: The value has another type, or is a Decimal NaN. Or it is a datetime without a
            time zone, or a time of day with one.
    """
    if value is None or codec.compares(value):
        return
    if not codec.accepts_type(value):
        raise QueryError(
            "the field is compared with a value of another type",
            field=repr(of),
            value=value,
            expected=codec.python_type.__name__,
            fix=f"give a value of type {codec.python_type.__name__}",
        )
    fix = "NaN equals no value and has no order: leave the comparison out"
    if isinstance(value, datetime):
        fix = "datetimes must be aware: give one with tzinfo"
    elif isinstance(value, time):
        fix = "times of day are naive: give one without tzinfo"
    raise QueryError(
        "the value cannot be compared with stored values",
        field=repr(of),
        value=value,
        expected=codec.python_type.__name__,
        fix=fix,
    )


def check_order(of: Expr[Any], codec: Codec[Any], operator: str) -> None:
    """Raise an error for `<`, `<=`, `>` and `>=` on values without an order.

    Raises:
        QueryError: The type has no order, for example an enum, a set or a dict.
    """
    if operator in {"==", "!="} or _has_order(type_of(codec)):
        return
    raise QueryError(
        "the field's type has no order",
        field=repr(of),
        operator=operator,
        type=codec.python_type.__name__,
        fix="compare them by ==, != or in_()",
    )


def check_item(of: Expr[Any], codec: Codec[Any], item: Any) -> None:
    """Raise an error for an item that a collection cannot have.

    Raises:
        QueryError: The field is not a collection, or its items have another type.
    """
    if codec.python_type not in _COLLECTIONS:
        raise QueryError(
            "contains() works only on a list, set or tuple",
            field=repr(of),
            expected=codec.python_type.__name__,
            fix="compare text with startswith(), and a dynamic column as FIELD[name]",
        )
    inner = _item_types(type_of(codec))
    is_member = codec.python_type not in _UNORDERED or _is_hashable(item)
    if not is_member or (inner and not any(_is_of(item, one) for one in inner)):
        raise QueryError(
            "the field cannot have items of this type",
            field=repr(of),
            item=item,
            expected=" or ".join(map(_name, inner)) or "something hashable",
            fix="give one item; combine several: contains(a) & contains(b)",
        )


def type_of(codec: Codec[Any]) -> Any:
    """Return the type of a codec's values, with type parameters, as in `list[str]`."""
    return codec.type_ if isinstance(codec, Packed) else codec.python_type


def _has_order(type_: Any) -> bool:
    base = get_origin(type_) or type_
    if base in {list, tuple}:
        items = [one for one in get_args(type_) if one is not Ellipsis]
        return bool(items) and all(map(_has_order, items))
    if not isinstance(base, type) or issubclass(base, _UNORDERED):
        return False
    return base.__lt__ is not object.__lt__  # type: ignore[operator]  # of classes that have one


def _item_types(type_: Any) -> tuple[Any, ...]:
    """Return the possible types of a collection's items; empty if they are unknown."""
    types_: list[Any] = []
    for one in get_args(type_):
        is_union = get_origin(one) in {Union, types.UnionType}
        types_ += get_args(one) if is_union else [one]
    return tuple(one for one in types_ if one is not Ellipsis)


def _is_of(item: Any, type_: Any) -> bool:
    base = get_origin(type_) or type_
    if not isinstance(base, type):
        return True  # Any, Literal and the like: not known
    if issubclass(base, Number):
        return isinstance(item, Number)  # 1 equals 1.0
    try:
        return isinstance(item, base)
    except TypeError:  # a TypedDict, which no value is an instance of
        return True


def _is_hashable(item: Any) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def _name(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else repr(type_)
