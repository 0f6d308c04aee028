"""Hourly rows, as OpenTSDB keeps them: `[number of metric][hour]`, a column for each second.

Choose it for very many small values that are read as ranges of time: an hour is one row of up to
3600 cells, so that the key is stored with few bytes of its own and scans pass over few rows. An
object is one cell: it is added, got and deleted by itself. It costs every second value column,
version and index, and a value of a minute in the middle is found by reading its hour.

The time does not lead in the key, the metric does: writes spread over as many places as there are
metrics. Metrics are numbers from a dictionary, as long names would stand in every cell.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from examples.program import ask, run
from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Substitute,
    codecs,
    column,
    key,
    rowkey,
    select,
)


class Point(Model, table="tsdb"):
    """The row is the hour, the qualifier the second within it, two bytes."""

    t = Family()
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    value: Mapped[float] = column(
        t,
        Offset("hour", of=at, resolution="seconds", codec=codecs.uint16()),
        codec=codecs.get("bytes.float64"),
    )

    __rowkey__ = rowkey(
        Substitute(of=metric, dictionary="tsdb_uid"),
        Period("hour", of=at, codec=codecs.seconds(width_bytes=4)),
    )


NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
POINTS = [
    Point(metric="cpu.user", at=NOON, value=0.5),
    Point(metric="cpu.user", at=NOON + 61 * SECOND, value=1.0),
    Point(metric="cpu.user", at=NOON + 3599 * SECOND, value=1.5),
    Point(metric="cpu.user", at=NOON + 3600 * SECOND, value=2.0),
    Point(metric="cpu", at=NOON, value=8.0),
]


def show(engine: Engine) -> None:
    """Load five points; get one, ask for an hour, and for a range over the end of the hour."""
    engine.drop_tables(Point)
    engine.create_tables(Point)
    with engine.session() as session:
        session.add_all(POINTS)
        session.flush()

        of_metric = select(Point).where(Point.metric == "cpu.user")
        one = ask(session, "a second", of_metric.where(Point.at == NOON + 61 * SECOND))
        in_hour = of_metric.where(Point.at >= NOON, Point.at < NOON + 3600 * SECOND)
        hour = ask(session, "an hour", in_hour)
        over = of_metric.where(Point.at.between(NOON + 61 * SECOND, NOON + 3600 * SECOND))
        some = ask(session, "over the end of the hour", over)
        unknown = ask(
            session, "a metric without a number", select(Point).where(Point.metric == "mem")
        )

    assert [point.value for point in one] == [1.0]
    assert [point.value for point in hour] == [0.5, 1.0, 1.5]
    assert [point.value for point in some] == [1.0, 1.5, 2.0]
    assert unknown == []


if __name__ == "__main__":
    run(show)
