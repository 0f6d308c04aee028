"""Flights move to another row key on a real HBase whose gateways are killed, while processes write.

From time first without salt to tail number first with salt, with two indexes and a counter. Four
processes insert, change, delete and increment; one of them stands still (SIGSTOP) from one phase to
the one after the next; a gateway is killed (SIGKILL) again and again. When the migration ends with an
error, it is run again, as an operator does.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.errors import GatewayError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Migration, Progress
from hbase_orm.server import EmbeddedServer, ServerOptions
from hbase_orm.server.options import GATEWAYS
from hbase_orm.testing.settings import TEST_SETTINGS
from tests.integration.embedded import marks
from tests.support.flight_writer import (
    COUNTED_ROWS,
    FlightByTail,
    FlightByTime,
    Place,
    State,
    flight_of,
    loaded,
    own_place,
    place_of,
    state_of,
)
from tests.support.migrated_tables import Revision, Saved
from tests.support.storms import Writer, writers

pytestmark = [*marks(), pytest.mark.hbase]

ROWS = 500
ALL_ROWS = 336_776
WRITERS = 4
GATEWAY_S = 5.0
"""The gateways' own limit, as in the settings of the server."""

RUNS = 400
"""The most runs of the migration: each ends at a killed gateway at the earliest."""


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    limit_ms = str(round(GATEWAY_S * 1000))
    settings = {
        **TEST_SETTINGS,
        "hbase.client.operation.timeout": limit_ms,
        "hbase.client.meta.operation.timeout": limit_ms,
        "hbase.rpc.timeout": limit_ms,
    }
    options = ServerOptions(ephemeral=True, thrift="separate", settings=settings)
    with EmbeddedServer(options) as started:
        yield started


def url_of(server: EmbeddedServer) -> str:
    return f"{server.url}&lease_s=2&timeout_s=6&pool=2"


def fill(server: EmbeddedServer, rows: int) -> dict[Place, State]:
    """Load flights by the old class, with a lease that is long enough for a batch; return them."""
    ledger = dict(reversed([*loaded(rows)]))  # of flights of one place the first one counts
    with connect(server.url) as engine:
        engine.drop_tables(FlightByTime, FlightByTail)  # those of a test that failed
        engine.create_tables(FlightByTime)
        with engine.session() as session, session.bulk(insert_only=True) as bulk:
            bulk.add_all(flight_of(FlightByTime, *each) for each in ledger.items())
    return ledger


@dataclass
class Kills:
    """Kills a gateway and starts it again, in turns, until it is stopped."""

    server: EmbeddedServer
    every_s: float
    number: int = 0
    errors: list[Exception] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _run(self) -> None:
        for gateway in cycle(reversed(GATEWAYS)):
            if self._ended.wait(self.every_s):
                return
            self.server.kill_gateway(gateway)
            self.server.start_gateway(gateway)
            self.number += 1


@dataclass
class Pause:
    """Lets a process stand still from INDEXING until rows move."""

    engine: Engine
    writer: Writer
    seen: list[str] = field(default_factory=list)
    steps: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, progress: Progress) -> None:
        self.steps[progress.step] += 1
        now = self._phase() or (self.seen[-1] if self.seen else "")
        if now == "INDEXING" and not self.seen:
            self.writer.process.send_signal(signal.SIGSTOP)
            self.seen.append(now)
        elif now == "MOVING" and self.seen == ["INDEXING"]:
            self.go_on()
            self.seen.append(now)

    def _phase(self) -> str:
        try:
            entry = self.engine._runtime.run_as_is(read_entry("flights_by_tail"))
        except GatewayError:
            return ""
        return "" if entry is None or entry.move is None else entry.move.phase.name

    def go_on(self) -> None:
        self.writer.process.send_signal(signal.SIGCONT)


def move(engine: Engine, report: Any) -> int:
    """Move the flights; run the migration again when it ends with an error; return the runs."""
    plan = Revision(engine, (FlightByTime,), (FlightByTail,)).migration(gateway_timeout_s=GATEWAY_S)
    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    operation = RekeyTable("flights_by_time", new_table="flights_by_tail")
    saved = Saved()
    for run in range(1, RUNS):
        try:
            operation.run(migration, saved)
        except GatewayError:
            time.sleep(1.0)
            continue
        return run
    raise AssertionError("the migration did not end")


def storm(
    server: EmbeddedServer, rows: int, kill_every_s: float, seed: int = 0, pause_s: float = 0.0
) -> dict[str, Any]:
    """Move flights while processes write and gateways are killed; check them; return figures.

    `pause_s` is the pause of each process between its steps.
    """
    begun_s = time.monotonic()
    ledger = fill(server, rows)
    with connect(url_of(server)) as engine:
        calls = [(url_of(server), seed * WRITERS + n, rows, pause_s) for n in range(WRITERS)]
        kills = Kills(server, kill_every_s)
        with writers(calls, "flight_writer") as running:
            assert [each.next() for each in running] == ["begun"] * WRITERS
            pause = Pause(engine, running[2])
            moved_s = time.monotonic()
            with kills.running():
                try:
                    runs = move(engine, pause)
                finally:
                    pause.go_on()
            moved_s = time.monotonic() - moved_s
            time.sleep(3.0)
            told = [each.finish() for each in running]
        assert pause.seen == ["INDEXING", "MOVING"]
        assert kills.number > 0
        check(engine, ledger, told)
        engine.drop_tables(FlightByTime, FlightByTail)  # kept after a failure: rows may be between
    return {
        "rows": len(ledger),
        "kills": kills.number,
        "runs": runs,
        "moved_s": round(moved_s),
        "all_s": round(time.monotonic() - begun_s),
        "writers": [
            {k: each[k] for k in ("written", "failed", "reads", "refused")} for each in told
        ],
    }


def check(engine: Engine, ledger: dict[Place, State], told: Sequence[dict[str, Any]]) -> None:
    """Compare all flights and counters with what the writers said, and the indexes with the rows."""
    assert [each["wrong"] for each in told] == [[]] * len(told)
    assert [each["refused"] for each in told] == [1] * len(told)
    assert all(each["written"] > 20 and each["reads"] > 5 for each in told)
    rows: dict[Place, State] = {}
    looks: dict[Place, int] = {}
    number = 0
    with engine.session() as session:
        for flight in session.stream(select(FlightByTail).allow_full_scan()):
            number += 1
            rows[place_of(flight)] = state_of(flight)
            if flight.looks:
                looks[place_of(flight)] = flight.looks
    assert len(rows) == number
    for each in told:
        for n, states in each["states"]:
            possible = [None if state is None else tuple(state) for state in states]
            place = own_place(each["number"], n)
            assert rows.pop(place, None) in possible, (place, possible)
    assert rows == ledger
    counted, in_doubt = _sum(told, "counted"), _sum(told, "in doubt")
    assert sum(counted.values()) > 20
    for place in {*looks, *counted, *in_doubt}:
        least = counted[place]
        assert least <= looks.get(place, 0) <= least + in_doubt[place], place
    assert len(looks) <= COUNTED_ROWS
    for index in FlightByTail.__schema__.indexes:
        assert engine.verify_index(FlightByTail, index.name).missing == 0
        engine.verify_index(FlightByTail, index.name, repair=True, min_age_ms=0)
        assert engine.verify_index(FlightByTail, index.name).is_sound


def _sum(told: Sequence[dict[str, Any]], name: str) -> Counter[Place]:
    total: Counter[Place] = Counter()
    for each in told:
        for place, number in each[name]:
            total[tuple(place)] += number
    return total


@pytest.mark.timeout(900)
def test_no_flight_is_lost_or_doubled_while_gateways_are_killed(server: EmbeddedServer) -> None:
    figures = storm(server, ROWS, kill_every_s=12.0)
    print(figures)  # noqa: T201  # shown by pytest -s


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(1, 6))
def test_no_flight_of_20_000_is_lost_or_doubled(server: EmbeddedServer, seed: int) -> None:
    print(storm(server, 20_000, kill_every_s=20.0, seed=seed))  # noqa: T201  # shown by pytest -s


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_flight_of_all_is_lost_or_doubled(server: EmbeddedServer) -> None:
    # At full speed the processes leave the move too little of a small machine for so many rows.
    figures = storm(server, ALL_ROWS, kill_every_s=20.0, seed=7, pause_s=0.4)
    assert figures["rows"] == ALL_ROWS
    print(figures)  # noqa: T201  # shown by pytest -s
