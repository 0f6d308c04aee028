"""Sessions as users hold them; both checkers must accept every line and infer these types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, assert_type

from hbase_orm import (
    Assignment,
    Bulk,
    CellVersion,
    Counter,
    Engine,
    Expr,
    Family,
    FlushReport,
    Index,
    Key,
    Mapped,
    Model,
    Page,
    Plan,
    Salt,
    Select,
    Session,
    Stream,
    Version,
    codecs,
    column,
    connect,
    counter,
    func,
    is_stale,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import CorruptRowError, DuplicateRowError, FlushError, HBaseORMError


class Score(Model, table="scores"):
    course = Family()
    name: Key[str] = key()
    math: Mapped[str | None] = column(course, default=None)


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    metric: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    offset: Mapped[int | None] = column(d, "o", codec=codecs.int32(), default=None)
    hits: Counter = counter(d, "h")
    likes: Counter = counter(d, "l")

    __rowkey__ = rowkey(Salt(16, of=host), host, metric, at)
    by_unit = Index(unit, at)


class Account(Model, table="accounts"):
    d = Family()
    number: Key[int] = key(codecs.uint64())
    status: Mapped[str] = column(d, "s")
    note: Mapped[str | None] = column(d, "n", default=None)
    revision: Version = version(d)


def writes_at_once(session: Session, account: Account) -> None:
    assert_type(account.revision, int)
    session.insert(Account(number=1, status="new"))
    session.replace(account)
    assert_type(session.put_if(account, Account.status == "new", Account.revision == 3), bool)
    assert_type(session.delete_if(account, Account.note.is_null()), bool)
    assert_type(Account.note.to(None), Assignment)
    session.put_row(Account, Account.status.to("paid"), Account.note.to(None), number=1)
    session.delete_row(Account, number=1)
    assert_type(session.append(Account, Account.status, "x", number=1), str)
    session.refresh(account)

    def close(stored: Account) -> None:
        stored.status = "closed"

    assert_type(session.update(Account, close, number=1), Account)
    assert_type(session.move(account, number=2), Account)
    assert_type(session.history(account, Account.status, limit=5), list[CellVersion[str]])
    session.add(account, ttl=timedelta(hours=1))
    assert_type(session.first(select(Account).as_of(datetime.now())), Account | None)
    timeline = select(Account).where(Account.number == 1).consistency("timeline")
    assert_type(timeline, Select[Account])
    assert_type(timeline.consistency("strong").limit(3), Select[Account])
    assert_type(is_stale(session.one(timeline)), bool)
    assert_type(session.page(timeline, size=3).stale, bool)
    assert_type(session.stream(select(Account.status).consistency("timeline")).stale, bool)


def corrupt_rows(engine: Engine, session: Session) -> None:
    errors: list[CorruptRowError] = []
    every = select(Account).allow_full_scan()
    assert_type(every.on_corrupt("skip"), Select[Account])
    assert_type(every.on_corrupt("raise").on_corrupt(errors.append), Select[Account])

    def refuse(error: CorruptRowError) -> None:
        raise LookupError(error.row) from error

    assert_type(session.stream(every.on_corrupt(refuse)).corrupt_rows, int)
    assert_type(session.page(every, size=3).corrupt_rows, int)
    assert_type(engine.corrupt_rows, int)


def scores(session: Session) -> None:
    session.add_all([Score(name="Tom", math="87"), Score(name="Jerry")])
    assert_type(session.flush(), FlushReport)
    assert_type(session.flush().written, int)
    tom = session.get(Score, name="Tom")
    assert_type(tom, Score | None)
    if tom is not None:
        session.delete(tom)
        session.expunge(tom)
    everyone = session.all(select(Score).allow_full_scan())
    assert_type(everyone, list[Score])
    assert_type([score.math for score in everyone], list[str | None])


def newest(session: Session, host: str, start: datetime) -> Select[Reading]:
    statement = select(Reading).where(
        Reading.host == host, Reading.metric == 7, Reading.at >= start
    )
    assert_type(statement, Select[Reading])
    assert_type(session.all(statement.limit(30)), list[Reading])
    assert_type(session.first(statement), Reading | None)
    assert_type(session.one(statement), Reading)
    assert_type(session.count(statement), int)
    assert_type(session.exists(statement), bool)
    assert_type(session.explain(statement), Plan)
    assert_type(session.explain(statement).to_dict(), dict[str, Any])
    statement = statement.order_by(Reading.host, Reading.at.desc())
    statement = statement.sort_in_memory(Reading.at, max_rows=10)
    return statement.order_by(Reading.at.desc()).caching(100)


def indexed(session: Session, start: datetime) -> None:
    by_unit = select(Reading).where(Reading.unit == "ms", Reading.at >= start)
    print(session.explain(by_unit.using(Reading.by_unit)), session.explain(by_unit.using(None)))
    for reading in session.all(by_unit):
        reading.unit = None
        reading.value += 1


def values(session: Session, host: str) -> None:
    assert_type(session.all(select(Reading.value).where(Reading.host == host)), list[float])
    pairs = select(Reading.at, Reading.unit).where(Reading.host == host)
    assert_type(pairs, Select[tuple[datetime, str | None]])
    assert_type(session.first(pairs), tuple[datetime, str | None] | None)
    assert_type(session.page(pairs, size=20), Page[tuple[datetime, str | None]])
    for at, unit in session.stream(pairs):
        assert_type(at, datetime)
        assert_type(unit, str | None)
    three = select(Reading.host, Reading.hits, Reading.metric)
    assert_type(three, Select[tuple[str, int, int]])
    four = select(Reading.host, Reading.metric, Reading.at, Reading.value)
    assert_type(four, Select[tuple[str, int, datetime, float]])
    many = select(Reading.host, Reading.metric, Reading.at, Reading.value, Reading.unit)
    assert_type(many, Select[tuple[Any, ...]])
    highest = three.sort_in_memory(Reading.hits.desc(), max_rows=1000).limit(3)
    assert_type(highest, Select[tuple[str, int, int]])


def aggregates(session: Session, host: str) -> None:
    by_metric = (
        select(Reading.metric, func.count(), func.max(Reading.at), func.sum(Reading.value))
        .where(Reading.host == host)
        .group_by(Reading.metric)
    )
    assert_type(session.all(by_metric), list[tuple[int, int, datetime | None, float]])
    assert_type(session.one(select(func.count(Reading.unit)).allow_full_scan()), int)
    assert_type(session.one(select(func.min(Reading.hits)).allow_full_scan()), int | None)
    assert_type(func.max(Reading.unit), Expr[str | None])
    latest: Select[str | None] = select(func.max(Reading.unit))
    highest: Select[int | None] = select(func.max(Reading.hits))
    assert_type(session.all(latest), list[str | None])
    assert_type(session.all(highest), list[int | None])
    assert_type(func.sum(Reading.value), Expr[float])
    assert_type(func.sum(Reading.offset), Expr[int])
    assert_type(func.avg(Reading.value), Expr[float | None])
    assert_type(func.avg(Reading.offset), Expr[float | None])
    assert_type(func.avg(Reading.hits), Expr[float | None])
    averages = select(Reading.metric, func.avg(Reading.value)).where(Reading.host == host)
    assert_type(session.all(averages), list[tuple[int, float | None]])
    day = func.day(Reading.at)
    by_day = select(day, func.sum(Reading.offset)).where(Reading.host == host).group_by(day)
    assert_type(session.all(by_day), list[tuple[date, int]])


def streamed(session: Session) -> Iterator[float]:
    with session.stream(select(Reading).where(Reading.host == "web-1")) as readings:
        assert_type(readings, Stream[Reading])
        for reading in readings:
            yield reading.value


def keys(session: Session, at: datetime) -> None:
    found = session.get_many(Reading, [("a", 1, at), {"host": "b", "metric": 2, "at": at}])
    assert_type(found, list[Reading | None])
    totals = session.increment(
        Reading, Reading.hits.by(1), Reading.likes.by(-2), host="a", metric=1, at=at
    )
    assert_type(totals, list[int])


def many(session: Session) -> int:
    with session.bulk(batch_rows=2000, insert_only=True) as bulk:
        assert_type(bulk, Bulk)
        bulk.add_all(Score(name=str(n)) for n in range(100_000))
        bulk.add(Score(name="last"))
        bulk.delete(Score(name="first"))
        bulk.delete_row(Score, name="second")
    return bulk.report.written


def failing(session: Session) -> None:
    try:
        session.flush()
    except FlushError as error:
        for table, row, reason in error.not_written:
            print(table, row, isinstance(reason, DuplicateRowError), error.fix)
    except HBaseORMError as error:
        print(error.text, error.details)


def tables(engine: Engine) -> None:
    assert_type(engine.create_tables(Score, Reading), list[str])
    assert_type(engine.drop_tables(Score), list[str])
    with engine.session() as session:
        assert_type(session, Session)
    engine.close()


@dataclass
class Settings:
    """What an application keeps: one engine a process."""

    engine: Engine = field(
        default_factory=lambda: connect("hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091")
    )
    keep: timedelta = timedelta(days=1)


with connect("memory://") as engine, engine.session() as session:
    assert_type(engine, Engine)
    session.add(Score(name="Ann"))
