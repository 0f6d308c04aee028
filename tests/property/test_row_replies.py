"""Rows of random answers are the same however they are read, and so are the errors."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.gateway.thrift.decoding.compiled_rows import CompiledRows, RowTakers
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.ops import ListedRow
from tests.property.row_replies import (
    kind,
    read_by,
    read_by_cells,
    read_by_fields,
    read_by_thriftpy2,
    rows_of,
    written,
)

SEEDS = range(15)
REPLIES = 100
# 100 replies of each of so many tables.
SOAK_SEEDS = range(15, 1_015)

TAKERS = pytest.mark.parametrize(
    "new",
    [
        pytest.param(RowPatterns, id="patterns"),
        pytest.param(
            CompiledRows,
            id="compiled",
            marks=pytest.mark.skipif(compiled_cells is None, reason="it was not built"),
        ),
    ],
)

_WRONG = (b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x01\x00")


def _check_replies(new: Callable[[], RowTakers], seed: int) -> None:
    chance = random.Random(seed)
    of, takers = kind(chance), new()
    listed = 0
    for _ in range(REPLIES):
        rows = rows_of(of, chance.choice((1, 2, 3, 10, 30)), chance)
        data, count = written(rows), len(rows)
        pieces = chance.choice((1 << 20, 1 << 20, 7, 100))

        read = read_by(takers, data, count, piece_bytes=pieces)

        assert read == rows
        assert [list(row.columns) for row in read] == [list(row.cells) for row in rows]
        assert read == read_by_fields(data, count) == read_by_thriftpy2(data, count)
        assert read == read_by_cells(data, count)
        listed += sum(isinstance(row, (EncodedRow, ListedRow)) for row in read)
    assert of.odd or listed


def _check_garbled(new: Callable[[], RowTakers], seed: int, times: int) -> None:
    chance = random.Random(seed)
    of, takers = kind(chance), new()
    for _ in range(10):
        learned = rows_of(of, 30, chance)
        read_by(takers, written(learned), len(learned))
    for _ in range(times):
        rows = rows_of(of, chance.choice((1, 3, 10)), chance)
        data = bytearray(written(rows))
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(len(data))
            wrong = chance.choice((*_WRONG, bytes([data[at] ^ 1 << chance.randint(0, 7)])))
            data[at : at + len(wrong)] = wrong

        read = read_by(takers, bytes(data), len(rows))

        assert read == read_by_cells(bytes(data), len(rows))


@TAKERS
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_same_however_they_are_read(new: Callable[[], RowTakers], seed: int) -> None:
    _check_replies(new, seed)


@TAKERS
@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_rows_of_many_tables_are_the_same_however_they_are_read(
    new: Callable[[], RowTakers], seed: int
) -> None:
    _check_replies(new, seed)


@TAKERS
@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_taken_from_wrong_bytes_that_cells_would_not_show(
    new: Callable[[], RowTakers], seed: int
) -> None:
    _check_garbled(new, seed, times=100)


@TAKERS
@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_nothing_is_taken_from_many_wrong_bytes(new: Callable[[], RowTakers], seed: int) -> None:
    _check_garbled(new, seed, times=100)


def _check_cuts(new: Callable[[], RowTakers], seed: int, replies: int) -> None:
    chance = random.Random(seed)
    of, takers = kind(chance), new()
    for _ in range(10):
        read_by(takers, written(rows_of(of, 30, chance)), 30)
    for _ in range(replies):
        rows = rows_of(of, chance.choice((1, 2, 3)), chance)
        data = written(rows)
        step = max(1, len(data) // 2_000)
        for length in range(0, len(data), step):
            assert read_by(takers, data[:length], len(rows)) == "EOFError", length


@TAKERS
@pytest.mark.parametrize("seed", range(5))
def test_a_reply_cut_at_any_byte_is_an_error(new: Callable[[], RowTakers], seed: int) -> None:
    _check_cuts(new, seed, replies=2)


@TAKERS
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5, 25))
def test_many_replies_cut_at_any_byte_are_errors(new: Callable[[], RowTakers], seed: int) -> None:
    _check_cuts(new, seed, replies=10)
