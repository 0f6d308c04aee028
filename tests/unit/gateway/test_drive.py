"""The blocking driver answers yields, sends side by side, and throws errors in at the yield."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar, cast

import pytest

from hbase_orm.errors import ConfigurationError, ConnectionLostError, RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.drive import Driver, ProtocolResult
from hbase_orm.ops import ListRegions, Operation, Ping, Sleep, Together, ask, ask_all, run_all

R = TypeVar("R")
Steps = Generator[Operation[Any], Any, R]

# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
_forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


class _Echo:
    """Answers `ListRegions` with the table's name and counts how many requests run at once.

    The table "bad" is refused. With `width`, an answer waits until so many requests are there.
    """

    features: frozenset[Feature] = frozenset()

    def __init__(self, width: int = 1) -> None:
        self.asked: list[str] = []
        self.most = 0
        self._running = 0
        self._lock = threading.Lock()
        self._gate = threading.Barrier(width, timeout=5) if width > 1 else None

    def execute(self, operation: Operation[R], /) -> R:
        assert isinstance(operation, ListRegions)
        with self._lock:
            self.asked.append(operation.table)
            self._running += 1
            self.most = max(self.most, self._running)
        if self._gate is not None:
            self._gate.wait()
        with self._lock:
            self._running -= 1
        if operation.table == "bad":
            raise RejectedError("refused")
        return cast("R", operation.table)

    def close(self) -> None: ...


def _two_steps() -> Steps[list[object]]:
    first = yield from ask(ListRegions("a"))
    second = yield from ask(ListRegions("b"))
    return [first, second]


def _many(*tables: str) -> Steps[tuple[object, ...]]:
    return (yield from ask_all([ListRegions(table) for table in tables]))


def test_a_protocol_is_sent_its_answers_and_returns_its_result() -> None:
    assert Driver(_Echo()).run(_two_steps()) == ["a", "b"]


def test_an_error_is_thrown_in_at_the_yield_and_may_be_handled_there() -> None:
    def careful() -> Steps[object]:
        try:
            yield from ask(ListRegions("bad"))
        except RejectedError:
            return (yield from ask(ListRegions("other")))
        return None

    assert Driver(_Echo()).run(careful()) == "other"


def test_an_error_that_the_protocol_lets_out_is_raised() -> None:
    with pytest.raises(RejectedError):
        Driver(_Echo()).run(_many("bad"))


def test_the_protocol_is_closed_when_the_driver_is_interrupted() -> None:
    ended: list[str] = []

    class _Interrupted(_Echo):
        def execute(self, operation: Operation[R], /) -> R:
            raise KeyboardInterrupt(operation)

    def tidy() -> Steps[None]:
        try:
            yield Ping()
        finally:
            ended.append("closed")

    # Held here, so that it is not closed merely by being collected.
    protocol = tidy()
    with pytest.raises(KeyboardInterrupt):
        Driver(_Interrupted()).run(protocol)
    assert ended == ["closed"]


def test_sleep_is_the_drivers() -> None:
    pauses: list[float] = []

    def sleepy() -> Steps[None]:
        yield Sleep(1.5)

    Driver(_Echo(), sleep=pauses.append).run(sleepy())

    assert pauses == [1.5]


def test_requests_together_are_under_way_at_once_and_answers_keep_their_places() -> None:
    gateway = _Echo(width=3)
    driver = Driver(gateway, parallel=3)

    answers = driver.run(_many("a", "b", "c"))
    driver.close()

    assert answers == ("a", "b", "c")
    assert gateway.most == 3


def test_no_more_requests_are_under_way_than_allowed() -> None:
    gateway = _Echo(width=2)
    driver = Driver(gateway, parallel=2)

    driver.run(_many(*"abcdefgh"))
    driver.close()

    assert gateway.most == 2


def test_one_at_a_time_needs_no_thread() -> None:
    before = set(threading.enumerate())
    driver = Driver(_Echo())

    driver.run(_many("a", "b"))

    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("parallel", [1, 4])
def test_after_a_failure_the_others_are_still_sent_and_the_first_by_place_is_raised(
    parallel: int,
) -> None:
    gateway = _Echo()
    driver = Driver(gateway, parallel=parallel)

    with pytest.raises(RejectedError):
        driver.run(_many("a", "bad", "c", "bad"))
    driver.close()

    assert sorted(gateway.asked) == ["a", "bad", "bad", "c"]


def test_together_within_together_does_not_wait_for_itself() -> None:
    driver = Driver(_Echo(), parallel=2)
    # Threads that waited for each other's requests would soon all be waiting.
    first = Together((ListRegions("a"), ListRegions("b")))
    second = Together((first, first))
    third = Together((second, second))

    def nested() -> Steps[object]:
        return (yield Together((third, third, third)))

    answer = driver.run(nested())
    driver.close()

    assert answer == ((((("a", "b"),) * 2),) * 2,) * 3


def test_many_protocols_end_each_for_itself_in_order() -> None:
    driver = Driver(_Echo(), parallel=3)

    outcomes = driver.run_many([_many("a"), _many("bad"), _many("b", "c")])
    driver.close()

    assert [outcome.value for outcome in outcomes] == [("a",), None, ("b", "c")]
    assert [type(outcome.error) for outcome in outcomes] == [
        type(None),
        RejectedError,
        type(None),
    ]


def test_many_protocols_run_side_by_side_up_to_the_given_number() -> None:
    gateway = _Echo(width=2)
    driver = Driver(gateway, parallel=4)

    driver.run_many([_many(str(number)) for number in range(6)], parallel=2)
    driver.close()

    assert gateway.most == 2


def test_a_protocol_runs_others_side_by_side_and_gets_their_results_in_order() -> None:
    gateway = _Echo(width=3)
    driver = Driver(gateway, parallel=3)

    results = driver.run(run_all([_many("a"), _many("b"), _many("c")]))
    driver.close()

    assert results == [("a",), ("b",), ("c",)]
    assert gateway.most == 3


def test_of_protocols_side_by_side_all_end_and_the_first_failure_is_raised() -> None:
    gateway = _Echo()
    driver = Driver(gateway)

    with pytest.raises(RejectedError):
        driver.run(run_all([_many("a"), _many("bad"), _many("c")]))

    assert gateway.asked == ["a", "bad", "c"]


def test_protocols_side_by_side_run_as_the_driver_is_told() -> None:
    driver = Driver(
        _Echo(),
        run_group=lambda _, protocols, sizes: [
            ProtocolResult(len(protocols)) for _ in (*protocols, *sizes)
        ],
    )

    results: list[object] = list(driver.run(run_all([_many("a"), _many("b")])))

    assert results == [2, 2]


def test_no_protocols_give_no_outcomes() -> None:
    assert Driver(_Echo(), parallel=4).run_many([]) == []


class _InterruptedCaller:
    """Interrupts the thread that made it at its second request; other threads' take 50 ms."""

    features: frozenset[Feature] = frozenset()

    def __init__(self) -> None:
        self.sent = 0
        self.answered = 0
        self._caller = threading.get_ident()
        self._of_caller = 0
        self._interrupted = threading.Event()

    def execute(self, _operation: Operation[R], /) -> R:
        if threading.get_ident() == self._caller:
            self._of_caller += 1
            if self._of_caller == 2:
                self._interrupted.set()
                raise KeyboardInterrupt
            return cast("R", None)
        self.sent += 1
        self._interrupted.wait(5)
        time.sleep(0.05)
        self.answered += 1
        return cast("R", None)

    def close(self) -> None: ...


def _together(driver: Driver, tables: list[str]) -> None:
    driver.run(_many(*tables))


def _each_for_itself(driver: Driver, tables: list[str]) -> None:
    driver.run_many([_many(table) for table in tables])


def test_work_is_done_on_each_item_at_once_and_results_keep_their_places() -> None:
    driver = Driver(_Echo(), parallel=3)
    meeting = threading.Barrier(3, timeout=5)

    def work(number: int) -> int:
        meeting.wait()
        return number * 10

    assert driver.each(work, [3, 1, 2]) == [30, 10, 20]
    driver.close()


def test_the_first_failure_by_place_is_raised_once_what_had_begun_has_ended() -> None:
    driver = Driver(_Echo(), parallel=3)
    meeting = threading.Barrier(3, timeout=5)
    ended: list[int] = []

    def work(number: int) -> None:
        meeting.wait()
        if number == 0:
            time.sleep(0.2)
        ended.append(number)
        if number:
            raise RejectedError("refused", number=number)

    with pytest.raises(RejectedError) as caught:
        driver.each(work, [0, 2, 1])
    driver.close()

    assert caught.value.number == 2
    assert sorted(ended) == [0, 1, 2]


def test_after_a_failure_no_more_work_begins() -> None:
    driver = Driver(_Echo(), parallel=2)
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        raise RejectedError("refused")

    with pytest.raises(RejectedError):
        driver.each(work, range(20))
    driver.close()

    assert len(begun) <= 2


def test_work_in_turn_stays_in_the_callers_thread() -> None:
    driver = Driver(_Echo(), parallel=3)

    assert set(driver.each(lambda _: threading.get_ident(), range(5), 1)) == {threading.get_ident()}


def test_a_caller_does_not_wait_for_threads_that_work_for_others() -> None:
    driver = Driver(_Echo(), parallel=2)
    started, may_end = threading.Barrier(5, timeout=5), threading.Event()

    def long_work(_: int) -> bool:
        started.wait()
        return may_end.wait(5)

    others = [threading.Thread(target=driver.each, args=(long_work, [1, 2])) for _ in range(2)]
    for other in others:
        other.start()
    started.wait()  # both threads of the driver and both callers are at work
    found = driver.each(lambda number: number, [1, 2, 3])
    are_at_work = [other.is_alive() for other in others]
    may_end.set()
    for other in others:
        other.join(5)
    driver.close()

    assert (found, are_at_work) == ([1, 2, 3], [True, True])


@pytest.mark.parametrize("ask_for", [_together, _each_for_itself])
def test_an_interrupt_lets_requests_under_way_end_and_sends_no_more(
    ask_for: Callable[[Driver, list[str]], None],
) -> None:
    gateway = _InterruptedCaller()
    driver = Driver(gateway, parallel=2)

    with pytest.raises(KeyboardInterrupt):
        ask_for(driver, [str(number) for number in range(20)])
    at_interrupt = gateway.sent, gateway.answered
    driver.close()

    assert at_interrupt == (gateway.sent, gateway.answered)
    assert gateway.sent == gateway.answered <= 1


def test_an_outcome_gives_its_value_or_raises_its_error() -> None:
    lost: ProtocolResult[int] = ProtocolResult(error=ConnectionLostError("lost"))

    assert ProtocolResult(7).result() == 7
    with pytest.raises(ConnectionLostError):
        lost.result()


def test_a_closed_driver_starts_threads_again_when_needed() -> None:
    driver = Driver(_Echo(), parallel=2)
    driver.run(_many("a", "b"))
    driver.close()
    driver.close()

    assert driver.run(_many("a", "b")) == ("a", "b")
    driver.close()


@_forks
def test_a_forked_child_gets_threads_of_its_own() -> None:
    driver = Driver(_Echo(), parallel=2)
    driver.run(_many("a", "b"))

    pid = os.fork()
    if pid == 0:
        # Nothing of pytest may run in the child, whatever happens.
        try:
            os._exit(0 if driver.run(_many("a", "b", "c")) == ("a", "b", "c") else 1)
        finally:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    driver.close()


def test_a_driver_without_a_thread_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        Driver(_Echo(), parallel=0)


def test_several_threads_may_use_one_driver() -> None:
    driver = Driver(_Echo(), parallel=2)
    answers: list[object] = []

    def work() -> None:
        answers.extend(driver.run(_many("a", "b")) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    driver.close()

    assert answers == [("a", "b")] * 80
