"""Reads the values of a row's fields from its key and cells, to compute entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.index.entries.unknown_members import UnknownValueError, may_be_known
from hbase_orm.rowkey.layout import part_bytes
from hbase_orm.schema import (
    ColumnSchema,
    Condition,
    EntryExpr,
    Expr,
    TableSchema,
    absent_value_in_entries,
    column_field,
    compared_by,
    compile_match,
    stored_column,
)

Values = Callable[[bytes, Mapping[bytes, bytes]], Any]
"""A function from a row key, and the row's cells by column, to one value of the row."""


def value_reader(schema: TableSchema, index: str, of: Expr[Any]) -> Values:
    """Return a function that reads the value of a field from a row's key and cells.

    The function raises CorruptRowError for bytes that do not decode.

    Args:
        schema: The table.
        index: The name of the index, for error messages.
        of: The field, or a single dynamic column.
    """
    column = stored_column(schema, of)
    read = key_reader(schema, of.name) if column is None else _column_reader(column)

    def value(row: bytes, cells: Mapping[bytes, bytes]) -> Any:
        try:
            return read(row, cells)
        except CodecError as error:
            stored = None if column is None else cells.get(column.column)
            cell = None if column is None or stored is None else (column, stored)
            is_known = cell is not None and may_be_known(cell[0].codec, cell[1])
            raise corrupt(schema, index, row, error, cell, may_be_known=is_known) from error

    return value


def _column_reader(column: ColumnSchema) -> Values:
    name, decode = column.column, column.codec.decode

    def value(_: bytes, cells: Mapping[bytes, bytes]) -> Any:
        stored = cells.get(name)
        return absent_value_in_entries(column) if stored is None else decode(stored)

    return value


def key_reader(schema: TableSchema, name: str) -> Values:
    """Return a function that decodes the value of the key field `name` from a row key.

    The function raises CodecError for a row key that does not decode.
    """
    layout = schema.layout
    in_key = layout.part(name)
    if in_key is None:  # joined of several parts
        number = layout.decoded.index(name)
        return lambda row, _: layout.decode_parts(row)[number]
    own_bytes, value_of = part_bytes(layout, name), in_key.value_of
    return lambda row, _: value_of(own_bytes(row))


def corrupt(
    schema: TableSchema,
    index: str,
    row: bytes,
    error: CodecError,
    cell: tuple[ColumnSchema, bytes] | None,
    *,
    may_be_known: bool = False,
) -> CorruptRowError:
    """Return the error of a row whose bytes do not decode.

    Args:
        schema: The table.
        index: The name of the index.
        row: The row key.
        error: The error of the codec.
        cell: The column and the bytes that do not decode; None if they are in the row key.
        may_be_known: Whether a newer program may know the value.
    """
    where = {"table": schema.table, "row": row, "index": index, "codec": error.details.get("codec")}
    if cell is not None:
        column, stored = cell
        where = {**where, "field": column.name, "column": column.column, "value": stored}
    if may_be_known:
        return UnknownValueError(
            "an indexed value does not decode in this program, but another one may know it",
            **where,
            fix="use a program whose model has the value",
        )
    return CorruptRowError(
        "an indexed value does not decode as the model declares",
        **where,
        fix="write the field again, or delete the row",
    )


def row_test(
    schema: TableSchema, index: str, conditions: Sequence[Condition]
) -> Callable[[bytes, Mapping[bytes, bytes]], bool] | None:
    """Return a function that tests whether a row fulfils all of `conditions`.

    If `conditions` is empty, return None: every row fulfils them.
    """
    check = compile_match(schema, conditions)
    if check is None:
        return None
    fields = {of.name: of for of in fields_in(conditions)}
    readers = [(of, value_reader(schema, index, of)) for of in fields.values()]

    def is_kept(row: bytes, cells: Mapping[bytes, bytes]) -> bool:
        values: dict[str, Any] = {}
        for of, value_of in readers:
            if isinstance(of, EntryExpr):
                values.setdefault(of.of.name, {})[of.key] = value_of(row, cells)
            else:
                values[of.name] = value_of(row, cells)
        return check(values)

    return is_kept


def fields_in(conditions: Sequence[Condition]) -> list[Expr[Any]]:
    """Return the fields, and the single dynamic columns, that `conditions` compare."""
    return [column_field(of) for condition in conditions for of in compared_by(condition)]
