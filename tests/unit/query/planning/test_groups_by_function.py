"""Groups that are named by functions of fields, such as `func.day`, are streamed by the key's order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Salt,
    TablePerPeriod,
    codecs,
    column,
    connect,
    func,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import QueryError

START = datetime(2024, 2, 28, 21, 30, tzinfo=UTC)
HOURS = 60


class Plain(Model, table="plain"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    unit: Key[str] = key()
    value: Mapped[int] = column(d)


class Falling(Model, table="falling"):
    d = Family()
    at: Key[datetime] = key(codecs.seconds(desc=True))
    host: Key[str] = key()
    value: Mapped[int] = column(d)
    __rowkey__ = rowkey(Salt(3), at, host)


class Daily(Model, table="daily"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)
    day = Period("day", of=at, codec=codecs.strftime("%d.%m.%Y"))
    __rowkey__ = rowkey(day, host, Offset("day", of=at, resolution="seconds"))


class SixHourly(Model, table="six_hourly"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)
    part = Period("hour", of=at, every=6)
    __rowkey__ = rowkey(part, host, Offset("hour", of=at, every=6, resolution="seconds"))


class HoursFirst(Model, table="hours_first"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)
    hour = Period("hour", of=at, codec=codecs.strftime("%H %d.%m.%Y"))
    __rowkey__ = rowkey(hour, host, Offset("hour", of=at, resolution="seconds"))


class Monthly(Model, table="monthly"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)
    month = Period("month", of=at)
    __rowkey__ = rowkey(month, Offset("month", of=at, resolution="seconds"), host)


class MonthlyByHost(Model, table="monthly_by_host"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)
    month = Period("month", of=at)
    __rowkey__ = rowkey(month, host, Offset("month", of=at, resolution="seconds"))


class ByTable(Model, table=TablePerPeriod("by_table_%Y%m%d", of="at", period="day")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d)


class Account(Model, table="accounts"):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    email: Mapped[str] = column(d)
    phone: Mapped[str] = column(d)
    since: Mapped[datetime | None] = column(d)
    tags: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    by_email = Index(func.lower(email))
    by_phone = Index(func.digit_reversed(phone))
    by_since = Index(since, nulls=True)
    by_day = Index(func.day(since), func.lower(email), nulls=True)
    by_tag = Index(func.each(tags))


OF_TEXT: Any = Plain.host
MODELS: tuple[Any, ...] = (Plain, Falling, Daily, SixHourly, Monthly)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = connect("memory://")
    engine.create_tables(*MODELS, MonthlyByHost, HoursFirst, Account)
    with engine.session() as session:
        for number in range(HOURS):
            at, host = START + timedelta(hours=number), f"h{number % 3}"
            session.add(Plain(host=host, at=at, unit="a", value=number))
            session.add_all(Of(host=host, at=at, value=number) for Of in MODELS[1:])
        for number, (email, phone) in enumerate(
            [("A@x", "12"), ("b@x", "21"), ("a@x", "12"), ("B@x", "31"), ("c@x", "13")]
        ):
            since = None if number == 4 else START + timedelta(hours=number)
            session.add(Account(number=number, email=email, phone=phone, since=since))
        session.flush()
    yield engine
    engine.close()


def per_day(*, falls: bool = False) -> list[tuple[date, int, int]]:
    """Return each day with the number of its hours and their greatest value."""
    by_day = groupby(range(HOURS), key=lambda n: (START + timedelta(hours=n)).date())
    days = [(day, [*numbers]) for day, numbers in by_day]
    found = [(day, len(numbers), max(numbers)) for day, numbers in days]
    return found[::-1] if falls else found


@pytest.mark.parametrize("model", MODELS[1:])
def test_days_are_streamed_by_a_key_in_the_order_of_the_time(engine: Engine, model: Any) -> None:
    day = func.day(model.at)
    statement = select(day, func.count(), func.max(model.value)).group_by(day).allow_full_scan()

    with engine.session() as session:
        groups = session.all(statement)
        first = session.all(statement.limit(1))
        explained = str(session.explain(statement))

    expected = per_day(falls=model is Falling)
    # Days as text with the day of the month first are in no order, but each is in one piece.
    assert (sorted(groups) if model is Daily else groups) == expected
    assert first == groups[:1]
    assert f"for each func.day({model.__name__}.at)" in explained


def test_days_behind_a_bound_or_grouped_field_are_streamed(engine: Engine) -> None:
    day = func.day(Plain.at)
    of_one = select(day, func.sum(Plain.value)).where(Plain.host == "h1").group_by(day)
    of_all = select(Plain.host, day, func.count()).group_by(Plain.host, day).allow_full_scan()

    with engine.session() as session:
        sums = session.all(of_one)
        counts = session.all(of_all)
        number = session.count(of_all)

    values = [n for n in range(HOURS) if n % 3 == 1]
    assert [day for day, _ in sums] == [day for day, _, _ in per_day()]
    assert sum(each for _, each in sums) == sum(values)
    assert [(host, day) for host, day, _ in counts] == [
        (f"h{n}", day) for n in range(3) for day, _, _ in per_day()
    ]
    assert sum(count for _, _, count in counts) == HOURS
    assert number == len(counts)


def test_a_day_of_the_key_may_be_followed_by_further_groups(engine: Engine) -> None:
    day = func.day(Daily.at)
    statement = select(day, Daily.host, func.count()).group_by(day, Daily.host).allow_full_scan()
    with engine.session() as session:
        groups = session.all(statement)

    assert len(groups) == len({(day, host) for day, host, _ in groups})
    assert sum(count for _, _, count in groups) == HOURS


def test_a_time_in_two_parts_is_a_group(engine: Engine) -> None:
    statement = select(Monthly.at, func.count()).group_by(Monthly.at).allow_full_scan()
    with engine.session() as session:
        assert [count for _, count in session.all(statement)] == [1] * HOURS


@pytest.mark.parametrize(
    "groups",
    [(Plain.at, Plain.host), (func.day(Plain.at), Plain.host, Plain.at)],
    ids=repr,
)
def test_a_function_of_a_grouped_field_changes_no_group(
    engine: Engine, groups: tuple[Any, ...]
) -> None:
    statement = select(*groups, func.count()).group_by(*groups).allow_full_scan()
    with engine.session() as session:
        assert len(session.all(statement)) == HOURS


@pytest.mark.parametrize(
    ("group", "index", "expected"),
    [
        (func.lower(Account.email), Account.by_email, [("a@x", 2), ("b@x", 2), ("c@x", 1)]),
        (
            func.digit_reversed(Account.phone),
            Account.by_phone,
            [("12", 1), ("13", 1), ("21", 2), ("31", 1)],
        ),
        (Account.phone, None, None),
        (
            func.day(Account.since),
            Account.by_since,
            [(None, 1), (date(2024, 2, 28), 3), (date(2024, 2, 29), 1)],
        ),
        (
            func.day(Account.since),
            Account.by_day,
            [(None, 1), (date(2024, 2, 28), 3), (date(2024, 2, 29), 1)],
        ),
    ],
)
def test_an_index_streams_groups_of_its_functions(
    engine: Engine, group: Any, index: Any, expected: Any
) -> None:
    statement = select(group, func.count()).group_by(group).using(index).allow_full_scan()
    with engine.session() as session:
        if expected is None:
            with pytest.raises(QueryError, match="one after another"):
                session.all(statement)
        else:
            assert session.all(statement) == expected


def test_functions_of_two_fields_are_streamed_by_an_index_of_both(engine: Engine) -> None:
    day, email = func.day(Account.since), func.lower(Account.email)
    statement = select(email, day, func.count()).group_by(email, day).using(Account.by_day)
    with engine.session() as session:
        groups = session.all(statement.allow_full_scan())

    first = date(2024, 2, 28)
    assert groups == [
        ("c@x", None, 1),
        ("a@x", first, 2),
        ("b@x", first, 1),
        ("b@x", date(2024, 2, 29), 1),
    ]


@pytest.mark.parametrize(
    "groups",
    [
        (func.day(Plain.at),),  # behind another host
        (func.day(Plain.at), Plain.unit),
        (Plain.host, func.day(Plain.at), Plain.unit),
        (func.lower(Plain.host),),  # the order of the bytes is not that of lower case
        (func.day(MonthlyByHost.at),),
        (func.day(HoursFirst.at),),  # the same hour of all days comes first
        (func.day(Falling.at), Falling.host),
        (func.day(SixHourly.at), SixHourly.at),
        (func.day(SixHourly.at), SixHourly.host),
        (func.lower(Account.phone),),
        (func.day(ByTable.at),),
    ],
    ids=repr,
)
def test_groups_that_are_not_in_one_piece_are_refused(
    engine: Engine, groups: tuple[Any, ...]
) -> None:
    statement = select(*groups, func.count()).group_by(*groups)
    if groups[0].owner is ByTable:
        times = ByTable.at.between(START, START + timedelta(days=2))
        statement = statement.where(times)
    with engine.session() as session, pytest.raises(QueryError, match="one after another"):
        session.all(statement.allow_full_scan())


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (select(func.day(Plain.at)), "unless the statement groups by it"),
        (select(func.day(Plain.at), func.count()), "unless the statement groups by it"),
        (
            select(func.max(func.day(Plain.at))).group_by(Plain.host),
            "unless the statement groups by it",
        ),
        (
            select(func.day(Plain.at), func.count()).group_by(Plain.host),
            "selected beside an aggregate is missing",
        ),
        (
            select(Plain.at, func.count()).group_by(func.day(Plain.at)),
            "selected beside an aggregate is missing",
        ),
        (select(func.count(Plain.at)).group_by(func.day(OF_TEXT)), "does not work on fields"),
        (select(func.count(Account.number)).group_by(func.each(Account.tags)), "items of a coll"),
    ],
)
def test_functions_that_cannot_be_selected_or_grouped_by_are_refused(
    engine: Engine, statement: Any, message: str
) -> None:
    with engine.session() as session, pytest.raises(QueryError, match=message):
        session.all(statement.allow_full_scan())
