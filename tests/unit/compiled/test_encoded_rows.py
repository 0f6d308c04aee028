"""Rows whose cells stay encoded: their columns, values and timestamps in the order of the cells."""

from __future__ import annotations

import random

import pytest

from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.gateway.thrift.decoding.compiled_rows import CompiledRows
from hbase_orm.ops import Cell, Row
from tests.property.row_replies import read_by, written

pytestmark = pytest.mark.skipif(compiled_cells is None, reason="it was not built")

SMALL = {b"d:a": Cell(b"1", 7), b"d:b": Cell(b"", -1), b"e:": Cell(b"\xff" * 300, 2**63 - 1)}
OTHER = {b"d:a": Cell(b"2", 8), b"d:c": Cell(b"3", 9)}


def encoded(cells: dict[bytes, Cell]) -> EncodedRow:
    read = read_by(CompiledRows(), written([Row(b"k", cells)]), 1)
    assert isinstance(read, list)
    assert isinstance(read[0], EncodedRow)
    return read[0]


@pytest.mark.parametrize("before", [(), (b"d:a",), tuple(SMALL), (*SMALL, b"x:"), tuple(OTHER)])
@pytest.mark.parametrize("cells", [SMALL, OTHER], ids=["three cells", "two cells"])
def test_a_row_shows_its_columns_values_and_timestamps(
    cells: dict[bytes, Cell], before: tuple[bytes, ...]
) -> None:
    names, values, stamps = encoded(cells).parts(before)

    assert dict(zip(names, map(Cell, values, stamps), strict=True)) == cells
    assert list(names) == list(cells)
    assert (names is before) == (names == before)


def test_random_rows_show_what_their_cells_show() -> None:
    chance = random.Random(3)
    before: tuple[bytes, ...] = ()
    for _ in range(500):
        columns = chance.sample([b"d:%d" % n for n in range(5)], chance.randint(1, 5))
        cells = {c: Cell(chance.randbytes(chance.randint(0, 9)), 5) for c in columns}
        names, values, stamps = encoded(cells).parts(before)
        assert dict(zip(names, map(Cell, values, stamps), strict=True)) == cells
        before = names


@pytest.mark.parametrize("wrong", [b"\x00", b"\x00\x00\x00\x01d", b"\xff" * 40])
def test_bytes_that_are_no_cells_are_refused(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="no encoded cells"):
        EncodedRow(b"k", wrong).parts(())
