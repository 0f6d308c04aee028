from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import opentsdb
from examples.opentsdb import Point
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)

# Noon is 1704110400 seconds after the epoch, 6592a940; the next hour 6592b750.
EXPECTED: Rows = {
    b"\x00\x00\x00\x00\x00\x00\x00\x01\x65\x92\xa9\x40": {
        b"t:\x00\x00": b"\x40\x20\x00\x00\x00\x00\x00\x00"
    },
    b"\x00\x00\x00\x00\x00\x00\x00\x02\x65\x92\xa9\x40": {
        b"t:\x00\x00": b"\x3f\xe0\x00\x00\x00\x00\x00\x00",
        b"t:\x00\x3d": b"\x3f\xf0\x00\x00\x00\x00\x00\x00",
        b"t:\x0e\x0f": b"\x3f\xf8\x00\x00\x00\x00\x00\x00",
    },
    b"\x00\x00\x00\x00\x00\x00\x00\x02\x65\x92\xb7\x50": {
        b"t:\x00\x00": b"\x40\x00\x00\x00\x00\x00\x00\x00"
    },
}

# Both ends of the hours, and a second beyond each.
SECONDS = sorted({*range(0, 7300, 37), 3599, 3600, 3601, 7199, 7200, 7201})
DAY = timedelta(days=1)
MORE = [
    (metric, NOON + DAY + second * SECOND, float(second))
    for metric in ("cpu.user", "cpu", "cpu.users", "cpu.use", "")
    for second in SECONDS
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[Rows, Rows]:
    stage.play(opentsdb)
    return stage.rows("tsdb"), stage.rows("tsdb_uid")


def test_three_events_of_one_hour_are_one_row_of_three_qualifiers(
    first: tuple[Rows, Rows],
) -> None:
    rows, names = first

    assert rows == EXPECTED
    assert names[b"ncpu.user"] == {b"d:v": b"\x00\x00\x00\x00\x00\x00\x00\x02"}


@pytest.mark.usefixtures("first")
def test_among_a_thousand_points_those_of_a_metric_and_a_time_are_found(stage: Stage) -> None:
    stage.load(Point(metric=metric, at=at, value=value) for metric, at, value in MORE)
    of_metric = select(Point).where(Point.metric == "cpu.user", Point.at >= NOON + DAY)
    start, stop = NOON + DAY + 3600 * SECOND, NOON + DAY + 7200 * SECOND
    hour = of_metric.where(Point.at >= start, Point.at < stop)
    over = of_metric.where(Point.at.between(start - SECOND, start + SECOND))

    mine = [(at, value) for metric, at, value in MORE if metric == "cpu.user"]
    found, cost = stage.sent_by(lambda session: session.all(hour))
    some, _ = stage.sent_by(lambda session: session.all(over))
    everything, _ = stage.sent_by(lambda session: session.all(of_metric))
    one, one_get = stage.sent_by(lambda session: session.get(Point, metric="cpu.user", at=start))

    assert len(MORE) >= 1000
    assert [(point.at, point.value) for point in found] == [
        (at, value) for at, value in mine if start <= at < stop
    ]
    assert [point.value for point in some] == [3599.0, 3600.0, 3601.0]
    assert [(point.at, point.value) for point in everything] == mine
    assert cost.scanners == 1
    assert one is not None
    assert (one.value, one_get) == (3600.0, Sent(gets=1, rows=1))


@pytest.mark.usefixtures("first")
def test_a_point_is_deleted_by_itself(stage: Stage) -> None:
    at = NOON - DAY
    stage.load(Point(metric="cpu", at=at + n * SECOND, value=float(n)) for n in range(3))
    with stage.engine.session() as session:
        session.delete_row(Point, metric="cpu", at=at + SECOND)

    row = stage.rows("tsdb", row_prefix=b"\x00\x00\x00\x00\x00\x00\x00\x01\x65\x91\x57\xc0")

    assert [list(cells) for cells in row.values()] == [[b"t:\x00\x00", b"t:\x00\x02"]]
