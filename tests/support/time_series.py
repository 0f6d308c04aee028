"""Points of time series, packed into one row an hour, and checks of them for any engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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

EIGHT = datetime(2026, 1, 31, 8, tzinfo=UTC)


class Point(Model, table="tsdb"):
    t = Family()
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    value: Mapped[float] = column(
        t, Offset("hour", of=at, resolution="seconds", codec=codecs.uint16())
    )

    __rowkey__ = rowkey(
        Substitute(of=metric, dictionary="tsdb_uid"),
        Period("hour", of=at, codec=codecs.seconds(width_bytes=4)),
    )


def after(seconds: float) -> datetime:
    return EIGHT + timedelta(seconds=seconds)


def points(metric: str, *seconds: int) -> list[Point]:
    return [Point(metric=metric, at=after(each), value=float(each)) for each in seconds]


def load(engine: Engine) -> None:
    """Write 8:00:05, 8:59:59, 9:00:00, 9:30 and 11:00 of cpu, and 8:00:05 of cpu2."""
    engine.create_tables(Point)
    with engine.session() as session:
        session.add_all(points("cpu", 5, 3599, 3600, 5400, 10_800))
        session.add_all(points("cpu2", 5))


def check_reading(engine: Engine) -> None:
    """Ask for cells by key, by range, in both directions, and count them."""
    with engine.session() as session:
        found = session.get(Point, metric="cpu", at=after(5))
        assert found is not None
        assert (found.metric, found.at, found.value) == ("cpu", after(5), 5.0)
        assert session.get(Point, metric="cpu", at=after(6)) is None
        keys = [("cpu", after(3600)), ("cpu2", after(3600)), ("cpu2", after(5)), ("?", after(5))]
        many = session.get_many(Point, keys)
        assert [None if each is None else each.value for each in many] == [3600.0, None, 5.0, None]

        of_cpu = select(Point).where(Point.metric == "cpu")
        middle = of_cpu.where(Point.at > after(5), Point.at <= after(5400))
        assert [each.value for each in session.all(middle)] == [3599.0, 3600.0, 5400.0]
        newest = session.all(middle.order_by(Point.at.desc()).limit(2))
        assert [each.value for each in newest] == [5400.0, 3600.0]
        assert session.count(of_cpu) == 5
        assert session.count(select(Point).allow_full_scan()) == 6
        assert session.all(select(Point).where(Point.metric == "?")) == []


def check_writing(engine: Engine) -> None:
    """Change and delete single cells of a row; the others stay."""
    with engine.session() as session:
        (first, second) = session.get_many(Point, [("cpu", after(5)), ("cpu", after(3599))])
        assert first is not None
        assert second is not None
        first.value = 7.5
        session.delete(second)
        assert session.flush().written == 2
    with engine.session() as session:
        left = session.all(select(Point).where(Point.metric == "cpu", Point.at < after(3600)))
        assert [each.value for each in left] == [7.5]
        with session.bulk() as bulk:
            bulk.add_all(points("disk", *range(7200)))
        assert bulk.report.written == 7200
        assert session.count(select(Point).where(Point.metric == "disk")) == 7200
