"""Deferred clean-up on a real HBase: threads change indexed values; no entry is lost or left."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, connect, key

pytestmark = pytest.mark.hbase

ROWS = 20
WRITES = 100
WRITERS = 4


class Door(Model, table="doors"):
    d = Family()
    number: Key[int] = key(codecs.uint64())
    state: Mapped[str] = column(d)
    by_state = Index(state)


def change(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(WRITES):
        with engine.session() as session:
            door = session.get(Door, number=chance.randrange(ROWS))
            assert door is not None
            door.state = chance.choice(["open", "shut", "locked"])
            session.flush()


def test_entries_are_the_rows_once_the_engine_is_closed(hbase_url: str) -> None:
    with connect(f"{hbase_url}&clean_up=deferred") as engine:
        engine.create_tables(Door)
        with engine.session() as session:
            session.add_all([Door(number=number, state="shut") for number in range(ROWS)])
            session.flush()
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(lambda seed: change(engine, seed), range(WRITERS)))

    with connect(hbase_url) as engine:
        found = engine.verify_index(Door, "by_state", min_age_ms=0)

    assert (found.scanned, found.missing, found.invalid, found.stale) == (2 * ROWS, 0, 0, 0)
