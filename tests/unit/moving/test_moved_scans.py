"""Scans of a table to which rows move, over pages, phases and rows handed over meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hbase_orm.errors import (
    QueryError,
)
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.moving import moved_scan
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.moved_requests import CurrentMove
from hbase_orm.ops import (
    DropTable,
    FetchRows,
    GetRows,
    GetVersions,
    KeyRange,
    OpenScanner,
    Row,
    Scan,
)
from tests.support.moved_readings import (
    FORMER,
    MOVE,
    NOTE,
    REGION,
    RENAMED,
    VALUE,
)
from tests.support.moved_worlds import (
    A1,
    B2,
    BEFORE_NEW,
    BOTH_TABLES,
    C3,
    D4,
    DEVICES,
    INDEXING,
    MOVING,
    NEW,
    PREPARED,
    REGIONS,
    SIMPLE_FILTERS,
    Moves,
    World,
    keys_of,
    of_oracle,
    scanned,
)


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_handed_over_between_two_fetches_are_neither_missed_nor_read_twice(
    world: World, *, reverse: bool
) -> None:
    moves, left = Moves(CurrentMove(MOVE, MOVING)), [B2, C3, A1, D4]
    steps = scanned(Scan("new", reverse=reverse), (1,), lambda: world.hand_over(left.pop(0)))

    assert keys_of(world.through(steps, moves)) == sorted((A1, B2, C3, D4), reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_on_through_all_phases(world: World, *, reverse: bool) -> None:
    moves, phases = Moves(CurrentMove(MOVE, INDEXING)), [PREPARED, MOVING, NEW]

    def next_phase() -> None:
        if phases:
            moves.enter(phases.pop(0))
        if moves.current is not None and moves.current.phase is MOVING:
            world.tables.move_all()
            world.write(RowChange(B2, {VALUE: b"2"}))
            world.write(RowChange(C3, {VALUE: b"2"}))

    rows = world.through(scanned(Scan("new", reverse=reverse), (1,), next_phase), moves)

    assert keys_of(rows) == sorted((A1, B2, C3, D4), reverse=reverse)
    assert [row.cells[VALUE].value for row in rows] == [b"1", b"1", b"2", b"1"]


def test_a_scan_of_a_move_that_has_ended_reads_the_new_table(world: World) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))

    def end() -> None:
        if moves.current is not None:
            moves.current = None
            world.tables.move_all()
            world.drop_old()

    assert keys_of(world.through(scanned(Scan("new"), (1,), end), moves)) == [A1, B2, C3, D4]


@pytest.mark.parametrize("text", SIMPLE_FILTERS, ids=bytes.decode)
@pytest.mark.parametrize("wrapped", [b"%b", b"(WHILE (%b))", b"(SKIP (%b))"], ids=bytes.decode)
def test_each_filter_is_checked_in_both_directions(text: bytes, wrapped: bytes) -> None:
    world = World()
    for region in REGIONS:
        for device in DEVICES[:2]:
            name = bytes([device[0], device[1] + 2 * REGIONS.index(region)])
            world.write_old(name, b"", region=region, name=b"K", v=name[1:], note=name[1:])
    world.make_oracle()
    world.hand_over(b"aa\x00d3")

    for reverse in (False, True):
        scan = Scan("new", filter=wrapped % text, reverse=reverse)
        expected = of_oracle(world, scan)
        if expected is not None:
            assert world.scan(scan, MOVING, 2) == world.scan(scan, INDEXING, 1) == expected


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_only_the_new_table_has_are_read_page_by_page(*, reverse: bool) -> None:
    world = World()
    keys = [b"r\x00%02d" % number for number in range(7)]
    for key in keys:
        world.write(RowChange(key, {REGION: b"r"}, kind="insert"))

    assert keys_of(world.scan(Scan("new", reverse=reverse), MOVING, 1, 2)) == sorted(
        keys, reverse=reverse
    )


def test_a_scan_ends_when_its_filter_passes_no_later_row(world: World) -> None:
    assert keys_of(world.scan(Scan("new", filter=b"InclusiveStopFilter('a~')"), MOVING, 1)) == [A1]
    gets = [request for request in world.sent if isinstance(request, GetRows)]
    assert [request.keys for request in gets] == [(b"d1",), (b"d2",)]


@pytest.mark.parametrize("phase", BEFORE_NEW)
def test_rows_without_the_requested_columns_are_absent(world: World, phase: Phase) -> None:
    world.write_old(b"d2", B2, region=b"b", note=b"n")

    assert world.read(GetRows("new", (A1, B2, A1), (NOTE,)), phase)[::2] == [None, None]
    assert keys_of(world.scan(Scan("new", columns=(NOTE,)), phase)) == [B2]
    assert world.read(GetVersions("new", A1, (NOTE,)), phase) == ()


def test_a_page_without_rows_is_not_the_end_of_a_scan() -> None:
    world = World()
    for number in range(60):
        key = world.write_old(b"%02d" % number, b"", region=b"r", v=b"1")
        if number not in {1, 58}:
            world.write(RowChange(key, kind="delete"))

    assert keys_of(world.scan(Scan("new"), MOVING, 1)) == [b"r\x0001", b"r\x0058"]
    assert len(world.sent) < 60  # pages grow while they are empty


# --- before the phase PREPARED --------------------------------------------------------------------


def test_before_prepared_the_old_table_is_read_once_for_a_scan(world: World) -> None:
    rows = world.scan(Scan("new", KeyRange(B2)), INDEXING, 1)

    assert keys_of(rows) == [B2, C3, D4]
    opened = [request for request in world.sent if isinstance(request, OpenScanner)]
    assert {request.scan.table for request in opened} == {"old"}
    assert len(opened) == 2  # the rows, and the end


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase < PREPARED])
def test_before_prepared_the_new_table_is_not_read(world: World, phase: Phase) -> None:
    world.tables.gateway.execute(DropTable("new"))

    rows = world.read(GetRows("new", (B2,)), phase)
    assert keys_of(rows) == [B2]
    assert keys_of(world.scan(Scan("new", reverse=True), phase)) == [D4, C3, B2, A1]
    (version,) = world.read(GetVersions("new", B2, (VALUE,)), phase)
    assert version.value == b"1"


SAME_KEY = replace(
    MOVE,
    translation=replace(
        MOVE.translation,
        to_new=lambda row: Row(row.key, {RENAMED[name]: row.cells[name] for name in row.cells}),
        old_key=lambda key: key,
        old_columns=lambda columns: frozenset(FORMER[column] for column in columns),
        older_versions=None,
    ),
    new_key_table=None,
)


@pytest.mark.parametrize("phase", BEFORE_NEW)
@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_keep_their_keys_are_scanned_page_by_page_in_each_phase(
    world: World, phase: Phase, *, reverse: bool
) -> None:
    world.write_old(b"d3", C3, region=b"c", v=b"3")
    if phase in BOTH_TABLES:
        world.tables.run(hand_over(SAME_KEY, b"d2", world.tables.context))
    else:
        world.tables.gateway.execute(DropTable("new"))
    moves = Moves(CurrentMove(SAME_KEY, phase))

    rows = world.scan(Scan("new", KeyRange(b"d2"), (VALUE,), reverse=reverse), moves, 1)
    versions = world.read(GetVersions("new", b"d3", (VALUE,), 3), moves)

    assert keys_of(rows) == sorted((b"d2", b"d3", b"d4"), reverse=reverse)
    assert [version.value for version in versions] == [b"3"]  # the newest ones are kept only
    fetched = [request for request in world.sent if isinstance(request, FetchRows)]
    assert {request.count for request in fetched} <= {1, 4}


def test_before_prepared_a_range_of_too_many_rows_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moved_scan, "MAX_UNINDEXED_ROWS", 3)

    with pytest.raises(QueryError, match="too many rows to sort") as caught:
        world.scan(Scan("new"), INDEXING)

    assert "PREPARED" in str(caught.value)
    assert caught.value.limit_rows == 3
    assert keys_of(world.scan(Scan("new", KeyRange(B2)), INDEXING)) == [B2, C3, D4]
    assert keys_of(world.scan(Scan("new"), PREPARED)) == [A1, B2, C3, D4]
