"""A process that loads a table of a real HBase is killed: the table opens without it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.index.catalog.entry import TableState
from tests.support.parcel_writer import Parcel, some_city

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(300)]

REPOSITORY = Path(__file__).parents[2]
OWN_ROWS, KILLED_ROWS = 50, 1000

LOADER = """
import sys
from itertools import count
from hbase_orm import connect
from tests.support.parcel_writer import Parcel, some_city
with connect({url!r}) as engine, engine.session().bulk(insert_only=True, batch_rows=20) as bulk:
    for number in count({first}):
        bulk.add(Parcel(number=number, city=some_city(), state="new"))
        if bulk.report.written > 100:
            print("loading", flush=True)
            sys.stdin.read()
"""


@pytest.fixture
def url(hbase_url: str) -> str:
    return f"{hbase_url}{'&' if '?' in hbase_url else '?'}lease_s=3&timeout_s=15&pool=2"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as connected:
        connected.create_tables(Parcel)
        yield connected
        connected.drop_tables(Parcel)


def kill_a_loader(url: str) -> None:
    """Start a process that loads rows, and kill it when some of them are written."""
    source = LOADER.format(url=url, first=KILLED_ROWS)
    with subprocess.Popen(
        [sys.executable, "-c", source],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"loading\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL


def assert_sound(engine: Engine) -> None:
    found = engine.verify_index(Parcel, "by_city")
    assert (found.missing, found.invalid, found.foreign) == (0, 0, 0)
    numbers = engine.session().all(select(Parcel.number).allow_full_scan())
    killed = [number for number in numbers if number >= KILLED_ROWS]
    assert len(killed) > 100
    assert sorted(set(numbers) - set(killed)) == list(range(OWN_ROWS))


def test_the_table_of_a_killed_loader_is_opened_by_the_next_one(engine: Engine, url: str) -> None:
    with engine.session().bulk(insert_only=True, gateway_timeout_s=0) as bulk:
        bulk.add_all(Parcel(number=n, city=some_city(), state="new") for n in range(OWN_ROWS))
        kill_a_loader(url)
        time.sleep(engine.options.lease_s + 1)  # before, nobody knows that it does not run
        during = engine.table_state(Parcel)

    assert (during, engine.table_state(Parcel)) == (TableState.LOADING, TableState.READABLE)
    assert_sound(engine)


def test_an_exclusive_use_opens_the_table_of_a_killed_loader(engine: Engine, url: str) -> None:
    kill_a_loader(url)
    closed = engine.table_state(Parcel)

    with engine.exclusive(Parcel):  # as `hbase-orm tables release` does
        pass
    with engine.session() as session:
        session.add_all(Parcel(number=n, city="city7", state="new") for n in range(OWN_ROWS))

    assert (closed, engine.table_state(Parcel)) == (TableState.LOADING, TableState.READABLE)
    assert_sound(engine)
