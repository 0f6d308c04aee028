"""Entries that repeat columns: unverified before the row changes, verified after it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hbase_orm.errors import CorruptRowError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.targets import ENTRY_COLUMN, ENTRY_FAMILY
from hbase_orm.index.protocol.covering import UNVERIFIED, covering_cells, covering_puts
from hbase_orm.index.upkeep.repair import RepairCounts
from hbase_orm.ops import (
    Cell,
    CheckAndMutate,
    Delete,
    GetRows,
    GetVersions,
    MutateRows,
    Operation,
    Put,
)
from tests.support.replays import V1, V2, Bench, Kind
from tests.support.stepping import Fault, StepController, drive

READ, RAW, ENTRIES, CHANGE = GetRows, GetVersions, MutateRows, CheckAndMutate
AX = {V1: b"A", V2: b"X"}


@pytest.fixture
def bench() -> Bench:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", base_ms=900_000, is_covering=True)
    bench.create_tables()
    return bench


@pytest.fixture
def old_row(bench: Bench) -> Bench:
    drive(bench.write(AX, clock_ms=0), bench.gateway)
    return bench


def run(
    bench: Bench, puts: Mapping[bytes, bytes], faults: Mapping[int, Fault] | None = None
) -> list[Operation[Any]]:
    steps = StepController(bench.gateway)
    kind: Kind = "put" if puts else "delete"
    steps.start("W", lambda gateway: drive(bench.write(puts, kind=kind), gateway))
    number = 0
    while steps.next_request("W") is not None:
        steps.step("W", (faults or {}).get(number))
        number += 1
    steps.close()
    return steps.requests("W")


def copies(bench: Bench) -> dict[bytes, Mapping[bytes, bytes] | None]:
    """Return what each visible entry says of its row, by the entry's value."""
    keys = tuple(value + b"\x00" + bench.row for value in (b"A", b"B"))
    rows = bench.gateway.execute(GetRows(bench.index.table, keys))
    return {row.key[:1]: covering_cells((V2,), row.cells) for row in rows if row is not None}


def flags(request: Operation[Any]) -> dict[bytes, bytes]:
    """Return what a batch of entries puts into their flags, by the entry's value."""
    assert isinstance(request, MutateRows)
    return {
        mutation.row[:1]: put.value
        for mutation in request.mutations
        for put in mutation.puts
        if put.column == ENTRY_COLUMN
    }


def test_an_insert_puts_its_entry_unverified_and_verifies_it_after_the_change(
    bench: Bench,
) -> None:
    requests = run(bench, AX)

    assert [type(request) for request in requests] == [READ, RAW, ENTRIES, CHANGE, ENTRIES]
    assert (flags(requests[2]), flags(requests[4])) == ({b"A": UNVERIFIED}, {b"A": b"v\x01"})
    assert copies(bench) == {b"A": {V2: b"X"}}


def test_a_changed_key_unverifies_the_old_entry_and_deletes_all_its_cells(old_row: Bench) -> None:
    requests = run(old_row, {V1: b"B"})

    assert [type(request) for request in requests] == [READ, ENTRIES, CHANGE, ENTRIES]
    assert flags(requests[1]) == {b"A": UNVERIFIED, b"B": UNVERIFIED}
    assert flags(requests[3]) == {b"B": b"v\x01"}
    verified_and_deleted = requests[3]
    assert isinstance(verified_and_deleted, MutateRows)
    new, old = verified_and_deleted.mutations
    assert (new.row[:1], new.deletes) == (b"B", ())
    assert (old.row[:1], [each.column for each in old.deletes]) == (b"A", [ENTRY_FAMILY])
    assert copies(old_row) == {b"B": {V2: b"X"}}


def test_a_changed_copy_takes_the_same_round_though_the_key_stays(old_row: Bench) -> None:
    requests = run(old_row, {V2: b"Y"})

    assert [type(request) for request in requests] == [READ, ENTRIES, CHANGE, ENTRIES]
    assert copies(old_row) == {b"A": {V2: b"Y"}}


def test_a_write_that_changes_no_copy_leaves_the_entry_alone(old_row: Bench) -> None:
    requests = run(old_row, AX)

    assert [type(request) for request in requests] == [READ, CHANGE]


def test_a_delete_unverifies_the_entry_before_the_row_goes(old_row: Bench) -> None:
    requests = run(old_row, {})

    assert [type(request) for request in requests] == [READ, ENTRIES, CHANGE, ENTRIES]
    assert copies(old_row) == {}


@pytest.mark.parametrize(("crash_at", "kept"), [(2, b"A"), (3, b"B")], ids=["before", "after"])
def test_what_a_crash_beside_the_change_leaves_is_looked_up_until_it_is_repaired(
    old_row: Bench, crash_at: int, kept: bytes
) -> None:
    run(old_row, {V1: b"B"}, {crash_at: Fault.CRASH})
    before = copies(old_row)

    counts = old_row.repair()

    assert before == {b"A": None, b"B": None}
    assert counts == RepairCounts(scanned=2, verified=1, stale=1, repaired=1)
    assert copies(old_row) == {kept: {V2: b"X"}}
    assert old_row.repair() == RepairCounts(scanned=1, valid=1)


def test_a_column_that_is_absent_now_is_not_told_from_an_older_copy() -> None:
    entry = {ENTRY_COLUMN: Cell(b"v\x00", 9), b"d:" + V2: Cell(b"old", 5)}

    assert covering_cells((V2,), entry) == {}


def test_the_puts_of_a_copy_are_flag_and_values() -> None:
    puts = covering_puts((b"d:a", b"d:b", b"d:c"), {b"d:a": b"1", b"d:c": b"3"}, 7)

    assert puts == (Put(b"d:", b"v\x05", 7), Put(b"d:d:a", b"1", 7), Put(b"d:d:c", b"3", 7))


@pytest.mark.parametrize("columns", [1, 8, 9, 20])
def test_copies_come_back_as_they_were(columns: int) -> None:
    included = tuple(b"d:%d" % number for number in range(columns))
    cells = {column: column for column in included[::2]}
    entry = {put.column: Cell(put.value, 1) for put in covering_puts(included, cells, 1)}

    assert covering_cells(included, entry) == cells


@pytest.mark.parametrize("flag", [b"", b"u", None])
def test_an_entry_without_the_flag_is_not_believed(flag: bytes | None) -> None:
    entry = {} if flag is None else {ENTRY_COLUMN: Cell(flag, 1)}

    assert covering_cells((V2,), entry) is None


@pytest.mark.parametrize("flag", [b"v", b"v\x01", b"v\x02", b"v\x00\x00"])
def test_an_entry_that_repeats_other_columns_is_refused(flag: bytes) -> None:
    with pytest.raises(CorruptRowError):
        covering_cells((V2,), {ENTRY_COLUMN: Cell(flag, 1)})


def test_a_plain_entry_is_deleted_by_its_one_column() -> None:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", base_ms=900_000)
    bench.create_tables()
    drive(bench.write({V1: b"A"}, clock_ms=0), bench.gateway)

    deletes = run(bench, {V1: b"B"})[-1]

    assert isinstance(deletes, MutateRows)
    assert deletes.mutations[0].deletes == (Delete(ENTRY_COLUMN, 900_010),)
