"""The well-known designs end to end: what stands in HBase, byte for byte, and what queries find.

The expected rows are written by hand and read by plain happybase.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import Engine, Model, connect, select
from hbase_orm.testing import RealHBase
from tests.support.table_designs import (
    ONE_TABLE_EACH,
    BucketLog,
    Call,
    Customer,
    CustomerRecord,
    DigestLog,
    Event,
    FileInfo,
    Operation,
    Order,
    OrderLine,
    OrderRecord,
    Payment,
    Purchase,
    RawLog,
    Record,
    Score,
    SubstituteLog,
    UserOrder,
)

pytestmark = pytest.mark.hbase

T0 = datetime(2024, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MS = timedelta(milliseconds=1)

# 2024-01-01T00:00:00Z is 0x18CC251F400 milliseconds after the epoch.
RISING = b"\x00\x00\x01\x8c\xc2\x51\xf4"
FALLING = b"\x7f\xff\xfe\x73\x3d\xae\x0b"

# The first bytes of `printf ann | md5sum`, of `printf '\0\0\0\7' | md5sum`, and so on.
MD5_WEB_1 = bytes.fromhex("a2e3a94e0befb3546bfea8a1cb24ac48")
MD5_BOOT = bytes.fromhex("881cc4157ed641a365a86452f27ed745")

Rows = dict[bytes, dict[bytes, bytes]]

DESIGNS: list[tuple[str, list[Model], Rows]] = [
    (
        "scores",
        [Score(name="Tom", level="1", math="87", art="97"), Score(name="Jerry", level="2")],
        {
            b"Tom": {b"grade:": b"1", b"course:math": b"87", b"course:art": b"97"},
            b"Jerry": {b"grade:": b"2"},
        },
    ),
    (
        "calls",
        [
            Call(phone="13812345678", at=T0, seconds=60),
            Call(phone="13812345678", at=T0 + MS, seconds=61),
        ],
        {
            b"87654321831" + FALLING + b"\xff": {b"d:s": b"\x00\x00\x00\x3c"},
            b"87654321831" + FALLING + b"\xfe": {b"d:s": b"\x00\x00\x00\x3d"},
        },
    ),
    (
        "user_ops",
        [Operation(user=12, at=T0, action="login")],
        {b"2100000000" + FALLING + b"\xff": {b"d:a": b"login"}},
    ),
    (
        "user_orders",
        [UserOrder(user="ann", order=7, total=Decimal("12.50"))],
        {b"7e0dann\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07": {b"d:t": b"\x18\x19\x64"}},
    ),
    (
        "events",
        [
            Event(at=T0 + 5 * MS, host="web-1", event="boot", message="x"),
            Event(at=T0 + 18 * MS, host="web-1", event="boot", message="y"),
        ],
        {
            b"\x05" + RISING + b"\x05web-1\x00\x01boot": {b"d:m": b"x"},
            b"\x02" + RISING + b"\x12web-1\x00\x01boot": {b"d:m": b"y"},
        },
    ),
    (
        "files",
        [FileInfo(owner=42, created=T0, file_id=7, name="a.txt", category="text")],
        {b"00004220240101000007": {b"f:n": b"a.txt", b"f:c": b"text"}},
    ),
    (
        "log_raw",
        [RawLog(host="web-1", event="boot", at=T0, message="x")],
        {b"web-1\x00\x01boot\x00\x01" + FALLING + b"\xff": {b"d:m": b"x"}},
    ),
    (
        "log_bucket",
        [BucketLog(host="web-1", event="boot", at=T0 + 11 * MS, message="x")],
        {b"\x03" + FALLING + b"\xf4web-1\x00\x01boot": {b"d:m": b"x"}},
    ),
    (
        "log_md5",
        [DigestLog(host="web-1", event="boot", at=T0, message="x")],
        {
            MD5_WEB_1 + MD5_BOOT + FALLING + b"\xff": {
                b"d:m": b"x",
                b"d:h": b"web-1",
                b"d:e": b"boot",
            }
        },
    ),
    (
        "customers",
        [Customer(customer_id=258, name="Ann")],
        {b"\x00\x00\x00\x00\x00\x00\x01\x02": {b"d:n": b"Ann"}},
    ),
    (
        "orders",
        [Order(order_id=1, customer_id=258)],
        {
            b"\x00\x00\x00\x00\x00\x00\x00\x01": {
                b"d:c": b"\x80\x00\x00\x00\x00\x00\x01\x02"  # sorts: the sign bit is flipped
            }
        },
    ),
    (
        "order_lines",
        [OrderLine(order_id=1, line=n, sku=f"s{n}") for n in (1, 2)],
        {
            b"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01": {b"d:s": b"s1"},
            b"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x02": {b"d:s": b"s2"},
        },
    ),
    (
        "customer_records",
        [
            OrderRecord(customer="ann", order=1, placed=T0),
            CustomerRecord(customer="ann", name="Ann"),
        ],
        {
            b"ann\x00\x01C": {b"d:n": b"Ann"},
            b"ann\x00\x01O\x00\x00\x00\x00\x00\x00\x00\x01": {b"d:p": RISING + b"\x00"},
        },
    ),
    (
        "purchases",  # int("cc23…aa82", 16) % 10 is 0 for ann01, 5 for bob01 and ann02
        [
            Purchase(user="ann", at=T0 + timedelta(hours=1), amount=Decimal(99)),
            Purchase(user="ann", at=T0 + 40 * DAY, amount=Decimal(99)),
            Purchase(user="bob", at=T0, amount=Decimal(99)),
        ],
        {
            b"0002024-01" + 7 * b"\x01" + b"ann-01 01:00:00": {b"d:a": b"\x18\xc6"},
            b"0152024-02" + 7 * b"\x01" + b"ann-10 00:00:00": {b"d:a": b"\x18\xc6"},
            b"0052024-01" + 7 * b"\x01" + b"bob-01 00:00:00": {b"d:a": b"\x18\xc6"},
        },
    ),
    (
        "payments_20240102",
        [Payment(account=7, at=T0 + DAY + 258 * MS, amount=Decimal(99))],
        {b"\x67\x9e\x00\x00\x01\x02\x00\x00\x00\x07": {b"d:a": b"\x18\xc6"}},
    ),
]


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        engine.create_tables(*ONE_TABLE_EACH, Payment, periods=(T0, T0 + 3 * DAY))
        with engine.session() as session:
            for _, objects, _ in DESIGNS:
                session.add_all(objects)
            session.add(SubstituteLog(host="web-1", event="boot", at=T0, message="x"))
        yield engine
    hbase.drop_namespace(namespace)


def rows_in(engine: Engine, table: str) -> Rows:
    """Return a table's rows as plain happybase reads them."""
    with engine.raw() as connection:
        return dict(connection.table(f"{engine.options.namespace}:{table}").scan())


# --- what is stored --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "expected"),
    [(table, rows) for table, _, rows in DESIGNS],
    ids=[table for table, _, _ in DESIGNS],
)
def test_the_rows_are_those_that_the_design_describes(
    engine: Engine, table: str, expected: Rows
) -> None:
    assert rows_in(engine, table) == expected


@pytest.mark.parametrize(
    "objects", [objects for _, objects, _ in DESIGNS], ids=[table for table, _, _ in DESIGNS]
)
def test_every_row_is_got_by_its_key_fields(engine: Engine, objects: list[Any]) -> None:
    with engine.session() as session:
        for obj in objects:
            names = type(obj).__schema__.layout.arguments
            assert session.get(type(obj), **{name: getattr(obj, name) for name in names}) == obj


def test_substituted_names_stand_in_the_key_as_their_numbers(engine: Engine) -> None:
    names = rows_in(engine, "log_types")
    host, event = names[b"nweb-1"][b"d:v"], names[b"nboot"][b"d:v"]

    assert {host, event} == {
        b"\x00\x00\x00\x00\x00\x00\x00\x01",
        b"\x00\x00\x00\x00\x00\x00\x00\x02",
    }
    assert rows_in(engine, "log_ids") == {host + event + FALLING + b"\xff": {b"d:m": b"x"}}


def test_purchases_are_cut_into_120_regions_at_their_partitions(engine: Engine) -> None:
    starts = [region.start for region in engine.regions(Purchase)]

    assert starts == [b"", *(b"%03d" % number for number in range(1, 120))]


# --- what queries find -----------------------------------------------------------------------------


def test_the_shells_walk_through(engine: Engine) -> None:
    with engine.session() as session:
        names = [score.name for score in session.all(select(Score).allow_full_scan())]

    assert names == ["Jerry", "Tom"]


def test_the_newest_comes_first(engine: Engine) -> None:
    with engine.session() as session:
        calls = session.all(select(Call).where(Call.phone == "13812345678"))
        newest = session.first(select(Call).where(Call.phone == "13812345678"))
        operations = session.all(
            select(Operation)
            .where(Operation.user == 12, Operation.at >= T0, Operation.at < T0 + MS)
            .order_by(Operation.at.desc())
        )

    assert [call.seconds for call in calls] == [61, 60]
    assert newest is not None
    assert newest.seconds == 61
    assert [operation.action for operation in operations] == ["login"]


def test_a_time_range_over_buckets_is_merged(engine: Engine) -> None:
    statement = select(Event).where(Event.at >= T0, Event.at < T0 + 18 * MS)

    with engine.session() as session:
        events = session.all(statement)
        both = session.all(select(Event).where(Event.at >= T0, Event.at <= T0 + 18 * MS))
        plan = session.explain(statement)

    assert [event.message for event in events] == ["x"]
    assert [event.message for event in both] == ["x", "y"]
    assert "merge 16 buckets" in str(plan)


def test_the_query_of_several_conditions(engine: Engine) -> None:
    statement = select(FileInfo).where(
        FileInfo.owner == 42,
        FileInfo.created >= T0,
        FileInfo.created < T0 + DAY,
        FileInfo.name.startswith("a"),
        FileInfo.category.startswith("te"),
    )

    with engine.session() as session:
        found = session.all(statement)
        none = session.all(statement.where(FileInfo.name.startswith("b")))

    assert ([each.file_id for each in found], none) == ([7], [])


@pytest.mark.parametrize("log", [RawLog, DigestLog, SubstituteLog])
def test_log_data_is_found_by_host_and_event(engine: Engine, log: Any) -> None:
    with engine.session() as session:
        found = session.all(
            select(log).where(log.host == "web-1", log.event == "boot", log.at >= T0, log.at <= T0)
        )
        by_host = session.all(select(log).where(log.host == "web-1"))
        none = session.all(select(log).where(log.host == "web"))

    assert [(each.host, each.event, each.message) for each in found] == [("web-1", "boot", "x")]
    assert (by_host, none) == (found, [])


def test_log_data_in_buckets_is_found_by_time(engine: Engine) -> None:
    with engine.session() as session:
        found = session.all(select(BucketLog).where(BucketLog.at >= T0, BucketLog.at < T0 + DAY))

    assert [(each.host, each.at) for each in found] == [("web-1", T0 + 11 * MS)]


def test_customers_orders_and_lines(engine: Engine) -> None:
    with engine.session() as session:
        order = session.get(Order, order_id=1)
        assert order is not None
        customer = session.get(Customer, customer_id=order.customer_id)
        lines = session.all(select(OrderLine).where(OrderLine.order_id == order.order_id))
        everything = session.all(select(Record).where(Record.customer == "ann"))
        orders = session.all(select(OrderRecord).where(OrderRecord.customer == "ann"))

    assert customer is not None
    assert (customer.name, [line.sku for line in lines]) == ("Ann", ["s1", "s2"])
    assert [type(record) for record in everything] == [CustomerRecord, OrderRecord]
    assert orders == everything[1:]


def test_everybodys_month_is_ten_ranges_and_a_users_months_one_each(engine: Engine) -> None:
    january = select(Purchase).where(Purchase.at >= T0, Purchase.at < T0 + 31 * DAY)
    anns = select(Purchase).where(Purchase.user == "ann")
    anns = anns.where(Purchase.at >= T0, Purchase.at < T0 + 60 * DAY)

    with engine.session() as session:
        everybody = session.all(january)
        months = session.all(anns)
        plans: Any = [session.explain(statement) for statement in (january, anns)]

    assert sorted(purchase.user for purchase in everybody) == ["ann", "bob"]
    assert [purchase.at for purchase in months] == [T0 + timedelta(hours=1), T0 + 40 * DAY]
    assert [len(plan.ranges) for plan in plans] == [10, 2]


def test_payments_of_days_that_have_no_table_are_none(engine: Engine) -> None:
    statement = select(Payment).where(Payment.account == 7, Payment.at >= T0)

    with engine.session() as session:
        found = session.all(statement.where(Payment.at < T0 + 9 * DAY))
        none = session.get(Payment, account=7, at=T0 + 20 * DAY)

    assert [payment.at for payment in found] == [T0 + DAY + 258 * MS]
    assert none is None


def test_a_users_orders_stand_together(engine: Engine) -> None:
    with engine.session() as session:
        found = session.all(select(UserOrder).where(UserOrder.user == "ann"))
        none = session.all(select(UserOrder).where(UserOrder.user == "an"))

    assert ([order.total for order in found], none) == ([Decimal("12.50")], [])
