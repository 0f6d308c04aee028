"""The published counterexamples, replayed through sessions: on memory and on a real HBase.

Each writer is a session of an engine of its own, and stops before every request of the guarded
write; between engine and steps stands the retrying gateway that `connect` puts there. Plain
happybase under the same turns loses the entry that sessions keep.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final

import happybase
import pytest

from hbase_orm.binding.url import DEFAULT_RETRIES, EngineOptions, parse_url
from hbase_orm.errors import FlushError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.targets import GUARDED_RETRIES
from hbase_orm.ops import Ping
from hbase_orm.testing import RealHBase
from tests.conformance.subjects import open_routed
from tests.integration.test_guard_replays import BREAKS, ticking_clock
from tests.support import replays
from tests.support.broken_rules import Break
from tests.support.replay_models import MEMORY, ByBoth, ByValue, ModelBench, by_session, is_beside
from tests.support.replays import V1, Aftermath, Bench, Replay, Work, play, stage
from tests.support.stepping import Fault, StepController

ROWS = count()
SENDS: Final = GUARDED_RETRIES.attempts * (DEFAULT_RETRIES + 1)
"""How often a put of index entries is sent: the gateway's tries at each try of the protocol."""


# --- plain happybase ------------------------------------------------------------------------------


def by_plain_happybase(bench: Bench, work: Work, gateway: Gateway) -> None:
    """Write data and index as one does with happybase: data first."""
    _dual_write(bench, work, gateway, is_index_first=False)


def by_plain_happybase_index_first(bench: Bench, work: Work, gateway: Gateway) -> None:
    """Write data and index with happybase, index first."""
    _dual_write(bench, work, gateway, is_index_first=True)


def _dual_write(bench: Bench, work: Work, gateway: Gateway, *, is_index_first: bool) -> None:
    assert isinstance(bench, ModelBench)
    host, port = bench.options.thrift1[0]
    with closing(happybase.Connection(host, port)) as connection:
        data, index = (connection.table(table) for table in (bench.target.table, bench.index.table))

        def entry(cells: Mapping[bytes, bytes]) -> bytes:
            (one,) = bench.target.entry_keys(bench.index, bench.row, cells)
            return one

        def turn() -> None:
            gateway.execute(Ping())  # takes one turn, and the call of happybase follows

        turn()
        old = data.row(bench.row, [V1])
        puts = [
            lambda: data.put(bench.row, dict(work.puts)),
            lambda: index.put(entry(work.puts), {b"d:": b""}),
        ]
        for put in reversed(puts) if is_index_first else puts:
            turn()
            put()
        if old and entry(old) != entry(work.puts):
            turn()
            index.delete(entry(old))


# --- where ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelTables:
    """A gateway with the tables of both models; each replay has a row of its own."""

    gateway: Gateway
    options: EngineOptions

    def bench(self, *, is_composite: bool = False) -> ModelBench:
        return ModelBench(
            self.gateway,
            prefix="",
            base_ms=time.time_ns() // 1_000_000 - 10_000,
            row=ByValue.encode_key(host=f"row{next(ROWS)}"),
            is_composite=is_composite,
            options=self.options,
        )


def _on_hbase(hbase: RealHBase) -> Iterator[ModelTables]:
    namespace = f"replay{uuid.uuid4().hex[:8]}"
    store = ModelTables(open_routed(hbase.url), parse_url(hbase.url_in(namespace)))
    store.bench().create_tables()
    yield store
    store.bench().engine(store.gateway).drop_tables(ByValue, ByBoth)
    hbase.drop_namespace(namespace)
    store.gateway.close()


def _in_memory() -> Iterator[ModelTables]:
    store = ModelTables(MemoryGateway(ticking_clock()), MEMORY)
    store.bench().create_tables()
    yield store


@pytest.fixture(scope="module", params=["memory", pytest.param("hbase", marks=pytest.mark.hbase)])
def store(request: pytest.FixtureRequest) -> Iterator[ModelTables]:
    if request.param == "hbase":
        yield from _on_hbase(request.getfixturevalue("hbase"))
    else:
        yield from _in_memory()


@pytest.fixture
def bench(store: ModelTables, replay: Replay) -> Iterator[ModelBench]:
    bench = store.bench(is_composite=replay.is_composite)
    yield bench
    bench.wipe()


# --- what sessions keep ---------------------------------------------------------------------------

CUT = replace(replays.CUT, turns="W1" + " W1!CUT_BEFORE" * SENDS)


def through_sessions(replay: Replay) -> Replay:
    """Return the schedule with the faults that get through the retrying gateway."""
    return CUT if replay is replays.CUT else replay


@pytest.mark.parametrize(
    "replay", [through_sessions(replay) for replay in replays.REPLAYS], ids=str
)
def test_sessions_keep_every_acknowledged_write(bench: ModelBench, replay: Replay) -> None:
    finding = play(replay, bench, by_session, is_beside)

    assert finding == Aftermath(
        missing=0,
        stale_after_repair=0,
        missing_after_repair=0,
        values=replay.after,
        refused=replay.refused,
    )
    assert bench.values_by_index(replay.after) == [replay.after]


@pytest.mark.parametrize(
    ("rule", "replay"), [(rule, through_sessions(replay)) for rule, replay in BREAKS], ids=str
)
def test_with_a_rule_replaced_sessions_lose_something(
    bench: ModelBench, rule: Break, replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    finding = play(replay, bench, by_session, is_beside)

    lost = finding.values != replay.after
    assert finding.missing or (lost and not finding.refused)


@pytest.mark.parametrize("store", [pytest.param("hbase", marks=pytest.mark.hbase)], indirect=True)
@pytest.mark.parametrize(
    ("replay", "run"),
    [(replays.A, by_plain_happybase), (replays.B, by_plain_happybase_index_first)],
    ids=["A", "B"],
)
def test_plain_happybase_loses_the_entry_that_sessions_keep(
    store: ModelTables, replay: Replay, run: Callable[[Bench, Work, Gateway], object]
) -> None:
    plain, ours = (seen(store.bench(), replay, runner) for runner in (run, by_session))

    assert plain == Seen(rows=1, missing=1, stale=1, is_found=False)
    assert ours == Seen(rows=1, missing=0, stale=0, is_found=True)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a schedule leaves, before any repair; `is_found` by a query through the index."""

    rows: int
    missing: int
    stale: int
    is_found: bool


def seen(bench: ModelBench, replay: Replay, run: Callable[[Bench, Work, Gateway], object]) -> Seen:
    """Play a schedule on a new row, which shows what was acknowledged last, and look at it."""
    stage(replay, bench, run, is_beside)
    assert bench.values() == replay.after
    found = bench.compare()
    is_found = bench.values_by_index(replay.after) == [replay.after]
    bench.wipe()
    return Seen(found.rows, len(found.missing), len(found.stale), is_found)


# --- what a flush says ----------------------------------------------------------------------------


def in_doubt(fault: Fault) -> Replay:
    """Return the schedule of an insert whose row change is not answered truly."""
    return Replay(
        fault.value,
        before={},
        works={"W1": Work("insert", {V1: b"B"})},
        turns=f"W1 W1 W1 W1!{fault.name}",
        after={V1: b"B"},
    )


@pytest.mark.parametrize(
    "replay",
    [
        in_doubt(fault)
        for fault in (Fault.CUT_AFTER, Fault.FALSE_THOUGH_APPLIED, Fault.CUT_BEFORE, Fault.LATE)
    ],
    ids=str,
)
def test_an_insert_in_doubt_is_found_out_and_not_made_twice(
    bench: ModelBench, replay: Replay
) -> None:
    finding = play(replay, bench, by_session, is_beside)

    assert finding == Aftermath(0, 0, 0, values=replay.after, refused=frozenset())


@pytest.mark.parametrize("replay", [CUT], ids=str)
def test_a_flush_that_did_not_get_through_is_made_again_by_the_next(
    bench: ModelBench, replay: Replay
) -> None:
    steps = StepController(bench.gateway, is_beside)

    def flush_twice(gateway: Gateway) -> tuple[list[Any], list[Any], int]:
        with bench.engine(gateway).session() as session:
            session.add(bench.model(host=bench.host, v1="B"))
            with pytest.raises(FlushError) as failed:
                session.flush()
            report = session.flush()
        return failed.value.not_written, failed.value.unknown, report.written

    steps.start("W1", flush_twice)
    for turn in replay.turns.split():
        name, _, fault = turn.partition("!")
        steps.step(name, Fault[fault] if fault else None)
    finished = steps.finish("W1")
    steps.close()

    assert isinstance(finished, tuple)
    not_written, unknown, written = finished
    assert [(table, row) for table, row, _ in not_written] == [(bench.target.table, bench.row)]
    assert (unknown, written, bench.values()) == ([], 1, {V1: b"B"})
