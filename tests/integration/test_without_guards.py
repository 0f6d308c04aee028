"""Models with indexes on a real HBase that is reached through its Thrift1 gateway alone."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Engine, Session, connect, func, select
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import (
    ConfigurationError,
    FeatureMissingError,
    NamespaceNotFoundError,
    SchemaError,
)
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.index.entries.targets import IndexTarget, RowBefore, RowChange
from hbase_orm.index.protocol import last_writer_wins as lww
from hbase_orm.index.protocol.last_writer_wins import lww_write
from hbase_orm.numbering.create_tables import ensure_namespace
from hbase_orm.ops import Delete, GetRows, MutateRows, Protocol, ProtocolRun, Put, Row, RowMutation
from tests.support.last_writer_wins_writer import ROWS, write
from tests.support.storm_writer import Upserted
from tests.support.storms import check_indexes, compare, stale
from tests.support.thrift1_only import Account

pytestmark = pytest.mark.hbase

REPOSITORY = Path(__file__).parents[2]
PROCESSES = 4
WRITES = 150
MANY_WRITES = 5_000
THREADS = 4
START_S = 60.0
SETTLE_S = 1.0
"""What was sent before a kill has ended by then."""


@pytest.fixture
def full(hbase_url: str) -> Iterator[Engine]:
    """An engine with both gateways, whose namespace is made."""
    with connect(hbase_url) as engine:
        engine._runtime.run(ensure_namespace(f"{engine.options.namespace}:x"))
        yield engine


@pytest.fixture
def url(full: Engine) -> str:
    """The URL of the Thrift1 gateway alone."""
    (host, port), *_ = full.options.thrift1
    return f"hbase://{host}:{port}/{full.options.namespace}"


@pytest.fixture
def thrift1(url: str) -> Iterator[Engine]:
    with connect(url) as engine:
        engine.create_tables(Account)
        yield engine


def started(url: str, writes: int) -> list[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.last_writer_wins_writer", url]
    return [
        subprocess.Popen(
            [*command, str(number), str(writes)],
            cwd=REPOSITORY,
            text=True,
            stdout=subprocess.PIPE,
        )
        for number in range(PROCESSES)
    ]


def storm(url: str, writes: int) -> None:
    running = started(url, writes)
    try:
        said = [json.loads(each.communicate(timeout=3_000)[0]) for each in running]
    finally:
        for each in running:
            each.kill()
            each.wait()
    assert said == [{"done": writes, "misfits": 0}] * PROCESSES


def test_after_concurrent_upserts_of_processes_no_entry_misses_and_none_is_stale(
    thrift1: Engine, url: str
) -> None:
    storm(url, WRITES)

    assert check_indexes(thrift1, Account, at_most_stale=PROCESSES * WRITES) == ROWS


def test_after_kills_no_entry_misses_and_rows_written_again_leave_none_stale(
    thrift1: Engine, url: str
) -> None:
    with thrift1.session() as session:
        session.add_all(Account(number=f"{n:03}", email="E0@x", points=0) for n in range(ROWS))
        session.flush()
    running = started(url, MANY_WRITES)
    until_s = time.monotonic() + START_S
    while len(found(thrift1.session(), "e0@x")) > ROWS / 2 and time.monotonic() < until_s:
        time.sleep(0.2)
    codes = [each.poll() for each in running]
    for each in running:
        each.kill()
        each.communicate()
    begun = len(found(thrift1.session(), "e0@x"))
    time.sleep(SETTLE_S)

    killed = compare(thrift1, Account)

    assert codes == [None] * PROCESSES
    assert begun <= ROWS / 2
    assert {name: one.missing for name, one in killed.items()} == dict.fromkeys(killed, 0)
    with thrift1.session() as session:
        session.add_all(Account(number=f"{n:03}", email="E9@x", points=9) for n in range(ROWS))
        session.flush()
    assert check_indexes(thrift1, Account, at_most_stale=ROWS * PROCESSES) == ROWS


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_after_many_concurrent_upserts_no_entry_misses_and_none_is_stale(
    thrift1: Engine, url: str
) -> None:
    storm(url, MANY_WRITES)

    assert check_indexes(thrift1, Account, at_most_stale=PROCESSES * MANY_WRITES) == ROWS


def test_after_concurrent_upserts_of_threads_no_entry_misses_and_none_is_stale(
    thrift1: Engine,
) -> None:
    def upsert(number: int) -> None:
        chance = random.Random(number)
        for _ in range(50):
            with thrift1.session() as session:
                write(session, chance, f"{chance.randrange(3)}")
                session.flush()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(upsert, range(THREADS)))

    assert check_indexes(thrift1, Account, at_most_stale=THREADS * 50) == 3


def found(session: Session, email: str) -> list[str]:
    stmt = select(Account).where(func.lower(Account.email) == email)
    return [account.number for account in session.all(stmt)]


def test_two_writes_of_one_time_leave_an_entry_that_the_repair_deletes(thrift1: Engine) -> None:
    with thrift1.session() as session:
        session.add(Account(number="1", email="ada@x", points=1))
        session.flush()
    (row,) = thrift1._runtime.execute(GetRows(thrift1._bound_of(Account).schema.table, (b"1",)))
    assert row is not None
    t = row.cells[b"d:email"].timestamp_ms
    bound = thrift1._bound_of(Account)
    assert bound.guarded is not None
    index = bound.guarded.indexes[0]
    (tied,) = index.entry_keys(b"1", {b"d:email": b"bea@x"})
    put = RowMutation(tied, (Put(b"d:", b"", t),))
    thrift1._runtime.execute(MutateRows(index.table, (put,)))

    young = thrift1.repair_indexes(Account)["by_email"]
    old = thrift1.repair_indexes(Account, min_age_ms=0)["by_email"]

    assert (young.in_flight, old.repaired) == (1, 1)
    assert {name: (one.missing, stale(one)) for name, one in compare(thrift1, Account).items()} == {
        "by_email": (0, 0),
        "by_points": (0, 0),
    }
    assert (found(thrift1.session(), "ada@x"), found(thrift1.session(), "bea@x")) == (["1"], [])


class Stepped:
    """A protocol that is taken on request by request."""

    def __init__(self, protocol: Protocol[Any], engine: Engine) -> None:
        self.run, self.execute = ProtocolRun(protocol), engine._runtime.answering()
        self.run.begin()

    def until(self, table: str) -> MutateRows | None:
        """Go on until a write of this table is about to be sent; None at the end."""
        while (request := self.run.request) is not None:
            if isinstance(request, MutateRows) and request.table == table:
                return request
            self.run.answer_by(self.execute)
        return None

    def send(self, request: MutateRows | None) -> None:
        assert request is not None
        assert request is self.run.request
        self.run.answer_by(self.execute)


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_repair_between_two_writes_of_one_time_deletes_neither_entry(
    thrift1: Engine, monkeypatch: pytest.MonkeyPatch, *, is_strict: bool
) -> None:
    """W1 and W2 put entries at one time, W1 its row, a repair runs, and then W2 puts its row."""
    bound = thrift1._bound_of(Account)
    assert bound.guarded is not None
    now_ms = wall_clock_ms()
    runtime = thrift1._runtime
    context = replace(runtime.guard_context, now_ms=lambda: now_ms, permit=lambda _: 1)
    put_account(thrift1, "ada@x")
    one, other = (
        Stepped(lww_write(bound.guarded, RowChange(b"1", {b"d:email": email}), context), thrift1)
        for email in (b"bea@x", b"cea@x")
    )
    asked = [each.until(bound.schema.table) for each in (one, other)]
    one.send(asked[0])
    assert one.until(bound.schema.table) is None
    if not is_strict:
        monkeypatch.setattr(lww, "is_superseded", outdone_by_as_old)

    thrift1.repair_indexes(Account)

    monkeypatch.undo()
    other.send(asked[1])
    assert other.until(bound.schema.table) is None
    assert compare(thrift1, Account)["by_email"].missing == (0 if is_strict else 1)
    assert found(thrift1.session(), "cea@x") == (["1"] if is_strict else [])


def put_account(engine: Engine, email: str) -> None:
    with engine.session() as session:
        session.add(Account(number="1", email=email, points=1))
        session.flush()


def outdone_by_as_old(before: RowBefore, index: IndexTarget, entry_ms: int) -> bool:
    return before.written_ms(index.columns) >= entry_ms


def stored(engine: Engine, number: str) -> Row:
    table = engine._bound_of(Account).schema.table
    (row,) = engine._runtime.execute(GetRows(table, (number.encode(),)))
    assert row is not None
    return row


def test_an_entry_that_another_program_deleted_is_put_again(thrift1: Engine) -> None:
    with thrift1.session() as session:
        session.add(Account(number="1", email="ada@x", points=1))
        session.flush()
    bound = thrift1._bound_of(Account)
    assert bound.guarded is not None
    index = bound.guarded.indexes[0]
    (entry,) = index.entry_keys(b"1", {b"d:email": b"ada@x"})
    gone = RowMutation(entry, deletes=(Delete(b"d"),))
    thrift1._runtime.execute(MutateRows(index.table, (gone,)))
    assert thrift1.verify_index(Account, "by_email").missing == 1

    before = stored(thrift1, "1")
    thrift1.verify_index(Account, "by_email", repair=True)

    assert thrift1.verify_index(Account, "by_email").missing == 0
    assert stored(thrift1, "1") == before
    assert found(thrift1.session(), "ada@x") == ["1"]


def test_an_index_is_dropped_and_built_again(thrift1: Engine) -> None:
    thrift1._runtime.catalog.lease_s = 0.2
    thrift1.options = replace(thrift1.options, timeout_s=1.0)
    with thrift1.session() as session:
        session.add(Account(number="1", email="ada@x", points=1))
        session.flush()
    assert len(thrift1.drop_index(Account, Account.by_email)) == 1
    with thrift1.session() as session:
        session.add(Account(number="2", email="ada@x", points=1))
        session.flush()

    status = thrift1.build_index(Account, Account.by_email, gateway_timeout_s=0)

    assert status.state is IndexState.READABLE
    assert found(thrift1.session(), "ada@x") == ["1", "2"]
    assert thrift1.verify_index(Account, "by_email").missing == 0


def test_only_programs_of_one_kind_write_a_table(full: Engine, thrift1: Engine) -> None:
    with pytest.raises(
        SchemaError, match="for rows without guards, but this program writes rows with them"
    ):
        full.create_tables(Account)
    full.drop_tables(Account)
    full.create_tables(Account)
    with pytest.raises(SchemaError, match="guards"):
        thrift1.create_tables(Account)


def test_a_namespace_that_is_missing_is_named_with_how_to_make_it(url: str) -> None:
    with connect(f"{url}_missing") as engine, pytest.raises(NamespaceNotFoundError) as caught:
        engine.create_tables(Account)

    assert f"create_namespace '{engine.options.namespace}'" in caught.value.fix


def test_what_needs_a_guard_is_refused(thrift1: Engine) -> None:
    with pytest.raises(ConfigurationError) as caught:
        thrift1.create_tables(Upserted)
    assert (caught.value.model, caught.value.index) == ("Upserted", "by_a")

    with pytest.raises(FeatureMissingError):
        thrift1.session().insert(Account(number="1", email="ada@x", points=1))
    assert found(thrift1.session(), "ada@x") == []
