"""Encodes the call `checkAndMutate` of Thrift2, which changes each row that has a guard.

What is the same for each row, such as the names of columns, is encoded once. Only the binary
protocol is supported.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from hbase_orm.gateway.thrift.encoding.put_rows import INT64, LENGTHS
from hbase_orm.ops import CheckAndMutate, Delete, Put, RowMutation

# Type and number of a field; a struct ends with a byte 0.
_STOP = b"\x00"
_TABLE = b"\x0b\x00\x01"
_ROW = b"\x0b\x00\x02"
_FAMILY = b"\x0b\x00\x03"
_QUALIFIER = b"\x0b\x00\x04"
_OPERATOR = b"\x08\x00\x05"
_EXPECTED = b"\x0b\x00\x06"
_CHANGES = b"\x0c\x00\x07"

# Of the structs within: the row, then a list of structs, whose length follows.
_CHANGED_ROW = b"\x0b\x00\x01"
_LIST = b"\x0f\x00\x02\x0c"
_PUT = b"\x0c\x00\x01"
_DELETE = b"\x0c\x00\x02"
_OF_FAMILY = b"\x0b\x00\x01"
_OF_QUALIFIER = b"\x0b\x00\x02"
_VALUE = b"\x0b\x00\x03"
_VALUE_STAMP = b"\x0a\x00\x04"
_DELETE_STAMP = b"\x0a\x00\x03"
_COLUMNS_KIND = b"\x08\x00\x04\x00\x00\x00\x01"
_FAMILY_KIND = b"\x08\x00\x04\x00\x00\x00\x02"
_TTL = b"\x0d\x00\x05\x0b\x0b\x00\x00\x00\x01\x00\x00\x00\x04_ttl\x00\x00\x00\x08"


def check_and_mutate_arguments(operation: CheckAndMutate, operator: int) -> bytes:
    """Return the encoded arguments of the Thrift2 method `checkAndMutate`.

    Args:
        operation: The request.
        operator: The number of the comparison in HBase, `expected operator stored`.

    Raises:
        TypeError, struct.error: A key or a value is not bytes, or a timestamp is not a number.
    """
    table, mutation, expected = operation.table.encode(), operation.mutation, operation.expected
    row = mutation.row
    parts = [_TABLE, LENGTHS[len(table)], table, _ROW, LENGTHS[len(row)], row]
    parts += _compared(operation.column, operator), LENGTHS[len(expected)], expected, _CHANGES
    _add_changes(parts, mutation)
    parts.append(_STOP)
    return b"".join(parts)


def _add_changes(parts: list[bytes], mutation: RowMutation) -> None:
    row = LENGTHS[len(mutation.row)] + mutation.row
    columns = [each for each in mutation.deletes if b":" in each.column]
    families = [each for each in mutation.deletes if b":" not in each.column]
    count = bool(columns) + bool(families) + bool(mutation.puts)
    parts += _CHANGED_ROW, row, _LIST, LENGTHS[count]
    if columns:
        _add_delete(parts, row, columns, _COLUMNS_KIND)
    if families:
        _add_delete(parts, row, families, _FAMILY_KIND)
    if mutation.puts:
        parts += _PUT, _CHANGED_ROW, row, _LIST, LENGTHS[len(mutation.puts)]
        _add_cells(parts, mutation.puts)
        if mutation.ttl_ms is not None:
            parts += _TTL, INT64.pack(mutation.ttl_ms)
        parts += _STOP, _STOP
    parts.append(_STOP)


def _add_cells(parts: list[bytes], puts: Iterable[Put]) -> None:
    for put in puts:
        value, stamp = put.value, put.timestamp_ms
        parts += _put_column(put.column), LENGTHS[len(value)], value
        if stamp is not None:
            parts += _VALUE_STAMP, INT64.pack(stamp)
        parts.append(_STOP)


def _add_delete(parts: list[bytes], row: bytes, deletes: list[Delete], kind: bytes) -> None:
    parts += _DELETE, _CHANGED_ROW, row, _LIST, LENGTHS[len(deletes)]
    for delete in deletes:
        parts.append(_deleted_column(delete.column))
        if delete.timestamp_ms is not None:
            parts += _DELETE_STAMP, INT64.pack(delete.timestamp_ms)
        parts.append(_STOP)
    parts += kind, _STOP, _STOP


@lru_cache(maxsize=1024)
def _compared(column: bytes, operator: int) -> bytes:
    """Return the compared column, the operator, and the head of the expected value."""
    family, _, qualifier = column.partition(b":")
    named = _FAMILY + _text(family) + _QUALIFIER + _text(qualifier)
    return named + _OPERATOR + operator.to_bytes(4, "big") + _EXPECTED


@lru_cache(maxsize=1024)
def _put_column(column: bytes) -> bytes:
    """Return the names of a cell, and the head of its value."""
    family, _, qualifier = column.partition(b":")
    return _OF_FAMILY + _text(family) + _OF_QUALIFIER + _text(qualifier) + _VALUE


@lru_cache(maxsize=1024)
def _deleted_column(column: bytes) -> bytes:
    """Return the name of a column, or of a whole family."""
    family, colon, qualifier = column.partition(b":")
    named = _OF_FAMILY + _text(family)
    return named + _OF_QUALIFIER + _text(qualifier) if colon else named


def _text(data: bytes) -> bytes:
    return LENGTHS[len(data)] + data
