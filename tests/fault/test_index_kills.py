"""Writers and gateways killed (SIGKILL) amid indexed writes: no entry misses, no answer was untrue.

Each writer tells when a write begins and when it was acknowledged; this process keeps what it says
in a ledger, a file synced line by line. A kill of a writer counts as in flight if the last thing it
told was that a write begins; one of a gateway, if some writer was in a write when the signal was
sent and was told that it failed.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.server import EmbeddedServer
from hbase_orm.server.options import GatewayName
from tests.integration.embedded import marks
from tests.support.storm_writer import OWN_ROWS, VALUES, Upserted
from tests.support.storms import Ledger, Writer, check_indexes, compare, writers

pytestmark = [*marks(), pytest.mark.fault]

WRITER_KILLS = 20
SOAK_WRITER_KILLS = 200
GATEWAY_KILLS = 3
SOAK_GATEWAY_KILLS = 50
IN_FLIGHT = 0.8
MOST = 4
"""How many times the kills that are asked for there are at most."""

AT_ONCE = 5
ENTRIES_LEFT = 2
"""The most entries of one index that a write cut off leaves: the one of before and its own."""

WRITES = 100_000
"""More than any writer makes before it is killed."""


@pytest.fixture
def url(server: EmbeddedServer) -> str:
    """Return the server's URL, with a namespace of the test's own."""
    address, _, options = server.url.partition("?")
    return f"{address.rstrip('/')}/n{uuid.uuid4().hex[:12]}?{options}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as connected:
        connected.create_tables(Upserted)
        yield connected
        connected.drop_tables(Upserted)


def acknowledged(engine: Engine, number: int, ledger: Ledger) -> None:
    """Check that a writer's own row is as it was told last, or as the write then under way.

    A gateway may make the last write of a killed writer between our two reads, once: so a row that
    its index does not give is read again.
    """
    own = [line for line in ledger.lines if line.get("k") == OWN_ROWS + number]
    done = [line["done"] for line in own if "done" in line]
    begun = [line["begin"] for line in own if "begin" in line]
    row, found = read_own(engine, number)
    if row is not None and row.k not in found:
        row, found = read_own(engine, number)
    assert row is not None or not done
    if row is None:
        return
    assert row.a in {*done[-1:], *(a for a in begun if a > max(done, default=-1))}
    assert (row.b, row.writer) == (None if row.a is None else row.a % VALUES, number)
    assert row.k in found, (row, ledger.lines[-3:])


def read_own(engine: Engine, number: int) -> tuple[Upserted | None, list[int]]:
    """Read a writer's own row by its key, then what its index gives for the row's value."""
    with engine.session() as session:
        row = session.get(Upserted, k=OWN_ROWS + number)
        if row is None:
            return None, []
        stmt = select(Upserted.k).where(Upserted.a == row.a, Upserted.k >= OWN_ROWS)
        return row, session.all(stmt)


def kill_writers(engine: Engine, url: str, folder: Path, kills: int) -> int:
    """Kill so many writers, some at a time, at random steps; return how many were in a write.

    The moment of a kill is random: more are killed until enough of them were in a write.
    """
    in_flight = killed = 0
    for first in range(0, MOST * kills, AT_ONCE):
        if killed >= kills and in_flight >= IN_FLIGHT * kills:
            break
        numbers = range(first, first + AT_ONCE)
        killed += AT_ONCE
        ledgers = {number: Ledger(folder / f"writer{number}") for number in numbers}
        with writers([("die", url, number, WRITES) for number in numbers]) as running:
            for number, writer in zip(numbers, running, strict=True):
                for _ in range(random.randint(1, 40)):
                    said = writer.next()
                    assert said is not None
                    ledgers[number].enter(said)
                time.sleep(random.uniform(0, 0.02))
                writer.process.kill()
                read_rest(writer, ledgers[number])
                in_flight += "begin" in ledgers[number].lines[-1]
        for number in numbers:
            acknowledged(engine, number, ledgers[number])
        assert {one.missing for one in compare(engine, Upserted).values()} == {0}
    check_indexes(engine, Upserted, at_most_stale=ENTRIES_LEFT * killed)
    return in_flight


def read_rest(writer: Writer, ledger: Ledger) -> None:
    """Enter what a writer said before it was killed."""
    while (said := writer.next()) is not None:
        ledger.enter(said)


def kill_gateways(
    server: EmbeddedServer, engine: Engine, url: str, folder: Path, kills: int
) -> int:
    """Kill so many gateways under writers; return how many kills some write failed by.

    As above, more are killed until some write failed by enough of them.
    """
    in_flight, left = 0, 0
    gateways: tuple[GatewayName, ...] = ("thrift2", "thrift2", "thrift1")
    for kill, gateway in enumerate(islice(cycle(gateways), MOST * kills)):
        if kill >= kills and in_flight >= IN_FLIGHT * kills:
            break
        numbers = range(kill * AT_ONCE, (kill + 1) * AT_ONCE)
        ledgers = {number: Ledger(folder / f"writer{number}") for number in numbers}
        with writers([("die", f"{url}&retries=0", n, WRITES) for n in numbers]) as running:
            for number, writer in zip(numbers, running, strict=True):
                for _ in range(random.randint(5, 20)):
                    said = writer.next()
                    assert said is not None
                    ledgers[number].enter(said)
            server.kill_gateway(gateway)
            time.sleep(0.5)
            server.start_gateway(gateway)
            time.sleep(0.5)
            for number, writer in zip(numbers, running, strict=True):
                writer.process.kill()
                read_rest(writer, ledgers[number])
        failed = sum("failed" in line for one in ledgers.values() for line in one.lines)
        in_flight += failed > 0
        left += ENTRIES_LEFT * (failed + AT_ONCE)
        for number in numbers:
            acknowledged(engine, number, ledgers[number])
        assert {one.missing for one in compare(engine, Upserted).values()} == {0}
    check_indexes(engine, Upserted, at_most_stale=left)
    return in_flight


def test_killed_writers_leave_no_entry_missing(engine: Engine, url: str, tmp_path: Path) -> None:
    assert kill_writers(engine, url, tmp_path, WRITER_KILLS) >= IN_FLIGHT * WRITER_KILLS


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_killed_writers_leave_no_entry_missing(
    engine: Engine, url: str, tmp_path: Path
) -> None:
    assert kill_writers(engine, url, tmp_path, SOAK_WRITER_KILLS) >= IN_FLIGHT * SOAK_WRITER_KILLS


def test_killed_gateways_leave_no_entry_missing(
    server: EmbeddedServer, engine: Engine, url: str, tmp_path: Path
) -> None:
    in_flight = kill_gateways(server, engine, url, tmp_path, GATEWAY_KILLS)

    assert in_flight >= IN_FLIGHT * GATEWAY_KILLS


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_killed_gateways_leave_no_entry_missing(
    server: EmbeddedServer, engine: Engine, url: str, tmp_path: Path
) -> None:
    in_flight = kill_gateways(server, engine, url, tmp_path, SOAK_GATEWAY_KILLS)

    assert in_flight >= IN_FLIGHT * SOAK_GATEWAY_KILLS
