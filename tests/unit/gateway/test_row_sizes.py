"""How large rows are expected to be: as large as those seen last."""

from __future__ import annotations

import pytest

from hbase_orm.gateway import row_sizes as read_sizes
from hbase_orm.gateway.row_sizes import WHOLE_ROW_BYTES, ReadSizes
from hbase_orm.ops import Cell, GetRows, Row

NAMED = GetRows("t", (b"a", b"b"), (b"d:x",))


def row(size_bytes: int) -> Row:
    return Row(b"a", {b"d:x": Cell(bytes(size_bytes - len(b"d:x")), 1)})


@pytest.mark.parametrize(
    ("columns", "row_bytes"),
    [((b"d:x",), 0), ((b"d:x", b"e"), WHOLE_ROW_BYTES), ((), WHOLE_ROW_BYTES)],
)
def test_unknown_rows_are_taken_for_large_where_families_are_read_whole(
    columns: tuple[bytes, ...], row_bytes: int
) -> None:
    assert ReadSizes().expected_bytes(GetRows("t", (b"a", b"b"), columns)) == row_bytes * 2


def test_the_mean_of_the_rows_last_found_is_expected_of_each() -> None:
    sizes = ReadSizes()

    sizes.note(NAMED, [row(9000)])
    sizes.note(NAMED, [row(100), None, row(300)])
    sizes.note(NAMED, [None])

    assert sizes.expected_bytes(NAMED) == 200 * 2
    assert sizes.expected_bytes(GetRows("other", (b"a",), (b"d:x",))) == 0
    assert repr(sizes) == "ReadSizes({('t', (b'd:x',)): 200})"


def test_it_does_not_grow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_sizes, "_MOST_KINDS", 2)
    sizes = ReadSizes()

    for number in range(3):
        sizes.note(GetRows(f"t{number}", (b"a",), (b"d:x",)), [row(100)])

    assert repr(sizes) == "ReadSizes({('t2', (b'd:x',)): 100})"
