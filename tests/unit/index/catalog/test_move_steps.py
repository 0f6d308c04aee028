"""Moves in the catalog: phases one by one, what is refused meanwhile, and how they are stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import ConflictError, CorruptRowError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import catalog_descriptor, read_entry
from hbase_orm.index.catalog.entry import CatalogEntry, TableHold, TableState
from hbase_orm.index.catalog.index_steps import begin_build, stop_reading
from hbase_orm.index.catalog.move_phases import CatalogMove, Phase
from hbase_orm.index.catalog.move_steps import enter_phase, leave_move
from hbase_orm.index.catalog.registration import register, unregister
from hbase_orm.index.catalog.table_hold import take_hold
from hbase_orm.index.catalog.truncation_steps import begin_truncation
from hbase_orm.ops import CreateTable, Protocol
from tests.support.stepping import drive

OLD = CatalogMove(Phase.INDEXING, "new", is_old=True, new_key_table="old_new_keys")
HOLD = TableHold("id", "somebody", 1)


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    gateway.execute(CreateTable(catalog_descriptor()))
    drive(register("old", {"by_v": "old_ix_by_v: v"}, is_new=True), gateway)
    return gateway


def entry_of(gateway: MemoryGateway) -> CatalogEntry:
    entry = drive(read_entry("old"), gateway)
    assert entry is not None
    return entry


def test_each_phase_has_an_epoch_of_its_own_and_is_entered_once(gateway: MemoryGateway) -> None:
    before = entry_of(gateway)

    for number, phase in enumerate((Phase.INDEXING, Phase.PREPARED, Phase.MOVING, Phase.NEW), 1):
        for _ in range(2):
            entered = drive(enter_phase("old", replace(OLD, phase=phase)), gateway)
            assert entered == entry_of(gateway)
            assert entered.epoch == before.epoch + number
            assert entered.move == replace(OLD, phase=phase)
            assert entered.state is TableState.READABLE
            assert entered.indexes == before.indexes


@pytest.mark.parametrize(
    "wanted",
    [
        replace(OLD, phase=Phase.MOVING),
        replace(OLD, phase=Phase.GUARDED),
        replace(OLD, phase=Phase.PREPARED, other_table="another"),
        replace(OLD, phase=Phase.PREPARED, is_old=False),
        replace(OLD, phase=Phase.PREPARED, new_key_table=""),
    ],
)
def test_no_phase_is_left_out_and_no_other_move_begins(
    gateway: MemoryGateway, wanted: CatalogMove
) -> None:
    before = drive(enter_phase("old", OLD), gateway)

    with pytest.raises(ConflictError):
        drive(enter_phase("old", wanted), gateway)

    assert entry_of(gateway) == before


def test_a_move_is_left_until_rows_are_handed_over(gateway: MemoryGateway) -> None:
    before = entry_of(gateway)
    drive(enter_phase("old", OLD), gateway)
    drive(enter_phase("old", replace(OLD, phase=Phase.PREPARED)), gateway)

    left = [drive(leave_move("old"), gateway) for _ in range(2)]

    assert [each.move for each in left] == [None, None]
    assert {each.epoch for each in left} == {before.epoch + 3}
    for phase in (Phase.INDEXING, Phase.PREPARED, Phase.MOVING):
        drive(enter_phase("old", replace(OLD, phase=phase)), gateway)
    with pytest.raises(ConflictError, match="handed over"):
        drive(leave_move("old"), gateway)


WHILE_ROWS_MOVE: dict[str, Callable[[CatalogEntry], Protocol[Any]]] = {
    "build": lambda _: begin_build(
        "old", "by_v", "old_ix_by_v: v", (), is_manual=False, is_lww=False
    ),
    "drop of an index": lambda _: stop_reading("old", "by_v", is_lww=False),
    "truncation": lambda entry: begin_truncation("old", entry, {"by_v": 1}),
    "exclusive use": lambda _: take_hold("old", HOLD, 0.0),
}


@pytest.mark.parametrize("verb", WHILE_ROWS_MOVE)
def test_nothing_else_is_begun_while_rows_move(gateway: MemoryGateway, verb: str) -> None:
    before = drive(enter_phase("old", OLD), gateway)

    with pytest.raises(ConflictError, match="being moved"):
        drive(WHILE_ROWS_MOVE[verb](before), gateway)

    assert entry_of(gateway) == before


def test_a_move_begins_only_if_nothing_else_is_going_on(gateway: MemoryGateway) -> None:
    drive(stop_reading("old", "by_v", is_lww=False), gateway)

    with pytest.raises(ConflictError, match="built or dropped"):
        drive(enter_phase("old", OLD), gateway)

    assert entry_of(gateway).move is None


def test_a_move_that_has_ended_gives_way_to_another_one(gateway: MemoryGateway) -> None:
    for phase in (Phase.INDEXING, Phase.PREPARED, Phase.MOVING, Phase.NEW):
        drive(enter_phase("old", replace(OLD, phase=phase)), gateway)
    back = CatalogMove(Phase.INDEXING, "older", is_old=True)

    entered = drive(enter_phase("old", back), gateway)

    assert entered.move == back


def test_the_entry_of_a_dropped_table_has_no_move(gateway: MemoryGateway) -> None:
    drive(enter_phase("old", OLD), gateway)

    dropped = drive(unregister("old"), gateway)

    assert dropped is not None
    assert dropped.move is None


def test_entries_with_a_move_are_stored_so_that_earlier_releases_refuse_them(
    gateway: MemoryGateway,
) -> None:
    entry = drive(enter_phase("old", replace(OLD, floor_ms=7)), gateway)
    stored = json.loads(entry.encode())

    assert CatalogEntry.decode(entry.encode()) == entry
    assert stored["version"] == 5  # earlier releases know the versions 1 to 4
    assert stored["move"] == {
        "phase": "INDEXING",
        "other": "new",
        "old": True,
        "new keys": "old_new_keys",
        "floor": 7,
        "given up": False,
    }
    for damage in ({"phase": "UNHEARD OF"}, {"phase": 3}):
        stored["move"] |= damage
        with pytest.raises(CorruptRowError):
            CatalogEntry.decode(json.dumps(stored).encode())
