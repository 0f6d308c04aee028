"""Fast readers of rows and cells in the binary protocol, for scans.

Rows of a usual form are taken by the compiled reader (`compiled_rows`), or by patterns
(`row_patterns`); other rows are read cell by cell. If
a row has not arrived completely, the reader waits for more bytes. The bytes after each value show
whether the value's length was right.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from hbase_orm.gateway.thrift.decoding.answers import (
    I64,
    MAP,
    STOP,
    STRING,
    STRUCT,
    AnswerReader,
)
from hbase_orm.gateway.thrift.decoding.decoded import DecodedRow
from hbase_orm.gateway.thrift.decoding.incoming import CHUNK_BYTES, GarbledAnswerError, Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader
from hbase_orm.ops import Cell, Row

_BYTE = struct.Struct(">B").unpack_from
_LENGTH = struct.Struct(">I").unpack_from
# Each of them reads the type of a field, skips the field's number, and reads what follows.
_TEXT = struct.Struct(">B2xI").unpack_from
_STAMP = struct.Struct(">B2xqB").unpack_from
_MAP = struct.Struct(">B2xBBI").unpack_from

_TEXT_HEAD_BYTES: Final = 7
_MAP_HEAD_BYTES: Final = 9
_STAMP_BYTES: Final = 12
_LIST_HEAD_BYTES: Final = 8

_ROWS_FIELD: Final = b"\x0f\x00\x00\x0c"  # field 0 of a result: a list of structs
_STOP_BYTE: Final = b"\x00"

_MOST_OTHERS: Final = 128
"""How many rows, at most, are read cell by cell before the pattern is tried again."""


def read_rows(reader: AnswerReader, size: int, depth: int) -> list[Row]:
    """Return the rows of a list of Thrift1's `TRowResult`.

    Raises:
        GarbledAnswerError: The bytes are not such rows.
    """
    if not isinstance(reader, BinaryReader):
        new: Callable[[], Any] = partial(Row.__new__, DecodedRow)
        return [reader.read_struct(new(), depth) for _ in range(size)]
    rows: list[Row] = []
    incoming, takers = reader.incoming, reader.row_takers
    others = 1
    while len(rows) < size:
        before = len(rows)
        data, position = incoming.data, incoming.position
        taker = takers.current
        if taker is not None:
            position = taker.take(data, position, size - before, rows)
        taken = len(rows)
        if taken > before:
            others = 1
        position, is_cut = _rows_there(data, position, min(others, size - taken), rows)
        if len(rows) > taken:
            takers.note(rows[taken:])
            others = min(2 * others, _MOST_OTHERS)
        incoming.position = position
        rest_bytes = len(data) - position
        if is_cut and rest_bytes < CHUNK_BYTES:
            incoming.need(rest_bytes + 1)
        elif len(rows) == before:
            # A row of many bytes, or with more fields than usual.
            rows.append(_read_row(reader, depth))
    return rows


def usual_rows(reader: AnswerReader, head: bytes) -> list[Row] | None:
    """Return the rows of an answer that has arrived completely and has only rows of a usual form.

    None for any other answer; then nothing of it was read.

    Args:
        reader: The reader, at the beginning of the answer.
        head: The expected bytes of the answer before its result.
    """
    if not isinstance(reader, BinaryReader):
        return None
    incoming, taker = reader.incoming, reader.row_takers.current
    data, start = incoming.data, len(head) + _LIST_HEAD_BYTES
    if taker is None or not data.startswith(head + _ROWS_FIELD) or len(data) <= start:
        return None
    (size,) = _LENGTH(data, start - 4)
    rows: list[Row] = []
    end = taker.take(data, start, size, rows)
    if len(rows) != size or data[end:] != _STOP_BYTE:
        return None
    incoming.position = len(data)
    return rows


def _rows_there(data: bytes, position: int, most: int, rows: list[Row]) -> tuple[int, bool]:
    """Append to `rows` up to `most` rows that have arrived, read cell by cell.

    Returns:
        The position of the first row that was not added. The second value is True if this row has
        not arrived completely.
    """
    new, cell = tuple.__new__, Cell
    try:
        for _ in range(most):
            kind, length = _TEXT(data, position)
            at = position + _TEXT_HEAD_BYTES + length
            cells_kind, name_kind, value_kind, size = _MAP(data, at)
            if not length or (kind, cells_kind, name_kind, value_kind) != _ROW_KINDS or not size:
                break
            key = data[position + _TEXT_HEAD_BYTES : at]
            start = at + _MAP_HEAD_BYTES
            cells = {}
            for _ in range(size):
                at = start + 4 + _LENGTH(data, start)[0]
                kind, length = _TEXT(data, at)
                end = at + _TEXT_HEAD_BYTES + length
                stamp_kind, stamp, stop = _STAMP(data, end)
                if kind != STRING or stamp_kind != I64 or stop:
                    return position, False
                value = data[at + _TEXT_HEAD_BYTES : end]
                cells[data[start + 4 : at]] = new(cell, (value, stamp))
                start = end + _STAMP_BYTES
            (end_of_row,) = _BYTE(data, start)
            if end_of_row:
                break
            rows.append(Row(key, cells))
            position = start + 1
    except struct.error:
        return position, True
    return position, False


_ROW_KINDS: Final = (STRING, MAP, STRING, STRUCT)


def _read_row(reader: BinaryReader, depth: int) -> Row:
    """Read one row of any layout, field by field."""
    key: bytes | None = None
    cells: dict[bytes, Cell] | None = None
    while True:
        kind, number = reader.read_field()
        if kind == STOP:
            break
        if number == 1 and kind == STRING:
            key = reader.read_bytes()
        elif number == 2 and kind == MAP:  # noqa: PLR2004 - the interface's number
            cells = _read_cells(reader)
        else:
            reader.skip(kind, depth)
    if not key or cells is None:
        message = "a row without its key or its cells"
        raise GarbledAnswerError(message)
    return Row(key, cells)


def _read_cells(reader: BinaryReader) -> dict[bytes, Cell]:
    name, value, size = reader.read_map_begin()
    if size < 0 or (size and (name, value) != (STRING, STRUCT)):
        message = f"a row's cells are {size} pairs of types {name} and {value}"
        raise GarbledAnswerError(message)
    incoming = reader.incoming
    cells: dict[bytes, Cell] = {}
    left = size
    while left:
        left = _cells_there(incoming, left, cells)
    return cells


def _cells_there(incoming: Incoming, left: int, cells: dict[bytes, Cell]) -> int:
    """Add up to `left` arrived cells to `cells`; if a cell is incomplete, wait for more bytes.

    Returns:
        The number of cells that are still missing.
    """
    data, start = incoming.data, incoming.position
    needed = 0
    try:
        while left:
            needed = 4
            at = start + 4 + _LENGTH(data, start)[0]
            needed = at + _TEXT_HEAD_BYTES - start
            kind, length = _TEXT(data, at)
            end = at + _TEXT_HEAD_BYTES + length
            needed = end + _STAMP_BYTES - start
            stamp_kind, stamp, stop = _STAMP(data, end)
            if kind != STRING or stamp_kind != I64 or stop:
                message = "a cell that is not value and timestamp"
                raise GarbledAnswerError(message)
            cells[data[start + 4 : at]] = Cell(data[at + _TEXT_HEAD_BYTES : end], stamp)
            start = end + _STAMP_BYTES
            left -= 1
    except struct.error:
        incoming.position = start
        incoming.need(needed)
    else:
        incoming.position = start
    return left
