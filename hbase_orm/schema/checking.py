"""What can be asked of a model: conditions on its fields, by values that stored ones may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.errors import QueryError
from hbase_orm.schema.comparing import check_item, check_order, check_value
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


def check_conditions(schema: TableSchema, conditions: Sequence[Condition]) -> None:
    """Refuse conditions on foreign fields, and comparisons that no stored value can have.

    Raises:
        QueryError: Names the field, the value and the type expected.
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
                raise QueryError("this condition is not known", condition=repr(condition))


def codec_of(schema: TableSchema, of: Expr[Any]) -> Codec[Any]:
    """Return the codec of a field of the model, an entry of its dynamic columns, or a function.

    Raises:
        QueryError: The field belongs to another model, no entry can have the name, or a function
            takes values of another type.
    """
    if isinstance(of, FunctionExpr):
        return function_codec(of, codec_of(schema, of.of))
    if isinstance(of, EntryExpr):
        stored_column(schema, of)
        return dynamic_of(schema, of.of).codec
    if not schema.has_field(of):
        raise QueryError(
            "the field is not one of the selected model",
            field=repr(of),
            model=schema.model_name,
            fix=f"use the fields of {schema.model_name}",
        )
    return schema.codecs[of.name]


def _check_prefix(schema: TableSchema, of: Expr[Any], prefix: object) -> None:
    codec = codec_of(schema, of)
    if not isinstance(prefix, (str, bytes)) or not isinstance(prefix, codec.python_type):
        raise QueryError(
            "only text starts with a text, and bytes with bytes",
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
                "no item of a collection is None",
                field=repr(of),
                fix=f"compare the collection: {of.of!r} == []",
            )
