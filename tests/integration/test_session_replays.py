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

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, Session, column, key, select
from hbase_orm.errors import FlushError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory import MemoryGateway
from hbase_orm.gateway.retry import RetryingGateway
from hbase_orm.index.catalog import CATALOG_TABLE
from hbase_orm.index.entries import base_key_of
from hbase_orm.index.guard import MAX_SENDS
from hbase_orm.index.repair import repair_pass
from hbase_orm.index.targets import GuardedTable, IndexTarget
from hbase_orm.ops import CheckAndMutate, GetRows, Operation, Ping
from hbase_orm.session.binding import BoundModel, bind
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.url import DEFAULT_RETRIES, EngineOptions, parse_url
from hbase_orm.testing import RealHBase
from tests import replays
from tests.broken_rules import Break
from tests.conformance.subjects import open_routed
from tests.integration.test_guard_replays import BREAKS, ticking_clock
from tests.replays import V1, Bench, Finding, Replay, Work, play, raw_delete, stage
from tests.stepping import Fault, StepController, drive

ROWS = count()
MEMORY: Final = EngineOptions(scheme="memory")
SENDS: Final = MAX_SENDS * (DEFAULT_RETRIES + 1)
"""How often a put of index entries is sent: the gateway's tries at each try of the protocol."""


class ByValue(Model, table="by_value"):
    d = Family()
    host: Key[str] = key()
    v1: Mapped[str] = column(d, "v1")
    by_value = Index(v1)


class ByBoth(Model, table="by_both"):
    d = Family()
    host: Key[str] = key()
    v1: Mapped[str] = column(d, "v1")
    v2: Mapped[str | None] = column(d, "v2", default=None)
    by_both = Index(v1, v2)


def fields_of(cells: Mapping[bytes, bytes]) -> dict[str, str]:
    """Return cells as fields of either model."""
    return {column.removeprefix(b"d:").decode(): value.decode() for column, value in cells.items()}


def no_wait(_: float) -> None:
    """Let a pause take no time."""


@dataclass(frozen=True, slots=True)
class ModelBench(Bench):
    """The tables of a model with one index, read and written through engines."""

    options: EngineOptions = MEMORY

    @property
    def model(self) -> Any:
        return ByBoth if self.is_composite else ByValue

    @property
    def bound(self) -> BoundModel:
        return bind(self.model, self.options.namespace, self.gateway.features)

    @property
    def target(self) -> GuardedTable:
        assert self.bound.guarded is not None
        return self.bound.guarded

    @property
    def index(self) -> IndexTarget:
        return self.target.indexes[0]

    @property
    def host(self) -> str:
        return str(self.model.decode_key(self.row)["host"])

    def base_key(self, entry_key: bytes) -> bytes:
        return base_key_of(self.bound.schema.indexes[0])(entry_key)

    def engine(self, gateway: Gateway, clock_ms: int = 0) -> Engine:
        """Return an engine as `connect` makes it, over `gateway` and with a clock of its own."""
        retrying = RetryingGateway(gateway, attempts=self.options.retries + 1, sleep=no_wait)
        engine = Engine(retrying, self.options)
        engine._runtime = Runtime(
            retrying,
            parallel=self.options.pool,
            now_ms=lambda: self.base_ms + clock_ms,
            sleep=no_wait,
        )
        return engine

    def create_tables(self) -> None:
        """Create both models' tables and open them for writes, lest an insert starts a load."""
        engine = self.engine(self.gateway)
        engine.create_tables(ByValue, ByBoth)
        with engine.session() as session:
            first = (ByValue(host="first", v1="A"), ByBoth(host="first", v1="A"))
            session.add_all(first)
            session.flush()
            for obj in first:
                session.delete(obj)

    def values(self) -> dict[bytes, bytes]:
        """Return what a session gets."""
        with self.engine(self.gateway).session() as session:
            return cells_of(session.get(self.model, host=self.host))

    def values_by_index(self, wanted: Mapping[bytes, bytes]) -> list[dict[bytes, bytes]]:
        """Return the rows that a session finds by these values."""
        with self.engine(self.gateway).session() as session:
            terms = [getattr(self.model, name) == v for name, v in fields_of(wanted).items()]
            return [cells_of(found) for found in session.all(select(self.model).where(*terms))]


def cells_of(obj: Model | None) -> dict[bytes, bytes]:
    """Return the plain fields of an object as cells."""
    fields = {} if obj is None else obj.to_dict()
    return {
        b"d:" + name.encode(): value.encode()
        for name, value in fields.items()
        if name != "host" and value is not None
    }


# --- writers --------------------------------------------------------------------------------------


def by_session(bench: Bench, work: Work, gateway: Gateway) -> object:
    """Do one writer's work in a session of an engine of its own."""
    assert isinstance(bench, ModelBench)
    engine = bench.engine(gateway, work.clock_ms)
    if work.kind == "raw delete":
        return drive(raw_delete(bench, work), gateway)
    if work.kind == "repair":
        return repair(bench, engine)
    with engine.session() as session:
        write(bench, session, work)
    return None


def write(bench: ModelBench, session: Session, work: Work) -> None:
    """Make the change in a session; a partial update is made on the object as loaded."""
    fields = fields_of(work.puts)
    loads = bench.is_composite or work.kind == "delete"
    obj = session.get(bench.model, host=bench.host) if loads else None
    if work.kind == "insert":
        with session.bulk(insert_only=True) as bulk:
            bulk.add(bench.model(host=bench.host, **fields))
    elif work.kind == "delete":
        session.delete(bench.model(host=bench.host, v1="") if obj is None else obj)
    elif obj is None:
        session.add(bench.model(host=bench.host, **fields))
    else:
        for name, value in fields.items():
            setattr(obj, name, value)


def repair(bench: ModelBench, engine: Engine) -> object:
    """Repair the index under the catalog's permission, as a command would."""
    runtime = engine._runtime
    runtime.run(runtime.catalog.refresh(bench.target.table))
    context = runtime.guard_context
    args = (bench.target, bench.index, bench.base_key, context)
    return runtime.run(repair_pass(*args, min_age_ms=-99_999))


def is_beside(request: Operation[Any]) -> bool:
    """Say whether a request is no step of the protocol: the catalog's, or a session's own get."""
    if isinstance(request, CheckAndMutate | GetRows) and request.table == CATALOG_TABLE:
        return True
    return isinstance(request, GetRows) and request.columns == (b"d",)


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
class Store:
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


def _on_hbase(hbase: RealHBase) -> Iterator[Store]:
    namespace = f"replay{uuid.uuid4().hex[:8]}"
    store = Store(open_routed(hbase.url), parse_url(hbase.url_in(namespace)))
    store.bench().create_tables()
    yield store
    store.bench().engine(store.gateway).drop_tables(ByValue, ByBoth)
    hbase.drop_namespace(namespace)
    store.gateway.close()


def _in_memory() -> Iterator[Store]:
    store = Store(MemoryGateway(ticking_clock()), MEMORY)
    store.bench().create_tables()
    yield store


@pytest.fixture(scope="module", params=["memory", pytest.param("hbase", marks=pytest.mark.hbase)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "hbase":
        yield from _on_hbase(request.getfixturevalue("hbase"))
    else:
        yield from _in_memory()


@pytest.fixture
def bench(store: Store, replay: Replay) -> Iterator[ModelBench]:
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

    assert finding == Finding(
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
    store: Store, replay: Replay, run: Callable[[Bench, Work, Gateway], object]
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
    scrutiny = bench.scrutiny()
    is_found = bench.values_by_index(replay.after) == [replay.after]
    bench.wipe()
    return Seen(scrutiny.rows, len(scrutiny.missing), len(scrutiny.stale), is_found)


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

    assert finding == Finding(0, 0, 0, values=replay.after, refused=frozenset())


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
