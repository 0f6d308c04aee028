"""What has to do with a gateway that does not answer ends after the time of about one request."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, Salt, column, key, select
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import ConnectionLostError, FlushError, GatewayError, RetryableError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.drive import Patience
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.retry import RetryingGateway
from hbase_orm.gateway.routed import RoutedGateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.ops import (
    CheckAndMutate,
    FetchRows,
    MutateRows,
    Operation,
    Ping,
    Put,
    RowMutation,
    ScannerId,
)
from hbase_orm.session.session import Session
from tests.support.operator_actions import rows_of

R = TypeVar("R")

TIMEOUT_S = 2.0
HERE = Address("here", 1)


class Row(Model, table="silent_rows"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key()
    unit: Mapped[str | None] = column(d, default=None)


class Salted(Model, table="silent_salted"):
    d = Family()
    salt = Salt(4)
    host: Key[str] = key()
    unit: Mapped[str | None] = column(d, default=None)


class Filed(Model, table="silent_files"):
    d = Family()
    host: Key[str] = key()
    unit: Mapped[str | None] = column(d, default=None)
    by_unit = Index(unit)


class Clock:
    """Moves when somebody waits."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


class FallsSilent:
    """Answers until `is_silent`; then each request takes all its time and is lost."""

    timeout_s = TIMEOUT_S

    def __init__(self, clock: Clock) -> None:
        self.inner = MemoryGateway()
        self.is_silent = False
        self.silent_tables = set[str]()
        self.silent_writes = 0
        self.silent_checks = 0
        self.has_silent_deletes = False
        self._clock = clock

    @property
    def features(self) -> frozenset[Feature]:
        return self.inner.features

    def execute(self, operation: Operation[R], /) -> R:
        return self.execute_within(operation, TIMEOUT_S)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        is_silent = self.is_silent or getattr(operation, "table", "") in self.silent_tables
        if isinstance(operation, MutateRows) and self.silent_writes:
            self.silent_writes -= 1
            is_silent = True
        if isinstance(operation, CheckAndMutate) and self.silent_checks:
            self.silent_checks -= 1
            is_silent = True
        if isinstance(operation, MutateRows) and self.has_silent_deletes:
            is_silent |= all(mutation.deletes for mutation in operation.mutations)
        if is_silent:
            self._clock.sleep(timeout_s)
            raise ConnectionLostError("no answer came in time")
        return self.inner.execute(operation)

    def close(self) -> None: ...


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(clock: Clock) -> FallsSilent:
    return FallsSilent(clock)


@pytest.fixture
def engine(gateway: FallsSilent, clock: Clock) -> Engine:
    from hbase_orm import connect  # noqa: PLC0415

    retrying = RetryingGateway(gateway, timeout_s=TIMEOUT_S, clock=clock, sleep=clock.sleep)
    engine = Engine(retrying, connect("memory://").options)
    runtime = Runtime(retrying, parallel=1, monotonic_s=clock, sleep=clock.sleep)
    engine._runtime, engine._dictionaries._catalog = runtime, runtime.catalog
    engine.create_tables(Row, Salted, Filed)
    with engine.session() as session:
        session.add_all(Row(host="a", n=n, unit="s") for n in range(20))
        session.add_all(Salted(host=f"h{n}", unit="s") for n in range(20))
        session.add_all(Filed(host=f"h{n}", unit="s") for n in range(20))
    return engine


def _change(session: Session) -> None:
    session.add(Filed(host="h3", unit="t"))
    session.flush()


VERBS: dict[str, Callable[[Session], Any]] = {
    "get": lambda session: session.get(Row, host="a", n=1),
    "scan": lambda session: session.all(select(Row).where(Row.host == "a")),
    "filtered scan": lambda session: session.all(
        select(Row).where(Row.unit == "s").allow_full_scan()
    ),
    "merged scan": lambda session: session.all(select(Salted).allow_full_scan()),
    "look-up by index": lambda session: session.all(select(Filed).where(Filed.unit == "s")),
    "page": lambda session: session.page(select(Row).where(Row.host == "a"), size=3),
    "count": lambda session: session.count(select(Row).where(Row.host == "a")),
    "past": lambda session: session.all(
        select(Row).where(Row.host == "a").as_of(datetime.now(UTC))
    ),
    "guarded flush": _change,
    "guarded put": lambda session: session.put_row(Filed, Filed.unit.to("t"), host="h3"),
    "guarded insert": lambda session: session.insert(Filed(host="new", unit="t")),
    "plain insert": lambda session: session.insert(Row(host="new", n=1)),
    "analysis": lambda session: session.explain(select(Row).where(Row.host == "a"), analyze=True),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("has_lease", [True, False])
def test_a_verb_ends_after_the_time_of_about_one_request(
    engine: Engine, gateway: FallsSilent, clock: Clock, verb: str, *, has_lease: bool
) -> None:
    session = engine.session()
    if not has_lease:
        clock.sleep(3_600)
    gateway.is_silent = True
    begun_s = clock.now_s

    with pytest.raises((GatewayError, FlushError)):
        VERBS[verb](session)

    assert clock.now_s - begun_s <= 1.1 * TIMEOUT_S


def test_a_stream_under_way_ends_after_the_time_of_about_one_request(
    engine: Engine, gateway: FallsSilent, clock: Clock
) -> None:
    stream = engine.session().stream(select(Row).where(Row.host == "a").caching(5))
    next(stream)
    gateway.is_silent = True
    begun_s = clock.now_s

    with pytest.raises(GatewayError):
        list(stream)

    assert clock.now_s - begun_s <= 1.1 * TIMEOUT_S


def test_a_scan_whose_filter_lets_hardly_a_row_through_is_read_on_within_the_time(
    engine: Engine, gateway: FallsSilent, clock: Clock
) -> None:
    whole = gateway.execute_within
    slow: list[float] = []

    def slow_with_a_filter(operation: Operation[R], timeout_s: float, /) -> R:
        if isinstance(operation, FetchRows) and not slow:
            slow.append(timeout_s)
            clock.sleep(timeout_s)
            raise ConnectionLostError("no answer came in time")
        return whole(operation, timeout_s)

    gateway.execute_within = slow_with_a_filter  # type: ignore[method-assign]  # for one request
    begun_s = clock.now_s

    found = engine.session().all(select(Row).where(Row.unit == "s").allow_full_scan())

    assert len(found) == 20
    assert slow == [TIMEOUT_S / 2]
    assert clock.now_s - begun_s <= TIMEOUT_S


def test_an_answer_gives_the_next_request_all_its_time_again(
    gateway: FallsSilent, clock: Clock
) -> None:
    patience = Patience(gateway, clock)
    gateway.is_silent = True
    with pytest.raises(ConnectionLostError):
        patience.execute(FetchRows(ScannerId(1, None), 1, 0.5))
    gateway.is_silent = False
    patience.execute(Ping())
    gateway.is_silent = True
    begun_s = clock.now_s

    with pytest.raises(ConnectionLostError):
        patience.execute(Ping())

    assert clock.now_s - begun_s == TIMEOUT_S


def test_once_the_time_is_over_nothing_more_is_sent(gateway: FallsSilent, clock: Clock) -> None:
    patience = Patience(gateway, clock)
    gateway.is_silent = True
    with pytest.raises(ConnectionLostError):
        patience.execute(Ping())
    gateway.is_silent = False

    with pytest.raises(RetryableError, match="not sent"):
        patience.execute(Ping())


def test_asking_both_gateways_whether_they_are_there_takes_the_time_of_one() -> None:
    given: list[float] = []

    class Notes(FallsSilent):
        def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
            given.append(timeout_s)
            return super().execute_within(operation, timeout_s)

    RoutedGateway(Notes(Clock()), Notes(Clock())).execute_within(Ping(), TIMEOUT_S)

    assert given[1] < given[0] == TIMEOUT_S


def test_a_table_that_does_not_answer_holds_up_no_other_table_of_a_flush(
    engine: Engine, gateway: FallsSilent
) -> None:
    session = engine.session()
    session.add_all(Row(host="new", n=n) for n in range(2))
    session.add_all(Salted(host=f"new{n}") for n in range(2))
    session.add_all(Filed(host=f"new{n}") for n in range(2))
    gateway.silent_tables = {"silent_rows"}

    with pytest.raises(FlushError) as caught:
        session.flush()

    assert len(caught.value.written) == 4
    assert caught.value.not_written == []
    assert {table for table, _, _ in caught.value.unknown} == {"silent_rows"}


def test_a_table_that_does_not_answer_does_not_hold_up_a_single_row_with_an_index(
    engine: Engine, gateway: FallsSilent
) -> None:
    session = engine.session()
    session.add(Row(host="new", n=0))
    session.add(Filed(host="new"))
    gateway.silent_tables = {"silent_rows"}

    with pytest.raises(FlushError) as caught:
        session.flush()

    assert [table for table, _ in caught.value.written] == ["silent_files"]
    assert [table for table, _, _ in caught.value.unknown] == ["silent_rows"]


def test_a_batch_that_gets_no_answer_holds_up_no_other_batch_of_its_table(
    engine: Engine, gateway: FallsSilent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hbase_orm.writing.send.BATCH_ROWS", 1)
    session = engine.session()
    session.add_all(Row(host="new", n=n) for n in range(4))
    gateway.silent_writes = 1

    with pytest.raises(FlushError) as caught:
        session.flush()

    assert len(caught.value.written) == 3
    assert len(caught.value.unknown) == 1


def test_clean_up_that_gets_no_answer_does_not_end_a_move(
    engine: Engine, gateway: FallsSilent
) -> None:
    session = engine.session()
    moved = session.get(Filed, host="h3")
    assert moved is not None
    gateway.has_silent_deletes = True  # those of the original's entries, once it is gone

    copy = session.move(moved, host="h3 moved")

    gateway.has_silent_deletes = False
    assert session.get(Filed, host="h3") is None
    assert session.get(Filed, host="h3 moved") is copy


def test_a_fence_that_gets_no_answer_holds_up_no_repair_of_other_entries(
    engine: Engine, gateway: FallsSilent, clock: Clock
) -> None:
    table = engine.indexes(Filed)["by_unit"].table
    entries = list(rows_of(gateway.inner, table))
    with engine.session() as session:
        session.add_all(Filed(host=f"h{n}", unit="t") for n in range(20))
    # Stale entries that are newer than their rows: each row is fenced before its entry is deleted.
    later_ms = 1_000 + max(
        c.timestamp_ms for e in rows_of(gateway.inner, table) for c in e.cells.values()
    )
    stale = [
        RowMutation(e.key, tuple(Put(c, x.value, later_ms) for c, x in e.cells.items()))
        for e in entries
    ]
    gateway.inner.execute(MutateRows(table, tuple(stale)))
    gateway.silent_checks = 1

    repaired = engine.verify_index(Filed, "by_unit", repair=True, min_age_ms=-3_600_000)

    assert (repaired.repaired, gateway.silent_checks) == (19, 0)
    clock.sleep(10 * TIMEOUT_S)
    assert engine.verify_index(Filed, "by_unit").stale == 1
