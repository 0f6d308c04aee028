"""Many processes write the same indexed rows at once, as in Phoenix's concurrent mutation suites."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.testing import RealHBase
from tests.support.storm_writer import DELETE_ROWS, ROWS, Upserted
from tests.support.storms import Writer, check_indexes, compare, writers

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(1200)]

PROCESSES = 8
UPSERTS = 1_000
SOAK_UPSERTS = 10_000
DELETES = 50
FEW_UPSERTS = 1_000


@pytest.fixture
def engine(hbase_url: str) -> Iterator[Engine]:
    with connect(hbase_url) as connected:
        connected.create_tables(Upserted)
        yield connected


def end(running: list[Writer]) -> list[dict[str, Any]]:
    return [writer.finish() for writer in running]


def upsert(engine: Engine, url: str, upserts: int) -> None:
    """Let all processes upsert, comparing once while they do, and check what they leave."""
    calls = [("upsert", url, number, upserts) for number in range(PROCESSES)]
    with writers(calls) as running:
        time.sleep(5)
        amid = compare(engine, Upserted)
        ended = end(running)

    assert [line["done"] for line in ended] == [upserts] * PROCESSES
    assert {name: one.missing for name, one in amid.items()} == dict.fromkeys(amid, 0)
    assert check_indexes(engine, Upserted, at_most_stale=0) == ROWS + PROCESSES


def test_after_concurrent_upserts_no_entry_misses_and_none_is_stale(
    engine: Engine, hbase_url: str
) -> None:
    upsert(engine, hbase_url, UPSERTS)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_after_many_concurrent_upserts_no_entry_misses_and_none_is_stale(
    engine: Engine, hbase_url: str
) -> None:
    upsert(engine, hbase_url, SOAK_UPSERTS)


@pytest.mark.parametrize("clock", ["runs", "stands"])
def test_deletes_of_all_rows_race_with_upserts(engine: Engine, hbase_url: str, clock: str) -> None:
    """Where the clock stands, a delete and the next insert are in one millisecond of it."""
    frozen_ms = (time.time_ns() // 1_000_000,) if clock == "stands" else ()
    with writers(
        [
            ("upsert few", hbase_url, 0, FEW_UPSERTS, *frozen_ms),
            ("delete", hbase_url, 1, DELETES, *frozen_ms),
        ]
    ) as running:
        _, deletes = end(running)

    assert deletes["deleted"] > DELETES  # most found rows to delete
    rows = check_indexes(engine, Upserted, at_most_stale=0)
    with engine.session() as session:
        shown = session.all(select(Upserted).where(Upserted.k < DELETE_ROWS))
        assert len(shown) == rows
        for value in {row.a for row in shown} - {None}:
            found = session.all(select(Upserted.k).where(Upserted.a == value))
            assert sorted(found) == [row.k for row in shown if row.a == value]


def test_regions_split_and_move_under_the_writers(
    engine: Engine, hbase_url: str, hbase: RealHBase
) -> None:
    namespace = hbase_url.partition("?")[0].rsplit("/", 1)[1]
    bound = engine._bound_of(Upserted)
    tables = [bound.schema.table, *(index.table for index in bound.schema.indexes)]
    assert all(table.startswith(namespace) for table in tables)
    with writers([("upsert", hbase_url, number, 500) for number in range(4)]) as running:
        time.sleep(2)
        hbase.admin.split(tables[0], (ROWS // 2).to_bytes(4, "big"))
        for table, _ in zip(cycle(tables), range(8), strict=False):
            hbase.admin.move(table, b"")
        ended = end(running)

    assert [line["done"] for line in ended] == [500] * 4
    assert len(hbase.admin.regions(tables[0])) == 2
    check_indexes(engine, Upserted, at_most_stale=0)
