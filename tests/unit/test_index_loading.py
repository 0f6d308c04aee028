"""Loaded rows: entries and data with their guards, the same bytes at every run."""

from __future__ import annotations

import pytest

from hbase_orm.errors import ValidationError
from hbase_orm.gateway.memory import MemoryGateway
from hbase_orm.index.guard_cell import GuardCell
from hbase_orm.index.loading import LoadedRow, LoadTicket, guarded_load
from hbase_orm.index.targets import RowChange
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.replays import V1, Bench
from tests.stepping import drive

TICKET = LoadTicket(timestamp_ms=100, nonce=b"n" * 8, epoch=1)
GUARD = GuardCell(1, 100, b"n" * 8, (bytes(8),))


@pytest.fixture
def bench() -> Bench:
    bench = Bench(MemoryGateway(lambda: 1_000), "t_", base_ms=200)
    bench.create_tables()
    return bench


def load(bench: Bench, loaded: LoadedRow) -> None:
    for table, mutations in loaded.entries.items():
        bench.gateway.execute(MutateRows(table, mutations))
    bench.gateway.execute(MutateRows(bench.target.table, (loaded.data,)))


def test_a_loaded_row_carries_its_guard_and_its_entries_the_ticket_s_timestamp(
    bench: Bench,
) -> None:
    loaded = guarded_load(bench.target, RowChange(b"row", {V1: b"A"}), TICKET)

    entry = RowMutation(b"A\x00row", puts=(Put(b"d:", b"", 100),))
    assert loaded == LoadedRow(
        entries={"t_idx": (entry,)},
        data=RowMutation(b"row", puts=(Put(V1, b"A", 100), Put(b"_:g", GUARD.encode(), 100))),
    )


def test_a_load_deletes_no_rows(bench: Bench) -> None:
    with pytest.raises(ValidationError):
        guarded_load(bench.target, RowChange(b"row", {}, kind="delete"), TICKET)


def test_a_load_that_is_run_again_over_later_writes_changes_nothing(bench: Bench) -> None:
    loaded = guarded_load(bench.target, RowChange(b"row", {V1: b"A"}), TICKET)
    load(bench, loaded)
    drive(bench.write({V1: b"B"}), bench.gateway)

    load(bench, loaded)
    counts = bench.repair()

    assert (bench.values(), bench.scrutiny().missing) == ({V1: b"B"}, ())
    assert counts.scanned == 1
