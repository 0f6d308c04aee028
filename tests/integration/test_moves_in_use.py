"""Trips move to a table with another row key on a real HBase, while processes read and write them.

Programs with the old class write until it is refused, and go on with the new class; a program with
the new class writes beside them from the first phase on. Connections break; one program stands still
(SIGSTOP) from one phase to the one after the next.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, Self

import pytest

from hbase_orm import Engine, Model, connect, select
from hbase_orm.binding.url import parse_url
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.operations.copies import RekeyTable, SplitTable
from hbase_orm.migrate.operations.operation import Migration, Progress
from tests.fault.doubles import CutsConnectionAfterSend, CutsConnectionBeforeSend
from tests.support.migrated_tables import Revision, Saved
from tests.support.storms import Writer, writers
from tests.support.trip_writer import CHANGES, NOON, Change, month, place

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(900)]

ROWS = 300
SOAK_ROWS = 20_000
SOAK_SEEDS = 5
FILLED_MONTHS = 12
"""The writers have trips in more months, whose tables they make."""

CUT_EVERY_S = 0.5
GATEWAY_S = 2.0
"""How long requests may still arrive here: connections break, but gateways do not repeat."""


@pytest.fixture
def url(hbase_url: str) -> str:
    (host, port), *_ = parse_url(hbase_url).thrift2
    return f"{hbase_url.partition('?')[0]}?thrift2={host}:{port}&lease_s=1&timeout_s=4&pool=2"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as connected:
        yield connected
        connected.drop_tables(*(model for change in CHANGES.values() for model in change))


def fill(
    engine: Engine, old: Any, rows: int, name: str = "row key"
) -> dict[tuple[str, Any], tuple[str, int, str | None]]:
    engine.create_tables(old)
    ledger: dict[tuple[str, Any], tuple[str, int, str | None]] = {}
    with engine.session() as session, session.bulk() as bulk:
        for n in range(rows):
            begin = month(n % FILLED_MONTHS) if name == "months" else NOON
            at, tail = begin + timedelta(seconds=n), f"B{n % 97}"
            bulk.add(old(at=at, tail=tail, destination=f"D{n % 11}", miles=n, note=None))
            ledger[tail, at] = (f"D{n % 11}", n, None)
    return ledger


def phase(engine: Engine, new: type[Model]) -> str:
    entry = engine._runtime.run_as_is(read_entry(engine._bound_of(new).schema.table))
    return "none" if entry is None or entry.move is None else entry.move.phase.name


def move(engine: Engine, change: Change, report: Any) -> None:
    old, new = change
    plan = Revision(engine, (old,), (new,)).migration(gateway_timeout_s=GATEWAY_S)
    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    splits = new.__schema__.layout.table_period is not None
    kind = SplitTable if splits else RekeyTable
    operation = kind(old.__schema__.table, new_table=new.__schema__.table)
    operation.run(migration, Saved())


class Cuts:
    """Proxies of both gateways that break connections again and again."""

    def __init__(self, url: str) -> None:
        options = parse_url(url)
        (_, thrift1), (_, thrift2) = options.thrift1[0], options.thrift2[0]
        self._proxies = (CutsConnectionBeforeSend(thrift1), CutsConnectionAfterSend(thrift2))
        ports = [proxy.address.port for proxy in self._proxies]
        query = url.partition("&")[2]
        self.url = (
            f"hbase://127.0.0.1:{ports[0]}/{options.namespace}?thrift2=127.0.0.1:{ports[1]}&{query}"
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._arm)

    def _arm(self) -> None:
        while not self._ended.wait(CUT_EVERY_S):
            random.choice(self._proxies).arm()

    def __enter__(self) -> Self:
        return self

    def begin(self) -> None:
        """Break connections from now on, not those with which programs begin."""
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        assert all(proxy.has_struck.is_set() for proxy in self._proxies)
        for proxy in self._proxies:
            proxy.close()


class Pause:
    """Lets a process stand still from INDEXING until rows move, and deploys the new class then."""

    def __init__(
        self, engine: Engine, new: type[Model], writer: Writer, deploy: Callable[[], None]
    ) -> None:
        self._engine = engine
        self._new = new
        self._writer = writer
        self._deploy = deploy
        self.stopped_in = self.continued_in = ""

    def __call__(self, _: Progress) -> None:
        now = phase(self._engine, self._new)
        if now == "INDEXING" and not self.stopped_in:
            self._writer.process.send_signal(signal.SIGSTOP)
            self.stopped_in = now
            self._deploy()
        elif now == "MOVING" and self.stopped_in and not self.continued_in:
            self.go_on()
            self.continued_in = now

    def go_on(self) -> None:
        self._writer.process.send_signal(signal.SIGCONT)


def storm(engine: Engine, url: str, rows: int, name: str = "row key") -> None:
    change = CHANGES[name]
    ledger = fill(engine, change[0], rows, name)
    with Cuts(url) as cuts, ExitStack() as processes:
        calls = [(at, n, name, "old") for n, at in enumerate((url, cuts.url, url, cuts.url))]
        running = processes.enter_context(writers(calls, "trip_writer"))
        assert [writer.next() for writer in running] == ["begun"] * len(calls)
        cuts.begin()

        def deploy() -> None:
            new = [(url, len(calls), name, "new")]
            running.extend(processes.enter_context(writers(new, "trip_writer")))
            assert running[-1].next() == "begun"

        pause = Pause(engine, change[1], running[2], deploy)
        try:
            move(engine, change, pause)
        finally:
            pause.go_on()
        time.sleep(3.0)
        told = [writer.finish() for writer in running]

    assert (pause.stopped_in, pause.continued_in) == ("INDEXING", "MOVING")
    assert all(each["written"] > 20 and each["reads"] > 5 for each in told), told
    assert [each["wrong"] for each in told] == [[]] * len(told)
    assert [each["refused"] for each in told] == [1, 1, 1, 1, 0]
    check(engine, change[1], ledger, told, name)


def check(
    engine: Engine,
    new: Any,
    ledger: dict[tuple[str, Any], tuple[str, int, str | None]],
    told: list[dict[str, Any]],
    name: str = "row key",
) -> None:
    """Compare all rows with what was acknowledged, and the indexes with the rows."""
    with engine.session() as session:
        every = session.all(select(new).allow_full_scan())
    seats = {(row.tail, row.at): getattr(row, "seats", 0) for row in every}
    rows = {(row.tail, row.at): (row.destination, row.miles, row.note) for row in every}
    assert len(rows) == len(every)
    own = {}
    for each in told:
        for n, states in each["states"]:
            possible = [None if state is None else tuple(state) for state in states]
            key = place(each["number"], n, name)
            own[key] = rows.pop(key, None)
            assert own[key] in possible, (key, own[key], possible)
        for n, possible_seats in each["counts"]:
            key = place(each["number"], n, name)
            assert seats.get(key, 0) in possible_seats, (key, seats.get(key), possible_seats)
    assert len(own) > 50
    assert rows == ledger
    for index in new.__schema__.indexes:
        assert engine.verify_index(new, index.name).missing == 0
        engine.verify_index(new, index.name, repair=True, min_age_ms=0)
        assert engine.verify_index(new, index.name).is_sound


def test_no_trip_is_lost_or_doubled_while_processes_write_and_rows_move(
    engine: Engine, url: str
) -> None:
    storm(engine, url, ROWS)


def test_no_trip_is_lost_or_doubled_while_the_table_is_split_into_months(
    engine: Engine, url: str
) -> None:
    storm(engine, url, ROWS, "months")


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(SOAK_SEEDS))
def test_no_trip_of_many_is_lost_or_doubled(engine: Engine, url: str, seed: int) -> None:
    random.seed(seed)
    storm(engine, url, SOAK_ROWS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", [name for name in CHANGES if name != "row key"])
def test_no_trip_of_many_is_lost_or_doubled_by_other_changes(
    engine: Engine, url: str, name: str
) -> None:
    storm(engine, url, SOAK_ROWS, name)
