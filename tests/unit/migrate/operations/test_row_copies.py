"""Copies of rows, their batches, and the digest of tables."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.binding.table_moves.column_places import Place
from hbase_orm.migrate.operations.rows.row_copies import (
    BATCH_ROWS,
    CellCopier,
    RowCopy,
    RowsDigest,
    digest_of,
    grouped,
    ordered,
    puts,
    stored_copy,
)
from hbase_orm.ops import Cell, Row, StoredVersion

cells = st.lists(
    st.tuples(st.sampled_from((b"d:a", b"d:b", b"e:")), st.integers(0, 9), st.binary(max_size=2)),
    min_size=1,
    max_size=5,
    unique_by=lambda cell: cell[:2],
)
copies = st.builds(ordered, st.sampled_from((b"r", b"s", b"t")), cells)


def digest(rows: Sequence[RowCopy]) -> RowsDigest:
    return digest_of(grouped(rows))


@given(st.lists(copies, max_size=6), st.lists(copies, max_size=6), st.randoms())
def test_digests_are_equal_exactly_if_the_rows_are_in_any_order(
    rows: list[RowCopy], others: list[RowCopy], random: Random
) -> None:
    shuffled = random.sample(rows, len(rows))

    assert digest(shuffled) == digest(rows)
    assert (digest(others) == digest(rows)) == (sorted(others) == sorted(rows))
    assert digest(rows).plus(digest(others)) == digest([*rows, *others])
    assert RowsDigest.decode(digest(rows).encode()) == digest(rows)


def test_a_digest_tells_bytes_that_only_moved() -> None:
    rows = [ordered(b"r", [(b"d:a", 1, b"12"), (b"d:b", 1, b"3")])]

    for key, other in (
        (b"r", [(b"d:a", 1, b"1"), (b"d:b", 1, b"23")]),
        (b"r1", [(b"d:a", 1, b"2"), (b"d:b", 1, b"3")]),
        (b"r", [(b"d:a", 1, b"12"), (b"d:c", 1, b"3")]),
        (b"r", [(b"d:a", 1, b"12"), (b"d:b", 2, b"3")]),
    ):
        assert digest([ordered(key, other)]) != digest(rows)


def test_values_that_two_rows_exchanged_change_the_digest() -> None:
    def made(first: bytes, second: bytes) -> list[RowCopy]:
        return [ordered(b"r", [(b"d:a", 1, first)]), ordered(b"s", [(b"d:a", 1, second)])]

    assert digest(made(b"1", b"2")) != digest(made(b"2", b"1"))


@given(st.binary(min_size=1, max_size=2), cells)
def test_newest_cells_and_versions_are_copied_to_the_same_places(
    key: bytes, stored: list[tuple[bytes, int, bytes]]
) -> None:
    newest = list({cell[0]: cell for cell in stored}.values())
    places: dict[bytes, Place] = {b"d:a": (b"x:a", bytes.upper), b"e:": (b"d:e", lambda data: data)}
    copier = CellCopier(places.get)
    row = Row(key, {column: Cell(value, ms) for column, ms, value in newest})

    copy = copier.newest(key, row)

    assert copy == copier.newest(key, row), "from the kept layout"
    assert copy == copier.versions(key, [StoredVersion(c, ms, "put", v) for c, ms, v in newest])
    assert copy == ordered(
        key, [(places[c][0], ms, places[c][1](v)) for c, ms, v in newest if c in places]
    )
    assert stored_copy(row) == ordered(key, newest)


def test_versions_are_in_the_order_in_which_they_are_read() -> None:
    copy = ordered(b"r", [(b"d:b", 1, b"1"), (b"d:a", 1, b"2"), (b"d:a", 3, b"3")])

    assert copy == RowCopy((b"d:a", b"d:a", b"d:b"), (b"r", b"3", b"2", b"1"), (3, 1, 1))


def test_batches_put_every_copy_once() -> None:
    rows = [ordered(b"%04d" % n, [(b"d:%d" % (n % 2), n, b"v")]) for n in range(BATCH_ROWS + 1)]

    batches = list(puts("t", rows))

    assert [sum(len(group.rows) for group in each.groups) for each in batches] == [BATCH_ROWS, 1]
    assert [len(each.groups) for each in batches] == [2, 1]
    sent = [row for each in batches for row in each.as_mutations().mutations]
    assert sorted(row.row for row in sent) == [row.row[0] for row in rows]
