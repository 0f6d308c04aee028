"""Reindexing a row: all its entries and its guard again, and not a cell of its data."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hbase_orm.errors import RowNotFoundError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GuardedTable, RowChange
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.ops import Delete, GetRows, MutateRows, Put, RowMutation
from tests.support.replays import V1, V2, Bench, all_rows
from tests.support.stepping import Fault, StepController, drive

ENTRY = b"A\x00row"


@pytest.fixture
def bench() -> Bench:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", base_ms=900_000)
    bench.create_tables()
    return bench


def reindex(bench: Bench, target: GuardedTable | None = None, epoch: int = 1) -> None:
    change = RowChange(bench.row, kind="reindex")
    context = replace(bench.context(50), permit=lambda _: epoch)
    drive(guarded_write(target or bench.target, change, context), bench.gateway)


def entries(bench: Bench) -> list[bytes]:
    return [row.key for row in drive(all_rows(bench.index.table), bench.gateway)]


def timestamps(bench: Bench) -> dict[bytes, int]:
    (row,) = bench.gateway.execute(GetRows(bench.target.table, (bench.row,)))
    assert row is not None
    return {column: cell.timestamp_ms for column, cell in row.cells.items()}


def without_entries(bench: Bench) -> Bench:
    drive(bench.write({V1: b"A", V2: b"1"}), bench.gateway)
    gone = RowMutation(ENTRY, deletes=(Delete(b"d", 900_010),))
    bench.gateway.execute(MutateRows(bench.index.table, (gone,)))
    assert entries(bench) == []
    return bench


def test_reindexing_puts_entries_that_the_row_should_have_and_has_not(bench: Bench) -> None:
    reindex(without_entries(bench))

    assert entries(bench) == [ENTRY]


@pytest.mark.parametrize("expires", [False, True])
def test_reindexing_renews_the_guard_and_no_cell_of_the_row(bench: Bench, *, expires: bool) -> None:
    target = replace(without_entries(bench).target, expires=expires, version=b"d:version")

    reindex(bench, target, epoch=7)

    (row,) = bench.gateway.execute(GetRows(target.table, (bench.row,)))
    assert row is not None
    assert timestamps(bench) == {V1: 900_010, V2: 900_010, b"_:g": 900_050}
    assert GuardCell.decode(row.cells[b"_:g"].value).epoch == 7


def test_reindexing_adopts_a_row_that_another_program_wrote(bench: Bench) -> None:
    raw = RowMutation(bench.row, puts=(Put(V1, b"A", 950_000),))
    bench.gateway.execute(MutateRows(bench.target.table, (raw,)))

    reindex(bench)

    assert entries(bench) == [ENTRY]
    assert timestamps(bench) == {V1: 950_000, b"_:g": 950_001}


def test_a_row_that_is_gone_is_not_reindexed(bench: Bench) -> None:
    with pytest.raises(RowNotFoundError):
        reindex(bench)

    assert bench.values() == {}


def test_reindexing_writes_no_data(bench: Bench) -> None:
    change = RowChange(bench.row, {V1: b"B"}, kind="reindex")

    with pytest.raises(ValidationError, match="a reindex cannot write columns"):
        drive(guarded_write(bench.target, change, bench.context()), bench.gateway)


def test_a_write_that_read_the_row_before_it_was_reindexed_does_not_win(bench: Bench) -> None:
    drive(bench.write({V1: b"A"}), bench.gateway)
    steps = StepController(bench.gateway)
    unaware = replace(bench.target, indexes=())
    change = RowChange(bench.row, {V1: b"B"})
    steps.start("old", lambda g: drive(guarded_write(unaware, change, bench.context(20)), g))
    steps.step("old")  # it has read the row, and goes on without an index

    reindex(bench)
    steps.step("old", Fault.CRASH_LATE)

    assert steps.deliver() == [False]
    steps.close()
    assert bench.values() == {V1: b"A"}
