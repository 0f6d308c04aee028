"""Encodes the calls `mutateRows` and `mutateRowsTs` of Thrift1, column by column.

A struct for each cell would take more time than everything else in a write. Here the values of a
column are joined with the constant bytes between them by built-in functions, so that no Python code
runs for each cell, unless a column has gaps.

Only the binary protocol is supported. `isDelete` and `writeToWAL` are left out, because their
defaults, false and true, are right for a put.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

from hbase_orm.ops import PutRows

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")

# Type and number of a field; a struct ends with a byte 0.
_STOP = b"\x00"
_TABLE = b"\x0b\x00\x01"
_ROWS = b"\x0f\x00\x02\x0c"  # a list of structs, its length follows
_STAMP = b"\x0a\x00\x03"
_ATTRIBUTES = b"\x0d\x00%c\x0b\x0b\x00\x00\x00\x00"  # an empty map of text
_ROW = b"\x0b\x00\x01"
_MUTATIONS = b"\x0f\x00\x02\x0c"
_COLUMN = b"\x0b\x00\x02"
_VALUE = b"\x0b\x00\x03"

_SHORT_BYTES = 4096


class _Lengths(dict[int, bytes]):
    """Encoded lengths; those of short values are cached."""

    def __missing__(self, length: int) -> bytes:
        data = _INT32.pack(length)
        if length < _SHORT_BYTES:
            self[length] = data
        return data


_LENGTHS = _Lengths()


def put_rows_call(operation: PutRows) -> tuple[str, bytes]:
    """Return the name of the Thrift1 method that puts the rows, and its encoded arguments.

    Raises:
        TypeError: A key or a value is not bytes.
    """
    table = operation.table.encode()
    head = [_TABLE, _LENGTHS[len(table)], table, _ROWS, _LENGTHS[len(operation.rows)]]
    if operation.timestamp_ms is None:
        method, tail = "mutateRows", _ATTRIBUTES % 3 + _STOP
    else:
        method = "mutateRowsTs"
        tail = _STAMP + _INT64.pack(operation.timestamp_ms) + _ATTRIBUTES % 4 + _STOP
    return method, b"".join(chain(head, _rows(operation), (tail,)))


def _rows(operation: PutRows) -> Iterator[bytes]:
    """Return the pieces of all rows, in order."""
    keys, *columns = zip(*operation.rows, strict=True)
    gaps = [None in values for values in columns]
    pieces = _Pieces(_ROW)
    pieces.add(keys)
    if any(gaps):
        cells = map(len, map(_present, operation.rows))
        pieces.constant += _MUTATIONS
        pieces.add_made(map(_LENGTHS.__getitem__, cells))
    else:
        pieces.constant += _MUTATIONS + _LENGTHS[len(columns)]
    for name, values, has_gaps in zip(operation.columns, columns, gaps, strict=True):
        start = _COLUMN + _LENGTHS[len(name)] + name + _VALUE
        if has_gaps:
            pieces.add_made(_cells(start, values))
        else:
            pieces.constant += start
            pieces.add(values)
            pieces.constant = _STOP
    pieces.parts.append(repeat(pieces.constant + _STOP))
    # The keys are as many as the rows; the constants between them never end.
    return chain.from_iterable(zip(*pieces.parts, strict=False))


class _Pieces:
    """The pieces of the rows' bytes.

    Attributes:
        parts: For each piece, its bytes in all rows.
        constant: The constant bytes that come next in every row and are not added yet.
    """

    def __init__(self, constant: bytes) -> None:
        self.parts: list[Iterable[bytes]] = []
        self.constant = constant

    def add(self, values: Sequence[bytes]) -> None:
        """Add the constant bytes, then values with their lengths."""
        lengths = [*map(len, values)]
        if lengths.count(lengths[0]) == len(lengths):
            self.parts.append(repeat(self.constant + _LENGTHS[lengths[0]]))
        else:
            self.parts += [repeat(self.constant), map(_LENGTHS.__getitem__, lengths)]
        self.parts.append(values)
        self.constant = b""

    def add_made(self, pieces: Iterable[bytes]) -> None:
        """Add the constant bytes, then finished pieces."""
        if self.constant:
            self.parts.append(repeat(self.constant))
        self.parts.append(pieces)
        self.constant = b""


def _present(row: Sequence[bytes | None]) -> list[bytes | None]:
    return [value for value in row[1:] if value is not None]


def _cells(start: bytes, values: Sequence[bytes | None]) -> list[bytes]:
    """Return the bytes of a column in each row; empty for a row without a value."""
    lengths = _LENGTHS
    return [
        b"" if value is None else b"".join((start, lengths[len(value)], value, _STOP))
        for value in values
    ]
