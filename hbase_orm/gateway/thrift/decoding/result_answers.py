"""Readers of Thrift2's rows and cells in the binary protocol.

Rows of a usual form are taken by the compiled reader (`compiled_rows`), or many fields at once;
other rows are read field by field. If a row has not arrived completely, the reader waits for more
bytes. The bytes after each value show whether the value's length was right.
"""

from __future__ import annotations

import struct
from typing import Final

from hbase_orm.gateway.thrift.decoding.answers import (
    BOOL,
    LIST,
    STRING,
    STRUCT,
    AnswerReader,
    Many,
)
from hbase_orm.gateway.thrift.decoding.compiled_rows import CompiledRows
from hbase_orm.gateway.thrift.decoding.decoded import DecodedValue
from hbase_orm.gateway.thrift.decoding.incoming import CHUNK_BYTES, GarbledAnswerError, Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader
from hbase_orm.ops import Cell, Row, StaleRow

# The type and the number of a field, and what follows.
_HEAD = struct.Struct(">3sI").unpack_from
_CELLS_HEAD = struct.Struct(">4sI").unpack_from
_STAMP_HEAD = struct.Struct(">3sqB").unpack_from
_HEAD_BYTES: Final = 7
_CELLS_HEAD_BYTES: Final = 8
_FIELD_1, _FIELD_2, _FIELD_3 = b"\x0b\x00\x01", b"\x0b\x00\x02", b"\x0b\x00\x03"
_CELLS_FIELD: Final = b"\x0f\x00\x02\x0c"
_STAMP_FIELD: Final = b"\x0a\x00\x04"
_PUT_KIND: Final = b"\x03\x00\x06\x04\x00"  # field 6 of a cell: a put; then the cell ends
_KIND_BYTES: Final = 4
_NOT_STALE: Final = b"\x02\x00\x03\x00"
_PIECE_FIELD: Final = b"\x02\x00\x04"
_FLAG_BYTES: Final = 4
_MOST_USUAL: Final = 1 << 20
"""The bytes of a usual text, and the cells of a usual row, at most."""
_STAMP_BYTES: Final = 12
_BYTE_6: Final = b"\x03\x00\x06"
_KIND = struct.Struct(">3sbB").unpack_from
_VALUE_FIELDS: Final = (_FIELD_1, _FIELD_2, _FIELD_3, _STAMP_FIELD)


def read_values(reader: AnswerReader, size: int, depth: int) -> list[DecodedValue]:
    """Return the cells of a list of Thrift2's `TColumnValue`.

    Raises:
        GarbledAnswerError: The bytes are not such cells.
    """
    if not isinstance(reader, BinaryReader):
        return [reader.read_struct(DecodedValue(), depth) for _ in range(size)]
    incoming = reader.incoming
    values: list[DecodedValue] = []
    while len(values) < size:
        _values_there(incoming, size - len(values), values)
        if len(values) < size:
            # The next cell has not arrived completely, or has more fields than usual.
            values.append(reader.read_struct(DecodedValue(), depth))
    return values


def _values_there(incoming: Incoming, most: int, values: list[DecodedValue]) -> None:
    """Append to `values` up to `most` arrived cells; stop at a cell with unusual fields."""
    data, start = incoming.data, incoming.position
    try:
        for _ in range(most):
            field_1, length = _HEAD(data, start)
            family = start + _HEAD_BYTES
            at = family + length
            field_2, length = _HEAD(data, at)
            qualifier = at + _HEAD_BYTES
            at_3 = qualifier + length
            field_3, length = _HEAD(data, at_3)
            content = at_3 + _HEAD_BYTES
            end = content + length
            field_4, stamp, stop = _STAMP_HEAD(data, end)
            if (field_1, field_2, field_3, field_4) != _VALUE_FIELDS:
                break
            made = DecodedValue()
            start = end + _STAMP_BYTES
            if stop:
                # The field behind the timestamp: a raw read's kind, or tags.
                field, made.kind, stop = _KIND(data, start - 1)
                if field != _BYTE_6 or stop:
                    break
                start += _KIND_BYTES
            made.family = data[family:at]
            made.qualifier = data[qualifier:at_3]
            made.value = data[content:end]
            made.timestamp_ms = stamp
            values.append(made)
            incoming.position = start
    except struct.error:
        pass


class DecodedResult:
    """One row of a Thrift2 answer; an absent row has no key and no cells."""

    __slots__ = ("is_stale", "key", "values")
    thrift_spec = {  # noqa: RUF012  # the name and place where thriftpy2 looks
        1: (STRING, "key", False),
        2: (LIST, "values", (STRUCT, Many(read_values)), False),
        3: (BOOL, "is_stale", False),
    }

    def __init__(self) -> None:
        """Set the fields that a server may leave out."""
        self.key: bytes | None = None
        self.values: list[DecodedValue] = []
        self.is_stale = False

    def row(self, requested: bytes | None = None) -> Row | None:
        """Return the row, or None if no cell is visible.

        If `requested` is the key of a row that a replica does not have, return a `StaleRow` without
        cells.
        """
        if not self.key or not self.values:
            return StaleRow(requested, {}) if self.is_stale and requested else None
        cells = {each.column: Cell(each.value, each.timestamp_ms) for each in self.values}
        return StaleRow(self.key, cells) if self.is_stale else Row(self.key, cells)


def read_results(reader: AnswerReader, size: int, depth: int) -> list[Row]:
    """Return the rows of a list of Thrift2's `TResult`, as a scan returns them.

    Raises:
        GarbledAnswerError: The bytes are not such rows, or a row has no cells.
    """
    rows: list[Row] = []
    incoming, left = reader.incoming, size
    takers = reader.row_takers if isinstance(reader, BinaryReader) else None
    take = takers.take_results if isinstance(takers, CompiledRows) else _results_there
    while left:
        if takers is not None:
            incoming.position = take(incoming.data, incoming.position, left, rows)
            left = size - len(rows)
        rest_bytes = len(incoming.data) - incoming.position
        is_small = takers is not None and rest_bytes < CHUNK_BYTES
        if left and is_small and _is_cut(incoming.data, incoming.position):
            incoming.need(rest_bytes + 1)
        elif left:
            # An unusual row, or one of many bytes.
            row = reader.read_struct(DecodedResult(), depth).row()
            if row is None:
                message = "a row without its key or its cells"
                raise GarbledAnswerError(message)
            rows.append(row)
            left = size - len(rows)
    return rows


_UNUSUAL: Final = -1


def _results_there(data: bytes, position: int, most: int, rows: list[Row]) -> int:
    """Append to `rows` up to `most` rows of Thrift2 that have arrived, of a usual form.

    Returns:
        The position of the first row that was not added.
    """
    try:
        for _ in range(most):
            field, length = _HEAD(data, position)
            if field != _FIELD_1 or not 0 < length <= _MOST_USUAL:
                break
            start = position + _HEAD_BYTES
            at = start + length
            field, size = _CELLS_HEAD(data, at)
            if field != _CELLS_FIELD or not 0 < size <= _MOST_USUAL:
                break
            row = Row(data[start:at], {})
            end = _after_cells(data, at + _CELLS_HEAD_BYTES, size, row.cells)
            if end != _UNUSUAL:
                end = _after_flags(data, end)
            if end == _UNUSUAL:
                break
            rows.append(row)
            position = end
    except (struct.error, IndexError):
        pass  # the row has not arrived completely
    return position


def _is_cut(data: bytes, at: int) -> bool:
    """Return whether a row is of the usual form as far as it is there, and not complete."""
    key = _after_text(data, at, _FIELD_1)
    if key is None or not data[key:].startswith(_CELLS_FIELD[: len(data) - key]):
        return key is not None and key > len(data)
    if len(data) < key + _CELLS_HEAD_BYTES:
        return True
    _, size = _CELLS_HEAD(data, key)
    at = key + _CELLS_HEAD_BYTES
    for _ in range(size):
        for field in (_FIELD_1, _FIELD_2, _FIELD_3):
            after = _after_text(data, at, field)
            if after is None or after > len(data):
                return after is not None
            at = after
        stamp = data[at : at + len(_STAMP_FIELD)]
        if not _STAMP_FIELD.startswith(stamp) or len(data) < at + _STAMP_BYTES:
            return _STAMP_FIELD.startswith(stamp)
        at += _STAMP_BYTES
        if data[at - 1]:
            kind = data[at - 1 : at + _KIND_BYTES]
            if kind != _PUT_KIND:
                return _PUT_KIND.startswith(kind)
            at += _KIND_BYTES
    return _are_flags_cut(data, at)


def _are_flags_cut(data: bytes, at: int) -> bool:
    """Return whether the fields behind the cells of a row are not complete."""
    for field in (_NOT_STALE[: len(_PIECE_FIELD)], _PIECE_FIELD):
        if data.startswith(field, at) and len(data) >= at + _FLAG_BYTES:
            at += _FLAG_BYTES
    rest = data[at : at + _FLAG_BYTES]
    return not rest or (rest[0] == BOOL and len(rest) < _FLAG_BYTES)


def _after_text(data: bytes, at: int, field: bytes) -> int | None:
    """Return where a text ends, behind `data` if it is incomplete; None if it is not one."""
    if not field.startswith(data[at : at + len(field)]):
        return None
    if len(data) < at + _HEAD_BYTES:
        return len(data) + 1
    _, length = _HEAD(data, at)
    return None if length > _MOST_USUAL else at + _HEAD_BYTES + length


def _after_cells(data: bytes, start: int, size: int, cells: dict[bytes, Cell]) -> int:
    """Add cells to `cells`; return where they end, or `_UNUSUAL`.

    Raises:
        struct.error, IndexError: They have not arrived completely.
    """
    new, cell, most = tuple.__new__, Cell, _MOST_USUAL
    for _ in range(size):
        field_1, length = _HEAD(data, start)
        if field_1 != _FIELD_1 or length > most:
            return _UNUSUAL
        family = start + _HEAD_BYTES
        at = family + length
        field_2, length = _HEAD(data, at)
        if field_2 != _FIELD_2 or length > most:
            return _UNUSUAL
        column = data[family:at] + b":"
        at += _HEAD_BYTES
        column += data[at : at + length]
        at += length
        field_3, length = _HEAD(data, at)
        if field_3 != _FIELD_3 or length > most:
            return _UNUSUAL
        value = at + _HEAD_BYTES
        at = value + length
        field_4, stamp, kind = _STAMP_HEAD(data, at)
        if field_4 != _STAMP_FIELD:
            return _UNUSUAL
        start = at + _STAMP_BYTES
        if kind:
            if data[start - 1 : start + _KIND_BYTES] != _PUT_KIND[: len(data) - start + 1]:
                return _UNUSUAL
            start += _KIND_BYTES
        cells[column] = new(cell, (data[value:at], stamp))
    return start


def _after_flags(data: bytes, start: int) -> int:
    """Return where a row ends behind its cells; `_UNUSUAL` if it is stale or has other fields.

    Raises:
        IndexError: The row has not arrived completely.
    """
    if data.startswith(_NOT_STALE, start):
        start += _FLAG_BYTES
    if data.startswith(_PIECE_FIELD, start) and data[start + len(_PIECE_FIELD)] <= 1:
        start += _FLAG_BYTES
    return _UNUSUAL if data[start] else start + 1
