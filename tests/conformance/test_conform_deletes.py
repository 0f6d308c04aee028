"""Deletes: what a tombstone covers, for how long, and how it is seen."""

from __future__ import annotations

import pytest

from hbase_orm.errors import FamilyNotFoundError, RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import Cell, Delete, GetRows, GetVersions, Put
from tests.conformance.bench import Bench, Subject

HOUR_MS = 3_600_000


def test_a_deleted_column_is_gone_and_others_stay(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"d:y": b"2"}, 1000)
    bench.delete(b"d:x")

    assert bench.values() == {b"d:y": b"2"}


def test_a_delete_removes_its_timestamp_and_everything_older(bench: Bench) -> None:
    for timestamp_ms in (10, 20, 30):
        bench.put(b"v:x", b"", timestamp_ms)
    bench.delete(b"v:x", 20)

    assert bench.versions(b"v:x") == [(b"v:x", 30, b"")]


def test_a_family_delete_removes_its_timestamp_and_everything_older(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 20)
    bench.put(b"v:y", b"2", 30)
    bench.put(b"d:z", b"3", 10)
    bench.delete(b"v", 20)

    assert bench.values() == {b"v:y": b"2", b"d:z": b"3"}


def test_a_family_delete_without_timestamp_removes_the_family_alone(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"d:": b"2", b"e:x": b"3"}, 1000)
    bench.delete(b"d")

    assert bench.values() == {b"e:x": b"3"}


def test_deleting_the_empty_qualifier_leaves_the_rest_of_the_family(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:": b"1", b"d:x": b"2"}, 1000)
    bench.delete(b"d:")

    assert bench.values() == {b"d:x": b"2"}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_several_columns_are_deleted_at_their_own_timestamps(bench: Bench) -> None:
    bench.put_row(b"r", {b"v:x": b"1", b"v:y": b"2"}, 20)
    mutation = bench.mutation(Delete(b"v:x", 19), Delete(b"v:y", 20))
    bench.run_rows(mutation)

    assert bench.values() == {b"v:x": b"1"}


def test_deleting_the_newest_of_a_one_version_family_does_not_bring_an_older_back(
    bench: Bench,
) -> None:
    bench.put(b"d:x", b"1", 1000)
    bench.put(b"d:x", b"2", 2000)
    bench.delete(b"d:x", 2000)

    assert bench.cells() == {}


def test_a_row_whose_cells_are_all_deleted_is_no_row(bench: Bench) -> None:
    bench.put(b"d:x", b"1", 1000)
    bench.delete(b"d:x")

    assert bench.run(GetRows(bench.table, (bench.key(),))) == [None]
    assert bench.keys() == []


def test_deleting_what_is_not_there_is_no_error(bench: Bench) -> None:
    bench.delete(b"d:x")
    bench.delete(b"d")

    assert bench.cells() == {}


def test_a_delete_of_an_unknown_family_is_refused(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.delete(b"nope:x")
    with pytest.raises(FamilyNotFoundError):
        bench.delete(b"nope")


def test_a_delete_with_a_negative_timestamp_is_refused(bench: Bench) -> None:
    with pytest.raises(RejectedError):
        bench.delete(b"d:x", -1)


def test_deleting_a_family_twice_in_one_mutation_is_refused(bench: Bench) -> None:
    twice = bench.mutation(Delete(b"d", 20), Delete(b"d", 10))

    with pytest.raises(RejectedError):
        bench.run_rows(twice)


# --- tombstones -----------------------------------------------------------------------------------


def test_a_tombstone_masks_a_later_put_at_its_timestamp(bench: Bench) -> None:
    bench.put(b"d:x", b"1", 100)
    bench.delete(b"d:x", 100)
    bench.put(b"d:x", b"2", 100)

    assert bench.cells() == {}


def test_a_tombstone_masks_a_later_put_below_it(bench: Bench) -> None:
    bench.delete(b"d:x", 100)
    bench.put(b"d:x", b"1", 99)

    assert bench.cells() == {}


def test_a_put_above_a_tombstone_is_seen(bench: Bench) -> None:
    bench.delete(b"d:x", 100)
    bench.delete(b"d", 100)
    bench.put(b"d:x", b"1", 101)

    assert bench.cells() == {b"d:x": Cell(b"1", 101)}


def test_a_family_tombstone_masks_later_puts_to_columns_that_did_not_exist(bench: Bench) -> None:
    bench.delete(b"d", 100)
    bench.put(b"d:new", b"1", 100)

    assert bench.cells() == {}


def test_a_delete_without_timestamp_masks_later_puts_with_an_older_one(bench: Bench) -> None:
    bench.delete(b"d:x")
    bench.put(b"d:x", b"1", 40)

    assert bench.cells() == {}


def test_a_tombstone_in_the_future_hides_puts_until_then(bench: Bench) -> None:
    bench.delete(b"d:x", bench.subject.now_ms() + HOUR_MS)
    bench.put(b"d:x", b"1")

    assert bench.cells() == {}


def test_a_tombstone_outlives_a_flush_and_dies_in_a_major_compaction(
    own_bench: Bench,
) -> None:
    bench = own_bench
    bench.put(b"d:x", b"1", 100)
    bench.delete(b"d:x", 100)
    bench.subject.flush(bench.table)
    bench.put(b"d:x", b"2", 100)
    assert bench.cells() == {}

    bench.subject.compact(bench.table)
    bench.put(b"d:x", b"3", 100)

    assert bench.cells() == {b"d:x": Cell(b"3", 100)}


def test_a_young_tombstone_outlives_a_major_compaction_where_the_table_says_so(
    subject: Subject,
) -> None:
    lasting = {"hbase.hstore.time.to.purge.deletes": "60000"}
    bench = Bench(subject, subject.new_table(attributes=lasting))
    now_ms = subject.now_ms()
    old_ms = now_ms - HOUR_MS
    bench.delete(b"d:x", now_ms)
    bench.delete(b"d", now_ms, row=b"whole")
    bench.delete(b"d:y", old_ms)

    subject.compact(bench.table)
    bench.put(b"d:x", b"late", now_ms)
    bench.put(b"d:x", b"late", now_ms, row=b"whole")
    bench.put(b"d:y", b"late", old_ms)

    assert bench.cells() == {b"d:y": Cell(b"late", old_ms)}
    assert bench.cells(row=b"whole") == {}
    subject.drop(bench.table)


def test_what_a_tombstone_masks_is_gone_for_good_after_a_major_compaction(
    own_bench: Bench,
) -> None:
    bench = own_bench
    bench.put(b"v:x", b"1", 100)
    bench.delete(b"v:x", 100)
    bench.subject.compact(bench.table)

    assert bench.versions() == []


# --- families that keep deleted cells --------------------------------------------------------------


def test_kept_deleted_cells_are_deleted_to_a_plain_read(bench: Bench) -> None:
    bench.put(b"k:x", b"1", 10)
    bench.delete(b"k:x", 20)

    assert bench.cells() == {}


def test_kept_deleted_cells_are_read_as_of_a_time_before_the_delete(bench: Bench) -> None:
    bench.put(b"k:x", b"1", 10)
    bench.delete(b"k:x", 20)

    assert bench.value(b"k:x", before_ms=20) == b"1"
    assert bench.value(b"k:x", before_ms=21) is None


def test_without_kept_deleted_cells_a_read_as_of_before_the_delete_finds_nothing(
    bench: Bench,
) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.delete(b"v:x", 20)

    assert bench.value(b"v:x", before_ms=20) is None


def test_kept_deleted_cells_outlive_a_major_compaction(own_bench: Bench) -> None:
    bench = own_bench
    bench.put(b"k:x", b"1", 10)
    bench.delete(b"k:x", 20)
    bench.subject.compact(bench.table)

    assert bench.value(b"k:x", before_ms=20) == b"1"
    assert bench.cells() == {}


# --- raw reads ------------------------------------------------------------------------------------


@pytest.mark.feature(Feature.RAW_READ)
def test_a_raw_read_shows_tombstones_and_what_they_mask(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.delete(b"v:x", 20)
    bench.put(b"v:x", b"2", 30)
    bench.delete(b"e", 40)

    assert bench.raw() == (
        (b"e:", 40, "delete_family", b""),
        (b"v:x", 30, "put", b"2"),
        (b"v:x", 20, "delete_column", b""),
        (b"v:x", 10, "put", b"1"),
    )


@pytest.mark.feature(Feature.RAW_READ)
def test_at_one_timestamp_a_raw_read_shows_the_tombstone_first(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.delete(b"v:x", 10)

    assert [cell.kind for cell in bench.raw(b"v")] == ["delete_column", "put"]


@pytest.mark.feature(Feature.RAW_READ)
def test_a_raw_read_of_a_family_leaves_out_the_others(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"e:x": b"2"}, 10)

    assert bench.raw(b"e") == ((b"e:x", 10, "put", b"2"),)


@pytest.mark.feature(Feature.RAW_READ)
def test_a_raw_read_of_a_missing_row_is_empty(bench: Bench) -> None:
    assert bench.raw() == ()


@pytest.mark.feature(Feature.RAW_READ)
def test_after_a_major_compaction_a_raw_read_finds_nothing_deleted(
    own_bench: Bench,
) -> None:
    bench = own_bench
    bench.put(b"v:x", b"1", 10)
    bench.delete(b"v:x", 20)
    bench.put(b"v:x", b"2", 30)
    bench.subject.compact(bench.table)

    assert bench.raw() == ((b"v:x", 30, "put", b"2"),)


def test_a_raw_read_of_a_column_is_refused(bench: Bench) -> None:
    with pytest.raises(RejectedError):
        bench.run(GetVersions(bench.table, bench.key(), (b"d:x",), 1, raw=True))


# --- deletes and puts together --------------------------------------------------------------------


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_a_row_is_replaced_atomically_by_deletes_one_below_the_puts(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"d:y": b"2"}, 99)
    bench.mutate(Delete(b"d", 99), Put(b"d:x", b"3", 100))

    assert bench.cells() == {b"d:x": Cell(b"3", 100)}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_one_timestamp_for_delete_and_put_of_a_column_loses_the_put(bench: Bench) -> None:
    bench.mutate(Put(b"d:x", b"3", 100), Delete(b"d:x", 100))

    assert bench.cells() == {}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_without_timestamps_delete_and_put_of_a_column_in_one_mutation_lose_the_put(
    bench: Bench,
) -> None:
    bench.mutate(Delete(b"d:x"), Put(b"d:x", b"1"))

    assert bench.cells() == {}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_a_mutation_may_delete_some_columns_and_put_others(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"e:y": b"2"}, 99)
    bench.mutate(Delete(b"d:x", 100), Put(b"e:y", b"3", 100), Put(b"d:z", b"4", 100))

    assert bench.values() == {b"e:y": b"3", b"d:z": b"4"}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_a_mixed_mutation_with_an_unknown_family_changes_nothing(bench: Bench) -> None:
    bench.put(b"d:x", b"1", 10)

    with pytest.raises(FamilyNotFoundError):
        bench.mutate(Delete(b"d:x", 20), Put(b"nope:y", b"2", 30))

    assert bench.values() == {b"d:x": b"1"}


def test_a_mutation_of_puts_alone_needs_no_feature(bench: Bench) -> None:
    bench.mutate(Put(b"d:x", b"1", 10), Put(b"e:y", b"2", 10))

    assert bench.cells() == {b"d:x": Cell(b"1", 10), b"e:y": Cell(b"2", 10)}


def test_a_mutation_of_deletes_alone_needs_no_feature(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"e:y": b"2", b"e:z": b"3"}, 10)
    bench.mutate(Delete(b"d"), Delete(b"e:y"))

    assert bench.values() == {b"e:z": b"3"}
