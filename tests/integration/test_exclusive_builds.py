"""Indexes built on a real HBase by the only program that uses the table."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbase_orm import Engine, IndexState, connect, select
from hbase_orm.errors import FlushError, TableHeldError
from hbase_orm.index.catalog.entry import TableState
from tests.support.parcel_writer import OldParcel, Parcel, some_city

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).parents[2]
MAIN = "from hbase_orm.cli.main import main; main()"
MODEL = "tests.support.parcel_writer:Parcel"
FEW_ROWS = 60
ROWS = 600
LEASE_S = 3
SLACK_S = 60
"""What a build of a few rows takes on a slow machine besides the lease: a table is created."""


@pytest.fixture
def url(hbase_url: str) -> str:
    return f"{hbase_url}{'&' if '?' in hbase_url else '?'}lease_s={LEASE_S}&timeout_s=15&pool=2"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as connected:
        connected.create_tables(OldParcel)
        yield connected
        connected.drop_tables(Parcel)


def fill(engine: Engine, rows: int) -> None:
    with engine.session().bulk(insert_only=True) as bulk:
        for n in range(rows):
            bulk.add(OldParcel(number=n, city=some_city(), state="new"))


def put(engine: Engine, number: int) -> None:
    with engine.session() as session:
        session.add(Parcel(number=number, city="city7", state="put"))


def command(url: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", MAIN, "--url", url, *arguments]


def assert_sound(engine: Engine, rows: int) -> None:
    found = engine.verify_index(Parcel, "by_city")
    assert (found.missing, found.invalid, found.foreign) == (0, 0, 0)
    with engine.session() as session:
        of_city = select(Parcel.number).where(Parcel.city == "city7")
        assert session.all(of_city.using(Parcel.by_city)) == session.all(
            of_city.using(None).allow_full_scan()
        )
        assert session.count(select(Parcel).allow_full_scan()) == rows


def test_a_build_waits_for_the_lease_and_not_for_gateways(engine: Engine) -> None:
    """The time-out of gateways is left at its 20 minutes."""
    fill(engine, FEW_ROWS)
    begun_s = time.monotonic()

    status = engine.build_index(Parcel, "by_city", exclusive=True)

    assert status.state is IndexState.READABLE
    assert LEASE_S <= time.monotonic() - begun_s < LEASE_S + SLACK_S
    assert_sound(engine, FEW_ROWS)


def kill_a_build(engine: Engine, url: str) -> None:
    """Kill a builder when it has put the entries of some rows."""
    build = ["index", "build", MODEL, "by_city", "--exclusive", "--rows-per-second", "200"]
    with subprocess.Popen(command(url, *build), cwd=REPOSITORY) as process:
        try:
            while not (engine.indexes(Parcel)["by_city"].built or 0.0):
                assert process.poll() is None
                time.sleep(0.05)
        finally:
            process.kill()
    assert process.returncode == -9


def test_others_are_refused_until_the_build_of_a_killed_program_is_finished(
    engine: Engine, url: str
) -> None:
    fill(engine, ROWS)
    put(engine, ROWS)

    kill_a_build(engine, url)
    time.sleep(LEASE_S)
    with pytest.raises(FlushError) as caught:
        put(engine, ROWS + 1)
    refused_state = engine.table_state(Parcel)
    finished = subprocess.run(
        command(url, "index", "build", MODEL, "by_city", "--exclusive"),
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        check=False,
    )
    put(engine, ROWS + 1)

    assert isinstance(caught.value.not_written[0][2], TableHeldError)
    assert refused_state is TableState.EXCLUSIVE
    assert finished.returncode == 0, finished.stderr
    assert engine.table_state(Parcel) is TableState.READABLE
    assert_sound(engine, ROWS + 2)


def test_the_table_of_a_killed_program_is_taken_over_and_that_of_another_is_not(
    engine: Engine, url: str
) -> None:
    """What `hbase-orm tables release` does is an exclusive use without work."""
    fill(engine, FEW_ROWS)
    with connect(url) as other, other.exclusive(Parcel):
        with pytest.raises(TableHeldError), engine.exclusive(Parcel):
            pytest.fail("two programs use the table")
        put(other, 1)
    block = f"""
import os
from hbase_orm import connect
from tests.support.parcel_writer import Parcel
with connect({url!r}) as engine, engine.exclusive(Parcel):
    os._exit(9)
"""
    killed = subprocess.run([sys.executable, "-c", block], cwd=REPOSITORY, check=False)
    held_state = engine.table_state(Parcel)

    with engine.exclusive(Parcel):
        put(engine, 1)

    assert (killed.returncode, held_state) == (9, TableState.EXCLUSIVE)
    assert engine.table_state(Parcel) is TableState.READABLE
