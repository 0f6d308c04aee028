"""Specifications of indexes as JSON: they name columns and positions of key fields, not fields.

So they describe the index of every model that declares it, whatever its names for the fields are.
"""

from __future__ import annotations

from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.record.literals import literal_spec
from hbase_orm.record.specifications import Spec, codec_spec, key_fields
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema import Condition, Expr, IndexSchema, TableSchema, stored_column
from hbase_orm.schema.conditions import (
    And,
    Comparison,
    Contains,
    InValues,
    ItemBetween,
    Not,
    Or,
    StartsWith,
)
from hbase_orm.schema.functions import FunctionExpr

_FLAGS = ("unique", "covering", "nulls")


def index_spec(index: IndexSchema, schema: TableSchema) -> Spec:
    """Return the specification of an index."""
    return {
        "of": [
            {**_expression(of, schema), "codec": codec_spec(_plain_codec(part.codec))}
            for of, part in zip(index.expressions, index.layout.parts, strict=True)
        ],
        "include": [column.column.decode("latin-1") for column in index.included],
        "where": [_condition(each, schema) for each in index.where],
        "salt": index.salt,
        **{name: bool(getattr(index, name)) for name in _FLAGS},
    }


def _plain_codec(codec: Codec[Any]) -> Codec[Any]:
    """Return the codec of the values that are not None."""
    return codec.part.codec if isinstance(codec, OrNone) else codec


def _expression(of: Expr[Any], schema: TableSchema) -> Spec:
    if isinstance(of, FunctionExpr):
        return {"function": of.function, "argument": _expression(of.of, schema)}
    column = stored_column(schema, of)
    if column is not None:
        return {"column": column.column.decode("latin-1")}
    return {"field": key_fields(schema.layout).index(of.name)}


def _condition(condition: Condition, schema: TableSchema) -> Spec:
    match condition:
        case And(conditions=inner):
            return {"and": [_condition(each, schema) for each in inner]}
        case Or(conditions=inner):
            return {"or": [_condition(each, schema) for each in inner]}
        case Not(condition=single):
            return {"not": _condition(single, schema)}
    return _comparison_spec(condition, schema)


def _comparison_spec(condition: Condition, schema: TableSchema) -> Spec:
    match condition:
        case Comparison(field=of, operator=operator, value=value):
            return _comparison(of, schema, operator, value)
        case InValues(field=of, values=values):
            return _comparison(of, schema, "in", *values)
        case StartsWith(field=of, prefix=prefix):
            return _comparison(of, schema, "startswith", prefix)
        case Contains(field=of, value=value):
            return _comparison(of, schema, "contains", value)
        case ItemBetween(field=of, low=low, high=high):
            return _comparison(of, schema, "between", low, high)
    raise AssertionError(condition)


def _comparison(of: Expr[Any], schema: TableSchema, operator: str, *values: Any) -> Spec:
    codec = _codec_of(of, schema)
    return {
        **_expression(of, schema),
        "operator": operator,
        "values": [literal_spec(value, codec) for value in values],
    }


def _codec_of(of: Expr[Any], schema: TableSchema) -> Codec[Any] | None:
    """Return the codec of the values that a condition compares; None for results of functions."""
    if isinstance(of, FunctionExpr):
        return None
    column = stored_column(schema, of)
    return schema.codecs[of.name] if column is None else column.codec
