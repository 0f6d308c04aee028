"""Deferred clean-up: writes are a request shorter, and dead entries are gone a moment later."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.binding import clean_up
from hbase_orm.binding.clean_up import CleanUp
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CheckAndMutate,
    Delete,
    FetchRows,
    GetRows,
    MutateRows,
    OpenScanner,
    RowMutation,
    Scan,
)
from tests.support.recording import FailsBeforeSending, RecordsRequests


class Task(Model, table="tasks"):
    d = Family()
    number: Key[int] = key(codecs.uint64())
    state: Mapped[str] = column(d)
    by_state = Index(state)


ENTRIES = "tasks_ix_by_state"


def engine_on(gateway: Gateway, mode: str = "deferred") -> Engine:
    engine = Engine(gateway, parse_url(f"memory://?clean_up={mode}"))
    engine.create_tables(Task)
    return engine


def set_state(engine: Engine, state: str, number: int = 1) -> None:
    with engine.session() as session:
        task = session.get(Task, number=number)
        if task is None:
            session.add(Task(number=number, state=state))
        else:
            task.state = state
        session.flush()


def entry_states(gateway: Gateway, table: str = ENTRIES) -> list[str]:
    """Return the indexed values of all entries."""
    scanner = gateway.execute(OpenScanner(Scan(table)))
    return [row.key.partition(b"\0")[0].decode() for row in gateway.execute(FetchRows(scanner, 99))]


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    assert holds()


@pytest.fixture
def gateway() -> RecordsRequests:
    return RecordsRequests(MemoryGateway())


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the thread come so late that the test has ended."""
    monkeypatch.setattr(clean_up, "WAIT_S", 3_600.0)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(
    ("mode", "last"), [("now", [CheckAndMutate, MutateRows]), ("deferred", [CheckAndMutate])]
)
def test_a_write_is_one_request_shorter(
    gateway: RecordsRequests, mode: str, last: list[type]
) -> None:
    engine = engine_on(gateway, mode)
    set_state(engine, "new")
    with engine.session() as session:
        task = session.one(select(Task).where(Task.number == 1))
        task.state = "done"
        gateway.requests.clear()
        session.flush()

    assert [type(request) for request in gateway.requests] == [GetRows, MutateRows, *last]


def test_the_dead_entry_is_gone_a_moment_later(gateway: RecordsRequests) -> None:
    engine = engine_on(gateway)

    set_state(engine, "new")
    set_state(engine, "done")

    wait_until(lambda: entry_states(gateway) == ["done"])


@pytest.mark.usefixtures("slow")
def test_readers_never_see_what_waits(gateway: RecordsRequests) -> None:
    engine = engine_on(gateway)
    set_state(engine, "new")
    set_state(engine, "done")

    with engine.session() as session:
        found = session.all(select(Task).where(Task.state.in_(["new", "done"])))

    assert [task.state for task in found] == ["done"]
    assert sorted(entry_states(gateway)) == ["done", "new"]


@pytest.mark.usefixtures("slow")
def test_closing_the_engine_finishes_it(gateway: RecordsRequests) -> None:
    with engine_on(gateway) as engine:
        set_state(engine, "new")
        set_state(engine, "done")

    last = gateway.requests[-1]
    assert isinstance(last, MutateRows)
    assert [mutation.row.partition(b"\0")[0] for mutation in last.mutations] == [b"new"]
    assert last.mutations[0].deletes


@pytest.mark.usefixtures("slow")
def test_what_was_put_off_does_not_touch_a_table_of_the_same_name(gateway: RecordsRequests) -> None:
    engine = engine_on(gateway)
    for state in ("new", "done") * 200:  # its timestamps run ahead of the clock
        with engine.session() as session:
            session.put_row(Task, Task.state.to(state), number=1)

    engine.drop_tables(Task)
    engine.create_tables(Task)
    set_state(engine, "new")
    engine.finish_clean_up()

    assert entry_states(gateway, f"{ENTRIES}.2") == ["new"]


@pytest.mark.usefixtures("slow")
def test_an_index_is_dropped_after_its_clean_up(
    gateway: RecordsRequests, caplog: pytest.LogCaptureFixture
) -> None:
    options = replace(parse_url("memory://?clean_up=deferred"), lease_s=0.01)
    engine = Engine(gateway, options)
    engine.create_tables(Task)
    for state in ("new", "done"):
        set_state(engine, state)

    engine.drop_index(Task, Task.by_state)
    engine.finish_clean_up()

    assert "were not deleted" not in caplog.text


@pytest.mark.usefixtures("slow")
def test_an_entry_that_came_back_meanwhile_stays(gateway: RecordsRequests) -> None:
    engine = engine_on(gateway)
    for state in ("new", "done", "new", "done", "new"):
        set_state(engine, state)

    engine.finish_clean_up()

    assert entry_states(gateway) == ["new"]
    report = engine.verify_index(Task, "by_state", min_age_ms=0)
    assert (report.scanned, report.missing, report.stale) == (2, 0, 0)


@pytest.mark.usefixtures("slow")
def test_deletes_of_many_writes_travel_together(gateway: RecordsRequests) -> None:
    engine = engine_on(gateway)
    for state in ("new", "done"):
        for number in range(30):
            set_state(engine, state, number)
    gateway.requests.clear()

    engine.finish_clean_up()

    (request,) = gateway.requests
    assert isinstance(request, MutateRows)
    assert len(request.mutations) == 30


def test_a_failure_is_logged_and_leaves_stale_entries(caplog: pytest.LogCaptureFixture) -> None:
    def cut(operation: object) -> Exception | None:
        is_delete = isinstance(operation, MutateRows) and operation.mutations[0].deletes
        return ConnectionLostError("cut") if is_delete else None

    gateway = FailsBeforeSending(MemoryGateway(), cut)
    engine = engine_on(gateway)
    set_state(engine, "new")
    set_state(engine, "done")

    with caplog.at_level(logging.WARNING, "hbase_orm.session"):
        engine.finish_clean_up()

    assert "were not deleted" in caplog.text
    assert sorted(entry_states(gateway)) == ["done", "new"]


def delete_of(row: bytes, up_to_ms: int) -> MutateRows:
    return MutateRows("ix", (RowMutation(row, deletes=(Delete(b"d:", up_to_ms),)),))


def test_the_latest_delete_of_an_entry_counts() -> None:
    sent: list[object] = []
    later = CleanUp(lambda: sent.append, wait_s=3_600)

    later.put_off([delete_of(b"a", 5), delete_of(b"b", 5)])
    later.put_off([delete_of(b"a", 7), delete_of(b"b", 3)])
    later.finish()

    assert sent == [
        MutateRows("ix", (delete_of(b"a", 7).mutations[0], delete_of(b"b", 5).mutations[0]))
    ]


def test_whoever_adds_to_a_full_store_empties_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean_up, "MOST_WAITING", 10)
    sent: list[Any] = []
    later = CleanUp(lambda: sent.append, wait_s=3_600)

    for number in range(25):
        later.put_off([delete_of(b"%d" % number, 1)])

    assert [len(request.mutations) for request in sent] == [11, 11]
    later.finish()


def test_without_a_thread_it_is_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Timer, "start", refuse)
    sent: list[Any] = []
    later = CleanUp(lambda: sent.append, wait_s=3_600)

    later.put_off([delete_of(b"a", 5)])
    later.put_off([delete_of(b"a", 7)])

    assert sent == [delete_of(b"a", 5), delete_of(b"a", 7)]


def test_once_closed_it_sends_at_once() -> None:
    sent: list[Any] = []
    later = CleanUp(lambda: sent.append, wait_s=3_600)
    later.close()

    later.put_off([delete_of(b"a", 5)])

    assert sent == [delete_of(b"a", 5)]


@pytest.fixture
def hasty() -> Iterator[None]:
    """Let threads take turns at nearly every step."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_threads_lose_no_delete() -> None:
    sent: list[Any] = []
    later = CleanUp(lambda: sent.append, wait_s=0)

    def put_off_500(first: int) -> None:
        for number in range(first, first + 500):
            later.put_off([delete_of(b"%d" % number, 1)])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put_off_500, range(0, 4_000, 500)))
    later.finish()

    rows = [mutation.row for request in sent for mutation in request.mutations]
    assert len(set(rows)) == len(rows) == 4_000


def test_the_child_of_a_fork_sends_nothing_of_its_parent() -> None:
    sent: list[object] = []
    later = CleanUp(lambda: sent.append, wait_s=3_600)
    later.put_off([delete_of(b"a", 5)])

    later.forget()
    later.finish()

    assert not sent


@pytest.mark.usefixtures("slow")
def test_an_engine_is_used_on_both_sides_of_a_fork(gateway: RecordsRequests) -> None:
    engine = engine_on(gateway)
    set_state(engine, "new")
    set_state(engine, "done")
    child = os.fork()
    if not child:
        gateway.requests.clear()
        engine.finish_clean_up()
        os._exit(len(gateway.requests))

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    engine.finish_clean_up()
    assert entry_states(gateway) == ["done"]
