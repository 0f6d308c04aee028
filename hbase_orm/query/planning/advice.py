"""The advice in errors of refused statements: which index would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.errors import QueryError
from hbase_orm.model.declare.placement import base_of
from hbase_orm.query.conditions.bounds import Bounds, NothingMatchesError, bounds_of_each
from hbase_orm.query.statements.statement import Select
from hbase_orm.rowkey import part_of
from hbase_orm.schema import (
    Comparison,
    Contains,
    FunctionExpr,
    Order,
    TableSchema,
    codec_of,
    compared_by,
)


def narrowing_index(statement: Select[Any], schema: TableSchema) -> str | None:
    """Return the declaration of an index that would reduce the rows to read, or None.

    An alternative narrows a field if it excludes None and sets bounds for the field. Only fields
    that every alternative narrows are in the index:

    - first all fields that are compared by equality
    - then one field with a range

    If there is no such field, the index has the first function that the conditions compare.
    """
    alternatives = _alternatives(statement, schema)
    codecs = _indexable(statement, schema)
    shared = [name for name in codecs if all(_narrows(each.get(name)) for each in alternatives)]
    equal = [name for name in shared if all(each[name].equals is not None for each in alternatives)]
    ranged = [name for name in shared if name not in equal]
    fields = [*equal, *ranged[:1]]
    if alternatives and codecs and not fields:
        fields = _functions(statement, schema)[:1]
    return f"Index({', '.join(fields)})" if fields and alternatives else None


def _functions(statement: Select[Any], schema: TableSchema) -> list[str]:
    """Return the functions in the conditions, as text for the declaration of an index."""
    functions: list[FunctionExpr[Any]] = []
    for condition in statement.conditions:
        match condition:
            case Contains(field=of):
                functions.append(FunctionExpr("each", of))
            case Comparison(operator="!=") | Comparison(value=None):
                continue
            case _:
                functions += [of for of in compared_by(condition) if isinstance(of, FunctionExpr)]
    return [f"func.{of.function}({of.of.name})" for of in functions if _has_codec(schema, of)]


def _has_codec(schema: TableSchema, of: FunctionExpr[Any]) -> bool:
    try:
        return part_of(of.name, codec_of(schema, of), is_last=False).is_ordered
    except QueryError:
        return False


def ordering_index(statement: Select[Any], schema: TableSchema) -> str | None:
    """Return the advice to declare an index with a statement's order; None if no index helps.

    The index begins with the fields that are compared with one value. The ordered fields follow.
    The result is None in three cases:

    - An ordered field cannot be indexed.
    - An ordered field may be None. Rows in which it is None would have no entry.
    - The conditions do not have exactly one alternative.
    """
    alternatives = _alternatives(statement, schema)
    if len(alternatives) != 1:
        return None
    bounds, codecs = alternatives[0], _indexable(statement, schema)
    nullable = {column.name for column in schema.columns if column.nullable}
    ordered = [order.field.name for order in statement.orders]
    for name in ordered:
        if name not in codecs or (name in nullable and not _leaves_out_none(bounds.get(name))):
            return None
    equal = [name for name in codecs if _is_one_value(bounds.get(name)) and name not in ordered]
    declared = f"declare Index({', '.join([*equal, *map(_written, statement.orders)])})"
    if equal or _narrows(bounds.get(ordered[0])):
        return declared
    return f"{declared}, read through it by .using(), and add .allow_full_scan()"


def compares_different_fields(statement: Select[Any], schema: TableSchema) -> bool:
    """Return whether every alternative narrows a field, but no field is narrowed by all."""
    alternatives = _alternatives(statement, schema)
    narrowed = [
        {name for name, each in alternative.items() if _narrows(each)}
        for alternative in alternatives
    ]
    return len(alternatives) > 1 and all(narrowed) and not set.intersection(*narrowed)


def _written(order: Order) -> str:
    return f"{order.field.name}.{'desc' if order.descending else 'asc'}()"


def _alternatives(statement: Select[Any], schema: TableSchema) -> Sequence[Mapping[str, Bounds]]:
    try:
        return bounds_of_each(schema, statement.conditions)
    except NothingMatchesError:
        return []


def _indexable(statement: Select[Any], schema: TableSchema) -> dict[str, Codec[Any]]:
    """Return the codec of each field that an index may have, by the field's name.

    Key fields come first. The result is empty if the model cannot have indexes.
    """
    layout = schema.layout
    is_shared = schema.record_types is not None or base_of(statement.model) is not None
    if is_shared or layout.table_period is not None or not schema.storage.has_own_rows:
        return {}
    numbered = {lookup.field for lookup in layout.lookups}
    codecs = {name: layout.codecs[name] for name in layout.decoded if name not in numbered}
    codecs.update({column.name: column.codec for column in schema.columns})
    return {
        name: codec
        for name, codec in codecs.items()
        if part_of(name, codec, is_last=False).is_ordered
    }


def _narrows(bounds: Bounds | None) -> bool:
    if bounds is None or not bounds.excludes_none:
        return False
    return bounds.equals is not None or bounds.has_range


def _leaves_out_none(bounds: Bounds | None) -> bool:
    return bounds is not None and bounds.excludes_none


def _is_one_value(bounds: Bounds | None) -> bool:
    return _narrows(bounds) and bounds is not None and len(bounds.equals or ()) == 1
