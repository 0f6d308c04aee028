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
from hbase_orm.ops import OpenScanner, Operation
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
