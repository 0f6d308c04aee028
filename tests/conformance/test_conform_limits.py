"""Limits of names and sizes, and what every gateway refuses before anything is sent."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm.errors import (
    RejectedError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import (
    MAX_CELL_BYTES,
    MAX_ROW_KEY_BYTES,
    Append,
    CheckAndMutate,
    Delete,
    FamilyDescriptor,
    GetRows,
    GetVersions,
    Increment,
    KeyRange,
    MutateRow,
    MutateRows,
    Operation,
    Put,
    PutRows,
    PutStampedRows,
    RowMutation,
    Scan,
    Sleep,
    StampedRows,
    Together,
)
from tests.conformance.bench import Bench, Subject

PLAIN = FamilyDescriptor(b"d")


def test_the_longest_row_key_is_stored(bench: Bench) -> None:
    # So long a key is only found once the gateway knows its region: see ops.longest_row_key_bytes.
    bench.put_row(b"", {b"d:x": b"1"})
    key = bench.prefix.ljust(MAX_ROW_KEY_BYTES, b"k")
    bench.run(MutateRows(bench.table, (RowMutation(key, (Put(b"d:x", b"1"),)),)))

    found = bench.run(GetRows(bench.table, (key,)))[0]

    assert found is not None
    assert found.key == key


@pytest.mark.parametrize("key", [b"", b"k" * (MAX_ROW_KEY_BYTES + 1)], ids=["empty", "too long"])
def test_a_row_key_that_is_empty_or_too_long_is_refused(bench: Bench, key: bytes) -> None:
    put = RowMutation(key, (Put(b"d:x", b"1"),))
    requests: list[Operation[Any]] = [
        GetRows(bench.table, (bench.key(), key)),
        GetVersions(bench.table, key),
        MutateRows(bench.table, (put,)),
        PutRows(bench.table, (b"d:x",), ((bench.key(), b"1"), (key, b"1"))),
        PutStampedRows(
            bench.table,
            (StampedRows((b"d:x",), ((bench.key(), b"1"), (key, b"1")), ((1,), (1,))),),
        ),
        MutateRow(bench.table, put),
        Increment(bench.table, key, {b"d:n": 1}),
        Append(bench.table, key, {b"d:x": b"1"}),
        CheckAndMutate(bench.table, b"d:x", b"1", put),
    ]

    for request in requests:
        with pytest.raises(RejectedError):
            bench.run(request)


def test_one_unusable_row_key_keeps_the_whole_batch_from_being_sent(bench: Bench) -> None:
    good, bad = bench.mutation(Put(b"d:x", b"1")), RowMutation(b"", (Put(b"d:x", b"1"),))

    with pytest.raises(RejectedError):
        bench.run(MutateRows(bench.table, (good, bad)))

    assert bench.cells() == {}


@pytest.mark.parametrize(
    ("columns", "bad"),
    [
        ((b"d:x", b"d:y"), (None, None)),
        ((b"d:x", b"d:y"), (b"1",)),
        ((b"d:x", b"d:y"), (b"1", bytes(MAX_CELL_BYTES))),
        ((b"d:x", b"d"), (b"1", b"2")),
        ((b"d:x", b"d:x"), (b"1", b"2")),
    ],
    ids=["no cell", "too few values", "too large a cell", "no column", "a column twice"],
)
def test_one_unusable_flat_row_keeps_the_whole_batch_from_being_sent(
    bench: Bench, columns: tuple[bytes, ...], bad: tuple[bytes | None, ...]
) -> None:
    good = (bench.key(), b"1", b"2")

    with pytest.raises(RejectedError) as caught:
        bench.run(PutRows(bench.table, columns, (good, (bench.key(b"s"), *bad))))

    assert caught.value.fix
    assert bench.cells() == {}


@pytest.mark.parametrize(
    ("columns", "bad", "stamps"),
    [
        ((b"d:x", b"d:y"), (b"1",), (1, 1)),
        ((b"d:x", b"d:y"), (b"1", b"2"), (1,)),
        ((b"d:x", b"d:y"), (b"1", b"2"), (1, -1)),
        ((b"d:x", b"d:y"), (b"1", b"2"), (1, 2**63)),
        ((b"d:x", b"d:y"), (b"1", bytes(MAX_CELL_BYTES)), (1, 1)),
        ((b"d:x", b"d"), (b"1", b"2"), (1, 1)),
    ],
    ids=["no value", "no timestamp", "too early", "too late", "too large a cell", "no column"],
)
def test_one_unusable_stamped_row_keeps_the_whole_batch_from_being_sent(
    bench: Bench, columns: tuple[bytes, ...], bad: tuple[bytes, ...], stamps: tuple[int, ...]
) -> None:
    rows = ((bench.key(), b"1", b"2"), (bench.key(b"s"), *bad))

    with pytest.raises(RejectedError) as caught:
        bench.run(PutStampedRows(bench.table, (StampedRows(columns, rows, ((1, 1), stamps)),)))

    assert caught.value.fix
    assert bench.cells() == {}


def test_a_cell_just_below_ten_mebibytes_is_stored(bench: Bench) -> None:
    value = bytes(MAX_CELL_BYTES - 100)
    bench.put(b"d:x", value)

    assert bench.value(b"d:x") == value
    bench.delete(b"d:x")


def test_a_cell_above_ten_mebibytes_is_refused(bench: Bench) -> None:
    with pytest.raises(RejectedError):
        bench.put(b"d:x", bytes(MAX_CELL_BYTES))

    assert bench.cells() == {}


@pytest.mark.parametrize("column", [b"d", b"", b":x"])
def test_a_put_to_what_is_no_column_is_refused(bench: Bench, column: bytes) -> None:
    with pytest.raises(RejectedError):
        bench.put(column, b"1")
    with pytest.raises(RejectedError):
        bench.increment({column: 1})
    with pytest.raises(RejectedError):
        bench.append({column: b"1"})

    assert bench.cells() == {}


@pytest.mark.parametrize("column", [b"", b":x"])
def test_a_column_without_family_is_refused_in_reads_and_deletes(
    bench: Bench, column: bytes
) -> None:
    with pytest.raises(RejectedError):
        bench.values(column)
    with pytest.raises(RejectedError):
        bench.rows(columns=(column,))
    with pytest.raises(RejectedError):
        bench.delete(column)


def test_a_mutation_that_changes_nothing_is_refused(bench: Bench) -> None:
    nothing = RowMutation(bench.key())

    with pytest.raises(RejectedError):
        bench.run(MutateRow(bench.table, nothing))
    with pytest.raises(RejectedError):
        bench.run(MutateRows(bench.table, (nothing,)))


@pytest.mark.parametrize("request_", [Together(()), Sleep(0)])
def test_requests_of_the_driver_are_refused(subject: Subject, request_: Operation[Any]) -> None:
    with pytest.raises(RejectedError):
        subject.gateway.execute(request_)


@pytest.mark.feature(Feature.ATOMIC_ROW)
def test_a_table_may_refuse_puts_stamped_far_ahead(subject: Subject) -> None:
    table = subject.new_table(
        PLAIN, attributes={"hbase.hregion.keyvalue.timestamp.slop.millisecs": "7200000"}
    )
    bench = Bench(subject, table)
    far_ms = subject.now_ms() + 3 * 3_600_000
    try:
        with pytest.raises(RejectedError):
            bench.put(b"d:x", b"1", far_ms)
        bench.put(b"d:x", b"2", far_ms - 2 * 3_600_000)
        bench.mutate(Delete(b"d:y", far_ms), Put(b"d:z", b"3"))
        assert bench.values() == {b"d:x": b"2", b"d:z": b"3"}
    finally:
        subject.drop(table)


# --- what a gateway says of itself ----------------------------------------------------------------


def test_features_are_a_set_of_known_ones(subject: Subject) -> None:
    assert subject.gateway.features <= frozenset(Feature)


def test_a_scan_of_the_whole_table_needs_no_feature(bench: Bench) -> None:
    bench.put(b"d:x", b"1")

    assert bench.key() in {row.key for row in bench.scan(Scan(bench.table, KeyRange()))}
