"""Rows with real bytes move from a table to another one in memory, with versions and timestamps.

Readings are keyed by device; in the new table by region and device, and the unit has another name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    CorruptRowError,
    DuplicateRowError,
    RowMovedError,
)
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARD_COLUMN, RowBefore, RowChange
from hbase_orm.index.protocol.fence import fence
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.index.protocol.requests import read_before
from hbase_orm.index.upkeep.repair import EntryState, repair_entry
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.seal import seal_row
from hbase_orm.moving.virtual_reads import rows_of_entries
from hbase_orm.ops import Cell, GetVersions, KeyRange, Row
from tests.support.moved_readings import (
    BY_NAME,
    BY_UNIT,
    MOVE,
    NAME,
    REGION,
    VALUE,
    Tables,
    older_versions,
    readings_in_memory,
    to_new,
)


@pytest.fixture
def tables() -> Tables:
    tables = readings_in_memory()
    tables.write_old(b"d1", region=b"north", unit=b"K", v=b"1")
    tables.write_old(b"d2", region=b"east", unit=b"K", v=b"2")
    tables.write_old(b"d3", region=b"west", unit=b"m", v=b"3")
    return tables


NORTH, EAST, WEST = b"north\x00d1", b"east\x00d2", b"west\x00d3"


def test_a_row_is_handed_over_with_all_versions_at_their_timestamps(tables: Tables) -> None:
    tables.write_old(b"d1", v=b"11")
    before = tables.gateway.execute(GetVersions("old", b"d1", (b"d",), 9))

    tables.move_all()

    after = tables.gateway.execute(GetVersions("new", NORTH, (b"d",), 9))
    assert sorted(after) == sorted(older_versions(before))
    assert [version.value for version in after if version.column == VALUE] == [b"11", b"1"]


def test_a_cell_that_no_version_became_is_handed_over_with_older_versions(tables: Tables) -> None:
    def with_device(row: Row) -> Row:
        translated = to_new(row)
        return Row(translated.key, {**translated.cells, b"d:device": Cell(row.key, 7)})

    tables.write_old(b"d1", v=b"11")
    named = replace(MOVE, translation=replace(MOVE.translation, to_new=with_device))

    tables.run(move_page(named, KeyRange(), tables.context))

    after = tables.gateway.execute(GetVersions("new", NORTH, (b"d",), 9))
    assert [(v.timestamp_ms, v.value) for v in after if v.column == b"d:device"] == [(7, b"d1")]
    assert [version.value for version in after if version.column == VALUE] == [b"11", b"1"]


def test_without_older_versions_only_the_newest_cells_are_handed_over(tables: Tables) -> None:
    tables.write_old(b"d1", v=b"11")
    newest = replace(MOVE, translation=replace(MOVE.translation, older_versions=None))

    tables.run(move_page(newest, KeyRange(), tables.context))

    after = tables.gateway.execute(GetVersions("new", NORTH, (VALUE,), 9))
    assert [version.value for version in after] == [b"11"]


@pytest.mark.parametrize("phase", [Phase.PREPARED, Phase.MOVING])
def test_ranges_are_in_the_order_of_new_keys_though_half_of_the_rows_have_moved(
    tables: Tables, phase: Phase
) -> None:
    tables.write(Phase.MOVING, RowChange(EAST, {VALUE: b"22"}))

    assert tables.scan(phase) == [EAST, NORTH, WEST]
    assert tables.read(phase, EAST, NORTH) == [
        {REGION: b"east", NAME: b"K", VALUE: b"22"},
        {REGION: b"north", NAME: b"K", VALUE: b"1"},
    ]


def test_the_new_table_s_index_has_the_rows_of_both_tables(tables: Tables) -> None:
    tables.write(Phase.MOVING, RowChange(EAST, {VALUE: b"22"}))
    entries = {b"K\x00" + key: key for key in (EAST, NORTH, WEST)}

    steps = rows_of_entries(MOVE, Phase.MOVING, BY_NAME, entries, tables.context)

    assert tables.run(steps).keys() == {b"K\x00" + EAST, b"K\x00" + NORTH}


def test_a_deleted_row_does_not_come_back_from_the_old_table(tables: Tables) -> None:
    tables.write(Phase.MOVING, RowChange(EAST, kind="delete"))

    assert tables.read(Phase.PREPARED, EAST) == [None]
    assert tables.scan(Phase.PREPARED) == [NORTH, WEST]


@pytest.mark.parametrize("phase", list(Phase))
def test_a_row_is_written_and_read_in_each_phase(tables: Tables, phase: Phase) -> None:
    if phase is Phase.NEW:
        tables.move_all()

    tables.write(phase, RowChange(EAST, {VALUE: b"22"}, kind="update"))

    assert tables.read(phase, EAST) == [{REGION: b"east", NAME: b"K", VALUE: b"22"}]


def test_a_write_of_prepared_follows_a_seal_to_the_new_table(tables: Tables) -> None:
    tables.move_all()

    tables.write(Phase.PREPARED, RowChange(EAST, {VALUE: b"22"}))

    assert tables.read(Phase.NEW, EAST) == [{REGION: b"east", NAME: b"K", VALUE: b"22"}]


def test_a_change_that_builds_on_the_row_gets_it_in_the_new_layout(tables: Tables) -> None:
    def decide(before: RowBefore) -> RowChange:
        return RowChange(EAST, {NAME: before.cells[NAME].value + b"!"})

    tables.write(Phase.PREPARED, RowChange(EAST, reads=frozenset((NAME,)), decide=decide))

    assert tables.read(Phase.PREPARED, EAST) == [{REGION: b"east", NAME: b"K!", VALUE: b"2"}]


def test_the_check_finds_rows_that_are_left_until_all_have_moved(tables: Tables) -> None:
    tables.run(guarded_write(MOVE.old, RowChange(b"d3", kind="delete"), tables.context))
    tables.run(seal_row(MOVE.old, b"d1", tables.context))

    before = tables.run(check_page(MOVE, KeyRange(), tables.context))
    assert before.left == (b"d1", b"d2", b"d3")
    assert tables.move_all() == len(before.left)
    after = tables.run(check_page(MOVE, KeyRange(), tables.context))
    assert after.left == ()
    newest = GuardCell.decode(tables.guard("old", b"d3")).timestamp_ms
    assert after.newest_ms == newest > tables.clock_ms


def test_pages_of_the_mover_follow_each_other(tables: Tables) -> None:
    first = tables.run(move_page(MOVE, KeyRange(), tables.context, page_rows=2))
    assert (first.seen, first.handed_over, first.next) == (2, 2, b"d2\x00")

    second = tables.run(move_page(MOVE, KeyRange(first.next or b""), tables.context, page_rows=2))
    last = tables.run(move_page(MOVE, KeyRange(second.next or b""), tables.context))
    assert (second.handed_over, last.seen, last.next) == (1, 0, None)


# --- a sealed row ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        RowChange(b"d1", {VALUE: b"9"}),
        RowChange(b"d1", {VALUE: b"9"}, kind="update"),
        RowChange(b"d1", {REGION: b"x"}, kind="insert"),
        RowChange(b"d1", {REGION: b"x"}, kind="replace"),
        RowChange(b"d1", kind="delete"),
        RowChange(b"d1", kind="reindex"),
    ],
    ids=lambda change: change.kind,
)
def test_no_write_changes_a_sealed_row(tables: Tables, change: RowChange) -> None:
    tables.run(seal_row(MOVE.old, b"d1", tables.context))
    sealed = tables.guard("old", b"d1")

    with pytest.raises(RowMovedError) as caught:
        tables.run(guarded_write(MOVE.old, change, tables.context))

    assert (caught.value.table, caught.value.row) == ("old", b"d1")
    assert tables.guard("old", b"d1") == sealed


def test_a_write_of_an_earlier_phase_does_not_follow_a_seal(tables: Tables) -> None:
    tables.move_all()

    with pytest.raises(RowMovedError):
        tables.write(Phase.INDEXING, RowChange(NORTH, {VALUE: b"9"}))


def test_absent_and_deleted_rows_can_be_sealed_too(tables: Tables) -> None:
    tables.run(guarded_write(MOVE.old, RowChange(b"d1", kind="delete"), tables.context))

    for device in (b"d1", b"d9"):
        assert tables.run(seal_row(MOVE.old, device, tables.context)).cells == {}
        change = RowChange(device, {REGION: b"x"}, kind="insert")
        with pytest.raises(RowMovedError):
            tables.run(guarded_write(MOVE.old, change, tables.context))


def test_a_sealed_row_is_not_fenced(tables: Tables) -> None:
    tables.run(seal_row(MOVE.old, b"d1", tables.context))
    before = tables.run(read_before(MOVE.old, b"d1", (b"d", GUARD_COLUMN), tables.context))

    with pytest.raises(RowMovedError):
        tables.run(fence(MOVE.old, b"d1", before, 5_000, tables.context))


def test_a_repair_leaves_an_entry_that_is_newer_than_the_seal(tables: Tables) -> None:
    tables.run(seal_row(MOVE.old, b"d1", tables.context))

    steps = repair_entry(
        MOVE.old,
        BY_UNIT,
        tables.context,
        entry_key=b"stale\x00d1",
        entry_timestamp_ms=5_000,
        base_key=b"d1",
        min_age_ms=-9_999,
    )

    assert tables.run(steps) is EntryState.IN_FLIGHT


def test_a_seal_is_put_only_once(tables: Tables) -> None:
    first = tables.run(seal_row(MOVE.old, b"d1", tables.context))

    assert tables.run(seal_row(MOVE.old, b"d1", tables.context)) == first


# --- what is refused ------------------------------------------------------------------------------


def test_before_moving_the_old_table_has_place_for_one_row_of_an_old_key(tables: Tables) -> None:
    other = RowChange(b"south\x00d1", {REGION: b"south"}, kind="insert")

    with pytest.raises(ConflictError, match="another row has the same key") as caught:
        tables.write(Phase.PREPARED, other)
    tables.write(Phase.MOVING, other)

    assert not isinstance(caught.value, DuplicateRowError)
    assert caught.value.other_row == NORTH
    assert tables.scan(Phase.MOVING) == [EAST, NORTH, b"south\x00d1", WEST]


def test_a_new_key_that_does_not_lead_back_to_the_old_one_is_refused(tables: Tables) -> None:
    wrong = replace(MOVE, translation=replace(MOVE.translation, old_key=lambda key: key))

    with pytest.raises(CorruptRowError, match="cannot be computed"):
        tables.run(move_page(wrong, KeyRange(), tables.context))


def test_a_row_without_the_column_that_new_rows_need_is_refused(tables: Tables) -> None:
    needy = replace(MOVE, new=replace(MOVE.new, anchor=b"d:missing"))

    with pytest.raises(CorruptRowError, match="every row of the new table needs"):
        tables.run(move_page(needy, KeyRange(), tables.context))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"old": replace(MOVE.old, is_lww=True)}, "only rows with guards"),
        ({"new": replace(MOVE.new, counters=frozenset((b"d:n",)))}, "not a counter of the old"),
        ({"new": replace(MOVE.new, indexes=(replace(BY_NAME, unique=True),))}, "unique values"),
    ],
    ids=["without guards", "counters", "unique"],
)
def test_tables_that_cannot_be_moved_row_by_row_are_refused(
    changes: dict[str, Any], what: str
) -> None:
    with pytest.raises(ConfigurationError, match=what):
        replace(MOVE, **changes)
