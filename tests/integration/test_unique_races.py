"""Processes race for unique values: each has one owner, and none is lost when racers are killed."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from hbase_orm import Engine, connect, select
from tests.support.storm_writer import Claiming, name_of
from tests.support.storms import Writer, writers

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(900)]

RACERS = 8
NAMES = 200
SOAK_NAMES = 1_000
KILLED = 4


@pytest.fixture
def engine(hbase_url: str) -> Iterator[Engine]:
    with connect(hbase_url) as connected:
        connected.create_tables(Claiming)
        yield connected


def owners(engine: Engine) -> dict[str, tuple[int, int]]:
    """Return the row that shows each name, after comparing rows with what the index says."""
    with engine.session() as session:
        rows = session.all(select(Claiming).allow_full_scan())
        shown = Counter(row.name for row in rows)
        assert max(shown.values()) == 1
        for row in rows:
            (found,) = session.all(select(Claiming).where(Claiming.name == row.name))
            assert found is row
        return {row.name: (row.racer, row.n) for row in rows}


def told(writer: Writer) -> list[int]:
    """Return the names that a racer was told it won, up to its end."""
    lines = list(iter(writer.next, None))
    return [line["won"] for line in lines if line and "won" in line]


def race(engine: Engine, url: str, names: int) -> None:
    with writers([("race", url, number, names) for number in range(RACERS)]) as running:
        won = [told(writer) for writer in running]
        assert [writer.process.wait(60) for writer in running] == [0] * RACERS

    expected = {name_of(n): (racer, n) for racer, of in enumerate(won) for n in of}
    assert sum(map(len, won)) == len(expected) == names
    assert owners(engine) == expected


def test_each_value_has_exactly_one_owner(engine: Engine, hbase_url: str) -> None:
    race(engine, hbase_url, NAMES)


@pytest.mark.soak
def test_each_of_many_values_has_exactly_one_owner(engine: Engine, hbase_url: str) -> None:
    race(engine, hbase_url, SOAK_NAMES)


def test_no_value_is_lost_when_racers_are_killed(engine: Engine, hbase_url: str) -> None:
    with writers([("race", hbase_url, number, NAMES) for number in range(RACERS)]) as running:
        for writer in running[:KILLED]:
            for _ in range(random.randint(2, 10)):
                assert writer.next() is not None
            writer.process.kill()
        won = [told(writer) for writer in running]
        assert [writer.process.wait(60) for writer in running[KILLED:]] == [0] * (RACERS - KILLED)
    # What a killed racer had begun may stand, or not: whoever comes next gets what nobody has.
    time.sleep(0.1)
    with writers([("race", hbase_url, RACERS, NAMES)]) as running:
        won += [told(running[0])]
        assert running[0].process.wait(60) == 0

    found = owners(engine)
    assert found.keys() == {name_of(n) for n in range(NAMES)}
    assert {(name_of(n), racer) for racer, of in enumerate(won) for n in of} <= {
        (name, racer) for name, (racer, _) in found.items()
    }
