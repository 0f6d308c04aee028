"""Exceptions from outside at random steps of every verb: nothing is lost, nothing is left behind."""

from __future__ import annotations

import contextlib
import ctypes
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hbase_orm import connect
from hbase_orm.gateway.thrift.pool import Pool
from hbase_orm.testing.servers import RealHBase
from tests.support.interrupted_verbs import MODELS, VERBS, Known, Verb
from tests.support.interrupts import Interrupted, Interrupter, TimeLimit
from tests.support.recording import gateway_of

pytestmark = [
    pytest.mark.hbase,
    # A socket may be interrupted between its making and its first use: the collector closes it.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    # What comes from outside inside a finaliser is swallowed by the interpreter.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

How = Callable[[Any, random.Random], tuple[Any, Any]]
"""Chooses how a verb is interrupted: what runs it, and what to call that."""

PATIENCE_S = 30.0
MOST_FAILURES = 3

# A gateway carries out what it was sent also when nobody waits for the answer any more; nothing
# tells when, and a verb that is called again at once may meet it.
LATE_S = 0.03
POOL = 3


@pytest.fixture(scope="module")
def known(hbase: RealHBase) -> Iterator[Known]:
    namespace = f"i{random.getrandbits(40):x}"
    with connect(f"{hbase.url}&pool={POOL}".replace("?", f"/{namespace}?", 1)) as engine:
        engine.create_tables(*MODELS)
        yield Known(engine)
        engine.drop_tables(*MODELS)


def pools(known: Known) -> list[Pool[Any]]:
    retrying: Any = gateway_of(known.engine)
    routed = retrying.inner
    return [routed.data.pool, routed.atomic.pool]


def in_other_thread(act: Callable[[], None]) -> None:
    """Run `act` in a thread of its own, which a lock that is left locked stops for good."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as exc:  # noqa: BLE001  # raised by the caller
            failures.append(exc)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    if thread.is_alive():
        frame = sys._current_frames()[thread.ident or 0]
        raise AssertionError("something was left locked", traceback.format_stack(frame)[-6:])
    if failures:
        raise failures[0]


def steps_of(verb: Callable[[Known], Verb], known: Known) -> int:
    running = verb(known)
    act = next(running)
    counting = Interrupter()
    counting.run(act)
    in_other_thread(lambda: finish(running))
    return counting.steps


def finish(running: Verb) -> None:
    for _ in running:
        raise AssertionError


def interrupt(
    verb: Callable[[Known], Verb], known: Known, run: Callable[[Callable[[], Any]], Any], what: Any
) -> str:
    """Interrupt a verb as `run` does, check what is left, and return what is wrong."""
    running = verb(known)
    act = next(running)
    raised: BaseException | None = None
    try:
        run(act)
    except BaseException as exc:  # noqa: BLE001  # whatever the verb makes of it
        raised = exc  # kept: a traceback keeps frames, and what they hold
    threading.Event().wait(LATE_S)
    try:
        assert_nothing_is_held(known)
        in_other_thread(lambda: finish(running))
    except BaseException:  # noqa: BLE001  # counted with the others
        told = "".join(traceback.format_exception(raised)[-3:]) if raised else ""
        return f"{verb.__name__} {what}\n{told}\n{traceback.format_exc()}"
    return ""


def is_used(pool: Pool[Any]) -> bool:
    is_busy = any(slot.is_busy for slot in pool._slots)
    return is_busy or any(turn() is not None for turn in tuple(pool._waiting))


def assert_nothing_is_held(known: Known) -> None:
    until = time.monotonic() + PATIENCE_S
    for pool in pools(known):
        # A load's own threads may have requests under way, which end by themselves.
        while is_used(pool) and time.monotonic() < until:
            threading.Event().wait(0.005)
        assert not any(slot.is_busy for slot in pool._slots), pool
        assert all(slot.connection.is_in_step() for slot in pool._slots), pool
        assert not [turn for turn in pool._waiting if turn() is not None], pool
        assert len(pool._slots) <= POOL


def at_a_step(steps: dict[Any, int]) -> How:
    """Interrupt verbs at one of their steps, chosen at random."""

    def choose(verb: Any, chance: random.Random) -> tuple[Any, Any]:
        kind = chance.choice([Interrupted, TimeLimit])
        interrupter = Interrupter(chance.randint(1, steps[verb]), kind)
        return interrupter.run, interrupter

    return choose


def by_a_signal(verb: Any, chance: random.Random) -> tuple[Any, Any]:
    """Interrupt a verb by a signal whose handler raises, after some milliseconds."""
    del verb
    after_s = chance.uniform(0.0001, 0.02)

    def run(act: Callable[[], Any]) -> None:
        signal.setitimer(signal.ITIMER_REAL, after_s)
        try:
            act()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    return run, f"signal after {after_s} s"


def by_another_thread(verb: Any, chance: random.Random) -> tuple[Any, Any]:
    """Let another thread throw an exception into the one that runs the verb."""
    del verb
    after_s = chance.uniform(0.0001, 0.02)

    def run(act: Callable[[], Any]) -> None:
        def quietly() -> None:
            with contextlib.suppress(BaseException):
                act()

        thread = threading.Thread(target=quietly, daemon=True)
        thread.start()
        thread.join(after_s)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Interrupted)
        )
        thread.join(PATIENCE_S)

    return run, f"exception after {after_s} s"


def run(known: Known, how: How, count: int) -> list[str]:
    """Interrupt the verbs in turn, and return what was wrong; the seed repeats the choices."""
    seed = random.getrandbits(32)
    chance = random.Random(seed)
    wrong = []
    for number in range(count):
        verb = VERBS[number % len(VERBS)]
        run_act, what = how(verb, chance)
        found = interrupt(verb, known, run_act, what)
        if found:
            wrong.append(f"seed {seed}: {found}")
        if len(wrong) == MOST_FAILURES:
            break  # what is left locked stays so
    return wrong


@pytest.fixture
def raising_alarm() -> Iterator[None]:
    """Let the alarm's handler raise."""

    def handle(number: int, frame: Any) -> None:
        del number, frame
        raise Interrupted

    before = signal.signal(signal.SIGALRM, handle)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_a_verb_interrupted_at_any_step_leaves_everything_usable(known: Known) -> None:
    steps = {verb: steps_of(verb, known) for verb in VERBS}

    assert run(known, at_a_step(steps), count=3 * len(VERBS)) == []


@pytest.mark.timeout(method="thread")  # its alarm is this test's
@pytest.mark.usefixtures("raising_alarm")
def test_a_verb_interrupted_by_a_signal_leaves_everything_usable(known: Known) -> None:
    assert run(known, by_a_signal, count=len(VERBS)) == []


def test_a_verb_interrupted_by_another_thread_leaves_everything_usable(known: Known) -> None:
    assert run(known, by_another_thread, count=len(VERBS)) == []


@pytest.mark.soak
def test_two_thousand_interrupted_verbs_leave_everything_usable(known: Known) -> None:
    steps = {verb: steps_of(verb, known) for verb in VERBS}

    assert run(known, at_a_step(steps), count=2_000) == []


@pytest.mark.soak
@pytest.mark.timeout(method="thread")
@pytest.mark.usefixtures("raising_alarm")
def test_a_thousand_verbs_interrupted_by_signals_leave_everything_usable(known: Known) -> None:
    assert run(known, by_a_signal, count=1_000) == []


@pytest.mark.soak
def test_a_thousand_verbs_interrupted_by_threads_leave_everything_usable(known: Known) -> None:
    assert run(known, by_another_thread, count=1_000) == []
