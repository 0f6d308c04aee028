"""Random answers with rows, written by thriftpy2, and the ways to read them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import thriftpy2.protocol
import thriftpy2.transport

from hbase_orm.gateway.thrift.decoding.answers import MAX_DEPTH
from hbase_orm.gateway.thrift.decoding.compiled_rows import RowTakers
from hbase_orm.gateway.thrift.decoding.decoded import DecodedRow
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError, Incoming
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader
from hbase_orm.gateway.thrift.decoding.row_answers import read_rows
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.gateway.thrift.interfaces import HBASE1
from hbase_orm.ops import Cell, Row

# Mostly without annotations, and so unknown to the type checker.
BINARY: Any = thriftpy2.protocol.TBinaryProtocol
MEMORY: Any = thriftpy2.transport.TMemoryBuffer

# What stands around values in an answer: a value with these bytes looks as if it ended before.
_TRICKY = (b"\n\x00\x02", b"\r\x00\x02\x0b\x0c", b"\x00", b"\x0b\x00\x01\x00\x00\x00\x01", b"")
_COLUMNS = (*(b"d:%c" % letter for letter in b"abcdefgh"), b"d:", b"e:\x00", b"e:.*(")


@dataclass(frozen=True)
class Kind:
    """What the rows of one table are like.

    Attributes:
        columns: The columns, in the order of the rows.
        widths: For each column the length of its values; None if it varies.
        missing: How likely a cell is missing.
        odd: How likely a row is unlike the others.
    """

    columns: tuple[bytes, ...]
    widths: tuple[int | None, ...]
    missing: float
    odd: float


def kind(chance: random.Random) -> Kind:
    """Return the kind of rows of a random table."""
    columns = tuple(chance.sample(_COLUMNS, chance.randint(1, 8)))
    widths = tuple(chance.choice((None, 0, 1, 2, 8, 300)) for _ in columns)
    return Kind(columns, widths, chance.choice((0, 0, 0.2, 0.6)), chance.choice((0, 0, 0.1)))


def rows_of(kind: Kind, count: int, chance: random.Random) -> list[Row]:
    """Return random rows of a kind."""
    return [_row(kind, chance) for _ in range(count)]


def _row(kind: Kind, chance: random.Random) -> Row:
    cells = {
        column: Cell(_value(width, chance), chance.choice((0, 7, 1_700_000_000_000, -1, 2**63 - 1)))
        for column, width in zip(kind.columns, kind.widths, strict=True)
        if chance.random() >= kind.missing
    }
    key = _bytes(chance.choice((1, 2, 12, 40, 255)), chance)
    if chance.random() < kind.odd:
        choice = chance.randint(0, 3)
        if choice == 0:
            key = _bytes(256, chance)
        elif choice == 1:
            cells[b"x:other"] = Cell(b"y", 1)
        elif choice == 2:
            cells = dict(reversed(cells.items()))
        elif cells:
            cells[next(iter(cells))] = Cell(_bytes(chance.choice((255, 256, 70_000)), chance), 1)
    return Row(key, cells)


def _value(width: int | None, chance: random.Random) -> bytes:
    return _bytes(chance.choice((0, 1, 3, 20)) if width is None else width, chance)


def _bytes(length: int, chance: random.Random) -> bytes:
    if length > 2 and chance.random() < 0.2:
        return (chance.choice(_TRICKY) + chance.randbytes(length))[:length]
    return chance.randbytes(length)


def written(rows: Sequence[Row]) -> bytes:
    """Return the list of rows as thriftpy2 writes it, without the list's head."""
    buffer = MEMORY()
    protocol = BINARY(buffer)
    for row in rows:
        cells = {c: HBASE1.TCell(value=v, timestamp=stamp) for c, (v, stamp) in row.cells.items()}
        protocol.write_struct(HBASE1.TRowResult(row=row.key, columns=cells))
    data: bytes = buffer.getvalue()
    return data


class Arriving:
    """Bytes that arrive in pieces; then the peer is gone."""

    def __init__(self, data: bytes, piece_bytes: int) -> None:
        self._left = data
        self._piece_bytes = piece_bytes

    def read(self, size: int, /) -> bytes:
        piece = self._left[: min(size, self._piece_bytes)]
        if not piece:
            raise EOFError
        self._left = self._left[len(piece) :]
        return piece


def read_by(
    takers: RowTakers, data: bytes, count: int, *, piece_bytes: int = 1 << 20
) -> list[Row] | str:
    """Read rows with `takers`, which may have learned; return them, or the error's name."""
    reader = BinaryReader(incoming(data, piece_bytes), {})
    reader.row_takers = takers
    try:
        rows = read_rows(reader, count, MAX_DEPTH)
        reader.incoming.end()
    except (GarbledAnswerError, EOFError) as error:
        return type(error).__name__
    return rows


def read_by_cells(data: bytes, count: int) -> list[Row] | str:
    """Read rows without patterns, cell by cell; return them, or the error's name."""
    return read_by(NoPatterns(), data, count)


class NoPatterns(RowPatterns):
    """Patterns that learn nothing."""

    def note(self, rows: Sequence[Row]) -> None:
        pass


def read_by_fields(data: bytes, count: int) -> list[Row]:
    """Read right rows as rows of the other protocols are read, field by field."""
    reader = BinaryReader(incoming(data, 1 << 20), {})
    return [reader.read_struct(DecodedRow.__new__(DecodedRow)) for _ in range(count)]


def read_by_thriftpy2(data: bytes, count: int) -> list[Row]:
    """Read right rows as thriftpy2 does."""
    protocol = BINARY(MEMORY(data), decode_response=False)
    rows = []
    for _ in range(count):
        read = HBASE1.TRowResult()
        protocol.read_struct(read)
        cells = {c: Cell(cell.value, cell.timestamp) for c, cell in read.columns.items()}
        rows.append(Row(read.row, cells))
    return rows


def incoming(data: bytes, piece_bytes: int) -> Incoming:
    """Return an answer's bytes, which arrive in pieces."""
    arriving = Incoming(Arriving(data, piece_bytes), is_framed=False)
    arriving.begin()
    return arriving
