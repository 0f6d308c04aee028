"""Rows as gateways return them: those whose cells are made at their first use."""

from __future__ import annotations

import copy
import pickle
import struct

import pytest

from hbase_orm.ops import Cell, ListedRow, Row, StaleRow


def stamp(timestamp_ms: int) -> bytes:
    return struct.pack(">q", timestamp_ms)


def listed() -> ListedRow:
    fields = (b"", b"", b"", b"", b"x", stamp(7), None, None, None, b"", b"", stamp(-1))
    return ListedRow(b"r", (b"d:a", b"d:b", b"d:c"), fields)


PLAIN = Row(b"r", {b"d:a": Cell(b"x", 7), b"d:c": Cell(b"", -1)})


def test_a_listed_row_has_the_cells_of_its_fields() -> None:
    row = listed()

    assert row.cells == PLAIN.cells
    assert row.cells is row.cells


def test_a_listed_row_equals_a_row_with_these_cells_and_no_other() -> None:
    assert listed() == PLAIN
    assert PLAIN == listed()  # noqa: SIM300  # the other way round
    assert listed() == listed()
    assert listed() != Row(b"q", PLAIN.cells)
    assert listed() != Row(b"r", {})
    assert listed() != StaleRow(b"r", PLAIN.cells)
    assert repr(listed()) == repr(PLAIN)


@pytest.mark.parametrize("row", [listed(), PLAIN])
def test_a_row_knows_its_columns_and_its_size(row: Row) -> None:
    assert list(row.columns) == [b"d:a", b"d:c"]
    assert row.content_bytes == 1 + 3 + 1 + 3


def test_a_listed_row_without_gaps_has_all_columns() -> None:
    row = ListedRow(b"r", (b"d:a",), (b"", b"", b"", b"", b"x", stamp(7)))

    assert list(row.columns) == [b"d:a"]


@pytest.mark.parametrize("row", [listed(), PLAIN, StaleRow(b"r", PLAIN.cells)])
def test_a_row_with_other_cells_keeps_key_and_staleness(row: Row) -> None:
    other = row.with_cells({})

    assert (other.key, other.cells) == (b"r", {})
    assert isinstance(other, StaleRow) == isinstance(row, StaleRow)


def test_copies_and_pickles_of_a_listed_row_are_plain_rows() -> None:
    for made in (
        copy.copy(listed()),
        copy.deepcopy(listed()),
        pickle.loads(pickle.dumps(listed())),
    ):
        assert made == PLAIN
        assert type(made) is Row


def test_a_listed_row_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        listed().__getattr__("cell")
