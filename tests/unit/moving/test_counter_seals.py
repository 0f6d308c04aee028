"""Counters of rows that move from one table to another: sealed, handed over and incremented.

Device `d1` has the key `north d1` in the new table, and its counter another name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest

from hbase_orm.errors import ConflictError, ConnectionLostError, RejectedError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GUARD_COLUMN, RowChange
from hbase_orm.moving import counter_seals, seal
from hbase_orm.moving.counter_seals import (
    counter_seal,
    is_counter_seal,
    seal_counters,
    versions_with_counters,
    with_counters,
)
from hbase_orm.moving.moved_increment import moved_increment
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.seal import seal_row
from hbase_orm.moving.virtual_reads import virtual_rows
from hbase_orm.ops import (
    Cell,
    CheckAndMutate,
    Delete,
    GetVersions,
    Increment,
    KeyRange,
    MutateRow,
    Put,
    RowMutation,
    StoredVersion,
)
from tests.support.counted_readings import (
    COUNTING,
    KEPT,
    NORTH,
    Answers,
    add,
    cell,
    number,
)
from tests.support.moved_readings import (
    FAILS,
    HITS,
    MISSES,
    MOVE,
    NAME,
    REGION,
    VALUE,
    VISITS,
    Tables,
    readings_in_memory,
)
from tests.support.stepping import drive

R = TypeVar("R")


@pytest.fixture
def tables() -> Tables:
    tables = readings_in_memory()
    tables.write_old(b"d1", region=b"north", unit=b"K", v=b"1")
    return tables


def increment(tables: Tables, phase: Phase, row: bytes = NORTH, move: Any = COUNTING) -> int:
    request = Increment("new", row, {VISITS: 1})
    return tables.run(moved_increment(move, phase, request, tables.context))[VISITS]


# --- the format -------------------------------------------------------------------------------------


@pytest.mark.parametrize("counter", [None, Cell(bytes(8), 0), Cell(b"\xff" * 8, 2**63)])
def test_a_counter_seal_stands_for_a_counter_or_for_none(counter: Cell | None) -> None:
    stored = Cell(counter_seal(counter), 9)

    assert len(stored.value) == (10 if counter is None else 18)
    assert is_counter_seal(stored)
    expected = {} if counter is None else {HITS: counter}
    assert with_counters(COUNTING.old, {HITS: stored}, 99) == expected


def test_equal_bytes_in_another_column_are_no_seal() -> None:
    cells = {VALUE: Cell(counter_seal(None), 9), HITS: Cell(bytes(8), 1)}

    assert with_counters(COUNTING.old, cells, 99) == cells
    assert not is_counter_seal(cells[HITS])


def test_of_a_seal_and_the_cell_beneath_it_one_version_is_shown() -> None:
    one, two = (n.to_bytes(8) for n in (1, 2))
    stored = [
        StoredVersion(HITS, 9, "put", counter_seal(Cell(two, 5))),
        StoredVersion(HITS, 5, "put", two),
        StoredVersion(HITS, 4, "put", one),
        StoredVersion(MISSES, 9, "put", counter_seal(None)),
    ]

    shown = versions_with_counters(COUNTING.old, stored, 99)

    assert [(v.column, v.timestamp_ms, v.value) for v in shown] == [(HITS, 5, two), (HITS, 4, one)]
    assert versions_with_counters(MOVE.old, stored, 99) == stored


# --- sealing ----------------------------------------------------------------------------------------


def test_a_sealed_row_refuses_increments_of_every_counter(tables: Tables) -> None:
    add(tables, HITS, 7)
    before = cell(tables, "old", b"d1", HITS)

    sealed = tables.run(seal_row(COUNTING.old, b"d1", tables.context))

    assert sealed.cells[HITS] == before
    assert MISSES not in sealed.cells
    for column in (HITS, MISSES):
        with pytest.raises(RejectedError, match="not a counter"):
            add(tables, column, 1)
    again = tables.run(seal_row(COUNTING.old, b"d1", tables.context))
    assert again == sealed


def test_a_counter_is_sealed_above_a_delete_of_the_server_s_future(tables: Tables) -> None:
    add(tables, HITS, 7)
    ahead = Delete(HITS, 50_000)
    tables.gateway.execute(MutateRow("old", RowMutation(b"d1", deletes=(ahead,))))

    sealed = tables.run(seal_row(COUNTING.old, b"d1", tables.context))

    assert HITS not in sealed.cells
    with pytest.raises(RejectedError):
        add(tables, HITS, 1)


def test_an_increment_between_the_read_and_the_seal_is_kept(tables: Tables) -> None:
    add(tables, HITS, 7)
    steps = seal_counters(COUNTING.old, b"d1", tables.context)
    met: list[Any] = []

    def meanwhile(request: Any) -> Any:
        if isinstance(request, CheckAndMutate) and request.column == HITS and not met:
            met.append(request)
            add(tables, HITS, 100)
        return tables.gateway.execute(request)

    counters = drive(steps, Answers(tables, meanwhile))

    assert number(counters[HITS]) == 107
    assert met


def test_a_counter_that_changes_at_every_attempt_is_reported(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counter_seals, "MAX_COUNTER_ROUNDS", 3)

    def meanwhile(request: Any) -> Any:
        if isinstance(request, CheckAndMutate) and request.column == HITS:
            add(tables, HITS, 1)
        return tables.gateway.execute(request)

    with pytest.raises(ConflictError, match="incremented a counter") as caught:
        drive(seal_counters(COUNTING.old, b"d1", tables.context), Answers(tables, meanwhile))

    assert (caught.value.row, caught.value.rounds) == (b"d1", 3)


# --- handing over -----------------------------------------------------------------------------------


def test_a_counter_is_handed_over_with_its_timestamp(tables: Tables) -> None:
    add(tables, HITS, 7)
    before = cell(tables, "old", b"d1", HITS)

    tables.run(move_page(COUNTING, KeyRange(), tables.context))

    assert cell(tables, "new", NORTH, VISITS) == before
    assert cell(tables, "new", NORTH, FAILS) is None
    versions = tables.gateway.execute(GetVersions("new", NORTH, (VISITS,), 9))
    assert [version.value for version in versions] == [(7).to_bytes(8)]


def test_a_page_without_older_versions_hands_counters_over_too(tables: Tables) -> None:
    add(tables, HITS, 7)
    newest = replace(COUNTING, translation=replace(COUNTING.translation, older_versions=None))

    tables.run(move_page(newest, KeyRange(), tables.context))

    assert number(cell(tables, "new", NORTH, VISITS)) == 7


@pytest.mark.parametrize("phase", [Phase.PREPARED, Phase.MOVING])
def test_readers_see_the_counters_of_a_sealed_row(tables: Tables, phase: Phase) -> None:
    add(tables, HITS, 7)
    tables.run(seal_row(COUNTING.old, b"d1", tables.context))

    (row,) = tables.run(virtual_rows(COUNTING, phase, [NORTH], tables.context))

    assert row is not None
    assert {c: stored.value for c, stored in row.cells.items()} == {
        REGION: b"north",
        NAME: b"K",
        VALUE: b"1",
        VISITS: (7).to_bytes(8),
    }


def test_a_row_whose_counters_are_not_sealed_is_left(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(seal, "seal_counters", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            tables.run(move_page(COUNTING, KeyRange(), tables.context))
    left = tables.run(check_page(COUNTING, KeyRange(), tables.context)).left
    tables.run(move_page(COUNTING, KeyRange(), tables.context))

    assert left == (b"d1",)
    assert tables.run(check_page(COUNTING, KeyRange(), tables.context)).left == ()
    with pytest.raises(RejectedError):
        add(tables, MISSES, 1)


def _interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("is_deleted", [False, True], ids=["never there", "deleted"])
def test_counters_of_absent_rows_are_carried_over_if_the_key_is_known(
    tables: Tables, *, is_deleted: bool
) -> None:
    if is_deleted:
        tables.write_old(b"d2", region=b"east")
        tables.change_old(RowChange(b"d2", kind="delete"))
    put = Put(HITS, (3).to_bytes(8), 5_000)  # later than the delete, whose clock is ahead
    tables.gateway.execute(MutateRow("old", RowMutation(b"d2", puts=(put,))))
    before = cell(tables, "old", b"d2", HITS)

    tables.run(move_page(KEPT, KeyRange(), tables.context))

    assert cell(tables, "new", b"rd2", VISITS) == before
    guard = cell(tables, "new", b"rd2", GUARD_COLUMN)
    assert guard is not None
    assert guard.value[:1] == b"D"
    assert tables.run(check_page(KEPT, KeyRange(), tables.context)).left == ()


# --- increments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", list(Phase))
def test_an_increment_adds_to_the_counter_in_every_phase(tables: Tables, phase: Phase) -> None:
    add(tables, HITS, 7)
    if phase is Phase.NEW:
        tables.run(move_page(COUNTING, KeyRange(), tables.context))

    assert [increment(tables, phase) for _ in range(3)] == [8, 9, 10]
    place = ("old", b"d1", HITS) if phase < Phase.MOVING else ("new", NORTH, VISITS)
    assert number(cell(tables, *place)) == 10


def test_an_increment_of_prepared_follows_a_seal_to_the_new_table(tables: Tables) -> None:
    add(tables, HITS, 7)
    tables.run(seal_row(COUNTING.old, b"d1", tables.context))

    assert increment(tables, Phase.PREPARED) == 8
    assert number(cell(tables, "new", NORTH, VISITS)) == 8


def test_a_cell_that_is_no_counter_is_refused_as_ever(tables: Tables) -> None:
    tables.write_old(b"d1", hits=b"text")

    for phase in (Phase.INDEXING, Phase.PREPARED):
        with pytest.raises(RejectedError, match="not a counter"):
            increment(tables, phase)

    assert cell(tables, "new", NORTH, GUARD_COLUMN) is None


def test_before_moving_the_counter_of_another_row_is_left_alone(tables: Tables) -> None:
    add(tables, HITS, 7)

    with pytest.raises(ConflictError, match="another row has the same key") as caught:
        increment(tables, Phase.PREPARED, b"south\x00d1")

    assert caught.value.other_row == NORTH
    assert number(cell(tables, "old", b"d1", HITS)) == 7


@pytest.mark.parametrize("phase", [Phase.INDEXING, Phase.PREPARED])
@pytest.mark.parametrize("is_deleted", [False, True], ids=["never there", "deleted"])
def test_before_moving_no_counter_of_an_absent_row_is_incremented_if_its_key_has_cells(
    tables: Tables, phase: Phase, *, is_deleted: bool
) -> None:
    """Two rows with this old key would share the counter."""
    row = b"d2"
    if is_deleted:
        tables.write_old(row, region=b"east")
        tables.change_old(RowChange(row, kind="delete"))

    with pytest.raises(ConflictError, match="the row does not exist") as caught:
        increment(tables, phase, b"east\x00" + row)

    assert "phase MOVING" in caught.value.fix
    assert cell(tables, "old", row, HITS) is None


@pytest.mark.parametrize("phase", [Phase.INDEXING, Phase.PREPARED])
def test_an_absent_row_whose_key_has_no_cells_is_incremented_in_the_old_table(
    tables: Tables, phase: Phase
) -> None:
    assert [increment(tables, phase, b"rd2", KEPT) for _ in range(2)] == [1, 2]
    assert number(cell(tables, "old", b"d2", HITS)) == 2


def test_in_moving_absent_rows_with_one_old_key_have_counters_of_their_own(tables: Tables) -> None:
    for region in (b"east", b"west"):
        assert increment(tables, Phase.MOVING, region + b"\x00d2") == 1


def test_an_increment_without_an_answer_is_not_repeated(tables: Tables) -> None:
    for phase in (Phase.PREPARED, Phase.MOVING):
        sent: list[Any] = []

        def lost(request: Any, sent: list[Any] = sent) -> Any:
            answer = tables.gateway.execute(request)
            if isinstance(request, Increment):
                sent.append(request)
                raise ConnectionLostError("no answer")
            return answer

        steps = moved_increment(
            COUNTING, phase, Increment("new", NORTH, {VISITS: 1}), tables.context
        )
        with pytest.raises(ConnectionLostError):
            drive(steps, Answers(tables, lost))
        assert len(sent) == 1

    assert number(cell(tables, "new", NORTH, VISITS)) == 2
