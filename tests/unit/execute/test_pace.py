"""How many rows a fetch asks for: few for small limits, more later, never too many bytes."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, Salt, codecs, column, key, rowkey
from hbase_orm.execute.reader import FETCH_BYTES, GROWTH, MERGED_BYTES, Pace, pace_of
from hbase_orm.ops import Cell, Row
from hbase_orm.query import IndexPlan, SaltedScanPlan, ScanPlan, Select, plan, select

MIB = 1 << 20


class _Reading(Model, abstract=True):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())


class Plain(_Reading, table="plain"):
    by_v = Index(_Reading.v)


class Few(_Reading, table="few"):
    __rowkey__ = rowkey(Salt(16), _Reading.host, _Reading.n)


class Many(_Reading, table="many"):
    __rowkey__ = rowkey(Salt(256), _Reading.host, _Reading.n)


def of(model: type[Any]) -> Select[Any]:
    return select(model).where(model.host == "a")


def paced(stmt: Select[Any]) -> Pace:
    found = plan(stmt, stmt.model.__schema__)
    assert isinstance(found, (ScanPlan, SaltedScanPlan, IndexPlan))
    return pace_of(found)


def rows(count: int, value_bytes: int = 8) -> list[Row]:
    return [Row(b"%d" % n, {b"d:v": Cell(bytes(value_bytes), 1)}) for n in range(count)]


def fetches(pace: Pace, value_bytes: int, count: int) -> list[int]:
    """Return how many rows so many fetches ask for, all answered in full."""
    asked = []
    for _ in range(count):
        asked.append(pace.rows)
        pace.note(rows(pace.rows, value_bytes))
    return asked


@pytest.mark.parametrize(
    ("stmt", "asked"),
    [
        (of(Plain), [100, 400, 1000, 1000]),
        (of(Plain).limit(30), [30, 120, 480, 1000]),
        # What only the client can check drops rows: a limit of 1 says little.
        (of(Plain).where(Plain.v.in_([1, 2]) | (Plain.n == 1)).limit(1), [100, 400, 1000, 1000]),
        (of(Plain).limit(5000), [100, 400, 1000, 1000]),
        (of(Plain).caching(7), [7, 7, 7, 7]),
        (of(Plain).limit(100).caching(7), [7, 7, 7, 7]),
        (select(Plain).where(Plain.v == 1), [100, 100, 100, 100]),
        (select(Plain).where(Plain.v == 1).limit(3), [3, 12, 48, 100]),
        (of(Few), [25, 100, 400, 1000]),
        (of(Few).limit(30), [8, 32, 128, 512]),
        (of(Few).limit(1), [1, 4, 16, 64]),
        (of(Few).caching(7), [7, 7, 7, 7]),
        (of(Many), [10, 40, 125, 125]),
        (of(Many).limit(30), [6, 24, 96, 125]),
    ],
)
def test_fetches_begin_small_and_grow(stmt: Select[Any], asked: list[int]) -> None:
    assert fetches(paced(stmt), 8, 4) == asked


@pytest.mark.parametrize("value_bytes", [2_000, 20_000, 200_000])
@pytest.mark.parametrize("model", [Plain, Few, Many])
def test_large_rows_are_fetched_few_at_a_time(model: type[_Reading], value_bytes: int) -> None:
    pace = paced(of(model))
    allowed = {Plain: FETCH_BYTES, Few: FETCH_BYTES, Many: MERGED_BYTES // 256}[model]

    later = fetches(pace, value_bytes, 4)[1:]

    assert all(value_bytes * count <= max(allowed, value_bytes) for count in later)
    assert all(count * GROWTH * value_bytes >= min(allowed, 50 * value_bytes) for count in later)


def test_a_row_larger_than_any_answer_should_be_is_fetched_alone() -> None:
    assert fetches(paced(of(Plain).limit(5)), 3 * MIB, 3) == [5, 1, 1]


def test_fetches_grow_again_once_rows_are_small() -> None:
    pace = paced(of(Plain))
    fetches(pace, MIB, 3)

    assert pace.rows == 1
    assert fetches(pace, 8, 2)[1] == 1000


def test_rows_of_very_different_sizes_count_by_their_mean() -> None:
    pace = paced(of(Plain))
    pace.note(rows(10, MIB // 4) + rows(10, 8))

    assert pace.rows == pytest.approx(FETCH_BYTES / (MIB / 8), rel=0.3)


def test_what_a_statement_says_holds_for_large_rows_too() -> None:
    assert fetches(paced(of(Plain).caching(50)), MIB, 2) == [50, 50]


def test_a_small_limit_makes_gateways_read_ahead_little() -> None:
    pace = paced(of(Few).limit(30))

    assert (pace.rows, pace.caching_rows) == (8, 16)


@pytest.mark.parametrize(
    ("stmt", "caching_rows"), [(of(Plain), 1000), (of(Plain).limit(30), 30), (of(Few), 1000)]
)
def test_a_scanner_is_opened_with_what_it_will_fetch(stmt: Select[Any], caching_rows: int) -> None:
    assert paced(stmt).caching_rows == caching_rows
