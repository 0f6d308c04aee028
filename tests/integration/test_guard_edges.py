"""Guarded rows at their edges, on a real server: expiry, compaction, repeated requests, clocks.

The server gives up a call after `RPC_S` and asks again, which is how a gateway makes an applied
check answer False.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace

import happybase
import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    codecs,
    column,
    connect,
    counter,
    key,
    select,
)
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import ClockError, FlushError, RowMovedError
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARD_COLUMN, GUARDED_RETRIES
from hbase_orm.index.protocol import attempt
from hbase_orm.index.protocol.guards_in_place import replace_in_place
from hbase_orm.ops import CheckAndMutate, KeyRange, Put, RowMutation, Scan, first_rows
from hbase_orm.server import EmbeddedServer, ServerOptions
from hbase_orm.testing.settings import TEST_SETTINGS
from tests.integration.embedded import connected, marks
from tests.support.late_verification import Repeated, answers_after_a_late_verification
from tests.support.storms import compare

pytestmark = marks()

RPC_S = 1.5
DELAY_MS = 2_500
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
SHORT_TTL_MS = 1_000


class Guarded(Model, table="edges"):
    d = Family()
    c = Family()
    name: Key[str] = key()
    value: Mapped[int] = column(d, codec=codecs.int64())
    hits: Counter = counter(c)
    clicks: Counter = counter(d)
    by_value = Index(value)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    settings = {
        **TEST_SETTINGS,
        "hbase.rpc.timeout": str(int(RPC_S * 1000)),
        "hbase.rpc.write.timeout": str(int(RPC_S * 1000)),
        "hbase.client.pause": "50",
        "hbase.client.retries.number": "6",
    }
    with EmbeddedServer(ServerOptions(ephemeral=True, settings=settings)) as started:
        yield started


@pytest.fixture(scope="module")
def engine(server: EmbeddedServer) -> Iterator[Engine]:
    with connect(server.url) as connected_engine:
        connected_engine.create_tables(Guarded)
        with connected_engine.session() as session:  # open for guarded writes
            session.add(Guarded(name="first", value=-1))
        yield connected_engine


@pytest.fixture
def session(engine: Engine) -> Session:
    return engine.session()


@pytest.fixture
def table(server: EmbeddedServer, engine: Engine) -> Iterator[happybase.Table]:
    assert engine is not None  # the table is there
    with connected(server.ports["thrift1"]) as connection:
        yield connection.table("edges")


@pytest.fixture
def name() -> str:
    return uuid.uuid4().hex


def with_clock(engine: Engine, ahead_ms: int) -> Session:
    """Return a session whose wall clock is ahead of this machine's, or behind it."""
    runtime = Runtime(
        engine._runtime.gateway, parallel=4, now_ms=lambda: wall_clock_ms() + ahead_ms
    )
    other = Engine(engine._runtime.gateway, engine.options)
    other._runtime = runtime
    return other.session()


def shown(engine: Engine, name: str) -> int | None:
    """Return the row's value, after checking that the index says the same."""
    with engine.session() as session:
        row = session.get(Guarded, name=name)
        found = session.all(select(Guarded).where(Guarded.name == name, Guarded.value >= -100))
        if row is None:
            assert found == []
            return None
        assert found == [row]
        by_index = select(Guarded.name).where(Guarded.value == row.value).using(Guarded.by_value)
        assert name in session.all(by_index)
        return row.value


def compact(server: EmbeddedServer, engine: Engine) -> None:
    for table in ("edges", *(index.table for index in engine._bound_of(Guarded).schema.indexes)):
        server.admin.flush(table)
        server.admin.major_compact(table)


def check_index(engine: Engine, name: str) -> None:
    """Check that a row has its entry, and no other."""
    (found,) = compare(engine, Guarded).values()
    assert not [pair for pair in found.pairs if pair.row == name.encode()]


# --- expiry and compaction ------------------------------------------------------------------------


def test_a_verification_that_lands_after_a_compaction_is_not_believed(
    server: EmbeddedServer, engine: Engine
) -> None:
    def compact_table(table: str) -> None:
        server.admin.flush(table)
        server.admin.major_compact(table)

    engine.create_tables(Repeated)

    old, new = answers_after_a_late_verification(engine, compact_table)

    assert (old, new) == ([], [("a", 2)])


def test_a_deleted_row_stays_deleted_after_its_guard_is_gone(
    server: EmbeddedServer,
    engine: Engine,
    table: happybase.Table,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempt, "DEAD_GUARD_TTL_MS", SHORT_TTL_MS)
    row, session = name.encode(), engine.session()
    session.replace(Guarded(name=name, value=1))
    session.replace(Guarded(name=name, value=2))
    older = table.row(row)[GUARD_COLUMN]

    session.delete_row(Guarded, name=name)
    assert table.row(row).keys() == {GUARD_COLUMN}  # it outlives its row, for a while
    time.sleep(SHORT_TTL_MS / 1000 + 1)

    assert table.row(row) == {}
    assert shown(engine, name) is None
    late = RowMutation(row, puts=(Put(b"d:value", bytes(8), wall_clock_ms()),))
    assert not engine._runtime.execute(CheckAndMutate("edges", GUARD_COLUMN, older, late))
    compact(server, engine)
    assert table.row(row) == {}
    assert not engine._runtime.execute(CheckAndMutate("edges", GUARD_COLUMN, older, late))
    session.insert(Guarded(name=name, value=3))
    assert shown(engine, name) == 3
    compact(server, engine)
    assert shown(engine, name) == 3
    check_index(engine, name)


@pytest.mark.parametrize("before", ["in memory", "flushed", "compacted"])
def test_a_guard_replaced_in_place_shows_unless_a_write_came_first(
    server: EmbeddedServer, engine: Engine, session: Session, name: str, before: str
) -> None:
    unchanged, written = name.encode(), name.encode() + b"-written"
    for row in (unchanged, written):
        session.insert(Guarded(name=row.decode(), value=1))
    sealed = {row: replace(guard, is_sealed=True) for row, guard in guards_of(engine, name).items()}
    session.put_row(Guarded, Guarded.value.to(2), name=written.decode())
    if before != "in memory":
        server.admin.flush("edges")
    if before == "compacted":
        server.admin.major_compact("edges")
    context = engine._runtime.guard_context

    shown = engine._runtime.run(replace_in_place("edges", sealed, context))

    assert shown == {unchanged}
    for is_compacted in (False, True):
        if is_compacted:
            compact(server, engine)
        stored = guards_of(engine, name)
        assert stored[unchanged] == sealed[unchanged]
        assert not stored[written].is_sealed
    with pytest.raises(RowMovedError):
        session.put_row(Guarded, Guarded.value.to(3), name=unchanged.decode())


def guards_of(engine: Engine, prefix: str) -> dict[bytes, GuardCell]:
    """Return the guards of the rows whose keys begin with `prefix`."""
    scan = Scan("edges", KeyRange.prefix(prefix.encode()), (GUARD_COLUMN,))
    rows = engine._runtime.run(first_rows(scan, GUARDED_RETRIES))
    return {row.key: GuardCell.decode(row.cells[GUARD_COLUMN].value) for row in rows}


def test_no_counter_of_a_deleted_row_survives_or_comes_back(
    server: EmbeddedServer, engine: Engine, session: Session, table: happybase.Table, name: str
) -> None:
    session.insert(Guarded(name=name, value=1))
    session.increment(Guarded, Guarded.hits.by(3), Guarded.clicks.by(4), name=name)
    assert table.row(name.encode()).keys() >= {b"c:hits", b"d:clicks"}

    session.delete_row(Guarded, name=name)

    assert table.row(name.encode()).keys() == {GUARD_COLUMN}
    compact(server, engine)
    assert table.row(name.encode()).keys() == {GUARD_COLUMN}
    session.insert(Guarded(name=name, value=2))
    row = engine.session().get(Guarded, name=name)
    assert row is not None
    assert (row.value, row.hits, row.clicks) == (2, 0, 0)
    assert session.increment(Guarded, Guarded.hits.by(1), name=name) == [1]


# --- a request that the gateway itself repeats ----------------------------------------------------


def test_a_gateway_that_repeats_a_request_answers_false_to_what_is_applied(
    server: EmbeddedServer, engine: Engine, table: happybase.Table, name: str
) -> None:
    """The ground of the two tests that follow."""
    mutation = RowMutation(name.encode(), puts=(Put(b"d:value", bytes(8), wall_clock_ms()),))
    server.admin.delay("edges", "checkAndMutate", DELAY_MS, row_prefix=name.encode(), after=True)

    answer = engine._runtime.execute(CheckAndMutate("edges", b"d:value", b"", mutation))

    assert answer is False
    assert table.row(name.encode()) == {b"d:value": bytes(8)}


def test_an_insert_that_the_gateway_repeats_is_no_duplicate_of_itself(
    server: EmbeddedServer, engine: Engine, session: Session, name: str
) -> None:
    session.get(Guarded, name=name)
    server.admin.delay("edges", "checkAndMutate", DELAY_MS, row_prefix=name.encode(), after=True)

    session.insert(Guarded(name=name, value=1))

    assert shown(engine, name) == 1


def test_a_relative_write_that_the_gateway_repeats_is_made_once(
    server: EmbeddedServer, engine: Engine, session: Session, name: str
) -> None:
    session.insert(Guarded(name=name, value=1))
    server.admin.delay("edges", "checkAndMutate", DELAY_MS, row_prefix=name.encode(), after=True)

    def add_ten(row: Guarded) -> None:
        row.value += 10

    session.update(Guarded, add_ten, name=name)

    assert shown(engine, name) == 11


# --- clocks ---------------------------------------------------------------------------------------


def test_a_slow_clock_writes_over_the_tombstones_of_another_program(
    engine: Engine, session: Session, table: happybase.Table, name: str
) -> None:
    session.insert(Guarded(name=name, value=1))
    table.delete(name.encode())  # the guard as well
    assert table.row(name.encode()) == {}

    with with_clock(engine, -HOUR_MS) as slow:
        slow.insert(Guarded(name=name, value=2))

    assert shown(engine, name) == 2


def test_a_clock_nearly_an_hour_ahead_is_followed_with_a_warning(
    engine: Engine, session: Session, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with with_clock(engine, 59 * MINUTE_MS) as fast:
        fast.insert(Guarded(name=name, value=1))

    with caplog.at_level(logging.WARNING):
        session.replace(Guarded(name=name, value=2))

    assert "ahead" in caplog.text
    assert shown(engine, name) == 2
    session.delete_row(Guarded, name=name)
    assert shown(engine, name) is None
    session.insert(Guarded(name=name, value=3))
    assert shown(engine, name) == 3


def test_a_row_more_than_an_hour_ahead_is_not_written(
    engine: Engine, session: Session, table: happybase.Table, name: str
) -> None:
    with with_clock(engine, HOUR_MS + 5 * MINUTE_MS) as fast:
        fast.insert(Guarded(name=name, value=1))
    before = table.row(name.encode(), include_timestamp=True)

    with pytest.raises((ClockError, FlushError)) as refused:
        session.replace(Guarded(name=name, value=2))

    assert "clock" in str(refused.value)
    assert table.row(name.encode(), include_timestamp=True) == before
