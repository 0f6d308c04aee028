"""Statements of keys with a period of several minutes: a range of the time is a finite set of periods."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.query import GetPlan, ScanPlan, plan

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


class Load(Model, table="loads"):
    d = Family()
    metric: Key[int] = key(codecs.uint8())
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    value: Mapped[int] = column(d)
    period = Period("minute", of=at, every=5, codec=codecs.strftime("%H%M %Y-%m-%d"))
    __rowkey__ = rowkey(period, metric, Offset("minute", of=at, every=5, resolution="seconds"))


def later(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_a_range_of_the_time_is_one_scan_for_each_period() -> None:
    times = Load.at.between(later(3), later(12))
    chosen = plan(select(Load).where(Load.metric == 7, times), Load.__schema__)

    assert isinstance(chosen, ScanPlan)
    assert [each.start for each in chosen.ranges] == [
        b"1200 2024-02-29\x07\x00\x00\x00\xb4",
        b"1205 2024-02-29\x07",
        b"1210 2024-02-29\x07",
    ]
    assert chosen.ranges[-1].stop == b"1210 2024-02-29\x07\x00\x00\x00\x79"


def test_the_end_of_a_range_is_not_read_if_it_is_excluded() -> None:
    statement = select(Load).where(Load.metric == 7, Load.at >= NOON, Load.at < later(5))
    chosen = plan(statement, Load.__schema__)

    assert isinstance(chosen, ScanPlan)
    assert [each.start[:4] for each in chosen.ranges] == [b"1200"]


def test_a_whole_key_is_a_get() -> None:
    chosen = plan(select(Load).where(Load.metric == 7, Load.at == later(7)), Load.__schema__)

    assert isinstance(chosen, GetPlan)
    assert list(chosen.keys) == [b"1205 2024-02-29\x07\x00\x00\x00\x78"]


@pytest.mark.parametrize(("first", "last"), [(3, 12), (0, 5), (4, 4), (0, 60)])
def test_rows_within_a_range_are_read_in_memory(first: int, last: int) -> None:
    engine = connect("memory://")
    engine.create_tables(Load)
    with engine.session() as session:
        session.add_all(
            Load(metric=metric, at=later(minute), value=minute)
            for metric in (7, 8)
            for minute in range(61)
        )
        session.flush()
    with engine.session() as session:
        times = Load.at.between(later(first), later(last))
        rows = session.all(select(Load).where(Load.metric == 7, times))

    assert [(row.metric, row.at, row.value) for row in rows] == [
        (7, later(minute), minute) for minute in range(first, last + 1)
    ]
