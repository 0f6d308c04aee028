"""Indexes built on a real HBase beside programs that know of none, and of catalogs that were lost.

The programs write through Thrift1 alone, or with guards of before; builders, writers and
connections end at any moment; a program stands still (SIGSTOP) for longer than its lease.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hbase_orm import Engine, IndexState, connect, select
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import FlushError, GatewayError, SchemaError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import DropTable
from tests.fault.doubles import CutsConnectionAfterSend, CutsConnectionBeforeSend, Proxy
from tests.support.operator_actions import delete_row, put_back, restore, snapshot, truncate
from tests.support.stock_writer import CITIES, OWN_ROWS, OldStock, PlainStock, Stock, some_stock

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).parents[2]
BUILDER = "from hbase_orm.cli.main import main; main()"
WRITERS = 2
SOAK_WRITERS = 4
SOAK_ROUNDS = 5
CUT_EVERY_S = 0.15
BUILD_ATTEMPTS = 100  # on a busy machine few requests pass between two cuts
INDEXES = ("by_city",)


def with_options(url: str, thrift2: str = "") -> str:
    """Return a URL of processes that look at the catalog every second."""
    address = url.partition("?")[0]
    return f"{address}?{thrift2}lease_s=1&timeout_s=4&pool=2"


@pytest.fixture
def url(hbase_url: str) -> str:
    (host, port), *_ = parse_url(hbase_url).thrift2
    return with_options(hbase_url, f"thrift2={host}:{port}&")


@pytest.fixture
def plain_url(hbase_url: str) -> str:
    """The URL of programs that reach the Thrift1 gateway alone."""
    return with_options(hbase_url)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as connected:
        connected.create_tables(PlainStock)
        with connected.session() as session:
            session.add_all(some_stock(PlainStock, n) for n in range(WRITERS * OWN_ROWS // 2))
        yield connected
        connected.drop_tables(Stock)


class Writer:
    """A process of `tests.support.stock_writer`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def said(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def pause(self) -> None:
        """Let it stop in front of a write, and return once it stands still."""
        assert self.process.stdin is not None
        self.process.stdin.write("pause\n")
        self.process.stdin.flush()
        assert self.said() == "paused"

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> dict[str, object]:
        """Let it end; return what it tells."""
        said, _ = self.process.communicate(timeout=120)
        told: dict[str, object] = json.loads(said)
        return told


@contextmanager
def writers(calls: Sequence[tuple[str, str]]) -> Generator[list[Writer]]:
    """Start processes by model and URL; return once each writes. None outlives the block."""
    with ExitStack() as stack:
        running = [
            stack.enter_context(_writer(model, url, number))
            for number, (model, url) in enumerate(calls)
        ]
        assert [writer.said() for writer in running] == ["begun"] * len(calls)
        yield running


@contextmanager
def _writer(model: str, url: str, number: int) -> Generator[Writer]:
    command = [sys.executable, "-m", "tests.support.stock_writer", model, url, str(number)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, text=True, stdin=pipe, stdout=pipe) as process:
        try:
            yield Writer(process)
        finally:
            process.kill()


def declare(engine: Engine) -> None:
    """Bring the indexes to the table: from now on they can be built."""
    engine.add_guard_family(Stock)
    engine.create_tables(Stock)


def build(engine: Engine) -> None:
    for name in INDEXES:
        engine.build_index(Stock, name, gateway_timeout_s=0)


def assert_sound(engine: Engine) -> None:
    """Check that both indexes answer as the rows do, covering answers too."""
    for name in INDEXES:
        found = engine.verify_index(Stock, name)
        assert engine.indexes(Stock)[name].state is IndexState.READABLE
        assert (found.is_sound, found.missing, found.invalid, found.foreign) == (True, 0, 0, 0)
    session = engine.session()
    rows = session.all(select(Stock).allow_full_scan().using(None))
    assert len(rows) > OWN_ROWS / 2
    for city in {row.city for row in rows}:
        wanted = select(Stock.number, Stock.price).where(Stock.city == city)
        shown = [(row.number, row.price) for row in rows if row.city == city]
        assert sorted(session.all(wanted.using(Stock.by_city))) == shown


# --- builds beside plain programs -----------------------------------------------------------------


def build_once(_: str, engine: Engine) -> None:
    build(engine)


def build_after_kills(url: str, engine: Engine) -> None:
    """Kill the first builder of each index amid its rows, and build on."""
    for name in INDEXES:
        arguments = ["--url", url, "index", "build", "tests.support.stock_writer:Stock", name]
        command = [sys.executable, "-c", BUILDER, *arguments, "--rows-per-second", "300"]
        with subprocess.Popen(command, cwd=REPOSITORY) as builder:
            try:
                while not engine.indexes(Stock)[name].built:
                    assert builder.poll() is None
            finally:
                builder.kill()
        engine.build_index(Stock, name, gateway_timeout_s=0)


def build_through_cuts(url: str, engine: Engine) -> None:
    """Build through gateways that break connections before and after requests."""
    options = parse_url(url)
    (_, thrift1), (_, thrift2) = options.thrift1[0], options.thrift2[0]
    proxies = [CutsConnectionBeforeSend(thrift1), CutsConnectionAfterSend(thrift2)]
    address = f"hbase://127.0.0.1:{proxies[0].address.port}/{options.namespace}"
    cut_url = with_options(address, f"thrift2=127.0.0.1:{proxies[1].address.port}&")
    with connect(cut_url) as cut, cutting(proxies) as cuts:
        for name in INDEXES:
            build_stubbornly(cut, name)
    assert cuts
    assert all(proxy.has_struck.is_set() for proxy in proxies)
    assert engine.indexes(Stock)["by_city"].state is IndexState.READABLE


def build_stubbornly(engine: Engine, name: str) -> None:
    """Build again while a broken connection ends the build: it goes on where it was."""
    for _ in range(BUILD_ATTEMPTS):
        try:
            engine.build_index(Stock, name, gateway_timeout_s=0)
        except GatewayError:
            continue
        else:
            return
    raise AssertionError(name)


@contextmanager
def cutting(proxies: Sequence[Proxy]) -> Generator[list[int]]:
    """Arm the proxies again and again; give how often."""
    ended, cuts = threading.Event(), list[int]()

    def arm() -> None:
        while not ended.wait(CUT_EVERY_S):
            random.choice(proxies).arm()
            cuts.append(1)

    thread = threading.Thread(target=arm)
    thread.start()
    try:
        yield cuts
    finally:
        ended.set()
        thread.join()
        for proxy in proxies:
            proxy.close()


FAULTS: dict[str, Callable[[str, Engine], None]] = {
    "none": build_once,
    "kills": build_after_kills,
    "cuts": build_through_cuts,
}


def storm(engine: Engine, url: str, plain_url: str, fault: str, count: int) -> None:
    with writers([("PlainStock", plain_url)] * count) as running:
        declare(engine)
        FAULTS[fault](url, engine)
        told = [writer.end() for writer in running]

    assert all(int(str(each["batches"])) > 0 for each in told)
    assert all("differ from those that the catalog has" in str(each["refused"]) for each in told)
    assert_sound(engine)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_indexes_of_a_plain_model_are_built_beside_its_plain_writers(
    engine: Engine, url: str, plain_url: str, fault: str
) -> None:
    storm(engine, url, plain_url, fault, WRITERS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", FAULTS)
def test_first_indexes_are_built_beside_many_plain_writers_again_and_again(
    engine: Engine, url: str, plain_url: str, fault: str
) -> None:
    for _ in range(SOAK_ROUNDS):
        storm(engine, url, plain_url, fault, SOAK_WRITERS)
        for name in INDEXES:
            engine.drop_index(Stock, name)


# --- programs that stand still --------------------------------------------------------------------


@pytest.mark.parametrize("model", ["PlainStock", pytest.param("OldStock", marks=pytest.mark.soak)])
def test_what_a_program_writes_that_stood_still_during_the_build_is_found_and_repaired(
    engine: Engine, url: str, plain_url: str, model: str
) -> None:
    """It had looked at the catalog, and stood still for longer than any lease."""
    if model == "OldStock":
        engine.add_guard_family(OldStock)
        engine.create_tables(OldStock)
        engine.build_index(OldStock, "by_price", gateway_timeout_s=0)
    with writers([(model, plain_url if model == "PlainStock" else url)]) as (writer,):
        declare(engine)
        writer.pause()
        build(engine)
        assert_sound(engine)
        writer.go_on()
        writer.end()

    found = [engine.verify_index(Stock, name) for name in INDEXES]
    for name in INDEXES:
        engine.verify_index(Stock, name, repair=True, min_age_ms=0)
    # What has a guard is fenced by the build, but for rows that were not there.
    assert [each.is_sound for each in found] == [
        (each.missing, each.invalid) == (0, 0) for each in found
    ]
    assert (found[0].foreign > 0) == (model == "PlainStock")
    assert_sound(engine)


# --- catalogs and tables that were lost -----------------------------------------------------------


def lose_catalog(engine: Engine) -> None:
    """Lose what the catalog says of the table; others' entries stay."""
    table = engine._bound_of(Stock).schema.table
    delete_row(engine._runtime.gateway, CATALOG_TABLE, table.encode(), b"d")


def test_a_catalog_that_is_lost_under_writers_is_made_again_and_its_indexes_built(
    engine: Engine, url: str
) -> None:
    declare(engine)
    build(engine)
    with writers([("Stock", url)] * WRITERS) as running:
        lose_catalog(engine)
        engine.create_tables(Stock)
        absent = engine.indexes(Stock)
        build(engine)
        built = engine.indexes(Stock)
        told = [writer.end() for writer in running]

    assert {each.state for each in absent.values()} == {IndexState.ABSENT}
    assert {built[name].table[-2:] for name in INDEXES} == {".2"}
    assert [each["refused"] for each in told] == [""] * WRITERS
    assert_sound(engine)


def test_tables_that_were_truncated_dropped_and_restored_are_put_right_by_what_errors_say(
    engine: Engine,
) -> None:
    declare(engine)
    build(engine)
    gateway = engine._runtime.gateway
    table, by_city = (engine._bound_of(Stock).schema.table, engine.indexes(Stock)["by_city"].table)
    earlier = snapshot(gateway, table)
    with engine.session() as session:
        session.add_all(some_stock(Stock, n) for n in range(OWN_ROWS // 4))

    restore(gateway, earlier)
    older = engine.verify_index(Stock, "by_city")
    for name in INDEXES:
        engine.verify_index(Stock, name, repair=True, min_age_ms=0)
    assert not older.is_sound
    assert_sound(engine)

    truncate(gateway, table)
    with pytest.raises(SchemaError, match="has no rows"):
        engine.create_tables(Stock)
    empty = engine.verify_index(Stock, "by_city", repair=True, min_age_ms=0)
    assert empty.entries[Finding.INVALID] == len(earlier.rows)
    assert engine.create_tables(Stock) == []

    with engine.session() as session:
        session.add_all(some_stock(Stock, n) for n in range(CITIES))
    gateway.execute(DropTable(table))
    made = engine.create_tables(Stock)
    assert made[-1] == table
    assert f"{by_city}.2" in made
    cities = select(Stock.price).where(Stock.city == "city1")
    assert engine.session().all(cities.using(Stock.by_city)) == []
    with engine.session() as session:
        session.add_all(some_stock(Stock, n) for n in range(OWN_ROWS))
    assert_sound(engine)


@pytest.mark.soak
def test_writers_are_refused_by_a_catalog_of_an_earlier_time_until_it_is_overtaken(
    engine: Engine,
) -> None:
    declare(engine)
    gateway = engine._runtime.gateway
    table = engine._bound_of(Stock).schema.table
    (earlier,) = (row for row in snapshot(gateway, CATALOG_TABLE).rows if row.key == table.encode())
    build(engine)
    lose_catalog(engine)
    put_back(gateway, CATALOG_TABLE, earlier)
    engine._runtime.catalog.forget(table)

    session = engine.session()
    session.add(some_stock(Stock, 1))
    with pytest.raises(FlushError) as refused:
        session.flush()
    engine.create_tables(Stock)
    build(engine)
    with engine.session() as other:
        other.add(some_stock(Stock, 1))

    assert "create_tables" in refused.value.not_written[0][2].fix
    assert_sound(engine)
