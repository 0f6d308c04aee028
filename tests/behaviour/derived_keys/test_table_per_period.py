"""A table for each day: rows find theirs, and reads go over those that exist."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    RecordType,
    TablePerPeriod,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    FlushError,
    RowKeyError,
    SchemaError,
    TableNotFoundError,
    UnboundedScanError,
)
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.ops import CreateTable, GetRows, ListTables
from hbase_orm.testing import RealHBase
from tests.support.programs import run_together
from tests.support.store import Store

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


class Payment(Model, table=TablePerPeriod("payments_%Y%m%d", of="at", period="day")):
    d = Family()
    account: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    amount: Mapped[int] = column(d, "a")
    note: Mapped[str | None] = column(d, "n", default=None)
    hits: Counter = counter(d, "h")

    __rowkey__ = rowkey(account, Offset("day", of=at))


class Sighting(Model, table=TablePerPeriod("seen_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    hits: Counter = counter(d, "h")

    __rowkey__ = rowkey(Offset("day", of=at), host)


def prepare(_engine: Engine) -> None:
    """Make no tables: each test makes those of its own days."""


_WEEKS = count()


@pytest.fixture
def day(store: Store) -> Iterator[datetime]:
    """Give a midnight whose week no other test uses; its tables are dropped afterwards."""
    yield datetime(2001, 1, 1, tzinfo=UTC) + next(_WEEKS) * 7 * DAY
    store.engine.drop_tables(Payment, Sighting)


@pytest.fixture
def two_days(store: Store, day: datetime) -> datetime:
    """Give a midnight from which on there are two tables."""
    store.engine.create_tables(Payment, periods=(day, day + 2 * DAY))
    store.taken()
    return day


def table(store: Store, pattern: str, at: datetime) -> str:
    return store.named(at.strftime(pattern))


def payment(account: int, at: datetime, amount: int = 0) -> Payment:
    return Payment(account=account, at=at, amount=amount)


# --- tables ----------------------------------------------------------------------------------------


def test_the_tables_of_periods_are_made_and_dropped(store: Store, day: datetime) -> None:
    wanted = [table(store, "payments_%Y%m%d", day + n * DAY) for n in range(3)]

    first = store.engine.create_tables(Payment, periods=(day + 23 * HOUR, day + DAY))
    rest = store.engine.create_tables(Payment, periods=(day, day + 2 * DAY + HOUR))
    dropped = store.engine.drop_tables(Payment)

    assert (first, rest, dropped) == (wanted[:1], wanted[1:], wanted)
    assert store.engine.drop_tables(Payment) == []


@pytest.mark.parametrize(
    "periods",
    [
        None,
        (datetime(2024, 1, 1), datetime(2024, 1, 2)),  # noqa: DTZ001  # what is refused
        (datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
        ("2024-01-01", "2024-01-02"),
        (datetime(2024, 1, 2, tzinfo=UTC),),
    ],
)
def test_periods_that_are_none_make_nothing(store: Store, periods: Any) -> None:
    store.taken()

    with pytest.raises(ConfigurationError) as caught:
        store.engine.create_tables(Payment, periods=periods)

    assert (caught.value.model, store.taken()) == ("Payment", {})
    assert "periods=(first, after_last)" in caught.value.fix


def test_periods_for_a_model_of_one_table_are_refused(store: Store, day: datetime) -> None:
    class Plain(Model, table="never_made"):
        d = Family()
        name: Key[str] = key()

    with pytest.raises(ConfigurationError) as caught:
        store.engine.create_tables(Plain, periods=(day, day + DAY))

    assert caught.value.models == ["Plain"]


def test_the_regions_are_those_of_one_period(store: Store, two_days: datetime) -> None:
    regions = store.engine.regions(Payment, at=two_days + HOUR)

    with pytest.raises(ConfigurationError, match="give a time in the period"):
        store.engine.regions(Payment)
    with pytest.raises(TableNotFoundError):
        store.engine.regions(Payment, at=two_days + 3 * DAY)
    assert len(regions) == 1 + len(Payment.__schema__.split_keys)


def test_indexes_are_refused_with_the_reason() -> None:
    with pytest.raises(SchemaError) as caught:

        class Indexed(Model, table=TablePerPeriod("i_%Y%m%d", of="at", period="day")):
            d = Family()
            at: Key[datetime] = key(codecs.millis())
            amount: Mapped[int] = column(d)
            by_amount = Index(amount)

    assert (caught.value.model, caught.value.index) == ("Indexed", "by_amount")
    assert "which table" in caught.value.text


# --- writing and reading ---------------------------------------------------------------------------


def test_a_time_that_is_split_over_table_and_key_is_joined_again(
    store: Store, two_days: datetime
) -> None:
    late = two_days + DAY - timedelta(milliseconds=1)
    store.put(payment(7, late, 3), payment(8, two_days + DAY, 4))

    with store.engine.session() as session:
        found = session.get(Payment, account=7, at=late)
        both = session.all(select(Payment).where(Payment.at >= two_days, Payment.at <= late + DAY))

    assert found == payment(7, late, 3)
    assert [each.at for each in both] == [late, two_days + DAY]
    (table_name,) = {each.table for each in store.sent.requests if isinstance(each, GetRows)}
    assert table_name == table(store, "payments_%Y%m%d", two_days)
    assert found.__state__.row is not None
    assert found.__state__.row.key == b"\x00\x00\x00\x07" + b"\x05\x26\x5b\xff"


def test_many_gets_ask_each_table_once_and_keep_their_positions(
    store: Store, two_days: datetime
) -> None:
    times = [two_days + n * 10 * HOUR for n in range(4)]
    store.put(*(payment(n, at, n) for n, at in enumerate(times)))
    keys: list[Any] = [(n, at) for n, at in enumerate(times)]

    with store.engine.session() as session:
        found = session.get_many(Payment, [*reversed(keys), (1, two_days + 5 * DAY), keys[0]])

    assert [each and each.amount for each in found] == [3, 2, 1, 0, None, 0]
    assert store.taken() == {"GetRows": 3}
    assert found[3] is found[5]


def test_a_read_goes_over_the_tables_that_there_are(store: Store, two_days: datetime) -> None:
    store.put(*(payment(n % 2, two_days + n * HOUR, n) for n in range(48)))
    statement = select(Payment).where(Payment.at >= two_days - 3 * DAY)
    statement = statement.where(Payment.at < two_days + 5 * DAY)
    first_day = select(Payment).where(Payment.at >= two_days, Payment.at < two_days + DAY)

    with store.engine.session() as session:
        counts = session.count(statement), session.count(first_day)
        last = session.all(
            statement.where(Payment.account == 1).order_by(Payment.at.desc()).limit(3)
        )
        with session.stream(statement.caching(7)) as stream:
            amounts = {each.amount for each in stream}
        plan = session.explain(statement)

    assert (counts, amounts) == ((48, 24), set(range(48)))
    assert [each.amount for each in last] == [47, 45, 43]
    assert (plan.kind, plan.requests.partition(",")[0]) == ("Tables", "8 tables")


def test_all_tables_are_read_only_when_that_is_said(store: Store, two_days: datetime) -> None:
    store.put(payment(1, two_days, 5), payment(1, two_days + DAY, 6), payment(2, two_days, 7))
    statement = select(Payment).where(Payment.account == 1)

    with store.engine.session() as session:
        with pytest.raises(UnboundedScanError) as caught:
            session.all(statement)
        sent = store.taken()
        found = session.all(statement.allow_full_scan())

    assert (caught.value.field, sent) == ("at", {})
    assert [each.amount for each in found] == [5, 6]


def test_changes_deletes_and_increments_find_their_table(store: Store, two_days: datetime) -> None:
    first, second = payment(1, two_days, 1), payment(1, two_days + DAY, 2)
    store.put(first, second)

    with store.engine.session() as session:
        found = session.get_many(Payment, [(1, two_days), (1, two_days + DAY)])
        assert found[0] is not None
        assert found[1] is not None
        found[0].note = "x"
        session.delete(found[1])
        report = session.flush()
        values = session.increment(Payment, Payment.hits.by(3), account=1, at=two_days)
        left = session.all(select(Payment).where(Payment.account == 1).allow_full_scan())

    assert (report.written, values) == (2, [3])
    assert [(each.amount, each.note, each.hits) for each in left] == [(1, "x", 3)]
    written = {request.table for request in store.sent.writes}  # type: ignore[attr-defined]  # writes have one
    assert written == {
        table(store, "payments_%Y%m%d", two_days),
        table(store, "payments_%Y%m%d", two_days + DAY),
    }


def test_a_bulk_spreads_its_rows_over_the_tables(store: Store, two_days: datetime) -> None:
    with store.engine.session() as session:
        with session.bulk(batch_rows=10) as bulk:
            bulk.add_all(payment(n, two_days + n * HOUR, n) for n in range(48))
        counted = session.count(
            select(Payment).where(Payment.at >= two_days, Payment.at < two_days + 2 * DAY)
        )

    assert (bulk.report.written, counted) == (48, 48)


def test_record_types_may_have_tables_of_periods(store: Store, day: datetime) -> None:
    class Base(Model, table=TablePerPeriod("kinds_%Y%m%d", of="at", period="day", create=True)):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        __rowkey__ = rowkey(Offset("day", of=at), RecordType())

    class Login(Base, record_type="l"):
        user: Mapped[str] = column(Base.d, "u")

    class Sale(Base, record_type="s"):
        number: Key[int] = key(codecs.uint16())
        amount: Mapped[int] = column(Base.d, "a")

    records = [
        Login(at=day, user="ann"),
        Sale(at=day, number=1, amount=5),
        Sale(at=day + DAY, number=1, amount=6),
    ]
    store.put(*records)

    with store.engine.session() as session:
        found = session.all(select(Base).where(Base.at >= day, Base.at < day + 3 * DAY))
        sales = session.all(select(Sale).where(Sale.at >= day, Sale.at < day + 3 * DAY))
        got = session.get(Sale, at=day + DAY, number=1)

    assert (found, sales, got) == (records, records[1:], records[2])
    assert len(store.engine.drop_tables(Login)) == 2


# --- tables that are missing -----------------------------------------------------------------------


def test_a_write_to_an_absent_table_names_the_table_and_the_fix(
    store: Store, two_days: datetime
) -> None:
    absent = table(store, "payments_%Y%m%d", two_days + 3 * DAY)
    session = store.engine.session()
    there, not_there = payment(1, two_days), payment(1, two_days + 3 * DAY)
    session.add_all([there, not_there])

    with pytest.raises(FlushError) as caught:
        session.flush()
    with pytest.raises(TableNotFoundError) as increment:
        session.increment(Payment, Payment.hits.by(1), account=1, at=two_days + 3 * DAY)
    with pytest.raises(FlushError) as bulk, session.bulk() as rows:
        rows.add(not_there)

    ((table_name, _, reason),) = caught.value.not_written
    assert [name for name, _ in caught.value.written] == [table(store, "payments_%Y%m%d", two_days)]
    assert (table_name, type(reason), reason.table) == (absent, TableNotFoundError, absent)
    for error in (reason, increment.value, bulk.value.not_written[0][2]):
        assert error.model == "Payment"
        assert "engine.create_tables" in error.fix
        assert "create=True" in error.fix
    assert repr(session) == "Session(loaded=1, pending=1)"
    store.engine.create_tables(Payment, periods=(two_days + 3 * DAY, two_days + 4 * DAY))
    assert session.flush().written == 1


def made_tables(store: Store) -> int:
    """Return how many tables of rows were created since the last call."""
    requests = [each for each in store.sent.requests if isinstance(each, CreateTable)]
    store.forget()
    return sum(each.descriptor.name != CATALOG_TABLE for each in requests)


def test_writes_make_the_table_where_the_model_says_so(store: Store, day: datetime) -> None:
    with store.engine.session() as session:
        session.add(Sighting(at=day + HOUR, host="a"))
        session.flush()
        again = made_tables(store)
        session.add(Sighting(at=day + 2 * HOUR, host="a"))
        session.flush()
        increased = session.increment(Sighting, Sighting.hits.by(2), at=day + 2 * DAY, host="a")
        with session.bulk() as bulk:
            bulk.add_all(Sighting(at=day + n * HOUR, host="b") for n in range(60))
        counted = session.count(
            select(Sighting).where(Sighting.at >= day, Sighting.at < day + 7 * DAY)
        )

    assert (again, increased, bulk.report.written, counted) == (1, [2], 60, 63)
    assert made_tables(store) == 2
    assert len(store.engine.drop_tables(Sighting)) == 3


def test_a_table_that_was_dropped_is_made_again(store: Store, day: datetime) -> None:
    store.put(Sighting(at=day, host="a"))
    store.engine.drop_tables(Sighting)

    store.put(Sighting(at=day, host="b"))

    found = store.engine.session().all(select(Sighting).where(Sighting.at == day).allow_full_scan())
    assert [each.host for each in found] == ["b"]


def test_thrift1_alone_makes_no_table_and_says_who_does(store: Store, day: datetime) -> None:
    session = store.without_thrift2().engine.session()
    session.add(Sighting(at=day, host="a"))

    with pytest.raises(FlushError) as caught:
        session.flush()

    ((_, _, reason),) = caught.value.not_written
    assert (type(reason), "thrift2=" in reason.fix) == (TableNotFoundError, True)


def test_reading_and_deleting_make_no_table(store: Store, day: datetime) -> None:
    with store.engine.session() as session:
        session.delete(payment(1, day))
        found = session.get(Sighting, at=day, host="a")
        counted = session.count(select(Sighting).where(Sighting.at == day))
        session.delete(Sighting(at=day, host="a"))

    assert (found, counted) == (None, 0)
    existing = store.sent.inner.execute(ListTables())
    made = [r for r in store.sent.requests if isinstance(r, CreateTable)]
    assert (made, table(store, "seen_%Y%m%d", day) in existing) == ([], False)


# --- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [datetime(2024, 1, 1), None, "2024-01-01", 5])  # noqa: DTZ001  # what is refused
def test_a_time_that_names_no_table_sends_nothing(store: Store, at: Any) -> None:
    store.taken()

    with store.engine.session() as session:
        with pytest.raises(RowKeyError) as caught:
            session.get(Payment, account=1, at=at)
        with pytest.raises(RowKeyError):
            session.increment(Payment, Payment.hits.by(1), account=1, at=at)

    assert (caught.value.field, bool(caught.value.fix), store.taken()) == ("at", True, {})


def test_the_key_says_that_the_table_holds_the_day(day: datetime) -> None:
    found: Any = Payment.decode_key(Payment.encode_key(account=7, at=day + HOUR))

    assert (dict(found), set(found.unrecoverable)) == ({"account": 7}, {"at"})
    assert "name of the table" in found.unrecoverable["at"]


# --- several programs at once ----------------------------------------------------------------------


_PROGRAM = """
import json, sys
from datetime import UTC, datetime, timedelta
from hbase_orm import connect
from tests.behaviour.derived_keys.test_table_per_period import Sighting
arguments = json.loads(sys.argv[1])
who, day = arguments["who"], datetime.fromisoformat(arguments["day"])
engine = connect(arguments["url"])
print("ready", flush=True)
input()
with engine.session() as session:
    for n in range(3):
        session.add(Sighting(at=day + timedelta(n), host=who))
    session.flush()
    session.increment(Sighting, Sighting.hits.by(1), at=day + timedelta(3), host="both")
"""


@pytest.mark.only_on("hbase")
def test_processes_that_need_a_table_at_once_all_write_to_it(
    store: Store, hbase: RealHBase, day: datetime
) -> None:
    arguments = {"url": hbase.url_in(store.engine.options.namespace), "day": day.isoformat()}

    run_together(_PROGRAM, [{**arguments, "who": who} for who in ("a", "b", "c")])

    with store.engine.session() as session:
        visits = session.all(
            select(Sighting).where(
                Sighting.at >= day,
                Sighting.at <= day + 3 * DAY,
            )
        )
    assert [visit.host for visit in visits] == ["a", "b", "c"] * 3 + ["both"]
    assert visits[-1].hits == 3
