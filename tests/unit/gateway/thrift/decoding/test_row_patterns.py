"""What patterns of rows learn, and what they take."""

from __future__ import annotations

import random

import pytest

from hbase_orm.gateway.thrift.decoding.row_patterns import (
    LONGEST_BYTES,
    MOST_COLUMNS,
    ROWS_TO_LEARN,
    RowPattern,
    RowPatterns,
)
from hbase_orm.ops import Cell, ListedRow, Row
from tests.property.row_replies import read_by, written

AB = RowPattern((b"d:a", b"d:b"), (1, None))


def row(key: bytes, **values: bytes) -> Row:
    return Row(key, {f"d:{name}".encode(): Cell(value, 7) for name, value in values.items()})


def taken(pattern: RowPattern, *rows: Row, most: int = 100) -> list[Row]:
    read: list[Row] = []
    data = b"##" + written(rows)
    position = pattern.take(data, 2, most, read)
    assert position == 2 + len(written(read))
    return read


def test_a_pattern_takes_rows_with_some_of_its_columns() -> None:
    rows = [row(b"1", a=b"x", b=b"yy"), row(b"2", b=b""), row(b"3", a=b"x"), row(b"4")]

    assert taken(AB, *rows) == rows
    assert taken(AB, *rows, most=2) == rows[:2]


@pytest.mark.parametrize(
    "other",
    [
        row(b"", a=b"x"),
        row(b"k" * (LONGEST_BYTES + 1), a=b"x"),
        row(b"k", a=b"xx"),
        row(b"k", b=b"x" * (LONGEST_BYTES + 1)),
        row(b"k", c=b"x"),
        row(b"k", a=b"x", c=b"x"),
        row(b"k", b=b"x", a=b"x"),
        # The bytes behind a value, in a value and in a key.
        row(b"k", b=b"x\n\x00\x02" + bytes(8) + b"\x00"),
        row(b"k\r\x00\x02\x0b\x0c\x00\x00\x00\x00", b=b"x"),
    ],
)
def test_a_pattern_takes_no_other_row(other: Row) -> None:
    usual = row(b"1", a=b"x", b=b"yy")

    assert taken(AB, usual, other, usual) == [usual]


def test_a_pattern_takes_no_row_that_is_not_there_completely() -> None:
    data = written([row(b"1", a=b"x", b=b"yy")])

    for length in range(len(data)):
        read: list[Row] = []
        assert AB.take(data[:length], 0, 1, read) == 0
        assert read == []


def learned(patterns: RowPatterns, rows: list[Row]) -> list[bool]:
    """Read an answer; return for each row whether a pattern took it."""
    read = read_by(patterns, written(rows), len(rows))
    assert read == rows
    return [isinstance(each, ListedRow) for each in read]


def test_a_pattern_is_learned_from_rows_and_kept_for_later_answers() -> None:
    patterns = RowPatterns()
    rows = [row(b"%d" % number, a=b"x", b=b"y") for number in range(ROWS_TO_LEARN)]

    assert not any(learned(patterns, rows))
    assert all(learned(patterns, [*rows, row(b"k", b=b"y")]))


def test_columns_and_lengths_that_appear_later_are_learned_too() -> None:
    patterns = RowPatterns()
    learned(patterns, [row(b"k", a=b"x", c=b"y")] * (2 * ROWS_TO_LEARN))
    later = [row(b"k", a=b"xx", b=b"z", c=b"y")] * (4 * ROWS_TO_LEARN)

    learned(patterns, later)

    assert all(learned(patterns, [*later, row(b"k", a=b"x", c=b"y")]))


def test_tables_without_common_columns_have_their_own_patterns() -> None:
    patterns = RowPatterns()
    one, other = row(b"k", a=b"x"), row(b"k", z=b"y")
    for _ in range(ROWS_TO_LEARN):
        learned(patterns, [one, other])

    assert learned(patterns, [one] * 8).count(True) >= 7
    assert learned(patterns, [other] * 8).count(True) >= 7
    assert len(patterns._shapes) == 2


def test_few_shapes_are_kept_and_none_of_many_columns() -> None:
    patterns = RowPatterns()
    wide = Row(b"k", {b"d:%03d" % n: Cell(b"", 1) for n in range(MOST_COLUMNS + 1)})

    learned(patterns, [wide] * (4 * ROWS_TO_LEARN))
    assert patterns._shapes == []

    for number in range(50):
        learned(patterns, [row(b"k", **{f"c{number}": b"x"})])
    assert len(patterns._shapes) <= 8


def test_rows_of_ever_other_columns_are_no_shape_of_all_of_them() -> None:
    chance = random.Random(1)
    patterns = RowPatterns()
    names = [f"c{number:03}" for number in range(1_000)]
    for _ in range(200):
        chosen = sorted(chance.sample(names, 3))
        learned(patterns, [row(b"k", **dict.fromkeys(["a", *chosen], b"x"))])

    assert max(len(shape.columns) for shape in patterns._shapes) <= 16
