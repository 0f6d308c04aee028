"""Conditions that nothing fulfils: they give no rows, and are never an error or all rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Select,
    Session,
    TablePerPeriod,
    codecs,
    column,
    connect,
    counter,
    func,
    key,
    rowkey,
    select,
)
from tests.support.recording import RecordsRequests, gateway_of, through

START = datetime(2024, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)


class Point(Model, table="contrary_points"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    at: Key[datetime] = key(codecs.millis(desc=True))
    level: Mapped[int | None] = column(d, default=None)
    name: Mapped[str | None] = column(d, default=None)
    share: Mapped[float] = column(d, default=0.0)
    hits: Counter = counter(d)
    __rowkey__ = rowkey(Salt(4, of=[host]), host, n, at)


class Listed(Model, table="contrary_listed"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int] = column(d)
    name: Mapped[str] = column(d)
    by_level = Index(level)
    by_name = Index(func.lower(name))


class Dated(Model, table=TablePerPeriod("contrary_%Y%m", of="at", period="month")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key()
    level: Mapped[int] = column(d)


@pytest.fixture(scope="module")
def sent() -> RecordsRequests:
    engine = connect("memory://")
    engine.create_tables(Point, Listed)
    engine.create_tables(Dated, periods=(START, START + 40 * DAY))
    with engine.session() as session:
        for n in range(5):
            at = START + n * DAY
            session.add(Point(host="a", n=n, at=at, level=n, name=str(n), share=float(n)))
            session.add(Listed(host=str(n), level=n, name=str(n)))
            session.add(Dated(host="a", at=at, level=n))
    recorder = RecordsRequests(gateway_of(engine))
    recorder.engine = through(recorder, engine)  # type: ignore[attr-defined]  # kept for `session`
    return recorder


@pytest.fixture
def session(sent: RecordsRequests) -> Iterator[Session]:
    with sent.engine.session() as session:  # type: ignore[attr-defined]  # set above
        yield session


A = select(Point).where(Point.host == "a")

UNSENT: tuple[Select[Any], ...] = (
    A.where(Point.n > 10, Point.n < 5),
    A.where(Point.n > 3, Point.n < 4),
    A.where(Point.n > 3, Point.n <= 3),
    A.where(Point.n == 4, Point.n == 3),
    A.where(Point.n == 4, Point.n < 3),
    A.where(Point.n.between(5, 1)),
    A.where(Point.n.in_([1, 2]), Point.n > 5),
    A.where(Point.n.in_([1, 2]), Point.n.in_([3])),
    A.where((Point.n > 10) & (Point.n < 5) | (Point.n > 20) & (Point.n < 3)),
    A.where(Point.n == 1, Point.at > START + 5 * DAY, Point.at < START),
    A.where(Point.host == "b"),
    select(Point).where(Point.host > "b", Point.host < "a"),
    select(Point).where(Point.host > "b", Point.host < "a").allow_full_scan(),
    select(Point).where(Point.host.startswith("b"), Point.host.startswith("c")),
    select(Point).where(Point.host.in_([])),
    A.where(Point.level > 10, Point.level < 5),
    A.where(Point.level.is_null(), Point.level > 3),
    A.where(Point.share >= 3.0, Point.share <= 1.0),
    A.where(Point.hits > 3, Point.hits < 1),
    A.where(Point.name > "5", Point.name < "1"),
    select(Listed).where(Listed.level > 10, Listed.level < 5),
    select(Listed).where(Listed.level == 1, Listed.level == 2),
    select(Listed).where(func.lower(Listed.name) > "b", func.lower(Listed.name) < "a"),
    select(Dated).where(Dated.host == "a", Dated.at > START + 5 * DAY, Dated.at < START),
    select(Point.n).where(Point.host == "a", Point.n > 10, Point.n < 5),
)


@pytest.mark.parametrize("stmt", UNSENT, ids=lambda stmt: repr(stmt.conditions))
def test_contradictory_conditions_send_nothing(
    session: Session, sent: RecordsRequests, stmt: Select[Any]
) -> None:
    sent.requests.clear()

    for _ in range(2):  # planned again, and by what was kept of the first
        assert session.all(stmt) == []
        assert session.count(stmt) == 0
        assert session.page(stmt, size=3).token is None

    assert sent.requests == []


@pytest.mark.parametrize(
    ("met", "contrary"),
    [
        ((Point.n > 0, Point.n < 3), (Point.n > 3, Point.n < 0)),
        ((Point.level > 0, Point.level < 3), (Point.level > 3, Point.level < 0)),
        ((Point.share > 0.5, Point.share < 2.5), (Point.share > 2.5, Point.share < 0.5)),
    ],
    ids=["key", "column", "real"],
)
def test_a_shape_that_was_planned_before_sees_a_contradiction(
    session: Session, sent: RecordsRequests, met: Any, contrary: Any
) -> None:
    assert len(session.all(A.where(*met))) == 2
    sent.requests.clear()

    assert session.all(A.where(*contrary)) == []

    assert sent.requests == []


NEGATED = (
    A.where(~(Point.n <= 10), Point.n < 5),
    A.where(Point.n != 3, Point.n == 3),
    A.where(Point.level != 3, Point.level == 3),
    A.where(Point.name.startswith("5"), Point.name < "1"),
)


@pytest.mark.parametrize("stmt", NEGATED, ids=lambda stmt: repr(stmt.conditions))
def test_what_contradicts_itself_by_a_negation_reads_one_range_at_most(
    session: Session, sent: RecordsRequests, stmt: Select[Any]
) -> None:
    sent.requests.clear()

    assert session.all(stmt) == []

    opened = [each for each in sent.requests if type(each).__name__ == "OpenScanner"]
    assert len(opened) <= 1


def test_contradictory_aggregates_count_nothing(session: Session) -> None:
    stmt = select(func.count(Point.n)).where(Point.host == "a", Point.n > 10, Point.n < 5)

    assert session.all(stmt) == [0]


def test_deleting_by_contradictory_conditions_deletes_nothing(session: Session) -> None:
    assert session.delete_where(A.where(Point.n > 10, Point.n < 5)) == 0
    assert session.delete_where(A.where(Point.level > 10, Point.level < 5)) == 0
    assert session.count(A) == 5
