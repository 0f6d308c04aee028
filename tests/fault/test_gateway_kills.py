"""Gateways killed (SIGKILL) in the middle of `flush` and `bulk`: again, and the rows are exact.

The writer is a process of its own. What it says was written goes into a ledger, a file that this
process syncs line by line; the rows are compared with what the ledger says. The ledger also says
which kills were in flight: a call had begun before the signal was sent, had not returned by then, and
failed.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.server import EmbeddedServer
from hbase_orm.server.options import GatewayName
from tests.fault.killed_writer import (
    BULK_ROWS,
    BULK_STEP,
    FLUSH_ROWS,
    MODELS,
    Rows,
    bulk_rows,
    rows_after,
)
from tests.integration.embedded import marks
from tests.support.storms import Ledger

pytestmark = [*marks(), pytest.mark.fault]

KILLS = 5
SOAK_KILLS = 50
IN_FLIGHT = 0.8
MOST = 4
"""How many times the kills that are asked for there are at most: the moment of a kill is random."""

REPOSITORY = Path(__file__).parents[2]

CASES: list[tuple[str, str, GatewayName]] = [
    ("Killed", "flush", "thrift1"),
    ("KilledIndexed", "flush", "thrift2"),
    ("Killed", "bulk", "thrift1"),
    ("KilledIndexed", "bulk", "thrift2"),
    ("Killed", "flush", "thrift2"),
    ("KilledIndexed", "flush", "thrift1"),
]


class KillLedger(Ledger):
    """What writers said, and when a kill was sent."""

    def is_in_flight(self) -> bool:
        """Return whether the last kill came in the middle of a call, which then failed."""
        sent_at = next(line["at"] for line in reversed(self.lines) if "killing" in line)
        ends = [line for line in self.lines if {"done", "failed"} & line.keys()]
        end = next((line for line in ends if line["at"] > sent_at), None)
        if end is None or "failed" not in end:
            return False
        since = max((line["at"] for line in ends if line["at"] <= sent_at), default=0.0)
        begun = [line["at"] for line in self.lines if "begin" in line]
        return any(since < at < sent_at for at in begun)


@dataclass(frozen=True)
class Writer:
    """A process that writes, and the ledger of what it says."""

    process: subprocess.Popen[str]
    ledger: KillLedger

    def next(self) -> dict[str, Any]:
        """Return the next line it says, once it is in the ledger."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said, "the writer ended"
        return self.ledger.enter(json.loads(said))

    def until(self, *kinds: str) -> dict[str, Any]:
        """Return the next line of one of some kinds."""
        while not (kinds & self.next().keys()):
            pass
        return self.ledger.lines[-1]

    def go_on(self) -> None:
        """Let it flush again."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()


@contextmanager
def writer(ledger: KillLedger, *arguments: str) -> Iterator[Writer]:
    command = [sys.executable, "-m", "tests.fault.killed_writer", *arguments]
    with subprocess.Popen(
        command, cwd=REPOSITORY, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Writer(process, ledger)
            assert process.wait(60) == 0
        finally:
            process.kill()


@pytest.fixture(scope="module")
def engine(server: EmbeddedServer) -> Iterator[Engine]:
    with connect(server.url) as connected:
        connected.create_tables(*MODELS.values())
        yield connected


@dataclass(frozen=True)
class Round:
    """One kill."""

    server: EmbeddedServer
    engine: Engine
    ledger: KillLedger
    name: str
    gateway: GatewayName
    group: str = field(default_factory=lambda: uuid.uuid4().hex)

    def writer(self, verb: str) -> Any:
        return writer(self.ledger, self.name, verb, f"{self.server.url}&retries=0", self.group)

    def rows(self) -> Rows:
        """Return what others read, and check that the index, if there is one, says the same."""
        model = MODELS[self.name]
        with self.engine.session() as session:
            found = session.all(select(model).where(model.group == self.group))
            rows = {obj.n: (obj.value, obj.note) for obj in found}
            if self.name == "KilledIndexed":
                note = f"{self.group}-note"
                of_note = session.all(select(model.n).where(model.note == note))
                assert sorted(of_note) == [n for n, row in rows.items() if row[1] == note]
        return rows

    def kill(self) -> None:
        """Kill the gateway; the ledger says when the signal was sent."""
        self.ledger.enter({"killing": self.gateway, "at": time.monotonic()})
        self.server.kill_gateway(self.gateway)

    def flush(self) -> None:
        """Kill the gateway in a flush, and compare the rows with what the writer says."""
        size, note = FLUSH_ROWS[self.name], f"{self.group}-note"
        with self.writer("flush") as process:
            took_s = 0.0
            for _ in range(random.randint(2, 4)):
                process.until("begin")
                since_s = time.monotonic()
                process.until("done")
                took_s = time.monotonic() - since_s
            process.until("begin")
            time.sleep(random.uniform(0, 0.3) * took_s)  # any moment of its first part
            self.kill()
            failed = process.until("failed")
            self.server.start_gateway(self.gateway)
            before = rows_after(failed["failed"], size, note)
            after = rows_after(failed["failed"] + 1, size, note)
            _compare(self.rows(), before, after, failed)
            process.go_on()
            process.until("done")
        assert self.rows() == after

    def bulk(self) -> None:
        """Kill the gateway in a bulk, and compare the rows with what the writer says."""
        size = BULK_ROWS[self.name]
        wanted = bulk_rows(size, f"{self.group}-note")
        with self.writer("bulk") as process:
            # What is told last may be far ahead: batches wait while others are under way.
            for _ in range(random.randint(2, size // BULK_STEP // 2)):
                process.until("begin")
            self.kill()
            ended = process.until("failed", "done")
        self.server.start_gateway(self.gateway)
        if "failed" in ended:
            taken = {n: row for n, row in wanted.items() if n < ended["taken"]}
            in_doubt = {*ended["not_written"], *ended["unknown"]}
            said = {**ended, "written": [n for n in taken if n not in in_doubt]}
            _compare(self.rows(), {}, taken, said)
        with self.writer("bulk") as process:
            process.until("done")
        assert self.rows() == wanted


def _compare(rows: Rows, before: Rows, after: Rows, said: dict[str, Any]) -> None:
    """Check that rows are as was said: what changed is after, before, or either."""
    changed = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
    written, not_written, unknown = (set(said[k]) for k in ("written", "not_written", "unknown"))
    assert changed == written | not_written | unknown
    assert {n: rows.get(n) for n in written} == {n: after.get(n) for n in written}
    assert {n: rows.get(n) for n in not_written} == {n: before.get(n) for n in not_written}
    assert all(rows.get(n) in (before.get(n), after.get(n)) for n in unknown)
    rest = before.keys() - changed
    assert {n: rows.get(n) for n in rest} == {n: before[n] for n in rest}
    assert rows.keys() <= before.keys() | after.keys()


def kill(server: EmbeddedServer, engine: Engine, folder: Path, kills: int) -> list[bool]:
    """Kill gateways so many times, and on until enough kills were in flight; return which were."""
    in_flight: list[bool] = []
    for number, (name, verb, gateway) in enumerate(islice(cycle(CASES), MOST * kills)):
        if number >= kills and sum(in_flight) >= IN_FLIGHT * kills:
            break
        one = Round(server, engine, KillLedger(folder / f"ledger{number}"), name, gateway)
        {"flush": one.flush, "bulk": one.bulk}[verb]()
        in_flight.append(one.ledger.is_in_flight())
    print(f"{sum(in_flight)} of {len(in_flight)} kills in flight")  # noqa: T201  # shown by pytest -s
    return in_flight


def test_after_a_kill_the_rows_are_as_was_said_and_again_makes_them_exact(
    server: EmbeddedServer, engine: Engine, tmp_path: Path
) -> None:
    in_flight = kill(server, engine, tmp_path, KILLS)

    assert sum(in_flight) >= IN_FLIGHT * KILLS


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_after_many_kills_the_rows_are_as_was_said_and_again_makes_them_exact(
    server: EmbeddedServer, engine: Engine, tmp_path: Path
) -> None:
    in_flight = kill(server, engine, tmp_path, SOAK_KILLS)

    assert sum(in_flight) >= IN_FLIGHT * SOAK_KILLS
