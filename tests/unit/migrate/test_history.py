"""The history is one row, and each change of it is conditional on the lock in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import ConflictError, ConnectionLostError, RegionUnavailableError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.migrate import Direction, HistoryError, Position
from hbase_orm.migrate.history import (
    CHANGES,
    HISTORY_ROW,
    LOCK_COLUMN,
    AppliedRevision,
    Change,
    LockCell,
    MigrationHistory,
    create_history,
    history_table,
    read_history,
    record_change,
)
from hbase_orm.ops import (
    CheckAndMutate,
    MutateRows,
    Operation,
    Put,
    RowMutation,
    Sleep,
    run_protocol,
)
from tests.support.recording import FailsBeforeSending, LosesAnswers
from tests.support.revisions import TABLE, history_in, recorded_cells

LOCK = LockCell(1, "me", "a test", 0, 30.0, "n1", is_held=True)
APPLIED = AppliedRevision("sum", 5, "a test")
POSITION = Position("3f2a", Direction.UPGRADE, 1, ("one", "two"), {"next": "7"})


class Driven:
    """Runs protocols on a gateway, without waiting."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway

    def __call__(self, operation: Operation[Any]) -> Any:
        if isinstance(operation, Sleep):
            return None
        return (
            None
            if type(operation).__name__ == "RenewTimeLimit"
            else self.gateway.execute(operation)
        )

    def run(self, protocol: Any) -> Any:
        return run_protocol(protocol, self)


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    Driven(gateway).run(create_history(TABLE))
    return gateway


def change(
    gateway: Any, seen: MigrationHistory, lock: LockCell, what: Change, now_ms: int = 9
) -> Any:
    return Driven(gateway).run(record_change(TABLE, seen, lock, what, now_ms=now_ms))


def test_a_history_is_empty_without_a_table() -> None:
    assert history_in(MemoryGateway()) == MigrationHistory()
    assert history_table("shop") == "shop:hbase_orm_migrations"
    assert history_table("") == "hbase_orm_migrations"


def test_what_was_recorded_is_read_again(gateway: MemoryGateway) -> None:
    what = Change(moves=True, position=POSITION, applied={"19ac": APPLIED})

    recorded = change(gateway, MigrationHistory(), LOCK, what)

    assert history_in(gateway) == recorded
    assert recorded.position == POSITION
    assert recorded.applied == {"19ac": APPLIED}


def test_what_is_gone_is_gone(gateway: MemoryGateway) -> None:
    first = change(
        gateway,
        MigrationHistory(),
        LOCK,
        Change(moves=True, position=POSITION, applied={"19ac": APPLIED}),
    )

    change(gateway, first, replace(LOCK, nonce="n2"), Change(moves=True, applied={"19ac": None}))

    assert (history_in(gateway).position, history_in(gateway).applied) == (None, {})


def test_a_change_under_a_replaced_lock_changes_nothing(gateway: MemoryGateway) -> None:
    mine = change(gateway, MigrationHistory(), LOCK, Change())
    change(gateway, mine, replace(LOCK, fence=2, id="other", nonce="n2"), Change())
    before = recorded_cells(gateway)

    late = change(gateway, mine, replace(LOCK, nonce="n3"), Change(moves=True, position=POSITION))

    assert late is None
    assert recorded_cells(gateway) == before


def test_timestamps_grow_although_the_clock_goes_back(gateway: MemoryGateway) -> None:
    first = change(gateway, MigrationHistory(), LOCK, Change(), now_ms=1000)

    second = change(
        gateway, first, replace(LOCK, nonce="n2"), Change(moves=True, position=POSITION), now_ms=10
    )

    assert (first.timestamp_ms, second.timestamp_ms) == (1000, 1001)
    assert history_in(gateway).position == POSITION


def test_a_lost_answer_is_looked_up(gateway: MemoryGateway) -> None:
    lossy = LosesAnswers(gateway, lambda operation: isinstance(operation, CheckAndMutate))

    recorded = change(lossy, MigrationHistory(), LOCK, Change(moves=True, position=POSITION))

    assert history_in(gateway) == recorded


def test_a_change_that_was_not_sent_is_sent_again(gateway: MemoryGateway) -> None:
    left = [RegionUnavailableError("moving"), ConnectionLostError("lost")]
    failing = FailsBeforeSending(
        gateway,
        lambda operation: left.pop() if left and isinstance(operation, CheckAndMutate) else None,
    )

    recorded = change(failing, MigrationHistory(), LOCK, Change(moves=True, position=POSITION))

    assert not left
    assert history_in(gateway) == recorded


def test_a_change_that_never_succeeds_raises_its_last_error(gateway: MemoryGateway) -> None:
    error = RegionUnavailableError("moving")
    failing = FailsBeforeSending(
        gateway, lambda operation: error if isinstance(operation, CheckAndMutate) else None
    )

    with pytest.raises(RegionUnavailableError):
        change(failing, MigrationHistory(), LOCK, Change())

    assert len([r for r in failing.requests if isinstance(r, CheckAndMutate)]) == CHANGES.attempts


def test_a_change_that_is_refused_without_a_reason_is_a_conflict(gateway: MemoryGateway) -> None:
    class Refuses(FailsBeforeSending):
        def execute(self, operation: Any, /) -> Any:
            return False if isinstance(operation, CheckAndMutate) else self.inner.execute(operation)

    with pytest.raises(ConflictError):
        change(Refuses(gateway, lambda _: None), MigrationHistory(), LOCK, Change())


@pytest.mark.parametrize("column", [b"d:lock", b"d:position", b"d:r:3f2a"])
@pytest.mark.parametrize("value", [b"{", b"[]", b'{"fence": "x"}', b"\xff"])
def test_damage_is_named(gateway: MemoryGateway, column: bytes, value: bytes) -> None:
    gateway.execute(MutateRows(TABLE, (RowMutation(HISTORY_ROW, puts=(Put(column, value),)),)))

    with pytest.raises(HistoryError, match="damaged, or of another release") as caught:
        Driven(gateway).run(read_history(TABLE))

    assert caught.value.column == column


def test_members_of_a_newer_release_are_passed_over(gateway: MemoryGateway) -> None:
    value = b'{"checksum":"s","at_ms":1,"by":"b","is_stamped":false,"new":[1]}'
    gateway.execute(MutateRows(TABLE, (RowMutation(HISTORY_ROW, puts=(Put(b"d:r:a", value),)),)))

    assert history_in(gateway).applied == {"a": AppliedRevision("s", 1, "b")}
    assert LOCK_COLUMN not in recorded_cells(gateway)
