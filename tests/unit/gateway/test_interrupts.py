"""Exceptions from outside at every step of the pool and of the driver: nothing is held afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm.binding.runtime import Runtime
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.coalesce import run_grouped
from hbase_orm.gateway.drive import Driver
from hbase_orm.gateway.helper_threads import Team
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.thrift.pool import Address, Pool
from hbase_orm.ops import GetRows, ListTables, Operation, Ping, Protocol, Together, ask
from tests.support.interrupts import Interrupted, Interrupter, TimeLimit

PATIENCE_S = 20.0
_HERE = Address("here", 1)


class _Connection:
    def __init__(self) -> None:
        self.in_step = True
        self.is_open = True

    def set_deadline(self, deadline: float) -> None: ...

    def is_in_step(self) -> bool:
        return self.in_step

    def is_usable(self) -> bool:
        return self.in_step

    def exchange(self) -> None:
        """Ask something: while the answer is on its way the connection is out of step."""
        assert self.in_step
        self.in_step = False
        len("the answer")
        self.in_step = True

    def close(self) -> None:
        self.in_step = self.is_open = False


def _open(address: Address, deadline: float) -> _Connection:
    del address, deadline
    return _Connection()


def _every_step(act: Callable[[], Any], check: Callable[[BaseException | None], None]) -> int:
    """Interrupt `act` at each of its steps in turn, and check afterwards; return how many."""
    counting = Interrupter()
    counting.run(act)
    for at in range(1, counting.steps + 1):
        raised: BaseException | None = None
        try:
            Interrupter(at).run(act)
        except Interrupted as exc:
            raised = exc  # kept while checking: a traceback keeps frames, and what they hold
        check(raised)
    return counting.steps


def _in_other_thread(act: Callable[[], Any]) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as exc:  # noqa: BLE001  # raised by the caller
            failures.append(exc)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert failures == []


@pytest.mark.parametrize("is_new", [False, True])
def test_a_slot_is_free_again_at_whatever_step_its_use_was_interrupted(*, is_new: bool) -> None:
    pool = Pool(_open, (_HERE,), size=1)

    def act() -> None:
        if is_new:
            for slot in pool._slots:
                slot.connection.in_step = False
        pool.use(1e9).do(lambda slot: slot.connection.exchange())

    def check(raised: BaseException | None) -> None:
        del raised
        assert not any(slot.is_busy for slot in pool._slots)
        _in_other_thread(act)

    assert _every_step(act, check) > 10


def test_a_scanners_slot_is_free_again_at_whatever_step_its_use_was_interrupted() -> None:
    pool = Pool(_open, (_HERE,), size=1)
    with pool.use(1e9) as scanning:
        scanning.scanners.add(7)

    def act() -> None:
        pool.use_same(scanning, 1e9).do(lambda slot: slot.scanners)

    def check(raised: BaseException | None) -> None:
        del raised
        assert not scanning.is_busy
        _in_other_thread(act)

    assert _every_step(act, check) > 10


class _Answers:
    """A gateway that answers, from whichever thread."""

    features: frozenset[Feature] = frozenset()

    def execute(self, operation: Operation[Any], /) -> Any:
        return operation

    def close(self) -> None: ...


def _together() -> Protocol[Any]:
    return (yield Together(tuple(ListTables() for _ in range(4))))


def test_a_driver_works_on_at_whatever_step_it_was_interrupted() -> None:
    driver = Driver(_Answers(), parallel=3)

    def act() -> None:
        assert len(driver.run(_together())) == 4

    def check(raised: BaseException | None) -> None:
        del raised
        _in_other_thread(act)

    assert _every_step(act, check) > 20
    _in_other_thread(driver.close)


def test_what_interrupts_a_group_of_requests_is_not_taken_for_their_failure() -> None:
    driver = Driver(MemoryGateway(), parallel=1)
    swallowed = []

    def act() -> None:
        run_grouped(driver, [ask(GetRows("t", (bytes([n]),))) for n in range(3)])

    counting = Interrupter()
    counting.run(act)
    for at in range(1, counting.steps + 1):
        interrupter = Interrupter(at, TimeLimit)
        outcomes: list[Any] = []
        protocols = [ask(GetRows("t", (bytes([n]),))) for n in range(3)]

        def group(protocols: Any = protocols, outcomes: Any = outcomes) -> None:
            outcomes += run_grouped(driver, protocols)

        try:
            interrupter.run(group)
        except TimeLimit:
            continue
        if not any(isinstance(each.error, TimeLimit) for each in outcomes):
            swallowed.append(interrupter.where)

    assert swallowed == []


def test_a_row_that_was_worked_on_alone_is_free_again_at_whatever_step_that_ended() -> None:
    runtime = Runtime(MemoryGateway(), parallel=1)
    where = "t", b"row"

    def act() -> None:
        runtime.row_locks.hold(where, lambda: runtime.execute(Ping()))

    def check(raised: BaseException | None) -> None:
        del raised
        lock = runtime.row_locks._locks[hash(where) % len(runtime.row_locks._locks)]
        _in_other_thread(lambda: _lock_once(lock))

    assert _every_step(act, check) > 5


def _lock_once(lock: Any) -> None:
    assert lock.acquire(blocking=False)
    lock.release()


# --- threads that are ended from outside -----------------------------------------------------------


def test_a_thread_that_helps_and_is_ended_from_outside_ends_the_call_and_nothing_else() -> None:
    driver = Driver(_Answers(), parallel=2)
    meeting = threading.Barrier(2, timeout=PATIENCE_S)

    def work(number: int) -> int:
        meeting.wait()
        if threading.current_thread().name == "hbase-orm-driver":
            raise Interrupted
        return number

    with pytest.raises(Interrupted):
        driver.each(work, (1, 2))

    assert driver.each(lambda number: number, (1, 2)) == [1, 2]
    driver.close()


def test_work_that_a_thread_began_gives_its_result_at_whatever_step_asking_was_interrupted() -> (
    None
):
    team = Team(2)

    def act() -> None:
        assert [team.begin(lambda number: number + 1, number).result() for number in range(3)] == [
            1,
            2,
            3,
        ]

    def check(raised: BaseException | None) -> None:
        del raised
        _in_other_thread(act)

    assert _every_step(act, check) > 20
    _in_other_thread(team.close)
