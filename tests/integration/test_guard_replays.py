"""The published counterexamples, replayed request by request on memory and on a real HBase.

The guarded write keeps every acknowledged write and its entries; the naive protocols under the
same turns do not; and with any one of its rules replaced the guarded write does not either.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.ops import Protocol
from hbase_orm.testing import RealHBase
from tests.support import broken_rules as broken
from tests.support import replays
from tests.support.broken_rules import Break
from tests.support.replays import V1, Aftermath, Bench, Replay, Work, by, play
from tests.support.stepping import drive

ROWS = count()


def ticking_clock() -> Callable[[], int]:
    """Return a server clock that never shows one millisecond twice."""
    ticks = count(time.time_ns() // 1_000_000)
    return lambda: next(ticks)


@dataclass(frozen=True, slots=True)
class ReplayTables:
    """A gateway with the two tables of all replays; each replay has a row of its own."""

    gateway: Gateway
    prefix: str

    def bench(self) -> Bench:
        now_ms = time.time_ns() // 1_000_000
        row = b"row%d" % next(ROWS)
        return Bench(self.gateway, self.prefix, base_ms=now_ms - 10_000, row=row)


@pytest.fixture(scope="module", params=["memory", pytest.param("hbase", marks=pytest.mark.hbase)])
def store(request: pytest.FixtureRequest) -> Iterator[ReplayTables]:
    if request.param == "memory":
        store = ReplayTables(MemoryGateway(ticking_clock()), "t_")
        store.bench().create_tables()
        yield store
        return
    hbase: RealHBase = request.getfixturevalue("hbase")
    address = parse_qs(urlsplit(hbase.url).query)["thrift2"][0]
    host, _, port = address.rpartition(":")
    store = ReplayTables(
        Thrift2Gateway.connect([Address(host, int(port))]), f"replay_{uuid.uuid4().hex[:8]}_"
    )
    store.bench().create_tables()
    yield store
    hbase.drop_tables(store.prefix)
    store.gateway.close()


@pytest.fixture
def bench(store: ReplayTables) -> Iterator[Bench]:
    bench = store.bench()
    yield bench
    bench.wipe()


def on(bench: Bench, replay: Replay) -> Bench:
    return replace(bench, is_composite=replay.is_composite)


@pytest.mark.parametrize("replay", replays.REPLAYS, ids=str)
def test_the_guarded_write_keeps_every_acknowledged_write(bench: Bench, replay: Replay) -> None:
    finding = play(replay, on(bench, replay))

    assert finding == Aftermath(
        missing=0,
        stale_after_repair=0,
        missing_after_repair=0,
        values=replay.after,
        refused=replay.refused,
    )


@pytest.mark.parametrize(
    ("replay", "unguarded"),
    [
        (replays.A, replays.naive),
        (replays.B, replays.index_first),
        (replays.E4, replays.last_writer_wins),
        (replays.E5, replays.last_writer_wins),
    ],
    ids=["A", "B", "E4", "E5"],  # not str: a function's address differs between xdist's workers
)
def test_a_naive_protocol_loses_an_entry_under_the_same_turns(
    bench: Bench, replay: Replay, unguarded: Callable[[Bench, Work], Protocol[Any]]
) -> None:
    finding = play(replay, on(bench, replay), by(unguarded))

    assert (finding.missing, finding.refused) == (1, frozenset())


def test_without_a_guard_a_slow_clock_s_insert_after_a_delete_is_lost(bench: Bench) -> None:
    finding = play(replays.E6, bench, by(replays.last_writer_wins))

    assert (finding.values, finding.refused) == ({}, frozenset())


BREAKS = (
    (broken.ROW_BEFORE_ENTRIES, replays.CRASH),
    (broken.ENTRIES_UNACKNOWLEDGED, replays.CUT),
    (broken.TWO_REQUESTS, replays.TORN),
    (broken.NO_CHECK, replays.E4),
    (broken.CHECK_ON_VALUE, replays.E4_SWAPPED),
    (broken.GUARD_DIES, replays.INSERT_IN_FLIGHT),
    (broken.EAGER_CLEAN_UP, replays.SAME_VALUE),
    (broken.DELETE_AT_NOW, replays.LATE_TIDY),
    (broken.NO_FENCE, replays.E5),
    (broken.NO_TOMBSTONES, replays.RAW_DELETE),
    (broken.CLOCK_ALONE, replays.SLOW_CLOCK),
)


@pytest.mark.parametrize(("rule", "replay"), BREAKS, ids=str)
def test_with_a_rule_replaced_a_replay_finds_damage(
    bench: Bench, rule: Break, replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    finding = play(replay, on(bench, replay))

    lost = finding.values != replay.after
    assert finding.missing or (lost and not finding.refused)


# --- many writers at once -------------------------------------------------------------------------

STORM_THREADS = 6
STORM_WRITES = 25


def storm(bench: Bench, seed: int) -> dict[bytes, tuple[int, dict[bytes, bytes]]]:
    """Write rows of the bench at random by a clock of its own; return the last of each row."""
    chance = random.Random(seed)
    last: dict[bytes, tuple[int, dict[bytes, bytes]]] = {}
    for _ in range(STORM_WRITES):
        one = replace(bench, row=bench.row + chance.choice((b"x", b"y")))
        puts = {V1: chance.choice((b"A", b"B", b"C"))} if chance.random() < 0.8 else {}
        protocol = one.write(puts, clock_ms=seed * 100, kind="put" if puts else "delete")
        outcome = drive(protocol, bench.gateway, time.sleep)
        last[one.row] = (outcome.timestamp_ms, puts)
    return last


def test_under_a_storm_of_writers_the_last_acknowledged_write_of_each_row_shows(
    bench: Bench,
) -> None:
    with ThreadPoolExecutor(STORM_THREADS) as pool:
        lasts = list(pool.map(partial(storm, bench), range(STORM_THREADS)))

    rows = [replace(bench, row=bench.row + end) for end in (b"x", b"y")]
    shown = [row.values() for row in rows]
    newest = [max(last[row.row] for last in lasts if row.row in last)[1] for row in rows]
    missing = bench.compare().missing
    bench.repair()
    assert (shown, missing, bench.compare().stale) == (newest, (), ())
    for row in rows:
        row.wipe()
