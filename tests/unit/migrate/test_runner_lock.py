"""One runner at a time: a live one is waited for, a dead one is replaced, a late one is fenced."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm.binding.table_holds.renewals import RENEWALS_PER_LEASE
from hbase_orm.errors import FeatureMissingError, RegionUnavailableError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.migrate import LockHeldError, LockLostError
from hbase_orm.migrate.history import AppliedRevision, Change
from hbase_orm.migrate.runner_lock import RunnerLock
from hbase_orm.ops import CheckAndMutate, CreateTable
from hbase_orm.session.engine import runtime_of
from tests.support.recording import FailsBeforeSending, HoldsBack, LosesAnswers
from tests.support.revisions import TABLE, history_in, recorded_cells
from tests.support.shop_processes import Clock, CrashError, Process, crash_at, engine_on
from tests.support.thrift1_only import DoesWhatThrift1Does

LEASE_S = 30.0
STEP = Change(applied={"a": AppliedRevision("s", 1, "b")})


def lock_on(
    gateway: Gateway,
    purpose: str = "upgrade head",
    *,
    clock: Clock | None = None,
    on_wait: Callable[[], None] = lambda: None,
) -> RunnerLock:
    engine = engine_on(gateway, clock or Clock())
    return RunnerLock(
        runtime_of(engine), TABLE, purpose, now_ms=lambda: 1_700_000_000_000, on_wait=on_wait
    )


def test_the_lock_is_held_within_the_block_and_its_fence_grows() -> None:
    gateway = MemoryGateway()

    for fence in (1, 2, 3):
        with lock_on(gateway, "upgrade head") as lock:
            held = history_in(gateway).lock
        released = history_in(gateway).lock

        assert held is not None
        assert released is not None
        assert (held.fence, held.is_held, released.fence, released.is_held) == (
            fence,
            True,
            fence,
            False,
        )
        assert held.holder == lock.holder
        assert held.holder.startswith("upgrade head, process ")


def test_a_live_runner_is_named_as_soon_as_it_renews_its_lock() -> None:
    gateway, clock, waits = MemoryGateway(), Clock(), list[float]()
    with lock_on(gateway, "upgrade 3f2a") as live:

        def renew() -> None:
            live.record(Change())

        clock.on_sleep.append(renew)
        with (
            pytest.raises(LockHeldError) as caught,
            lock_on(gateway, clock=clock, on_wait=lambda: waits.append(clock())),
        ):
            pass

        assert caught.value.holder == live.holder
        assert caught.value.since == "2023-11-14T22:13:20+00:00"
        assert caught.value.lapses_after_s == LEASE_S
        assert waits == [0.0]
        assert clock() < LEASE_S / RENEWALS_PER_LEASE
        live.record(STEP)
    assert history_in(gateway).applied == STEP.applied


def test_a_dead_runner_is_replaced_after_a_lease() -> None:
    gateway, clock = MemoryGateway(), Clock()
    with pytest.raises(CrashError):
        _hold_and_crash(gateway)
    dead = history_in(gateway).lock
    assert dead is not None
    assert dead.is_held

    with lock_on(gateway, clock=clock):
        taken = history_in(gateway).lock

    assert taken is not None
    assert (taken.fence, taken.id == dead.id) == (dead.fence + 1, False)
    assert clock() == pytest.approx(LEASE_S)


def _hold_and_crash(gateway: Gateway) -> None:
    process = Process(gateway)
    with lock_on(process):
        process._before = crash_at(0)
        raise CrashError


def test_a_lock_that_is_released_during_the_wait_is_taken_at_once() -> None:
    gateway, clock = MemoryGateway(), Clock()
    first = lock_on(gateway)
    first.__enter__()
    clock.on_sleep.append(lambda: first.__exit__(None, None, None))
    clock.on_sleep.append(clock.on_sleep.clear)

    with lock_on(gateway, clock=clock) as lock:
        assert lock.history.lock is not None
        assert lock.history.lock.fence == 2

    assert clock() < LEASE_S


def test_a_runner_that_was_replaced_records_nothing_more() -> None:
    gateway = MemoryGateway()
    late = lock_on(gateway)
    late.__enter__()
    late.record(STEP)
    with lock_on(gateway) as other:
        other.record(Change(applied={"b": AppliedRevision("s", 2, "other")}))
    before = recorded_cells(gateway)

    for _ in range(2):
        with pytest.raises(LockLostError):
            late.record(Change(applied={"c": AppliedRevision("s", 3, "late")}))
    with pytest.raises(LockLostError):
        late.check()
    late.__exit__(None, None, None)

    assert recorded_cells(gateway) == before


def test_a_change_that_arrives_after_the_takeover_changes_nothing() -> None:
    gateway = MemoryGateway()
    slow = HoldsBack(gateway, lambda request: _applies(request, b"late"))
    late = lock_on(slow)
    late.__enter__()
    late._runner = runtime_of(engine_on(_Stops(slow), Clock()))
    with pytest.raises(CrashError):
        late.record(Change(applied={"late": AppliedRevision("s", 3, "late")}))
    with lock_on(gateway):
        before = recorded_cells(gateway)
        slow.send_held()
        assert recorded_cells(gateway) == before


class _Stops:
    """Ends the process when the answer of a change is lost."""

    def __init__(self, inner: Gateway) -> None:
        self._inner = inner
        self.features = inner.features

    def execute(self, operation: Any, /) -> Any:
        try:
            return self._inner.execute(operation)
        except Exception as error:
            raise CrashError from error

    def close(self) -> None:
        """Leave the gateway open."""


def _applies(request: Any, name: bytes) -> bool:
    return isinstance(request, CheckAndMutate) and any(
        put.column == b"d:r:" + name for put in request.mutation.puts
    )


def test_an_earlier_change_that_arrives_between_is_not_taken_for_the_next_one() -> None:
    gateway = MemoryGateway()
    slow = HoldsBack(gateway, lambda request: _applies(request, b"first"))
    lock = lock_on(slow)
    lock.__enter__()
    lock._runner = runtime_of(engine_on(_Stops(slow), Clock()))
    with pytest.raises(CrashError):
        lock.record(Change(applied={"first": AppliedRevision("s", 1, "x")}))
    slow.send_held()

    lock.record(Change(applied={"second": AppliedRevision("s", 2, "x")}))

    assert sorted(history_in(gateway).applied) == ["first", "second"]


def test_lost_answers_do_not_lose_the_lock() -> None:
    gateway = MemoryGateway()
    lossy = LosesAnswers(gateway, lambda request: isinstance(request, CheckAndMutate))

    with lock_on(lossy) as lock:
        lock.record(STEP)

    assert history_in(gateway).applied == STEP.applied
    assert not _is_held(gateway)


def test_a_lock_that_cannot_be_released_lapses(caplog: pytest.LogCaptureFixture) -> None:
    gateway = MemoryGateway()
    is_down: list[bool] = []
    failing = FailsBeforeSending(
        gateway, lambda _: RegionUnavailableError("down") if is_down else None
    )

    with caplog.at_level(logging.WARNING, "hbase_orm.migrate"), lock_on(failing):
        is_down.append(True)

    assert "was not released, it will lapse" in caplog.text
    assert _is_held(gateway)


def _is_held(gateway: Gateway) -> bool:
    lock = history_in(gateway).lock
    return lock is not None and lock.is_held


@pytest.mark.parametrize("answer_is_lost", [False, True])
def test_an_interrupt_while_the_lock_is_taken_releases_it(*, answer_is_lost: bool) -> None:
    gateway = MemoryGateway()
    is_first = [True]

    class Interrupts(FailsBeforeSending):
        def execute(self, operation: Any, /) -> Any:
            is_taking = (
                isinstance(operation, CheckAndMutate) and is_first.pop() if is_first else False
            )
            if is_taking and not answer_is_lost:
                raise KeyboardInterrupt
            answer = self.inner.execute(operation)
            if is_taking:
                raise KeyboardInterrupt
            return answer

    gateway.execute(_table())
    with pytest.raises(KeyboardInterrupt), lock_on(Interrupts(gateway, lambda _: None)):
        pass

    assert not _is_held(gateway)


def _table() -> CreateTable:
    from hbase_orm.migrate.history import MIGRATIONS_FORMAT  # noqa: PLC0415
    from hbase_orm.numbering.create_tables import descriptor  # noqa: PLC0415

    return CreateTable(descriptor(TABLE, MIGRATIONS_FORMAT))


def test_a_thread_renews_the_lock() -> None:
    gateway = MemoryGateway()
    with lock_on(gateway) as lock:
        before = recorded_cells(gateway)

        assert lock._renew()

        assert recorded_cells(gateway) != before
        with lock_on(gateway):
            assert not lock._renew()
            assert not lock._renew()


def test_two_runners_that_take_the_lock_at_once_do_not_both_get_it() -> None:
    gateway = MemoryGateway()
    gateway.execute(_table())
    others: list[RunnerLock] = []

    def other_first(request: int) -> None:
        if request == 2 and not others:  # after the history was read
            others.append(lock_on(gateway, "the other"))
            others[0].__enter__()

    with pytest.raises(LockHeldError) as caught, lock_on(Process(gateway, other_first)):
        pass

    assert caught.value.holder == others[0].holder


def test_thrift1_cannot_take_the_lock() -> None:
    with pytest.raises(FeatureMissingError), lock_on(DoesWhatThrift1Does(MemoryGateway())):
        pass
