"""Indexes built, killed, dropped and healed on a real HBase, while other processes write."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Engine, IndexState, connect, select
from hbase_orm.errors import FlushError
from hbase_orm.ops import DisableTable, DropTable
from tests.support.parcel_writer import ROWS, OldParcel, Parcel, some_city

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).parents[2]
MODEL = "tests.support.parcel_writer:Parcel"
MAIN = "from hbase_orm.cli.main import main; main()"
FEW_ROWS = 400
KILLS = 1
SOAK_KILLS = 5
SOAK_ROWS = 6_000
"""A build notes how far it is every 500 rows: each kill meets it further on."""

WRITERS = 4
RATE = 500
"""Rows a second, so that a kill meets the build at work."""


@pytest.fixture
def url(hbase_url: str) -> str:
    """Return a URL of processes that look at the catalog every two seconds."""
    return f"{hbase_url}{'&' if '?' in hbase_url else '?'}lease_s=2&timeout_s=8&pool=2"


@pytest.fixture
def busy_url(hbase_url: str) -> str:
    """Return a URL of processes that are many, patient, and open few connections each."""
    return f"{hbase_url}{'&' if '?' in hbase_url else '?'}lease_s=2&timeout_s=15&pool=2"


@contextmanager
def parcels(url: str, rows: int) -> Generator[Engine]:
    """Return the engine of a table with rows that were written before the index was declared."""
    with connect(url) as connected:
        connected.create_tables(OldParcel)
        with connected.session().bulk(insert_only=True) as bulk:
            for n in range(rows):
                bulk.add(OldParcel(number=n, city=some_city(), state="new"))
        yield connected
        connected.drop_tables(Parcel)


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with parcels(url, FEW_ROWS) as connected:
        yield connected


@pytest.fixture
def busy_engine(busy_url: str) -> Iterator[Engine]:
    with parcels(busy_url, ROWS) as connected:
        yield connected


@pytest.fixture
def long_engine(busy_url: str) -> Iterator[Engine]:
    with parcels(busy_url, SOAK_ROWS) as connected:
        yield connected


@contextmanager
def writers(url: str, models: Sequence[str]) -> Generator[list[subprocess.Popen[str]]]:
    """Start writing processes; none outlives the block."""
    with ExitStack() as stack:
        yield [stack.enter_context(_process(model, url, n)) for n, model in enumerate(models)]


@contextmanager
def _process(model: str, url: str, number: int) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.parcel_writer", model, url, str(number)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=REPOSITORY, text=True, stdin=pipe, stdout=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def end(process: subprocess.Popen[str]) -> dict[str, int]:
    """Let a writer end; return what it tells."""
    said, _ = process.communicate(timeout=120)
    told: dict[str, int] = json.loads(said)
    return told


def index(url: str, *arguments: str, check: bool = True) -> Any:
    """Run `hbase-orm index` as a user does; return its answer."""
    done = subprocess.run(
        [*_command(url), *arguments, "--json"],
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0 or not check, done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


def _command(url: str) -> list[str]:
    return [sys.executable, "-c", MAIN, "--url", url, "index"]


def kill_a_build(url: str, engine: Engine, least: float) -> float:
    """Start a build and kill it amid its work; return how far it was."""
    command = [*_command(url), "build", MODEL, "by_city", "--rows-per-second", str(RATE)]
    with subprocess.Popen(command, cwd=REPOSITORY) as build:
        try:
            while (built := engine.indexes(Parcel)["by_city"].built or 0.0) <= least:
                assert build.poll() is None
                time.sleep(0.05)
        finally:
            build.kill()
    assert build.returncode == -9
    return built


def build_under_writers(url: str, engine: Engine, kills: int) -> None:
    models = ["Parcel"] * WRITERS + ["OldParcel"]
    with writers(url, models) as running:
        assert [process.stdout.readline() for process in running if process.stdout] == [
            "begun\n"
        ] * len(models)
        built = 0.0
        for _ in range(kills):
            built = kill_a_build(url, engine, built)
            assert engine.indexes(Parcel)["by_city"].state is IndexState.WRITE_ONLY
        found = index(url, "build", MODEL, "by_city", "--gateway-timeout", "2")
        amid = engine.verify_index(Parcel, "by_city")
        told = [end(process) for process in running]

    after = engine.verify_index(Parcel, "by_city")
    assert 0 < built < 1
    assert found["state"] == "READABLE"
    assert (amid.missing, amid.invalid) == (0, 0)
    assert (after.missing, after.invalid, after.foreign) == (0, 0, 0)
    assert after.rows.total() > 500
    assert [each["refused"] for each in told] == [0] * WRITERS + [1]
    assert min(each["batches"] for each in told) > 1
    assert_reads_agree(engine)


def assert_reads_agree(engine: Engine) -> None:
    """Check that the index gives what the rows say."""
    with engine.session() as session:
        wanted = select(Parcel.number).where(Parcel.city == "city7")
        by_index = session.all(wanted.using(Parcel.by_city))
        by_scan = session.all(wanted.using(None).allow_full_scan())
    assert by_index == by_scan
    assert len(by_index) > 0


def test_an_index_is_built_under_writers_though_its_builder_is_killed(
    busy_engine: Engine, busy_url: str
) -> None:
    build_under_writers(busy_url, busy_engine, KILLS)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_an_index_is_built_under_writers_though_its_builder_is_killed_often(
    long_engine: Engine, busy_url: str
) -> None:
    build_under_writers(busy_url, long_engine, SOAK_KILLS)


def write_fifty(engine: Engine) -> FlushError:
    """Write rows that cannot be written; check that they are as they were."""
    first = select(Parcel).where(Parcel.number < 50)
    with engine.session() as session:
        before = {row.number: (row.city, row.state) for row in session.all(first)}
    session = engine.session()
    for n in range(50):
        session.add(Parcel(number=n, city=f"new{n}", state="changed"))
    with pytest.raises(FlushError) as caught:
        session.flush()
    with engine.session() as session:
        assert {row.number: (row.city, row.state) for row in session.all(first)} == before
    return caught.value


def test_an_index_table_that_is_gone_stops_writes_and_a_build_heals_it(
    engine: Engine, url: str
) -> None:
    table = index(url, "build", MODEL, "by_city", "--gateway-timeout", "0")["table"]

    engine._runtime.execute(DisableTable(table))
    disabled = write_fifty(engine)
    engine._runtime.execute(DropTable(table))
    dropped = write_fifty(engine)
    status = index(url, "build", MODEL, "by_city", "--gateway-timeout", "0")
    found = index(url, "verify", MODEL, "by_city")
    with engine.session() as session:
        session.add(Parcel(number=1, city="city7", state="new"))

    assert (len(disabled.not_written), len(dropped.not_written)) == (50, 50)
    assert status["table"] != table
    assert (found["rows"]["MISSING"], found["entries"]["UNKNOWN"]) == (0, 0)
    assert_reads_agree(engine)


def test_an_index_is_dropped_and_built_again_from_the_command_line(
    engine: Engine, url: str
) -> None:
    built = index(url, "build", MODEL, "by_city", "--gateway-timeout", "0")
    dropped = index(url, "drop", MODEL, "by_city", "--yes")
    refused = index(url, "verify", MODEL, "by_city", check=False)
    again = index(url, "build", MODEL, "by_city", "--gateway-timeout", "0")

    assert dropped == {"dropped": [built["table"]]}
    assert "not built" in refused
    assert again["table"] == f"{built['table']}.2"
    assert_reads_agree(engine)
