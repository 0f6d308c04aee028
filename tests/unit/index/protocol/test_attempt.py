"""One try of a guarded write, worked out: timestamps, the row mutation, the entries."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from hbase_orm.errors import CatalogLeaseError, ClockError
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import Entry, GuardedTable, IndexTarget, RowBefore, RowChange
from hbase_orm.index.protocol.attempt import (
    DEAD_GUARD_TTL_MS,
    Attempt,
    check_clock,
    check_epoch,
    dead_entry_deletes,
    entries_to_put,
    entry_puts,
    newest_timestamp,
    next_timestamp,
    plan_attempt,
)
from hbase_orm.ops import Cell, Delete, MutateRows, Put, RowMutation, StoredVersion

OLD_NONCE, NONCE = b"o" * 8, b"n" * 8
GUARD = GuardCell(1, 100, OLD_NONCE)
TARGET = GuardedTable(
    "data",
    families=(b"d",),
    anchor=b"d:a",
    marker=None,
    counters=frozenset(),
    columns=frozenset((b"d:a", b"d:v", b"d:w")),
    indexes=(
        IndexTarget(
            "by_v",
            "idx",
            frozenset((b"d:v",)),
            lambda row, cells: frozenset({cells[b"d:v"] + row} if b"d:v" in cells else ()),
        ),
    ),
)
BEFORE = RowBefore(
    GUARD.encode(), GUARD, {b"d:a": Cell(b"x", 90), b"d:v": Cell(b"1", 100)}, newest_seen_ms=100
)
ABSENT = RowBefore(b"", None, {}, newest_seen_ms=0)


def plan(change: RowChange, before: RowBefore = BEFORE, target: GuardedTable = TARGET) -> Attempt:
    return plan_attempt(target, change, before, timestamp_ms=200, nonce=NONCE, epoch=1)


def guard_put(before: RowBefore, *, is_dead: bool = False) -> Put:
    ring = (OLD_NONCE,) if before.guard else (bytes(8),)
    return Put(b"_:g", GuardCell(1, 200, NONCE, ring, is_dead).encode(), 200)


def test_what_a_row_tells_is_the_newest_of_guard_cells_and_tombstones() -> None:
    tombstone = StoredVersion(b"d:", 7, "delete_family", b"")

    told = [
        newest_timestamp(GUARD, (), ()),
        newest_timestamp(GUARD, (Cell(b"", 101),), ()),
        newest_timestamp(None, (Cell(b"", 5),), (tombstone,)),
        newest_timestamp(None, (), ()),
    ]

    assert told == [100, 101, 7, 0]


def test_the_next_timestamp_is_the_clock_but_above_what_was_told() -> None:
    assert (next_timestamp(200, 100), next_timestamp(50, 100)) == (200, 101)


def test_a_row_an_hour_ahead_of_the_clock_is_refused() -> None:
    check_clock("data", b"r", 3_600_000, 0)

    with pytest.raises(ClockError) as caught:
        check_clock("data", b"r", 3_600_001, 0)

    assert (caught.value.row, caught.value.ahead_ms) == (b"r", 3_600_001)


@pytest.mark.parametrize(("ahead_ms", "warnings"), [(60_000, 0), (60_001, 1)])
def test_a_row_a_minute_ahead_of_the_clock_is_warned_of(
    caplog: pytest.LogCaptureFixture, ahead_ms: int, warnings: int
) -> None:
    with caplog.at_level(logging.WARNING, "hbase_orm.index"):
        check_clock("data", b"r", ahead_ms, 0)

    assert len(caplog.records) == warnings


def test_a_row_of_a_newer_epoch_is_not_written() -> None:
    newer = replace(BEFORE, guard=replace(GUARD, epoch=2))

    with pytest.raises(CatalogLeaseError) as caught:
        check_epoch("data", newer, 1)

    assert (caught.value.row_epoch, caught.value.own_epoch) == (2, 1)


def test_rows_of_this_or_an_older_epoch_or_none_are_written() -> None:
    for before in (BEFORE, ABSENT):
        check_epoch("data", before, 1)

    check_epoch("data", BEFORE, 2)


def test_a_put_writes_its_columns_clears_and_the_guard_at_one_timestamp() -> None:
    change = RowChange(b"r", {b"d:w": b"2"}, clears=frozenset((b"d:v",)))

    assert plan(change).mutation == RowMutation(
        b"r",
        puts=(Put(b"d:w", b"2", 200), guard_put(BEFORE)),
        deletes=(Delete(b"d:v", 200),),
    )


def test_a_put_s_row_afterwards_is_the_old_one_changed() -> None:
    change = RowChange(b"r", {b"d:w": b"2"}, clears=frozenset((b"d:v",)))

    attempt = plan(change)

    assert attempt.cells == {b"d:a": b"x", b"d:w": b"2"}
    assert attempt.old_entries == {Entry("idx", b"1r")}
    assert attempt.new_entries == frozenset()


def test_a_replace_leaves_what_it_puts_and_no_entry_of_what_was_there() -> None:
    attempt = plan(RowChange(b"r", {b"d:a": b"y"}, kind="replace"))

    assert attempt.cells == {b"d:a": b"y"}
    assert attempt.old_entries == {Entry("idx", b"1r")}
    assert attempt.new_entries == frozenset()
    assert attempt.mutation.deletes == (Delete(b"d", 199),)
    assert attempt.mutation.puts == (Put(b"d:a", b"y", 200), guard_put(BEFORE))


def test_a_version_counts_on_from_the_row_that_was_read() -> None:
    counted = replace(TARGET, version=b"d:n")
    before = replace(BEFORE, cells={**BEFORE.cells, b"d:n": Cell((7).to_bytes(8, "big"), 100)})
    change = RowChange(b"r", {b"d:a": b"y"})

    numbers = [
        int.from_bytes(plan(change, each, counted).cells[b"d:n"], "big")
        for each in (before, BEFORE, ABSENT)
    ]

    assert numbers == [8, 1, 1]


def test_only_new_entries_are_put() -> None:
    moved = plan(RowChange(b"r", {b"d:v": b"2"}))
    kept = plan(RowChange(b"r", {b"d:w": b"2"}))

    assert entries_to_put(TARGET, moved) == {Entry("idx", b"2r")}
    assert entries_to_put(TARGET, kept) == frozenset()


def test_a_table_that_expires_has_its_keys_and_entries_renewed() -> None:
    target = replace(TARGET, expires=True)

    attempt = plan(RowChange(b"r", {b"d:w": b"2"}), target=target)

    assert attempt.mutation.puts == (
        Put(b"d:a", b"x", 200),
        Put(b"d:v", b"1", 200),
        Put(b"d:w", b"2", 200),
        guard_put(BEFORE),
    )
    assert entries_to_put(target, attempt) == {Entry("idx", b"1r")}


def test_a_cleared_column_is_not_renewed() -> None:
    change = RowChange(b"r", {}, clears=frozenset((b"d:v",)))

    attempt = plan(change, target=replace(TARGET, expires=True))

    assert attempt.mutation.puts == (Put(b"d:a", b"x", 200), guard_put(BEFORE))


def test_a_model_without_an_anchor_puts_its_marker() -> None:
    target = replace(TARGET, anchor=None, marker=b"d:_0")

    attempt = plan(RowChange(b"r", {b"d:v": b"1"}), ABSENT, target)

    assert attempt.mutation.puts == (
        Put(b"d:_0", b"x", 200),
        Put(b"d:v", b"1", 200),
        guard_put(ABSENT),
    )


def test_a_delete_leaves_a_dead_guard_that_expires_and_uncovers_nothing() -> None:
    attempt = plan(RowChange(b"r", {}, kind="delete"))

    assert attempt.mutation == RowMutation(
        b"r",
        puts=(guard_put(BEFORE, is_dead=True),),
        deletes=(Delete(b"d", 199), Delete(b"_:g", 199)),
        ttl_ms=DEAD_GUARD_TTL_MS,
    )
    assert (attempt.cells, attempt.new_entries) == ({}, frozenset())


def test_a_delete_lists_the_columns_of_a_family_with_counters() -> None:
    target = replace(
        TARGET,
        families=(b"c", b"d"),
        counters=frozenset((b"c:hits",)),
        columns=TARGET.columns | {b"c:plain"},
    )
    cells = {**BEFORE.cells, b"c:dynamic": Cell(b"", 90), b"c:hits": Cell(b"", 150)}

    attempt = plan(RowChange(b"r", {}, kind="delete"), replace(BEFORE, cells=cells), target)

    assert attempt.mutation.deletes == (
        Delete(b"c:dynamic", 199),
        Delete(b"c:plain", 199),
        Delete(b"c:hits", None),
        Delete(b"d", 199),
        Delete(b"_:g", 199),
    )


def test_a_delete_lists_the_marker_beside_counters() -> None:
    target = replace(
        TARGET, anchor=None, marker=b"d:_0", counters=frozenset((b"d:n",)), columns=frozenset()
    )

    attempt = plan(RowChange(b"r", {}, kind="delete"), ABSENT, target)

    assert attempt.mutation.deletes == (
        Delete(b"d:_0", 199),
        Delete(b"d:n", None),
        Delete(b"_:g", 199),
    )


def test_entries_are_put_and_deleted_in_one_batch_for_each_table() -> None:
    entries = (Entry("j", b"3"), Entry("i", b"2"), Entry("i", b"1"))
    put, delete = (Put(b"d:", b"", 7),), (Delete(b"d:", 7),)

    assert entry_puts(entries, 7) == (
        MutateRows("i", (RowMutation(b"1", puts=put), RowMutation(b"2", puts=put))),
        MutateRows("j", (RowMutation(b"3", puts=put),)),
    )
    assert dead_entry_deletes(entries[:1], 7) == (
        MutateRows("j", (RowMutation(b"3", deletes=delete),)),
    )
