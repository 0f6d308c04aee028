"""Encodes the calls `mutateRows` and `mutateRowsTs` of Thrift1, column by column.

A struct for each cell would take more time than everything else in a write. Here built-in functions
join the values of a column with the constant bytes between them. So no Python code runs for each
cell, if every row has a value in the column.

Only the binary protocol is supported. `isDelete` and `writeToWAL` are left out, because their
defaults, false and true, are right for a put.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

from hbase_orm.ops import PutRows

_INT32 = struct.Struct(">i")
INT64 = struct.Struct(">q")

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
    """A mapping from lengths to encoded lengths; lengths below `_SHORT_BYTES` are cached."""

    def __missing__(self, length: int) -> bytes:
        data = _INT32.pack(length)
        if length < _SHORT_BYTES:
            self[length] = data
        return data


LENGTHS = _Lengths()


def put_rows_call(operation: PutRows) -> tuple[str, bytes]:
    """Return the name of the Thrift1 method that puts the rows, and its encoded arguments.

    Raises:
        TypeError: A key or a value is not bytes.
    """
    table = operation.table.encode()
    head = [_TABLE, LENGTHS[len(table)], table, _ROWS, LENGTHS[len(operation.rows)]]
    if operation.timestamp_ms is None:
        method, tail = "mutateRows", _ATTRIBUTES % 3 + _STOP
    else:
        method = "mutateRowsTs"
        tail = _STAMP + INT64.pack(operation.timestamp_ms) + _ATTRIBUTES % 4 + _STOP
    return method, b"".join(chain(head, _rows(operation), (tail,)))


def _rows(operation: PutRows) -> Iterator[bytes]:
    """Return an iterator over the encoded bytes of all rows, in order and in pieces."""
    keys, *columns = zip(*operation.rows, strict=True)
    gaps = [None in values for values in columns]
    pieces = RowPieces(_ROW)
    pieces.add(keys)
    if any(gaps):
        cells = map(len, map(_present, operation.rows))
        pieces.constant += _MUTATIONS
        pieces.add_made(map(LENGTHS.__getitem__, cells))
    else:
        pieces.constant += _MUTATIONS + LENGTHS[len(columns)]
    for name, values, has_gaps in zip(operation.columns, columns, gaps, strict=True):
        start = _COLUMN + LENGTHS[len(name)] + name + _VALUE
        if has_gaps:
            pieces.add_made(_cells(start, values))
        else:
            pieces.constant += start
            if _are_one(values):
                pieces.constant += LENGTHS[len(values[0])] + values[0]
            else:
                pieces.add(values)
            pieces.constant += _STOP
    pieces.parts.append(repeat(pieces.constant + _STOP))
    # The shortest parts, such as the keys, have one piece per row; constants are repeated for ever.
    return chain.from_iterable(zip(*pieces.parts, strict=False))


class RowPieces:
    """The encoded bytes of rows, in pieces. Every row has the same number of pieces.

    Attributes:
        parts: For each piece of a row, an iterable of this piece's bytes, one item per row.
        constant: The bytes that come next in every row. They are not yet in `parts`.
    """

    def __init__(self, constant: bytes) -> None:
        """Begin each row with `constant`."""
        self.parts: list[Iterable[bytes]] = []
        self.constant = constant

    def add(self, values: Sequence[bytes]) -> None:
        """Add `constant` to every row, then one value per row with its length."""
        lengths = [*map(len, values)]
        if lengths.count(lengths[0]) == len(lengths):
            self.parts.append(repeat(self.constant + LENGTHS[lengths[0]]))
        else:
            self.parts += [repeat(self.constant), map(LENGTHS.__getitem__, lengths)]
        self.parts.append(values)
        self.constant = b""

    def add_made(self, pieces: Iterable[bytes]) -> None:
        """Add `constant` to every row, then one encoded piece per row."""
        if self.constant:
            self.parts.append(repeat(self.constant))
        self.parts.append(pieces)
        self.constant = b""


def _are_one(values: Sequence[bytes]) -> bool:
    """Return whether all rows have one object as their value, such as a guard or an empty cell."""
    first = values[0]
    # The last value shows nearly always that they differ, so the others are not compared.
    return first is values[-1] and values.count(first) == len(values)


def _present(row: Sequence[bytes | None]) -> list[bytes | None]:
    return [value for value in row[1:] if value is not None]


def _cells(start: bytes, values: Sequence[bytes | None]) -> list[bytes]:
    """Return the encoded cell of a column for each row; empty bytes for a row without a value."""
    lengths = LENGTHS
    return [
        b"" if value is None else b"".join((start, lengths[len(value)], value, _STOP))
        for value in values
    ]
