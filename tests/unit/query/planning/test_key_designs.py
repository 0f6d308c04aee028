"""The exact ranges of the field's row key designs: partitions, buckets, hashes, tables, numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from hbase_orm import (
    Bucket,
    Computed,
    Condition,
    Digest,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Order,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.ops import KeyRange
from hbase_orm.query import (
    EmptyPlan,
    GetPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
    names_in,
    plan,
)

NUMBERS = {("uid", "cpu"): 1, ("uid", "web"): 2, ("uid", "mem"): 5}
NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]  # year, month, day, ...


def planned(
    model: type[Model],
    *conditions: Condition,
    order: Sequence[Order] = (),
    limit: int | None = None,
    tables: Sequence[datetime] | None = None,
) -> Plan:
    stmt = select(model).where(*conditions).order_by(*order)
    if limit is not None:
        stmt = stmt.limit(limit)
    if tables is not None:
        stmt = stmt.allow_full_scan()
    return plan(stmt, model.__schema__, NUMBERS, tables)


def ranges(found: Plan) -> list[tuple[bytes, bytes | None]]:
    assert isinstance(found, ScanPlan)
    return [(key_range.start, key_range.stop) for key_range in found.ranges]


def by_bucket(found: Plan) -> list[list[tuple[bytes, bytes | None]]]:
    assert isinstance(found, SaltedScanPlan)
    return [[(r.start, r.stop) for r in bucket] for bucket in found.buckets]


def keys(found: Plan) -> tuple[bytes, ...]:
    assert isinstance(found, GetPlan)
    return found.keys


def by_table(found: Plan) -> list[tuple[str, list[tuple[bytes, bytes | None]]]]:
    assert isinstance(found, TablesPlan)
    return [(inner.schema.table, ranges(inner)) for _, inner in found.plans]


# --- partitions by month --------------------------------------------------------------------------


def partition(user: str, month: datetime) -> int:
    """Ten partitions a month."""
    digest = hashlib.md5(f"{user}{month:%m}".encode(), usedforsecurity=False).digest()
    return (month.month - 1) * 10 + int.from_bytes(digest) % 10


def partitions(user: str | None, month: datetime | None) -> Sequence[int]:
    if month is None:
        return range(120)
    if user is None:
        return range((month.month - 1) * 10, month.month * 10)
    return [partition(user, month)]


class Purchase(Model, table="purchases"):
    d = Family()
    user: Key[str] = key(codecs.text(separator=b"_"))
    at: Key[datetime] = key(codecs.seconds())
    amount: Mapped[int] = column(d)

    month = Period("month", of=at, codec=codecs.strftime("%Y-%m"))
    __rowkey__ = rowkey(
        Computed(partition, of=[user, month], values=partitions, codec=codecs.digits(3)),
        month,
        user,
        Offset("month", of=at, codec=codecs.strftime("-%d %H:%M:%S")),
    )


DECEMBER = (Purchase.at >= at(2024, 12, 1), Purchase.at < at(2025, 1, 1))


def test_one_users_december_is_one_range() -> None:
    found = planned(Purchase, Purchase.user == "ann", *DECEMBER)

    assert ranges(found) == [(b"1122024-12ann_-", b"1122024-12ann_.")]
    assert found.order == "offset in month of at asc"


def test_everybodys_december_is_ten_ranges() -> None:
    assert ranges(planned(Purchase, *DECEMBER)) == [
        (b"%d2024-12" % number, b"%d2024-13" % number) for number in range(110, 120)
    ]


def test_two_years_of_one_user_are_a_range_for_each_month() -> None:
    two_years = (Purchase.at >= at(2023, 1, 1), Purchase.at < at(2025, 1, 1))

    found = ranges(planned(Purchase, Purchase.user == "ann", *two_years))

    assert len(found) == 24
    assert found[:2] == [
        (b"0002023-01ann_-", b"0002023-01ann_."),
        (b"0002024-01ann_-", b"0002024-01ann_."),
    ]
    assert found[-1] == (b"1122024-12ann_-", b"1122024-12ann_.")


def test_the_first_and_the_last_month_are_cut() -> None:
    ends = (Purchase.at > at(2024, 11, 15), Purchase.at <= at(2024, 12, 3, 5))

    assert ranges(planned(Purchase, Purchase.user == "ann", *ends)) == [
        (b"1082024-11ann_-15 00:00:01", b"1082024-11ann_."),
        (b"1122024-12ann_-", b"1122024-12ann_-03 05:00:01"),
    ]


def test_one_purchase_is_a_get() -> None:
    found = planned(Purchase, Purchase.user == "ann", Purchase.at == at(2024, 12, 3))

    assert keys(found) == (b"1122024-12ann_-03 00:00:00",)


def test_the_newest_of_a_month_are_asked_for_by_their_number() -> None:
    newest = planned(
        Purchase, Purchase.user == "ann", *DECEMBER, order=[Purchase.at.desc()], limit=30
    )

    assert isinstance(newest, ScanPlan)
    assert (newest.reverse, newest.caching_rows) == (True, 30)


def test_a_month_of_several_users_is_in_the_order_of_partitions() -> None:
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        planned(Purchase, *DECEMBER, order=[Purchase.at.asc()])


def test_what_a_function_of_a_field_can_be_is_asked_with_what_is_known() -> None:
    asked: list[tuple[int | None, int | None]] = []

    def values(a: int | None, b: int | None) -> list[int]:
        asked.append((a, b))
        return [0, 1]

    class Pair(Model, table="pairs"):
        d = Family()
        a: Key[int] = key(codecs.uint8())
        b: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(
            Computed(lambda a, b: (a + b) % 2, of=[a, b], values=values, codec=codecs.uint8()), b, a
        )

    asked.clear()  # of what the table is split at
    assert ranges(planned(Pair, Pair.b == 7)) == [(b"\0\7", b"\0\x08"), (b"\1\7", b"\1\x08")]
    assert asked == [(None, 7)]
    assert keys(planned(Pair, Pair.b == 7, Pair.a == 1)) == (b"\0\7\1",)


# --- periods and offsets --------------------------------------------------------------------------


class Falling(Model, table="falling"):
    """Days rise, and within a day the newest comes first."""

    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    __rowkey__ = rowkey(
        Period("day", of=at, codec=codecs.strftime("%Y%m%d")),
        Offset("day", of=at, resolution="seconds", codec=codecs.uint32(desc=True)),
    )


def test_an_offset_that_falls_within_periods_that_rise_is_cut_day_by_day() -> None:
    found = planned(
        Falling, Falling.at >= at(2024, 1, 1, 12), Falling.at <= at(2024, 1, 2, 0, 0, 9)
    )

    assert ranges(found) == [
        (b"20240101", b"20240101\xff\xff\x57\x40"),
        (b"20240102\xff\xff\xff\xf6", b"20240103"),
    ]


class Framed(Model, table="framed"):
    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    host: Key[str] = key()
    __rowkey__ = rowkey(
        Period("day", of=at, codec=codecs.strftime("%Y%m%d")), RecordType(), host, at
    )


class Seen(Framed, record_type="S"):
    pass


def test_a_record_type_between_a_period_and_a_field_does_not_hide_the_field() -> None:
    days = (Seen.at >= at(2024, 1, 1), Seen.at < at(2024, 1, 3))

    found = ranges(planned(Seen, *days, Seen.host == "a"))

    assert [start[:11] for start, _ in found] == [b"20240101Sa\0", b"20240102Sa\0"]


def test_days_of_which_nothing_more_is_known_are_one_range() -> None:
    days = (Seen.at >= at(2024, 1, 1), Seen.at < at(2024, 1, 3))

    assert ranges(planned(Seen, *days)) == [(b"20240101", b"20240103")]


# --- buckets, hashes, salts -----------------------------------------------------------------------


class Log(Model, table="log"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    __rowkey__ = rowkey(Bucket(4, of=at, form="text"), at, host)


MIDNIGHT = codecs.millis().encode(NEW_YEAR)
ONE_LATER = codecs.millis().encode(NEW_YEAR.replace(microsecond=1000))
NEXT_DAY = codecs.millis().encode(at(2024, 1, 2))


def test_a_day_of_a_log_is_a_range_of_every_bucket() -> None:
    found = planned(Log, Log.at >= NEW_YEAR, Log.at < at(2024, 1, 2))

    assert by_bucket(found) == [[(b"%d" % n + MIDNIGHT, b"%d" % n + NEXT_DAY)] for n in range(4)]
    assert found.order == "at asc, host asc"


def test_the_newest_of_a_log_are_merged_backwards() -> None:
    found = planned(Log, Log.at >= NEW_YEAR, order=[Log.at.desc()], limit=30)

    assert by_bucket(found) == [[(b"%d" % n + MIDNIGHT, b"%d" % (n + 1))] for n in range(4)]
    assert isinstance(found, SaltedScanPlan)
    assert (found.reverse, found.caching_rows) == (True, 30)


def test_the_bucket_of_an_equal_time_is_known() -> None:
    assert ranges(planned(Log, Log.at == NEW_YEAR)) == [(b"0" + MIDNIGHT, b"0" + ONE_LATER)]
    assert keys(planned(Log, Log.at == NEW_YEAR, Log.host == "a")) == (b"0" + MIDNIGHT + b"a",)


def test_each_time_of_a_list_is_asked_in_its_own_bucket() -> None:
    found = planned(Log, Log.at.in_([NEW_YEAR, NEW_YEAR.replace(microsecond=1000)]))

    assert [bucket[0][0] for bucket in by_bucket(found)] == [b"0" + MIDNIGHT, b"1" + ONE_LATER]


class Hashed(Model, table="hashed"):
    d = Family()
    user: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(HashPrefix(2, of=user, form="hex"), user, n)


def test_the_hash_of_an_equal_name_is_known() -> None:
    assert ranges(planned(Hashed, Hashed.user == "ann")) == [(b"7eann\0\1", b"7eann\0\2")]
    assert keys(planned(Hashed, Hashed.user == "ann", Hashed.n == 7)) == (b"7eann\0\1\7",)


def test_a_hash_goes_with_its_own_name() -> None:
    found = planned(Hashed, Hashed.user.in_(["bob", "ann"]), Hashed.n > 7)

    assert ranges(found) == [(b"7eann\0\1\x08", b"7eann\0\2"), (b"9fbob\0\1\x08", b"9fbob\0\2")]


def test_a_range_of_hashed_names_is_refused_with_what_helps() -> None:
    with pytest.raises(UnboundedScanError, match=r"compare user by == or in_\(\): the key begins"):
        planned(Hashed, Hashed.user > "ann")


class Phoenix(Model, table="phoenix"):
    d = Family()
    a: Key[int] = key(codecs.get("phoenix.integer"))
    b: Key[int] = key(codecs.get("phoenix.integer"))
    __rowkey__ = rowkey(Salt(4), a, b)


def test_a_salt_of_the_whole_key_is_known_with_the_whole_key_alone() -> None:
    one, two, three = (b"\x80\0\0" + bytes([number]) for number in (1, 2, 3))

    assert by_bucket(planned(Phoenix, Phoenix.a == 1)) == [
        [(bytes([n]) + one, bytes([n]) + two)] for n in range(4)
    ]
    assert keys(planned(Phoenix, Phoenix.a == 1, Phoenix.b.in_([1, 2, 3]))) == (
        b"\1" + one + one,
        b"\0" + one + two,
        b"\3" + one + three,
    )


class SaltedByUser(Model, table="salted"):
    d = Family()
    user: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(8, of=user), user, n)


def test_a_list_asks_each_name_in_its_own_bucket() -> None:
    names = [b"a", b"b", b"c", b"d"]

    found = planned(SaltedByUser, SaltedByUser.user.in_([name.decode() for name in names]))

    assert by_bucket(found) == [
        [(bytes([n]) + name + b"\0\1", bytes([n]) + name + b"\0\2")] for n, name in enumerate(names)
    ]
    assert found.order == "user asc, n asc"


def test_a_bucket_alone_is_no_range_of_the_key() -> None:
    class ByLast(Model, table="by_last"):
        d = Family()
        a: Key[int] = key(codecs.uint8())
        b: Key[int] = key(codecs.uint8())
        __rowkey__ = rowkey(Bucket(4, of=b), a, b)

    with pytest.raises(UnboundedScanError, match="compare a, the first part of the key"):
        planned(ByLast, ByLast.b == 1)
    assert ranges(planned(ByLast, ByLast.b == 6, ByLast.a > 1)) == [(b"\2\2", b"\3")]


class Scattered(Model, table="scattered"):
    d = Family()
    user: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(RandomSalt(3), user, n)


def test_a_random_salt_is_never_known() -> None:
    assert by_bucket(planned(Scattered, Scattered.user == "a")) == [
        [(bytes([n]) + b"a\0\1", bytes([n]) + b"a\0\2")] for n in range(3)
    ]
    assert keys(planned(Scattered, Scattered.user == "a", Scattered.n == 7)) == (
        b"\0a\0\1\7",
        b"\1a\0\1\7",
        b"\2a\0\1\7",
    )


class Page(Model, table="pages"):
    d = Family()
    url: Key[str] = key(family=d)
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Digest(of=url), n)


def test_a_digest_is_computed_of_what_it_stands_for() -> None:
    a, b = (hashlib.md5(url, usedforsecurity=False).digest() for url in (b"a", b"b"))

    assert ranges(planned(Page, Page.url == "a", Page.n > 7)) == [
        (a + b"\x08", a[:-1] + bytes([a[-1] + 1]))
    ]
    assert keys(planned(Page, Page.url.in_(["a", "b"]), Page.n == 7)) == (a + b"\7", b + b"\7")


# --- tables per period ----------------------------------------------------------------------------


class Payment(Model, table=TablePerPeriod("pay_%Y%m%d", of="at", period="day")):
    d = Family()
    account: Key[int] = key(codecs.uint8())
    at: Key[datetime] = key(codecs.millis())
    __rowkey__ = rowkey(account, Offset("day", of=at))


NOON = b"\x02\x93\x2e\x00"
THREE_DAYS = (Payment.at >= at(2024, 1, 1, 12), Payment.at < at(2024, 1, 3, 12))


def test_three_days_are_three_tables() -> None:
    found = planned(Payment, Payment.account == 7, *THREE_DAYS)

    assert by_table(found) == [
        ("pay_20240101", [(b"\7" + NOON, b"\x08")]),
        ("pay_20240102", [(b"\7", b"\x08")]),
        ("pay_20240103", [(b"\7", b"\7" + NOON)]),
    ]
    assert found.order == "day of at asc, offset in day of at asc"


def test_the_newest_of_three_days_begin_with_the_last_table() -> None:
    found = planned(Payment, Payment.account == 7, *THREE_DAYS, order=[Payment.at.desc()], limit=30)

    assert [table for table, _ in by_table(found)] == [
        "pay_20240103",
        "pay_20240102",
        "pay_20240101",
    ]
    assert found.order == "day of at desc, offset in day of at desc"
    assert found.requests == "3 tables, each: 1 scanner, 30 to 1000 rows a call"


def test_the_end_of_a_day_asks_no_table_of_the_next() -> None:
    found = planned(
        Payment, Payment.account == 7, Payment.at >= NEW_YEAR, Payment.at < at(2024, 1, 2)
    )

    assert by_table(found) == [("pay_20240101", [(b"\7", b"\x08")])]


def test_days_without_an_account_read_whole_tables() -> None:
    whole = KeyRange()

    assert by_table(planned(Payment, *THREE_DAYS)) == [
        (f"pay_2024010{day}", [(whole.start, whole.stop)]) for day in (1, 2, 3)
    ]


def test_an_order_across_tables_begins_with_their_time() -> None:
    with pytest.raises(QueryError, match="order by at first") as caught:
        planned(Payment, *THREE_DAYS, order=[Payment.account.asc()])

    assert caught.value.key == ["account", "offset in day of at"]


def test_an_order_within_one_table_needs_no_time() -> None:
    day = (Payment.at >= NEW_YEAR, Payment.at < at(2024, 1, 2))

    found = planned(Payment, *day, order=[Payment.account.desc()])

    assert found.order == "account desc, offset in day of at desc"
    with pytest.raises(QueryError, match="by the key fields in the order of the key"):
        planned(Payment, *day, order=[Payment.at.asc()])


def test_a_time_that_is_open_on_one_side_needs_leave() -> None:
    half_open = (Payment.account == 7, Payment.at >= at(2024, 1, 2, 12))
    existing = [at(2024, 1, 3), NEW_YEAR, at(2024, 1, 2)]

    with pytest.raises(UnboundedScanError, match="give at a lower and an upper bound"):
        planned(Payment, *half_open)
    assert by_table(planned(Payment, *half_open, tables=existing)) == [
        ("pay_20240102", [(b"\7" + NOON, b"\x08")]),
        ("pay_20240103", [(b"\7", b"\x08")]),
    ]


def test_a_time_before_every_table_is_in_none() -> None:
    found = planned(Payment, Payment.at < NEW_YEAR, tables=[at(2024, 1, 2)])

    assert isinstance(found, EmptyPlan)


def test_equal_times_are_gets_in_their_tables() -> None:
    found = planned(
        Payment, Payment.account == 7, Payment.at.in_([at(2024, 1, 2), at(2024, 1, 1, 12)])
    )

    assert isinstance(found, TablesPlan)
    assert [(inner.schema.table, keys(inner)) for _, inner in found.plans] == [
        ("pay_20240101", (b"\7" + NOON,)),
        ("pay_20240102", (b"\7\0\0\0\0",)),
    ]


# --- numbers in names' stead ----------------------------------------------------------------------


class Point(Model, table="tsdb"):
    d = Family()
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    host: Key[str] = key()
    value: Mapped[float] = column(d)
    by_value = Index(value)
    __rowkey__ = rowkey(
        Substitute(of=metric, dictionary="uid", codec=codecs.uint8()),
        Period("hour", of=at, codec=codecs.strftime("%Y%m%d%H")),
        Substitute(of=host, dictionary="uid", codec=codecs.uint8()),
        Offset("hour", of=at, resolution="seconds", codec=codecs.uint16()),
    )


HALF_PAST = (Point.at >= at(2024, 1, 1, 0, 30), Point.at < at(2024, 1, 1, 2, 15))


def test_hours_of_a_metric_are_one_range() -> None:
    found = planned(Point, Point.metric == "cpu", *HALF_PAST)

    assert ranges(found) == [(b"\x012024010100", b"\x012024010103")]
    assert found.resolutions() == ["resolve 'cpu' in uid: 1"]


def test_hours_of_a_metric_and_a_host_are_a_range_each_cut_at_the_ends() -> None:
    found = planned(Point, Point.metric == "cpu", Point.host == "web", *HALF_PAST)

    assert ranges(found) == [
        (b"\x012024010100\x02\x07\x08", b"\x012024010100\x03"),
        (b"\x012024010101\x02", b"\x012024010101\x03"),
        (b"\x012024010102\x02", b"\x012024010102\x02\x03\x84"),
    ]


def test_a_point_is_a_get() -> None:
    found = planned(
        Point, Point.metric == "cpu", Point.host == "web", Point.at == at(2024, 1, 1, 0, 30)
    )

    assert keys(found) == (b"\x012024010100\x02\x07\x08",)


def test_an_unknown_name_is_an_empty_answer() -> None:
    found = planned(Point, Point.metric == "disk", Point.at >= NEW_YEAR)

    assert isinstance(found, EmptyPlan)
    assert str(found) == (
        "Empty tsdb\n├─ resolve 'disk' in uid: unknown\n├─ nothing is sent: a name of the "
        "condition has no number, so no row has this name\n├─ order: none\n└─ requests: 0"
    )


def test_known_names_of_a_list_are_asked_for() -> None:
    found = planned(Point, Point.metric.in_(["cpu", "disk", "mem"]), Point.at >= NEW_YEAR)

    assert ranges(found) == [(b"\x012024010100", b"\x02"), (b"\x052024010100", b"\x06")]


def test_names_are_in_no_range_of_their_numbers() -> None:
    with pytest.raises(UnboundedScanError, match=r"compare metric by == or in_\(\)"):
        planned(Point, Point.metric > "cpu")
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        planned(Point, Point.metric == "cpu", order=[Point.at.asc()])


def test_no_name_is_looked_up_for_what_cannot_be() -> None:
    stmt = select(Point).where(Point.metric == "cpu", Point.metric == "mem")

    assert names_in(stmt, Point.__schema__) == frozenset()
    assert names_in(select(Hashed).where(Hashed.user == "a"), Hashed.__schema__) == frozenset()


def test_names_of_alternatives_are_all_looked_up() -> None:
    either = (Point.metric == "cpu") | ((Point.metric == "mem") & (Point.host == "web"))

    assert names_in(select(Point).where(either), Point.__schema__) == {
        ("uid", "cpu"),
        ("uid", "mem"),
        ("uid", "web"),
    }


# --- what no key can hold, and what no order can be had of ----------------------------------------


class Narrow(Model, table="narrow"):
    """The period has four bytes: nothing before 1970."""

    d = Family()
    at: Key[datetime] = key(codecs.micros())
    host: Key[str] = key()
    __rowkey__ = rowkey(
        Period("hour", of=at, codec=codecs.seconds(width_bytes=4)),
        host,
        Offset("hour", of=at, resolution="micros"),
    )


def test_periods_that_no_key_can_hold_are_not_asked_for() -> None:
    hours = (Narrow.at >= at(1969, 12, 31, 22), Narrow.at < at(1970, 1, 1, 2))

    found = ranges(planned(Narrow, Narrow.host == "a", *hours))

    assert [start for start, _ in found] == [b"\0\0\0\0a\0\1", b"\0\0\x0e\x10a\0\1"]


def test_an_end_that_no_period_can_hold_bounds_nothing() -> None:
    with pytest.raises(UnboundedScanError, match="compare at by =="):
        planned(Narrow, Narrow.at >= at(1960, 1, 1))


class Checked(Model, table="checked"):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Computed(lambda n: n // 2, of=n, codec=codecs.uint8()), n)


def test_a_value_that_a_computed_part_cannot_hold_is_in_no_row() -> None:
    assert keys(planned(Checked, Checked.n.in_([8, 800]))) == (b"\4\0\0\0\x08",)
    assert isinstance(planned(Checked, Checked.n == 800), EmptyPlan)


class Backwards(Model, table="backwards"):
    """The offset stands before its period, and there is one of another length."""

    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    __rowkey__ = rowkey(
        Offset("hour", of=at, resolution="seconds"),
        Offset("day", of=at, resolution="seconds"),
        Period("day", of=at),
    )


def test_an_offset_before_its_period_gives_neither_range_nor_order() -> None:
    with pytest.raises(UnboundedScanError):
        planned(Backwards, Backwards.at >= NEW_YEAR, Backwards.at < at(2024, 1, 2))
    with pytest.raises(QueryError, match="no scan can return the rows in this order"):
        planned(Backwards, order=[Backwards.at.asc()], tables=())


def test_the_tables_of_a_plan_are_shown_with_what_is_read_of_each() -> None:
    found = planned(Payment, Payment.account == 7, *THREE_DAYS)

    assert str(found).splitlines()[:5] == [
        "Tables pay_%Y%m%d",
        "├─ pay_20240101",
        r"│  └─ scan [\x07\x02\x93.\x00, \x08)",
        "├─ pay_20240102",
        r"│  └─ scan [\x07, \x08)",
    ]


class Sorted(Model, table="sorted"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(
        Computed(lambda at: at.month, of=at, values=range(1, 13), codec=codecs.uint8()), n, at
    )


def test_values_that_no_condition_tells_apart_are_one_range() -> None:
    everything = select(Sorted).allow_full_scan()
    every_month = select(Sorted).where(Sorted.n == 3)

    assert ranges(plan(everything, Sorted.__schema__)) == [(b"", None)]
    assert ranges(plan(every_month, Sorted.__schema__))[1:3] == [
        (b"\x02\x03", b"\x02\x04"),
        (b"\x03\x03", b"\x03\x04"),
    ]
    with pytest.raises(UnboundedScanError):
        planned(Sorted)


def test_many_times_are_the_periods_between_the_first_and_the_last() -> None:
    times = [NEW_YEAR + timedelta(minutes=number) for number in range(2000)]

    found = planned(Payment, Payment.at.in_(times))

    assert isinstance(found, TablesPlan)
    assert [start for start, _ in found.plans] == [NEW_YEAR, at(2024, 1, 2)]


class Tally(Model, table=TablePerPeriod("tally_%Y%m%d", of="at", period="day")):
    d = Family()
    account: Key[int] = key(codecs.uint8())
    at: Key[datetime] = key(codecs.millis())
    __rowkey__ = rowkey(Salt(64), account, Offset("day", of=at))


def test_an_account_is_told_in_every_bucket_of_however_many_tables() -> None:
    last = NEW_YEAR + timedelta(days=300)

    found = planned(Tally, Tally.account == 7, Tally.at >= at(2024, 1, 1, 12), Tally.at < last)

    assert isinstance(found, TablesPlan)
    assert len(found.plans) == 300
    assert by_bucket(found.plans[0][1])[1] == [(b"\x01\x07" + NOON, b"\x01\x08")]
    for _, inner in found.plans[1:]:
        assert by_bucket(inner)[1] == [(b"\x01\x07", b"\x01\x08")]
