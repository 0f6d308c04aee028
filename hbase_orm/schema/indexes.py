"""Computes the schemas of secondary indexes, with the layouts of entries, from declarations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.errors import QueryError, SchemaError
from hbase_orm.rowkey import KeyLayout, Part, entry_split_keys, part_of
from hbase_orm.rowkey.nulls import or_none
from hbase_orm.schema.condition_checks import check_conditions
from hbase_orm.schema.conditions import Condition, Expr, Order, compared_by, conjuncts
from hbase_orm.schema.declared_index import Index, IndexComponent, expression_of
from hbase_orm.schema.entries import EntryExpr, dynamic_of, stored_column
from hbase_orm.schema.functions import FunctionExpr, column_field, function_codec
from hbase_orm.schema.index_checks import check_declared, check_made
from hbase_orm.schema.options import check_split_keys
from hbase_orm.schema.tables import ColumnSchema, IndexSchema, TableSchema


def index_schema(index: Index, schema: TableSchema) -> IndexSchema:
    """Return the schema of an index: its table and the layout of its entries.

    Args:
        index: The declaration.
        schema: The base table's schema, without indexes.

    Raises:
        SchemaError: A field cannot be indexed, or its codec does not keep the order of the values.
            Or the condition is wrong, or a column cannot be included.
    """
    check_declared(index)
    parts = tuple(_part(index, component, schema) for component in index.components)
    names = [part.name for part in parts]
    if len(set(names)) < len(names):
        raise SchemaError(
            "the index names a field twice",
            index=index.name,
            fields=names,
            fix="name the field once",
        )
    if sum(isinstance(of, FunctionExpr) and of.is_each for of in index.expressions) > 1:
        raise SchemaError(
            "an index can have the items of only one collection",
            index=index.name,
            fields=names,
            fix="declare an index for each collection",
        )
    layout = KeyLayout(parts, tuple(names))
    made = IndexSchema(
        name=index.name,
        table=f"{schema.table}_ix_{index.name}",
        layout=layout,
        expressions=index.expressions,
        columns=_columns(index, schema),
        unique=index.unique,
        included=tuple(_included(index, of, schema) for of in index.include),
        covering=index.covering,
        where=_where(index, schema),
        salt=index.salt,
        nulls=index.nulls,
        maintained=index.maintained,
        split_keys=_split_keys(index, layout, schema),
    )
    check_made(made, schema)
    return made


def _split_keys(index: Index, layout: KeyLayout, schema: TableSchema) -> tuple[bytes, ...]:
    """Return the split keys of new index tables.

    Raises:
        SchemaError: A split key is empty, is given twice, or follows a greater one; or a number of
            regions is given, but the possible beginnings of entries are unknown or too few.
    """
    if index.salt:
        return tuple(bytes([bucket]) for bucket in range(1, index.salt))
    row_key = None if index.unique else schema.layout
    if index.splits == "auto":
        return entry_split_keys(layout, row_key)
    if not isinstance(index.splits, int):
        return check_split_keys(index.splits, index=index.name)
    try:
        return entry_split_keys(layout, row_key, index.splits)
    except SchemaError as error:
        raise SchemaError(
            "the index table cannot be divided into this number of regions",
            index=index.name,
            splits=index.splits,
            reason=error.text,
            fix="give the split keys: splits=[b'...', ...], each the beginning of an entry's key",
        ) from None


def _part(index: Index, component: IndexComponent, schema: TableSchema) -> Part:
    of = expression_of(component)
    codec, nullable = _codec(index, of, schema)
    if isinstance(component, tuple):
        codec = _own_codec(index, of, codec, component[1])
    elif isinstance(component, Order):
        codec = replace(codec, desc=component.descending)
    part = part_of(of.name, codec, is_last=False)
    if not part.is_ordered:
        raise SchemaError(
            "the codec of the field does not keep the order of the values",
            index=index.name,
            field=of.name,
            codec=codec.name,
            fix="give the field a codec that keeps the order, e.g. codecs.text() without "
            "separator, or give the index its own codec: Index((field, codecs.text()))",
        )
    return or_none(part) if index.nulls and nullable else part


def _codec(index: Index, of: Expr[Any], schema: TableSchema) -> tuple[Codec[Any], bool]:
    """Return the codec of an expression's values, and whether they may be None."""
    try:
        if isinstance(of, FunctionExpr):
            codec, nullable = _codec(index, of.of, schema)
            return function_codec(of, codec), nullable
        if isinstance(of, EntryExpr):
            stored_column(schema, of)
            return dynamic_of(schema, of.of).codec, True
    except QueryError as error:
        raise _of_index(index, error) from None
    _check_indexable(index, of, schema)
    column = schema.column_by_name.get(of.name)
    codec = schema.codecs[of.name] if column is None else column.codec
    return codec, column is not None and column.nullable


def _check_indexable(index: Index, of: Expr[Any], schema: TableSchema) -> None:
    layout = schema.layout
    numbered = {lookup.field for lookup in layout.lookups if layout.part(lookup.field) is None}
    in_key = of.name in layout.decoded and of.name not in numbered
    is_column = any(column.name == of.name for column in schema.columns)
    if not schema.has_field(of) or not (in_key or is_column):
        raise SchemaError(
            "the field cannot be indexed",
            index=index.name,
            field=of.name,
            fix="index plain columns, and key fields that can be decoded from the row key; a "
            "counter's increments would not reach the index; a name with a number in the row key "
            "must also be stored in a column: "
            "key(..., family=..., qualifier=...)",
        )


def _own_codec(index: Index, of: Expr[Any], stored: Codec[Any], own: Codec[Any]) -> Codec[Any]:
    kinds = stored.python_type, own.python_type
    if not (issubclass(*kinds) or issubclass(*reversed(kinds))):
        raise SchemaError(
            "the codec stores another type than the field",
            index=index.name,
            field=of.name,
            codec=own.name,
            type=kinds[0].__name__,
            codec_type=kinds[1].__name__,
            fix=f"use a codec of {kinds[0].__name__}",
        )
    if own.coarse and replace(own, desc=stored.desc) != stored:
        raise SchemaError(
            "the index's codec rounds the field's values, so entries could not distinguish them",
            index=index.name,
            field=of.name,
            codec=own.name,
            fix="use a codec that keeps every value; to index days write func.day(field)",
        )
    return own


def _columns(index: Index, schema: TableSchema) -> tuple[ColumnSchema, ...]:
    compared = () if index.where is None else compared_by(index.where)
    read = [stored_column(schema, column_field(of)) for of in (*index.expressions, *compared)]
    return tuple({column.column: column for column in read if column is not None}.values())


def _included(index: Index, of: Expr[Any], schema: TableSchema) -> ColumnSchema:
    where = {"index": index.name, "field": of.name}
    if of.name in {column.name for column in schema.numbers}:
        raise SchemaError(
            "a counter cannot be included: its increments would not reach the index",
            **where,
            fix="leave the counter out of include=, and read it from the row",
        )
    if of.name in schema.layout.decoded:
        raise SchemaError(
            "a key field need not be included: every entry holds the row key",
            **where,
            fix="leave the field out of include",
        )
    try:
        column = stored_column(schema, of)
    except QueryError as error:
        raise _of_index(index, error) from None
    is_own = isinstance(of, EntryExpr) or schema.has_field(of)
    if column is None or not is_own:
        raise SchemaError(
            "the argument is not a column of the model",
            **where,
            fix="include plain columns of the model",
        )
    return column


def _where(index: Index, schema: TableSchema) -> tuple[Condition, ...]:
    if index.where is None:
        return ()
    conditions = conjuncts(index.where)
    try:
        check_conditions(schema, conditions)
    except QueryError as error:
        raise _of_index(index, error) from None
    layout = schema.layout
    numbered = {lookup.field for lookup in layout.lookups}
    for of in (column_field(each) for each in compared_by(index.where)):
        is_in_key = of.name in layout.decoded and of.name not in numbered
        column = stored_column(schema, of)
        if column in schema.numbers or (column is None and not is_in_key):
            raise SchemaError(
                "the condition of an index cannot compare this field",
                index=index.name,
                field=of.name,
                fix="compare plain columns, and key fields that can be decoded from the row "
                "key; a counter's increments would not reach the index",
            )
    return conditions


def _of_index(index: Index, error: QueryError) -> SchemaError:
    """Return the SchemaError of an index for an error in one of its fields or conditions."""
    return SchemaError(error.text, fix=error.fix, index=index.name, **error.details)
