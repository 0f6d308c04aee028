from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import month_partitions
from examples.month_partitions import Purchase
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

# "zhagnsan02".hashCode() is 234370824, "lisi12".hashCode() is -1102520844: modulo ten, 6.
EXPECTED: Rows = {
    b"0142022-02\x01\x01zhagnsan-14 12:34:45": {b"d:c": b"\x00\x00\x00\x64"},
    b"0072022-01\x01\x01zhangsan-01 00:00:00": {b"d:c": b"\x00\x00\x01\x90"},
    b"1162021-12\x01\x01\x01\x01\x01\x01lisi-24 18:00:00": {b"d:c": b"\x00\x00\x01\xf4"},
    b"1192021-12\x01\x01zhangsan-01 00:00:00": {b"d:c": b"\x00\x00\x00\xc8"},
    b"1192021-12\x01\x01zhangsan-31 23:59:59": {b"d:c": b"\x00\x00\x01\x2c"},
}

# Users that begin and end each other, and the last and first second of each month.
DECEMBER, JANUARY = datetime(2023, 12, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
TIMES = sorted(
    {
        *(DECEMBER + n * timedelta(hours=7) for n in range(110)),
        *(DECEMBER - SECOND, DECEMBER, JANUARY - SECOND, JANUARY),
    }
)
USERS = (
    "zhangsan",
    "zhangsan1",
    "hangsan",
    "zhangsam",
    "zhangsao",
    "z",
    "",
    "0123456789",
    "zhangsan-",
)
MORE = [(user, at, cents) for user in USERS for cents, at in enumerate(TIMES)]


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, Rows]:
    return stage.play(month_partitions), stage.rows("purchases")


def test_the_region_stands_before_month_user_and_time(first: tuple[str, Rows]) -> None:
    assert first[1] == EXPECTED


def test_there_are_120_regions_from_000_to_119(first: tuple[str, Rows], stage: Stage) -> None:
    assert first
    assert stage.starts("purchases") == [b"", *(b"%03d" % number for number in range(1, 120))]


def test_a_users_december_is_one_scan_in_119_that_stops_at_a_full_stop(
    first: tuple[str, Rows],
) -> None:
    scan = r"├─ scan [1192021-12\x01\x01zhangsan-, 1192021-12\x01\x01zhangsan.)"

    assert scan in first[0]


@pytest.mark.usefixtures("first")
def test_a_stop_row_without_the_partition_reads_on_into_other_users(stage: Stage) -> None:
    stage.load([Purchase(user="zhangsax", at=datetime(2021, 12, 1, tzinfo=UTC), cents=1)])
    start = b"1192021-12\x01\x01zhangsan"

    right = stage.rows("purchases", row_start=start, row_stop=start + b".")
    printed = stage.rows("purchases", row_start=start, row_stop=b"2021-12\x01\x01zhangsan.")

    assert [row[12:20] for row in right] == [b"zhangsan", b"zhangsan"]
    assert b"1192021-12\x01\x01zhangsax-01 00:00:00" in printed


@pytest.mark.usefixtures("first")
def test_among_a_thousand_purchases_months_are_found(stage: Stage) -> None:
    stage.load(Purchase(user=user, at=at, cents=cents) for user, at, cents in MORE)
    in_month = select(Purchase).where(Purchase.at >= DECEMBER, Purchase.at < JANUARY)
    of_user = in_month.where(Purchase.user == "zhangsan")
    weeks = select(Purchase).where(
        Purchase.user == "zhangsan",
        Purchase.at > DECEMBER + 14 * timedelta(days=1),
        Purchase.at <= JANUARY,
    )

    hers, one_scan = stage.sent_by(lambda session: session.all(of_user))
    everybodys, ten_scans = stage.sent_by(lambda session: session.all(in_month))
    over, two_scans = stage.sent_by(lambda session: session.all(weeks))
    one, one_get = stage.sent_by(
        lambda session: session.get(Purchase, user="zhangsan", at=DECEMBER)
    )

    mine = [(at, cents) for user, at, cents in MORE if user == "zhangsan"]
    assert [(each.at, each.cents) for each in hers] == [
        (at, cents) for at, cents in mine if DECEMBER <= at < JANUARY
    ]
    assert sorted((each.user, each.at, each.cents) for each in everybodys) == sorted(
        (user, at, cents) for user, at, cents in MORE if DECEMBER <= at < JANUARY
    )
    assert sorted((each.at, each.cents) for each in over) == [
        (at, cents) for at, cents in mine if DECEMBER + 14 * timedelta(days=1) < at <= JANUARY
    ]
    assert [cost.scanners for cost in (one_scan, ten_scans, two_scans)] == [1, 10, 2]
    assert one is not None
    assert one_get == Sent(gets=1, rows=1)
