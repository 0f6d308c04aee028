"""Rows of random answers are the same however they are read, and so are the errors."""

from __future__ import annotations

import random

import pytest

from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.ops import ListedRow
from tests.property.row_replies import (
    kind,
    read_by_cells,
    read_by_fields,
    read_by_patterns,
    read_by_thriftpy2,
    rows_of,
    written,
)

SEEDS = range(15)
REPLIES = 100
# 100 replies of each of so many tables.
SOAK_SEEDS = range(15, 1_015)

_WRONG = (b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x00\x01\x00")


def _check_replies(seed: int) -> None:
    chance = random.Random(seed)
    of, patterns = kind(chance), RowPatterns()
    listed = 0
    for _ in range(REPLIES):
        rows = rows_of(of, chance.choice((1, 2, 3, 10, 30)), chance)
        data, count = written(rows), len(rows)
        pieces = chance.choice((1 << 20, 1 << 20, 7, 100))

        read = read_by_patterns(data, count, patterns, piece_bytes=pieces)

        assert read == rows
        assert [list(row.columns) for row in read] == [list(row.cells) for row in rows]
        assert read == read_by_fields(data, count) == read_by_thriftpy2(data, count)
        assert read == read_by_cells(data, count)
        listed += sum(isinstance(row, ListedRow) for row in read)
    assert of.odd or listed


def _check_garbled(seed: int, times: int) -> None:
    chance = random.Random(seed)
    of = kind(chance)
    patterns = RowPatterns()
    for _ in range(10):
        learned = rows_of(of, 30, chance)
        read_by_patterns(written(learned), len(learned), patterns)
    for _ in range(times):
        rows = rows_of(of, chance.choice((1, 3, 10)), chance)
        data = bytearray(written(rows))
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(len(data))
            wrong = chance.choice((*_WRONG, bytes([data[at] ^ 1 << chance.randint(0, 7)])))
            data[at : at + len(wrong)] = wrong

        read = read_by_patterns(bytes(data), len(rows), patterns)

        assert read == read_by_cells(bytes(data), len(rows))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_same_however_they_are_read(seed: int) -> None:
    _check_replies(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_rows_of_many_tables_are_the_same_however_they_are_read(seed: int) -> None:
    _check_replies(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_patterns_take_nothing_from_wrong_bytes_that_cells_would_not_show(seed: int) -> None:
    _check_garbled(seed, times=100)


@pytest.mark.soak
@pytest.mark.parametrize("seed", SOAK_SEEDS)
def test_patterns_take_nothing_from_many_wrong_bytes(seed: int) -> None:
    _check_garbled(seed, times=100)


def _check_cuts(seed: int, replies: int) -> None:
    chance = random.Random(seed)
    of, patterns = kind(chance), RowPatterns()
    for _ in range(10):
        read_by_patterns(written(rows_of(of, 30, chance)), 30, patterns)
    for _ in range(replies):
        rows = rows_of(of, chance.choice((1, 2, 3)), chance)
        data = written(rows)
        step = max(1, len(data) // 2_000)
        for length in range(0, len(data), step):
            assert read_by_patterns(data[:length], len(rows), patterns) == "EOFError", length


@pytest.mark.parametrize("seed", range(5))
def test_a_reply_cut_at_any_byte_is_an_error(seed: int) -> None:
    _check_cuts(seed, replies=2)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5, 25))
def test_many_replies_cut_at_any_byte_are_errors(seed: int) -> None:
    _check_cuts(seed, replies=10)
