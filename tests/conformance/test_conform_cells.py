"""Cells: puts, versions, timestamps, and what a read of them shows."""

from __future__ import annotations

import pytest

from hbase_orm.errors import FamilyNotFoundError, RejectedError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import (
    Cell,
    Delete,
    GetRows,
    GetVersions,
    MutateRows,
    Put,
    PutRows,
    PutStampedRows,
    RowMutation,
    StampedRows,
)
from tests.conformance.bench import Bench

MAX_LONG = 2**63 - 1


def test_a_put_is_read_back_with_its_timestamp(bench: Bench) -> None:
    bench.put(b"d:x", b"one", 1000)

    assert bench.cells() == {b"d:x": Cell(b"one", 1000)}


def test_all_256_bytes_survive_in_key_qualifier_and_value(bench: Bench) -> None:
    every = bytes(range(256))
    bench.put(b"d:" + every, every, 1, row=every)

    assert bench.cells(row=every) == {b"d:" + every: Cell(every, 1)}


def test_a_put_without_timestamp_gets_the_servers_now(bench: Bench) -> None:
    before = bench.subject.now_ms()
    bench.put(b"d:x", b"one")
    after = bench.subject.now_ms()

    assert before <= bench.cells()[b"d:x"].timestamp_ms <= after


def test_timestamp_max_long_means_the_servers_now(bench: Bench) -> None:
    before = bench.subject.now_ms()
    bench.put(b"d:x", b"one", MAX_LONG)

    assert before <= bench.cells()[b"d:x"].timestamp_ms <= before + 60_000


def test_timestamp_zero_is_legal(bench: Bench) -> None:
    bench.put(b"d:x", b"one", 0)

    assert bench.cells() == {b"d:x": Cell(b"one", 0)}


def test_a_timestamp_just_below_max_long_wins_over_every_later_put(bench: Bench) -> None:
    bench.put(b"d:x", b"for good", MAX_LONG - 1)
    bench.put(b"d:x", b"later")

    assert bench.cells() == {b"d:x": Cell(b"for good", MAX_LONG - 1)}


@pytest.mark.parametrize("timestamp_ms", [-1, MAX_LONG + 1])
def test_a_timestamp_out_of_range_is_refused(bench: Bench, timestamp_ms: int) -> None:
    with pytest.raises(RejectedError):
        bench.put(b"d:x", b"one", timestamp_ms)


def test_at_equal_timestamps_the_last_write_wins(bench: Bench) -> None:
    bench.put(b"d:x", b"first", 1000)
    bench.put(b"d:x", b"second", 1000)

    assert bench.versions(b"d:x") == [(b"d:x", 1000, b"second")]


def test_at_equal_timestamps_the_last_write_wins_where_versions_are_kept(bench: Bench) -> None:
    bench.put(b"v:x", b"first", 1000)
    bench.put(b"v:x", b"second", 1000)

    assert bench.versions(b"v:x") == [(b"v:x", 1000, b"second")]


def test_of_one_column_twice_in_one_mutation_the_last_wins(bench: Bench) -> None:
    puts = (Put(b"d:x", b"first", 1000), Put(b"d:x", b"second", 1000))
    bench.run(MutateRows(bench.table, (RowMutation(bench.key(), puts),)))

    assert bench.value(b"d:x") == b"second"


def test_a_put_below_the_newest_timestamp_is_not_seen(bench: Bench) -> None:
    bench.put(b"d:x", b"newer", 2000)
    bench.put(b"d:x", b"older", 1000)

    assert bench.cells() == {b"d:x": Cell(b"newer", 2000)}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_each_put_of_a_row_may_have_its_own_timestamp(bench: Bench) -> None:
    puts = (Put(b"d:x", b"1", 10), Put(b"d:y", b"2", 20), Put(b"e:z", b"3", 30))
    bench.run(MutateRows(bench.table, (RowMutation(bench.key(), puts),)))

    assert bench.cells() == {
        b"d:x": Cell(b"1", 10),
        b"d:y": Cell(b"2", 20),
        b"e:z": Cell(b"3", 30),
    }


def test_an_empty_value_is_stored_as_such(bench: Bench) -> None:
    bench.put(b"d:x", b"", 1)

    assert bench.cells() == {b"d:x": Cell(b"", 1)}


def test_the_empty_qualifier_is_a_column(bench: Bench) -> None:
    bench.put(b"d:", b"empty name", 1)

    assert bench.values() == {b"d:": b"empty name"}
    assert bench.values(b"d:") == {b"d:": b"empty name"}


def test_a_qualifier_may_hold_colons(bench: Bench) -> None:
    bench.put(b"d:a:b", b"1", 1)

    assert bench.values(b"d:a:b") == {b"d:a:b": b"1"}


def test_a_put_of_an_unknown_family_is_refused(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.put(b"nope:x", b"1")


def test_a_mutation_with_one_unknown_family_writes_nothing_of_its_row(bench: Bench) -> None:
    with pytest.raises(FamilyNotFoundError):
        bench.put_row(b"r", {b"d:x": b"1", b"nope:x": b"2"})

    assert bench.cells() == {}


def test_in_a_batch_the_rows_beside_a_bad_one_are_written(bench: Bench) -> None:
    mutations = tuple(
        RowMutation(bench.key(row), (Put(column, b"1", 1),))
        for row, column in ((b"1", b"d:x"), (b"2", b"nope:x"), (b"3", b"d:x"))
    )

    with pytest.raises(FamilyNotFoundError):
        bench.run(MutateRows(bench.table, mutations))

    assert bench.keys() == [b"1", b"3"]


def test_after_a_failed_put_no_delete_of_the_batch_runs(bench: Bench) -> None:
    bench.put(b"d:x", b"stays", 1, row=b"1")
    mutations = (
        RowMutation(bench.key(b"1"), deletes=(Delete(b"d:x", 1),)),
        RowMutation(bench.key(b"2"), (Put(b"nope:x", b"1", 1),)),
    )

    with pytest.raises(FamilyNotFoundError):
        bench.run(MutateRows(bench.table, mutations))

    assert bench.values(row=b"1") == {b"d:x": b"stays"}


def test_a_batch_may_put_some_rows_and_delete_others(bench: Bench) -> None:
    bench.put(b"d:x", b"old", 1, row=b"1")
    mutations = (
        RowMutation(bench.key(b"1"), deletes=(Delete(b"d:x", 1),)),
        RowMutation(bench.key(b"2"), (Put(b"d:x", b"new", 1),)),
    )
    bench.run(MutateRows(bench.table, mutations))

    assert bench.keys() == [b"2"]


def test_puts_and_deletes_of_one_row_in_one_batch_are_refused(bench: Bench) -> None:
    mixed = RowMutation(bench.key(), (Put(b"d:x", b"1"),), (Delete(b"d:x"),))
    apart = (bench.mutation(Put(b"d:x", b"1")), bench.mutation(Delete(b"d:x")))

    for mutations in ((mixed,), apart):
        with pytest.raises(RejectedError):
            bench.run(MutateRows(bench.table, mutations))

    assert bench.cells() == {}


def test_an_empty_batch_does_nothing(bench: Bench) -> None:
    bench.run(MutateRows(bench.table, ()))

    assert bench.keys() == []


# --- versions -------------------------------------------------------------------------------------


def test_versions_come_newest_first_and_at_most_as_many_as_the_family_keeps(bench: Bench) -> None:
    for timestamp_ms in (10, 40, 20, 30):
        bench.put(b"v:x", b"%d" % timestamp_ms, timestamp_ms)

    assert bench.versions(b"v:x") == [
        (b"v:x", 40, b"40"),
        (b"v:x", 30, b"30"),
        (b"v:x", 20, b"20"),
    ]


def test_fewer_versions_come_when_fewer_are_asked_for(bench: Bench) -> None:
    for timestamp_ms in (10, 20, 30):
        bench.put(b"v:x", b"", timestamp_ms)

    assert bench.versions(b"v:x", most=2) == [(b"v:x", 30, b""), (b"v:x", 20, b"")]


def test_versions_of_a_bare_family_are_those_of_all_its_columns(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"v:x", b"2", 20)
    bench.put(b"v:y", b"3", 10)
    bench.put(b"d:z", b"4", 10)

    assert bench.versions(b"v") == [(b"v:x", 20, b"2"), (b"v:x", 10, b"1"), (b"v:y", 10, b"3")]


def test_versions_of_several_columns_come_in_column_order(bench: Bench) -> None:
    bench.put(b"v:y", b"1", 10)
    bench.put(b"v:x", b"2", 10)
    bench.put(b"d:z", b"3", 10)

    found = bench.versions(b"v:y", b"d:z", b"v:x")

    assert found == [(b"d:z", 10, b"3"), (b"v:x", 10, b"2"), (b"v:y", 10, b"1")]


def test_versions_without_columns_are_those_of_the_whole_row(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"d:z", b"2", 10)

    assert bench.versions() == [(b"d:z", 10, b"2"), (b"v:x", 10, b"1")]


def test_a_missing_row_has_no_versions(bench: Bench) -> None:
    assert bench.versions(b"v:x") == []


@pytest.mark.parametrize("most", [0, -1])
def test_a_number_of_versions_below_one_is_refused(bench: Bench, most: int) -> None:
    with pytest.raises(RejectedError):
        bench.versions(b"v:x", most=most)


def test_versions_of_an_unknown_family_are_refused(bench: Bench) -> None:
    bench.put(b"d:x", b"1")

    with pytest.raises(FamilyNotFoundError):
        bench.run(GetVersions(bench.table, bench.key(), (b"nope:x",), 1))


# --- reading rows ---------------------------------------------------------------------------------


def test_a_missing_row_is_none(bench: Bench) -> None:
    assert bench.run(GetRows(bench.table, (bench.key(),))) == [None]


def test_rows_come_in_the_order_asked_for_with_repeats_and_gaps(bench: Bench) -> None:
    bench.put(b"d:x", b"1", 1, row=b"a")
    bench.put(b"d:x", b"2", 1, row=b"b")
    names = (b"b", b"no", b"a", b"b")

    found = bench.run(GetRows(bench.table, tuple(bench.key(name) for name in names)))

    assert [row and row.cells[b"d:x"].value for row in found] == [b"2", None, b"1", b"2"]
    assert [row and row.key for row in found] == [
        bench.key(b"b"),
        None,
        bench.key(b"a"),
        bench.key(b"b"),
    ]


def test_no_keys_give_no_rows(bench: Bench) -> None:
    assert bench.run(GetRows(bench.table, ())) == []


def test_many_rows_come_in_one_request(bench: Bench) -> None:
    names = [b"%04d" % number for number in range(1500)]
    bench.run(
        MutateRows(
            bench.table,
            tuple(RowMutation(bench.key(name), (Put(b"d:x", name, 1),)) for name in names),
        )
    )

    found = bench.run(GetRows(bench.table, tuple(bench.key(name) for name in names)))

    assert [row and row.cells[b"d:x"].value for row in found] == names


def test_only_the_columns_asked_for_come(bench: Bench) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"d:y": b"2", b"e:z": b"3"})

    assert bench.values(b"d:y", b"e") == {b"d:y": b"2", b"e:z": b"3"}


@pytest.mark.parametrize("columns", [(b"d", b"d:x"), (b"d:x", b"d")])
def test_a_bare_family_beside_its_column_asks_for_the_whole_family(
    bench: Bench, columns: tuple[bytes, ...]
) -> None:
    bench.put_row(b"r", {b"d:x": b"1", b"d:y": b"2"})

    assert bench.values(*columns) == {b"d:x": b"1", b"d:y": b"2"}


def test_a_row_without_cells_in_the_columns_asked_for_is_none(bench: Bench) -> None:
    bench.put(b"d:x", b"1")

    assert bench.run(GetRows(bench.table, (bench.key(),), (b"d:y", b"e"))) == [None]


def test_a_read_of_an_unknown_family_is_refused(bench: Bench) -> None:
    bench.put(b"d:x", b"1")

    with pytest.raises(FamilyNotFoundError):
        bench.values(b"nope:x")


def test_a_multi_get_of_an_unknown_family_is_refused(bench: Bench) -> None:
    keys = (bench.key(b"a"), bench.key(b"b"))

    with pytest.raises(FamilyNotFoundError):
        bench.run(GetRows(bench.table, keys, (b"nope",)))


def test_a_read_before_a_timestamp_excludes_that_timestamp(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"v:x", b"2", 20)

    assert bench.value(b"v:x", before_ms=20) == b"1"
    assert bench.value(b"v:x", before_ms=21) == b"2"
    assert bench.cells(before_ms=10) == {}


@pytest.mark.feature(Feature.RAW_READ)
def test_a_read_from_a_timestamp_on_includes_that_timestamp(bench: Bench) -> None:
    bench.put(b"v:x", b"1", 10)
    bench.put(b"v:x", b"2", 20)
    bench.put(b"v:y", b"3", 15)

    assert bench.from_on(20) == {b"v:x": Cell(b"2", 20)}
    assert bench.from_on(15) == {b"v:x": Cell(b"2", 20), b"v:y": Cell(b"3", 15)}
    assert bench.from_on(10, 20) == {b"v:x": Cell(b"1", 10), b"v:y": Cell(b"3", 15)}
    assert bench.from_on(21) == bench.from_on(11, 15) == {}


def test_a_family_of_one_version_shows_an_older_one_as_of_before_until_it_is_flushed(
    own_bench: Bench,
) -> None:
    bench = own_bench
    bench.put(b"d:x", b"1", 10)
    bench.put(b"d:x", b"2", 20)

    assert bench.value(b"d:x", before_ms=20) == b"1"
    bench.subject.flush(bench.table)
    assert bench.value(b"d:x", before_ms=20) is None


@pytest.mark.parametrize("stamp_ms", [None, 7])
def test_flat_rows_put_what_they_hold_and_nothing_where_they_hold_nothing(
    bench: Bench, stamp_ms: int | None
) -> None:
    columns = (b"d:x", b"e:", b"d:y")
    bench.put(b"d:y", b"old", 3, row=b"b")
    rows = [(b"a", b"1", b"", b"3"), (b"b", b"1", b"2" * 300, None), (b"c", None, b"", None)]

    bench.run(
        PutRows(bench.table, columns, tuple((bench.key(k), *rest) for k, *rest in rows), stamp_ms)
    )

    assert bench.values(row=b"a") == {b"d:x": b"1", b"e:": b"", b"d:y": b"3"}
    assert bench.values(row=b"b") == {b"d:x": b"1", b"e:": b"2" * 300, b"d:y": b"old"}
    assert bench.values(row=b"c") == {b"e:": b""}
    stamps = {cell.timestamp_ms for row in (b"a", b"c") for cell in bench.cells(row=row).values()}
    assert stamp_ms is None or stamps == {stamp_ms}


def test_of_a_flat_row_that_stands_twice_the_later_one_wins(bench: Bench) -> None:
    rows = tuple((bench.key(), b"%d" % number, None) for number in range(10))

    bench.run(PutRows(bench.table, (b"d:x", b"d:y"), rows))
    bench.run(PutRows(bench.table, (b"d:x", b"d:y"), rows, 2**40))

    assert bench.values() == {b"d:x": b"9"}


def test_flat_rows_of_none_and_of_one_are_batches_too(bench: Bench) -> None:
    bench.run(PutRows(bench.table, (b"d:x",), ()))
    bench.run(PutRows(bench.table, (b"d:x",), ((bench.key(), b"1"),), 5))

    assert bench.cells() == {b"d:x": Cell(b"1", 5)}


def test_flat_rows_of_a_family_or_a_table_that_does_not_exist_are_refused(bench: Bench) -> None:
    one = ((bench.key(), b"1"),)

    with pytest.raises(FamilyNotFoundError):
        bench.run(PutRows(bench.table, (b"nope:x",), one))
    with pytest.raises(TableNotFoundError):
        bench.run(PutRows("nope", (b"d:x",), one))


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_stamped_rows_put_each_cell_at_its_own_timestamp(bench: Bench) -> None:
    a, b, c = (bench.key(name) for name in (b"a", b"b", b"c"))
    two = StampedRows(
        (b"d:x", b"e:"), ((a, b"1", b""), (b, b"2" * 5000, b"3")), ((1, 2), (3, 2**40))
    )
    versions = StampedRows((b"v:x", b"v:x"), ((c, b"new", b"old"),), ((9, 8),))

    bench.run(PutStampedRows(bench.table, (two, versions)))

    assert bench.cells(row=b"a") == {b"d:x": Cell(b"1", 1), b"e:": Cell(b"", 2)}
    assert bench.cells(row=b"b") == {b"d:x": Cell(b"2" * 5000, 3), b"e:": Cell(b"3", 2**40)}
    stored = bench.run(GetVersions(bench.table, c, max_versions=5))
    assert [(each.timestamp_ms, each.value) for each in stored] == [(9, b"new"), (8, b"old")]


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_stamped_rows_of_none_and_of_one_are_batches_too(bench: Bench) -> None:
    one = StampedRows((b"d:x",), ((bench.key(), b"1"),), ((5,),))

    bench.run(PutStampedRows(bench.table, ()))
    bench.run(PutStampedRows(bench.table, (StampedRows((b"d:x",), (), ()),)))
    bench.run(PutStampedRows(bench.table, (one,)))

    assert bench.cells() == {b"d:x": Cell(b"1", 5)}


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_stamped_rows_of_a_family_or_a_table_that_does_not_exist_are_refused(bench: Bench) -> None:
    one = StampedRows((b"nope:x",), ((bench.key(), b"1"),), ((5,),))

    with pytest.raises(FamilyNotFoundError):
        bench.run(PutStampedRows(bench.table, (one,)))
    with pytest.raises(TableNotFoundError):
        bench.run(PutStampedRows("nope", (one,)))
