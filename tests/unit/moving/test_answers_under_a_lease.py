"""Answers and errors of reads count only under the lease for their phase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm.errors import (
    CatalogLeaseError,
    HBaseORMError,
    ScannerExpiredError,
    TableNotFoundError,
)
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.moving.moved_requests import MAX_READS, CurrentMove
from hbase_orm.ops import (
    DropTable,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    KeyRange,
    MutateRow,
    Operation,
    Protocol,
    Put,
    RowMutation,
    Scan,
    Together,
    ask,
)
from tests.support.moved_readings import (
    MOVE,
    REGION,
    VALUE,
)
from tests.support.moved_worlds import (
    A1,
    B2,
    C3,
    INDEXING,
    MOVING,
    NEW,
    PREPARED,
    Moves,
    World,
    keys_of,
    scanned,
)


def on_first(table: str, act: Callable[[], object]) -> Callable[[Operation[Any]], None]:
    """Return what is done before requests: `act`, before the first one that reads a table."""
    left = [act]

    def before_request(request: Operation[Any]) -> None:
        scan = getattr(request, "scan", request)
        if getattr(scan, "table", "") == table and left:
            left.pop()()

    return before_request


READS: dict[str, Callable[[], Protocol[Any]]] = {
    "get": lambda: ask(GetRows("new", (A1,), (VALUE,))),
    "versions": lambda: ask(GetVersions("new", A1, (VALUE,))),
    "versions of rows": lambda: ask(GetVersionsOfRows("new", (A1,), (VALUE,))),
    "scan": lambda: scanned(Scan("new", KeyRange(b"", B2), (VALUE,)), (9,)),
    "together": lambda: ask(Together((GetRows("new", (A1,), (VALUE,)),))),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_answer_from_before_the_move_went_on_does_not_count(
    world: World, read: Callable[[], Protocol[Any]]
) -> None:
    moves = Moves(CurrentMove(MOVE, INDEXING))

    def pause() -> None:
        """Others end the move and write the row while this process stands still."""
        world.write(RowChange(A1, {VALUE: b"2"}))
        moves.enter(MOVING)

    world.before_request = on_first("old", pause)

    assert "b'2'" in repr(world.through(read(), moves))
    assert "b'1'" not in repr(world.through(read(), moves))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_error_from_before_the_move_went_on_does_not_count(
    world: World, read: Callable[[], Protocol[Any]]
) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))

    def pause() -> None:
        world.tables.move_all()
        world.drop_old()
        moves.enter(NEW)

    world.before_request = on_first("old", pause)

    assert "b'1'" in repr(world.through(read(), moves))


def test_an_error_under_the_lease_is_raised_at_once(world: World) -> None:
    world.tables.gateway.execute(DropTable("old"))
    moves = Moves(CurrentMove(MOVE, MOVING))

    with pytest.raises(TableNotFoundError):
        world.read(GetRows("new", (A1,)), moves)

    assert moves.looks == 1


def test_a_lease_that_ends_at_every_attempt_is_an_error(world: World) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))
    world.before_request = lambda _: moves.enter(MOVING)

    with pytest.raises(CatalogLeaseError, match="at every attempt") as caught:
        world.read(GetRows("new", (A1,)), moves)

    assert isinstance(caught.value, HBaseORMError)
    assert caught.value.attempts == moves.looks == MAX_READS


def test_a_filter_has_checked_the_rows_of_an_answer_that_counts_only_once(world: World) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))

    def end_every_other_lease(_: Operation[Any]) -> None:
        if moves.looks % 2 == 0:
            moves.enter(MOVING)

    world.before_request = end_every_other_lease

    rows = world.scan(Scan("new", filter=b"PageFilter(3)"), moves, 1)
    assert keys_of(rows) == [A1, B2, C3]


def test_a_scanner_from_before_the_move_expires_when_rows_begin_to_move(world: World) -> None:
    moves = Moves(None)
    world.tables.gateway.execute(
        MutateRow("new", RowMutation(A1, (Put(VALUE, b"7"), Put(REGION, b"a"))))
    )

    with pytest.raises(ScannerExpiredError, match="rows began to move"):
        world.through(scanned(Scan("new"), (1,), lambda: moves.enter(PREPARED)), moves)
    assert keys_of(world.through(scanned(Scan("new"), (1,), lambda: moves.enter(NEW)), moves))
