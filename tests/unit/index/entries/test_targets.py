"""Which rows exist, which entries they have, and which changes are refused before a request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hbase_orm.errors import ConfigurationError, HBaseORMError, ValidationError
from hbase_orm.index.entries.change_checks import check_change
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    Entry,
    GuardedTable,
    IndexTarget,
    RowChange,
    with_guard,
)

INDEX = IndexTarget(
    "by_v",
    "idx",
    frozenset((b"d:v",)),
    lambda row, cells: frozenset({cells.get(b"d:v", b"null") + b"/" + row}),
)
ANCHORED = GuardedTable(
    "data",
    families=(b"d", b"e"),
    anchor=b"d:a",
    marker=None,
    counters=frozenset((b"e:hits",)),
    columns=frozenset((b"d:a", b"d:v", b"e:x")),
    indexes=(INDEX,),
)
MARKED = replace(ANCHORED, anchor=None, marker=b"d:_0")


@pytest.mark.parametrize("anchor", [None, b"d:a"])
def test_a_table_has_an_anchor_or_a_marker(anchor: bytes | None) -> None:
    with pytest.raises(ConfigurationError):
        replace(ANCHORED, anchor=anchor, marker=anchor)


def test_a_row_exists_exactly_when_its_anchor_is_visible() -> None:
    assert [ANCHORED.exists(cells) for cells in ({b"d:a": b""}, {b"d:v": b""}, {})] == [
        True,
        False,
        False,
    ]


def test_without_an_anchor_any_cell_but_a_counter_makes_a_row() -> None:
    assert [MARKED.exists(cells) for cells in ({b"d:v": b""}, {b"e:hits": b""}, {})] == [
        True,
        False,
        False,
    ]


def test_a_row_that_does_not_exist_has_no_entries() -> None:
    assert ANCHORED.entries(b"r", {b"d:v": b"1"}) == frozenset()


def test_a_row_has_the_entries_its_indexes_say() -> None:
    assert ANCHORED.entries(b"r", {b"d:a": b"", b"d:v": b"1"}) == {Entry("idx", b"1/r")}


def test_a_put_reads_what_it_touches_the_anchor_the_keys_and_the_guard() -> None:
    change = RowChange(b"r", {b"e:x": b""}, clears=frozenset((b"e:y",)))

    assert ANCHORED.read_columns(change) == (b"d:a", b"d:v", b"e:x", b"e:y", GUARD_COLUMN)


def test_without_an_anchor_a_put_reads_whole_families() -> None:
    assert MARKED.read_columns(RowChange(b"r", {b"e:x": b""})) == (b"d", b"e", GUARD_COLUMN)


def test_a_delete_reads_whole_families() -> None:
    assert ANCHORED.read_columns(RowChange(b"r", {}, kind="delete")) == (
        b"d",
        b"e",
        GUARD_COLUMN,
    )


def test_a_column_of_a_family_that_is_read_whole_is_not_named() -> None:
    assert with_guard(frozenset((b"d", b"d:a", b"e:b"))) == (b"d", b"e:b", GUARD_COLUMN)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (RowChange(b"r", {}, ttl_ms=1), ConfigurationError),
        (RowChange(b"r", {b"d:a": b""}, kind="delete"), ValidationError),
        (RowChange(b"r", {}, clears=frozenset((b"d:v",)), kind="delete"), ValidationError),
        (RowChange(b"r", {b"e:hits": b""}), ValidationError),
        (RowChange(b"r", {}, clears=frozenset((b"e:hits",))), ValidationError),
        (RowChange(b"r", {b"_:g": b""}), ValidationError),
        (RowChange(b"r", {b"d:v": b""}, clears=frozenset((b"d:v",))), ValidationError),
    ],
)
def test_a_change_the_protocol_cannot_carry_is_refused(
    change: RowChange, error: type[HBaseORMError]
) -> None:
    with pytest.raises(error) as caught:
        check_change(ANCHORED, change)

    assert caught.value.table == "data"
