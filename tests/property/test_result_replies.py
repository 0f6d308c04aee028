"""Rows of random Thrift2 answers are the same however they are read, and so are the errors."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.gateway.thrift.decoding.answers import MAX_DEPTH
from hbase_orm.gateway.thrift.decoding.compiled_rows import CompiledRows, RowTakers
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.decoding.protocols import BinaryReader
from hbase_orm.gateway.thrift.decoding.result_answers import DecodedResult, read_results
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.gateway.thrift.interfaces import HBASE2
from hbase_orm.ops import Row, StaleRow
from tests.property.row_replies import BINARY, MEMORY, incoming, kind, rows_of

SEEDS = range(15)
REPLIES = 100
# 100 replies of each of so many tables.
SOAK_SEEDS = range(15, 1_015)

takers = pytest.mark.parametrize(
    "by",
    [
        pytest.param(RowPatterns, id="python"),
        pytest.param(
            CompiledRows,
            id="compiled",
            marks=pytest.mark.skipif(compiled_cells is None, reason="it was not built"),
        ),
    ],
)
needs_compiled = pytest.mark.skipif(compiled_cells is None, reason="it was not built")

_WRONG = (b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x01\x00", b"\x02")


def written(rows: Sequence[Row], chance: random.Random, *, odd: float = 0.05) -> bytes:
    """Return a list of rows as thriftpy2 writes it, without the list's head.

    The servers that are known send the kind of each cell, 4 for a put. A part of the rows, `odd`,
    has cells of another kind.
    """
    whole = b""
    for row in rows:
        buffer = MEMORY()
        is_odd = chance.random() < odd
        kinds = chance.choice(((None,), (4,), (4,), (None, 4)))
        values = [
            HBASE2.ColumnValue(
                family=column.partition(b":")[0],
                qualifier=column.partition(b":")[2],
                value=value,
                timestamp=stamp,
                type=8 if is_odd else chance.choice(kinds),
            )
            for column, (value, stamp) in row.cells.items()
        ]
        stale = True if isinstance(row, StaleRow) else chance.choice((None, False))
        BINARY(buffer).write_struct(HBASE2.Result(row=row.key, values=values, is_stale=stale))
        data: bytes = buffer.getvalue()
        # A real server also sends a field that is not declared here: whether the row is a piece.
        whole += data[:-1] + chance.choice((b"", b"\x02\x00\x04\x00")) + b"\x00"
    return whole


def drawn(of: Any, chance: random.Random) -> list[Row]:
    """Return random rows with cells, some of them stale."""
    rows: list[Row] = []
    while not rows:
        rows = [row for row in rows_of(of, chance.choice((1, 2, 3, 10, 30)), chance) if row.cells]
    stale = chance.choice((0, 0, 0.1, 1))
    return [StaleRow(row.key, row.cells) if chance.random() < stale else row for row in rows]


def read(
    data: bytes, count: int, *, piece_bytes: int = 1 << 20, by: type[RowTakers] = CompiledRows
) -> list[Row] | str:
    """Read rows, by the compiled reader; return them, or the error's name."""
    reader = BinaryReader(incoming(data, piece_bytes), {})
    reader.row_takers = by()
    try:
        rows = read_results(reader, count, MAX_DEPTH)
        reader.incoming.end()
    except (GarbledAnswerError, EOFError) as error:
        return type(error).__name__
    return rows


def read_by_fields(data: bytes, count: int) -> list[Row] | str:
    """Read rows by Python; return them, or the error's name."""
    reader = BinaryReader(incoming(data, 1 << 20), {})
    try:
        rows = [_visible(reader.read_struct(DecodedResult(), MAX_DEPTH)) for _ in range(count)]
        reader.incoming.end()
    except (GarbledAnswerError, EOFError) as error:
        return type(error).__name__
    return rows


def _visible(result: DecodedResult) -> Row:
    row = result.row()
    if row is None:
        raise GarbledAnswerError
    return row


def _check_replies(seed: int, by: type[RowTakers]) -> None:
    chance = random.Random(seed)
    of = kind(chance)
    encoded = 0
    for _ in range(REPLIES):
        rows = drawn(of, chance)
        data, count = written(rows, chance), len(rows)

        got = read(data, count, piece_bytes=chance.choice((1 << 20, 1 << 20, 7, 100)), by=by)

        assert got == rows == read_by_fields(data, count)
        assert [type(row) is StaleRow for row in got] == [type(row) is StaleRow for row in rows]
        assert [list(row.columns) for row in got] == [list(row.cells) for row in rows]
        encoded += sum(isinstance(row, EncodedRow) for row in got)
    assert bool(encoded) == (by is CompiledRows)


def _check_garbled(seed: int, by: type[RowTakers], times: int) -> None:
    chance = random.Random(seed)
    of = kind(chance)
    for _ in range(times):
        rows = drawn(of, chance)
        data = bytearray(written(rows, chance))
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(len(data))
            wrong = chance.choice((*_WRONG, bytes([data[at] ^ 1 << chance.randint(0, 7)])))
            data[at : at + len(wrong)] = wrong
        assert read(bytes(data), len(rows), by=by) == read_by_fields(bytes(data), len(rows))


def _check_cuts(seed: int, by: type[RowTakers], replies: int) -> None:
    chance = random.Random(seed)
    of = kind(chance)
    for _ in range(replies):
        rows = drawn(of, chance)[:3]
        data = written(rows, chance)
        for length in range(0, len(data), max(1, len(data) // 2_000)):
            assert read(data[:length], len(rows), by=by) == "EOFError", length


@takers
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_same_however_they_are_read(seed: int, by: type[RowTakers]) -> None:
    _check_replies(seed, by)


@takers
@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_rows_of_many_tables_are_the_same_however_they_are_read(
    seed: int, by: type[RowTakers]
) -> None:
    _check_replies(seed, by)


@takers
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_taken_from_wrong_bytes_that_fields_would_not_show(
    seed: int, by: type[RowTakers]
) -> None:
    _check_garbled(seed, by, times=100)


@takers
@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_nothing_is_taken_from_many_wrong_bytes(seed: int, by: type[RowTakers]) -> None:
    _check_garbled(seed, by, times=100)


@takers
@pytest.mark.parametrize("seed", range(5))
def test_a_reply_cut_at_any_byte_is_an_error(seed: int, by: type[RowTakers]) -> None:
    _check_cuts(seed, by, replies=2)


@takers
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5, 25))
def test_many_replies_cut_at_any_byte_are_errors(seed: int, by: type[RowTakers]) -> None:
    _check_cuts(seed, by, replies=10)


@needs_compiled
@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 1_000])
@pytest.mark.parametrize("seed", range(3))
def test_a_row_that_arrives_in_pieces_is_read_by_the_compiled_reader(
    seed: int, piece_bytes: int
) -> None:
    chance = random.Random(seed)
    rows = [Row(row.key, row.cells) for row in drawn(kind(chance), chance)]
    data = written(rows, chance, odd=0)

    got = read(data, len(rows), piece_bytes=piece_bytes)

    assert got == rows
    assert all(isinstance(row, EncodedRow) for row in got)
