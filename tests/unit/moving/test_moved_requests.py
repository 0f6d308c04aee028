"""What is passed on of the requests of a protocol that reads a table to which rows move."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm.errors import (
    QueryError,
    RejectedError,
    ScannerExpiredError,
)
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.moving.moved_requests import CurrentMove, through_moves
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    MutateRow,
    Nested,
    OpenScanner,
    Operation,
    Protocol,
    Put,
    RowMutation,
    Scan,
    ScannerId,
    SideBySide,
    StaleRow,
    Together,
    ask,
)
from tests.support.moved_readings import (
    MOVE,
    VALUE,
)
from tests.support.moved_worlds import (
    A1,
    B2,
    BEFORE_NEW,
    C3,
    D4,
    MOVING,
    NEW,
    Moves,
    World,
    keys_of,
)

SCAN_WITH_GUARD = Scan("new", columns=(b"d", GUARD_COLUMN))


@pytest.mark.parametrize(
    "request_",
    [
        GetRows("new", (A1,), (b"d", GUARD_COLUMN)),
        GetRows("new", (A1,), (b"_",)),
        GetVersions("new", A1, (b"d",), 3, raw=True),
        GetVersions("new", A1, (GUARD_COLUMN,)),
        GetVersionsOfRows("new", (A1,), (b"d",), 3, raw=True),
        OpenScanner(SCAN_WITH_GUARD),
        GetRows("old", (b"d1",), (b"d",)),
        OpenScanner(Scan("old")),
        MutateRow("new", RowMutation(A1, (Put(VALUE, b"7"),))),
        Together((GetRows("old", (b"d1",)), GetRows("new_keys", (A1,)))),
    ],
    ids=repr,
)
def test_requests_for_guards_raw_reads_writes_and_other_tables_are_passed_on(
    world: World, request_: Operation[Any]
) -> None:
    steps = through_moves(ask(request_), Moves(CurrentMove(MOVE, MOVING)), world.tables.context)

    assert next(steps) is request_


def test_a_scan_that_reads_guards_stays_with_the_gateway(world: World) -> None:
    world.hand_over(A1)

    assert keys_of(world.scan(SCAN_WITH_GUARD)) == [A1]


@pytest.mark.parametrize("current", [None, CurrentMove(MOVE, NEW)], ids=["no move", "NEW"])
def test_without_a_move_and_in_new_requests_are_passed_on(
    world: World, current: CurrentMove | None
) -> None:
    world.hand_over(A1)
    get, scan = GetRows("new", (A1, B2)), Scan("new", columns=(b"d",), from_ms=1)

    rows = world.read(get, Moves(current))
    scanned_rows = world.scan(scan, Moves(current), 1)

    assert keys_of(rows) == keys_of(scanned_rows) == [A1]
    assert [type(request).__name__ for request in world.sent] == [
        "GetRows", "OpenScanner", "FetchRows", "FetchRows", "CloseScanner",
    ]  # fmt: skip
    assert world.sent[:2] == [get, OpenScanner(scan)]


def test_requests_that_run_together_side_by_side_and_nested_are_answered_alike(
    world: World,
) -> None:
    get_new, get_old = GetRows("new", (A1,)), GetRows("old", (b"d1",))
    expected = [A1]

    together = world.read(Together((get_new, get_old, Together((get_new,)))))
    beside = world.through(_side_by_side(get_new, get_old), Moves(CurrentMove(MOVE, MOVING)))
    nested = world.read(Nested(ask(get_new)))

    assert [keys_of(together[0]), keys_of(together[1])] == [expected, [b"d1"]]
    assert keys_of(together[2][0]) == keys_of(nested) == expected
    assert [keys_of(rows) for rows in beside] == [expected, [b"d1"]]


def _side_by_side(*requests: Operation[Any]) -> Protocol[list[Any]]:
    return (yield from ask(SideBySide(tuple(ask(request) for request in requests))))


def test_a_scanner_is_used_by_protocols_beside_the_one_that_opened_it(world: World) -> None:
    def steps() -> Protocol[list[bytes]]:
        opened = yield from ask(Together((OpenScanner(Scan("new")), OpenScanner(Scan("old")))))
        first = yield from _side_by_side(*(FetchRows(scanner, 2) for scanner in opened))
        yield from ask(Together(tuple(CloseScanner(scanner) for scanner in opened)))
        return [row.key for rows in first for row in rows]

    assert world.through(steps(), Moves(CurrentMove(MOVE, MOVING))) == [A1, B2, b"d1", b"d2"]


def test_made_up_scanners_differ_and_the_gateway_does_not_see_them(world: World) -> None:
    def steps() -> Protocol[list[ScannerId]]:
        first = yield from ask(OpenScanner(Scan("new")))
        opened = [first, (yield from ask(OpenScanner(Scan("new"))))]
        for scanner in opened:
            yield from ask(CloseScanner(scanner))
        with pytest.raises(ScannerExpiredError, match="closed"):
            yield from ask(FetchRows(opened[0], 1))
        return opened

    first, second = world.through(steps(), Moves(CurrentMove(MOVE, MOVING)))

    assert len({first, second, ScannerId(first.number, world.tables.gateway)}) == 3
    assert world.sent == []


def test_an_error_of_a_request_is_raised_in_the_protocol_which_goes_on(world: World) -> None:
    def steps() -> Protocol[str]:
        try:
            yield from ask(GetRows("new", (b"",)))
        except RejectedError as error:
            yield from ask(GetRows("new", (A1,)))
            return str(error)
        return ""

    assert "a row key is empty" in world.through(steps(), Moves(CurrentMove(MOVE, MOVING)))


# --- reads of the past, and timeline reads --------------------------------------------------------


@pytest.mark.parametrize("phase", BEFORE_NEW)
@pytest.mark.parametrize(
    "request_",
    [
        GetRows("new", (A1,), before_ms=5),
        GetRows("new", (A1,), from_ms=5),
        OpenScanner(Scan("new", before_ms=5)),
        OpenScanner(Scan("new", from_ms=5)),
    ],
    ids=["get before", "get from", "scan before", "scan from"],
)
def test_the_past_cannot_be_read_while_rows_move(
    world: World, request_: Operation[Any], phase: Phase
) -> None:
    with pytest.raises(QueryError, match="past of a table cannot be read") as caught:
        world.read(request_, phase)

    assert "phase NEW" in str(caught.value)
    assert (caught.value.table, caught.value.phase) == ("new", phase.name)
    assert world.sent == []


@pytest.mark.parametrize("phase", BEFORE_NEW)
def test_timeline_reads_are_answered_by_strong_ones(world: World, phase: Phase) -> None:
    rows = world.read(GetRows("new", (A1, b"x\x00d9"), is_timeline=True), phase)
    rows += world.scan(Scan("new", is_timeline=True), phase)

    assert keys_of(rows) == [A1, A1, B2, C3, D4]
    assert rows[1] is None
    assert not any(isinstance(row, StaleRow) for row in rows)
    assert not any(getattr(request, "is_timeline", False) for request in world.sent)
