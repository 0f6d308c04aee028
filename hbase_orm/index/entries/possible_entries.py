"""Tests whether a row may have an entry that this program cannot compute out of the row.

A newer program may have added members to an enum, or codes to an index's own codec, and have stored
such a value. The part of the entry for this value is unknown here. All other parts are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.codecs.choices import Code
from hbase_orm.errors import CodecError
from hbase_orm.index.entries.index_entries import Piece, is_each, piece_of
from hbase_orm.index.entries.row_values import row_test, value_reader
from hbase_orm.index.entries.unknown_members import UnknownValueError
from hbase_orm.rowkey import Part
from hbase_orm.schema import FUNCTIONS, Expr, FunctionExpr, IndexSchema, TableSchema

IsPossible = Callable[[bytes, bytes, Mapping[bytes, bytes]], bool]
"""A function of the key of an entry, or of bytes of it, and of a row's key and cells by column."""


def possible_entries(schema: TableSchema, index: IndexSchema) -> IsPossible:
    """Return a function that tests whether an existing row may have an entry of an index.

    If this program can compute the row's entries, the function returns True for exactly these. The
    function raises CorruptRowError for a value that no program knows.
    """
    parts = zip(index.layout.parts, index.expressions, strict=True)
    segments = [(part, _segment(schema, index, part, of)) for part, of in parts]
    begin = 1 if index.salt else 0
    is_kept = row_test(schema, index.name, index.where)

    def may_be_kept(row: bytes, cells: Mapping[bytes, bytes]) -> bool:
        try:
            return is_kept is None or is_kept(row, cells)
        except UnknownValueError:
            return True

    def is_possible(entry: bytes, row: bytes, cells: Mapping[bytes, bytes]) -> bool:
        position = begin
        for part, fits in segments:
            try:
                stop = part.span(entry, position)
            except CodecError:
                return False
            if not fits(entry[position:stop], row, cells):
                return False
            position = stop
        is_of_row = entry[position:] == (b"" if index.unique else row)
        return is_of_row and may_be_kept(row, cells)

    return is_possible


def _segment(schema: TableSchema, index: IndexSchema, part: Part, of: Expr[Any]) -> IsPossible:
    """Return a function that tests whether a row may have these bytes as one part of its entry."""
    if isinstance(of, FunctionExpr) and is_each(of):
        return _item(schema, index, part, of)
    return _single(part, piece_of(schema, index, part, of), is_made=isinstance(of, FunctionExpr))


def _single(part: Part, piece: Piece, *, is_made: bool) -> IsPossible:
    def is_possible(data: bytes, row: bytes, cells: Mapping[bytes, bytes]) -> bool:
        try:
            return piece(row, cells) == data
        except UnknownValueError:  # a function of the value may have any result
            return is_made or _is_unknown(part, data)
        except CodecError as error:
            return _lacks_code(error) and _is_unknown(part, data)

    return is_possible


def _item(schema: TableSchema, index: IndexSchema, part: Part, of: FunctionExpr[Any]) -> IsPossible:
    value_of, items_of = value_reader(schema, index.name, of.of), FUNCTIONS["each"].of

    def is_possible(data: bytes, row: bytes, cells: Mapping[bytes, bytes]) -> bool:
        try:
            items = items_of(value_of(row, cells)) or ()
        except UnknownValueError:
            return True
        return any(_is_of_item(part, item, data) for item in items)

    return is_possible


def _is_of_item(part: Part, item: Any, data: bytes) -> bool:
    try:
        return part.encode(item) == data
    except CodecError as error:
        return _lacks_code(error) and _is_unknown(part, data)


def _lacks_code(error: CodecError) -> bool:
    return error.details.get("codec") == Code.name


def _is_unknown(part: Part, data: bytes) -> bool:
    """Return whether a part of an entry has no value here: an unknown value has no known code."""
    try:
        part.value_of(data)
    except CodecError:
        return True
    return False
