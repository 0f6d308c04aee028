"""What sessions of one engine share, over a fork."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import TypeVar

import pytest

from hbase_orm import Engine, Family, Key, Model, Salt, codecs, key, rowkey, select
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import EngineOptions
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import GetRows, OpenScanner, Operation
from tests.support.recording import RecordsRequests

R = TypeVar("R")


class Salted(Model, table="salted"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(3), n)


class OpensTogether(RecordsRequests):
    """Answers no `OpenScanner` before so many are there."""

    def __init__(self, count: int) -> None:
        super().__init__(MemoryGateway())
        self._meeting = threading.Barrier(count, timeout=5)

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, OpenScanner):
            self._meeting.wait()
        return super().execute(operation)


# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_does_not_inherit_a_held_lock() -> None:
    runtime = Runtime(MemoryGateway(), parallel=1)

    with runtime.clock._lock:
        pid = os.fork()
        if pid == 0:
            # Nothing of pytest may run in the child, whatever happens; a held lock ends it.
            try:
                signal.alarm(5)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                runtime.clock.note_deletes([("t", b"r")])
                os._exit(0)
            finally:
                os._exit(2)
        status = os.waitpid(pid, 0)[1]

    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize(
    ("options", "at_once"),
    [
        (EngineOptions(scheme="hbase", pool=3), 3),
        (EngineOptions(scheme="hbase", pool=1), 1),
        (EngineOptions(scheme="memory", pool=3), 1),
    ],
)
def test_reads_go_side_by_side_over_the_pool_and_in_turn_in_memory(
    options: EngineOptions, at_once: int
) -> None:
    engine = Engine(MemoryGateway(), options)
    meeting = threading.Barrier(at_once, timeout=5)

    def work(_: int) -> int:
        meeting.wait()
        time.sleep(0.02)  # long enough for another thread to take the next one
        return threading.get_ident()

    with engine:
        threads = engine._runtime.each(work, range(at_once * 4))

    assert len(set(threads)) == at_once


def test_a_session_opens_all_buckets_of_a_statement_at_once() -> None:
    with Engine(OpensTogether(3), EngineOptions(scheme="hbase", pool=3)) as engine:
        engine.create_tables(Salted)
        with engine.session() as session:
            session.add_all(Salted(n=n) for n in range(9))
        with engine.session() as session:
            found = session.all(select(Salted).allow_full_scan())

    assert [obj.n for obj in found] == list(range(9))


class AnswersLate(RecordsRequests):
    """Lets time pass before it answers the next get."""

    def __init__(self) -> None:
        super().__init__(MemoryGateway())
        self.now_s = 0.0
        self.delays_s: list[float] = []

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, GetRows) and operation.table == "salted" and self.delays_s:
            self.now_s += self.delays_s.pop()
        return super().execute(operation)


@pytest.mark.parametrize(("delay_s", "gets"), [(1.0, 1), (1_000.0, 2)])
def test_an_answer_that_came_after_the_lease_is_read_again(delay_s: float, gets: int) -> None:
    gateway = AnswersLate()
    engine = Engine(gateway, EngineOptions(scheme="memory"))
    engine.create_tables(Salted)
    engine._runtime = Runtime(gateway, parallel=1, monotonic_s=lambda: gateway.now_s)
    with engine.session() as session:
        session.add(Salted(n=1))
        session.flush()
        session.get(Salted, n=1)
        gateway.requests.clear()
        gateway.delays_s = [delay_s]

        assert session.get(Salted, n=1) is not None

    sent = [each for each in gateway.requests if isinstance(each, GetRows)]
    assert [each.table for each in sent].count("salted") == gets
