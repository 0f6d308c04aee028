"""Selections, what each of them gives, and what is sent for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from hbase_orm import (
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    Salt,
    Select,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    counter,
    dynamic,
    func,
    key,
    rowkey,
    select,
)
from hbase_orm.ops import GetRows, MutateRows, OpenScanner, Operation, Put, RowMutation
from tests.support.recording import RecordsRequests, gateway_of, through

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
BIG = "x" * 5000


class Reading(Model, table="readings"):
    """Salted, with a required column, which is the anchor."""

    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[float] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    note: Mapped[str] = column(d, default="-")
    big: Mapped[str] = column(d)
    hits: Counter = counter(d, "h")
    __rowkey__ = rowkey(Salt(4, of=[host]), host, n)


class HitsPerHour(Model, table="hits_per_hour"):
    """Counters alone: rows that increments make have no cell that every row has."""

    c = Family()
    site: Key[str] = key()
    hour: Key[datetime] = key(codecs.seconds())
    views: Counter = counter(c, "v")
    likes: Counter = counter(c, "l")


class Account(Model, table="accounts"):
    """Guarded, with an anchor."""

    d = Family()
    name: Key[str] = key()
    age: Mapped[int] = column(d, codec=codecs.uint8())
    city: Mapped[str | None] = column(d, default=None)
    bio: Mapped[str | None] = column(d, default=None)
    logins: Counter = counter(d)
    by_city = Index(city)


class Draft(Model, table="drafts"):
    """Guarded, without a required column."""

    d = Family()
    e = Family()
    name: Key[str] = key()
    tag: Mapped[str | None] = column(d, default=None)
    text: Mapped[str | None] = column(e, default=None)
    reads: Counter = counter(d)
    by_tag = Index(tag)


class Record(Model, table="records"):
    d = Family()
    customer: Key[str] = key()
    amount: Mapped[int] = column(d, codec=codecs.uint32())
    __rowkey__ = rowkey(customer, RecordType())


class Bought(Record, record_type="B"):
    number: Key[int] = key(codecs.uint16())


class Returned(Record, record_type="R"):
    reason: Mapped[str | None] = column(Record.d, default=None)


class Daily(Model, table=TablePerPeriod("daily_%Y%m%d", of="at", period="day")):
    d = Family()
    user: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    __rowkey__ = rowkey(user, Offset("day", of=at))
    n: Mapped[int] = column(d, codec=codecs.uint32())
    big: Mapped[str | None] = column(d, default=None)


class Point(Model, table="points"):
    p = Family()
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[float] = column(p, Offset("hour", of=at))
    __rowkey__ = rowkey(metric, Period("hour", of=at))


class Named(Model, table="named"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Substitute(of=host, dictionary="selected_names"), n)


class Tagged(Model, table="tagged"):
    """Dynamic columns, and no required one."""

    d = Family()
    host: Key[str] = key()
    size: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    tags: Dynamic[str, int] = dynamic(d, prefix="t:")


MODELS = (Tagged, Reading, HitsPerHour, Account, Draft, Record, Point, Named)


def load(engine: Engine) -> None:
    """Make every table and its rows; some rows have less than their model declares."""
    engine.create_tables(*MODELS)
    engine.create_tables(Daily, periods=(NOON, NOON + timedelta(days=2)))
    with engine.session() as session:
        session.add_all(
            Reading(host=h, n=n, value=n / 2, unit=u, note=f"n{n}", big=BIG)
            for h, n, u in [("a", 1, "ms"), ("a", 2, None), ("b", 1, "s"), ("c", 7, "ms")]
        )
        session.add_all(
            Account(name=n, age=a, city=c, bio=BIG)
            for n, a, c in [("ann", 30, "Bonn"), ("bob", 40, "Bonn"), ("cy", 50, None)]
        )
        session.add_all([Draft(name="x", tag="t"), Draft(name="y"), Draft(name="z", text="hello")])
        session.add_all(
            [
                Bought(customer="ann", number=1, amount=5),
                Bought(customer="ann", number=2, amount=7),
                Returned(customer="ann", amount=1, reason="broken"),
                Bought(customer="bob", number=1, amount=9),
            ]
        )
        for day in range(2):
            for user in ("u", "v"):
                at = NOON + timedelta(days=day)
                session.add(Daily(user=user, at=at, n=day + 1, big=BIG))
        session.add_all(
            Point(metric=m, at=NOON + timedelta(seconds=s), value=float(s))
            for m in ("cpu", "mem")
            for s in (1, 2, 3600)
        )
        for host, tags in (("a", {"x": 1, "y": 9}), ("b", {"y": 2}), ("c", {})):
            tagged = Tagged(host=host, size=5)
            tagged.tags = tags
            session.add(tagged)
        session.add_all(Named(host=h, n=n, v=n) for h in ("web", "db") for n in (1, 2))
        session.flush()
        for site, hour, views in [("x.org", 0, 3), ("x.org", 1, 4), ("y.org", 0, 5)]:
            at = NOON + timedelta(hours=hour)
            session.increment(HitsPerHour, HitsPerHour.views.by(views), site=site, hour=at)
        at = NOON + timedelta(hours=2)
        session.increment(HitsPerHour, HitsPerHour.likes.by(1), site="y.org", hour=at)
        session.increment(Account, Account.logins.by(2), name="cy")
        for model, name in ((Account, "bob"), (Draft, "y")):
            gone = session.get(model, name=name)
            assert gone is not None
            session.delete(gone)
        session.flush()
        # What another program's late increment leaves of a row that is deleted.
        session.increment(Account, Account.logins.by(1), name="bob")
        session.increment(Draft, Draft.reads.by(1), name="y")


def put_cells(engine: Engine, model: Any, values: dict[bytes, bytes], **key: Any) -> None:
    """Write cells as another program does."""
    puts = tuple(Put(column, value) for column, value in values.items())
    bound = engine._bound_of(model)
    mutation = RowMutation(model.encode_key(**key), puts=puts)
    gateway_of(engine).execute(MutateRows(bound.schema.table, (mutation,)))


def recorded(engine: Engine) -> tuple[Engine, RecordsRequests]:
    """Return an engine that sends through one that keeps every request."""
    recorder = RecordsRequests(gateway_of(engine))
    return through(recorder, engine), recorder


def scans(requests: Sequence[Operation[Any]]) -> list[tuple[tuple[bytes, ...], bytes | None]]:
    """Return the columns and the filter of each scan."""
    found = [r.scan for r in requests if isinstance(r, OpenScanner)]
    return [(scan.columns, scan.filter) for scan in found]


def gets(requests: Sequence[Operation[Any]]) -> list[tuple[bytes, ...]]:
    """Return the columns of each get."""
    return [request.columns for request in requests if isinstance(request, GetRows)]


ANSWERS: dict[str, tuple[Callable[[], Select[Any]], Any]] = {
    "bare values": (
        lambda: select(Reading.value).where(Reading.host == "a"),
        [0.5, 1.0],
    ),
    "tuples, in the order asked": (
        lambda: select(Reading.unit, Reading.n, Reading.host).where(Reading.host == "a"),
        [("ms", 1, "a"), (None, 2, "a")],
    ),
    "a field twice": (
        lambda: select(Reading.n, Reading.n).where(Reading.host == "c"),
        [(7, 7)],
    ),
    "more than four": (
        lambda: select(
            Reading.host, Reading.n, Reading.value, Reading.unit, Reading.note, Reading.hits
        ).where(Reading.host == "c"),
        [("c", 7, 3.5, "ms", "n7", 0)],
    ),
    "merged by the key behind the salt": (
        lambda: select(Reading.host, Reading.n).allow_full_scan(),
        [("a", 1), ("a", 2), ("b", 1), ("c", 7)],
    ),
    "backwards": (
        lambda: select(Reading.n).order_by(Reading.host.desc(), Reading.n.desc()).allow_full_scan(),
        [7, 1, 2, 1],
    ),
    "a condition on a field that is not selected": (
        lambda: select(Reading.n).where(Reading.unit == "ms").allow_full_scan(),
        [1, 7],
    ),
    "a condition that only the client decides": (
        lambda: select(Reading.n).where(Reading.hits < 1, Reading.value > 0.6).allow_full_scan(),
        [2, 7],
    ),
    "a get": (
        lambda: select(Reading.unit).where(Reading.host == "a", Reading.n == 2),
        [None],
    ),
    "gets": (
        lambda: select(Reading.value).where(Reading.host.in_(["a", "c"]), Reading.n.in_([1, 7])),
        [0.5, 3.5],
    ),
    "an index, the indexed field not selected": (
        lambda: select(Account.age).where(Account.city == "Bonn"),
        [30],
    ),
    "an index, a key field alone": (
        lambda: select(Account.name).where(Account.city == "Bonn"),
        ["ann"],
    ),
    "guarded rows, key fields alone": (
        lambda: select(Account.name).allow_full_scan(),
        ["ann", "cy"],
    ),
    "guarded rows, counters alone": (
        lambda: select(Account.logins).allow_full_scan(),
        [0, 2],
    ),
    "guarded rows without a required column": (
        lambda: select(Draft.name).allow_full_scan(),
        ["x", "z"],
    ),
    "guarded rows without a required column, a column": (
        lambda: select(Draft.name, Draft.text, Draft.reads).allow_full_scan(),
        [("x", None, 0), ("z", "hello", 0)],
    ),
    "rows of which no selected cell is there": (
        lambda: select(HitsPerHour.site, HitsPerHour.views).allow_full_scan(),
        [("x.org", 3), ("x.org", 4), ("y.org", 5), ("y.org", 0)],
    ),
    "every record type": (
        lambda: select(Record.customer, Record.amount).allow_full_scan(),
        [("ann", 5), ("ann", 7), ("ann", 1), ("bob", 9)],
    ),
    "a record type, by a field of its base": (
        lambda: select(Bought.customer).allow_full_scan(),
        ["ann", "ann", "bob"],
    ),
    "a record type's own column": (
        lambda: select(Returned.reason).where(Returned.customer == "ann"),
        ["broken"],
    ),
    "a table for each day": (
        lambda: select(Daily.at, Daily.n).where(
            Daily.user == "u", Daily.at.between(NOON, NOON + timedelta(days=1))
        ),
        [(NOON, 1), (NOON + timedelta(days=1), 2)],
    ),
    "packed cells": (
        lambda: select(Point.value).where(Point.metric == "cpu"),
        [1.0, 2.0, 3600.0],
    ),
    "packed cells, key fields alone": (
        lambda: select(Point.at).where(Point.metric == "cpu", Point.at < NOON + timedelta(hours=1)),
        [NOON + timedelta(seconds=1), NOON + timedelta(seconds=2)],
    ),
    "a name with a number": (
        lambda: select(Named.host, Named.v).where(Named.host == "db"),
        [("db", 1), ("db", 2)],
    ),
    "nothing": (
        lambda: select(Reading.n).where(Reading.host == "a", Reading.host == "b"),
        [],
    ),
    "entries of dynamic columns": (
        lambda: select(Tagged.host, Tagged.tags["x"]).allow_full_scan(),
        [("a", 1), ("b", None), ("c", None)],
    ),
    "conditions on entries of dynamic columns": (
        lambda: (
            select(Tagged.host)
            .where((Tagged.tags["x"] == 1) | (Tagged.tags["y"] < 3), Tagged.tags["z"].is_null())
            .allow_full_scan()
        ),
        ["a", "b"],
    ),
    "aggregates of entries of dynamic columns": (
        lambda: select(func.sum(Tagged.tags["y"]), func.count(Tagged.tags["x"])).allow_full_scan(),
        [(11, 1)],
    ),
    "sorted by an entry of dynamic columns": (
        lambda: (
            select(Tagged.host)
            .sort_in_memory(Tagged.tags["y"].desc(), max_rows=9)
            .allow_full_scan()
        ),
        ["a", "b", "c"],
    ),
    # --- aggregates -------------------------------------------------------------------------------
    "all aggregates": (
        lambda: select(
            func.count(), func.count(Reading.unit), func.sum(Reading.value), func.max(Reading.n)
        ).allow_full_scan(),
        [(4, 3, 5.5, 7)],
    ),
    "a bare aggregate": (
        lambda: select(func.min(Reading.unit)).allow_full_scan(),
        ["ms"],
    ),
    "aggregates of nothing": (
        lambda: select(
            func.count(), func.sum(Reading.n), func.sum(Reading.value), func.min(Reading.n)
        ).where(Reading.host == "nobody"),
        [(0, 0, 0.0, None)],
    ),
    "aggregates of what cannot be": (
        lambda: select(func.count(Reading.n)).where(Reading.n == 1, Reading.n == 2),
        [0],
    ),
    "averages": (
        lambda: select(
            func.avg(Reading.value), func.avg(Reading.n), func.avg(Reading.hits)
        ).allow_full_scan(),
        [(1.375, 2.75, 0.0)],
    ),
    "averages of groups": (
        lambda: select(Reading.host, func.avg(Reading.n)).group_by(Reading.host).allow_full_scan(),
        [("a", 1.5), ("b", 1.0), ("c", 7.0)],
    ),
    "an average of nothing": (
        lambda: select(func.avg(Reading.n)).where(Reading.host == "nobody"),
        [None],
    ),
    "groups over salt buckets": (
        lambda: (
            select(Reading.host, func.count(), func.sum(Reading.value))
            .group_by(Reading.host)
            .allow_full_scan()
        ),
        [("a", 2, 1.5), ("b", 1, 0.5), ("c", 1, 3.5)],
    ),
    "groups of counters": (
        lambda: (
            select(HitsPerHour.site, func.sum(HitsPerHour.views))
            .group_by(HitsPerHour.site)
            .allow_full_scan()
        ),
        [("x.org", 7), ("y.org", 5)],
    ),
    "groups, limited": (
        lambda: (
            select(Reading.host, func.count()).group_by(Reading.host).limit(2).allow_full_scan()
        ),
        [("a", 2), ("b", 1)],
    ),
    "groups backwards": (
        lambda: (
            select(func.count(Reading.n))
            .group_by(Reading.host)
            .order_by(Reading.host.desc())
            .allow_full_scan()
        ),
        [1, 1, 2],
    ),
    "groups behind a field that is the same in all": (
        lambda: (
            select(Reading.n, func.max(Reading.value))
            .where(Reading.host == "a")
            .group_by(Reading.n)
        ),
        [(1, 0.5), (2, 1.0)],
    ),
    "groups alone: what is different": (
        lambda: select(Reading.host).group_by(Reading.host).allow_full_scan(),
        ["a", "b", "c"],
    ),
    "groups by an index": (
        lambda: (
            select(Account.city, func.count()).where(Account.city >= "A").group_by(Account.city)
        ),
        [("Bonn", 1)],
    ),
    "groups of packed cells": (
        lambda: (
            select(Point.metric, func.sum(Point.value)).group_by(Point.metric).allow_full_scan()
        ),
        [("cpu", 3603.0), ("mem", 3603.0)],
    ),
    "groups by a name with a number": (
        lambda: select(Named.host, func.sum(Named.v)).group_by(Named.host).allow_full_scan(),
        [("db", 3), ("web", 3)],
    ),
    "groups in one table of many": (
        lambda: (
            select(Daily.user, func.count())
            .where(Daily.at.between(NOON, NOON + timedelta(hours=1)))
            .group_by(Daily.user)
            .allow_full_scan()
        ),
        [("u", 1), ("v", 1)],
    ),
    # --- sorts ------------------------------------------------------------------------------------
    "sorted, None first": (
        lambda: (
            select(Reading.n, Reading.unit)
            .sort_in_memory(Reading.unit.asc(), Reading.n.desc(), max_rows=4)
            .allow_full_scan()
        ),
        [(2, None), (7, "ms"), (1, "ms"), (1, "s")],
    ),
    "sorted by a field that is not selected, None last": (
        lambda: select(Reading.n).sort_in_memory(Reading.unit.desc(), max_rows=9).allow_full_scan(),
        [1, 1, 7, 2],
    ),
    "sorted, then limited": (
        lambda: (
            select(Reading.value)
            .sort_in_memory(Reading.value.desc(), max_rows=4)
            .limit(2)
            .allow_full_scan()
        ),
        [3.5, 1.0],
    ),
    "sorted by a counter": (
        lambda: (
            select(HitsPerHour.views)
            .sort_in_memory(HitsPerHour.views.asc(), max_rows=4)
            .allow_full_scan()
        ),
        [0, 3, 4, 5],
    ),
}
