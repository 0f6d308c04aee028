from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import user_operations
from examples.user_operations import Operation
from hbase_orm import select
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

T0 = datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)
MS = timedelta(milliseconds=1)
NEWEST = b"\x7f\xff\xfe\xba\x09\x7f"

EXPECTED: Rows = {
    b"2100000000" + NEWEST + b"\x44\x47": {b"d:a": b"logout"},
    b"2100000000" + NEWEST + b"\x48\x2f": {b"d:a": b"buy"},
    b"2100000000" + NEWEST + b"\x4c\x17": {b"d:a": b"search"},
    b"2100000000" + NEWEST + b"\x4f\xff": {b"d:a": b"login"},
    b"2110000000" + NEWEST + b"\x4f\xff": {b"d:a": b"login"},
}

# Users whose digits begin or end with each other's.
USERS = (12, 112, 120, 1, 2100000000)
OFFSETS = sorted({*range(-2000, 2000, 20), -1001, -999, 999, 1001} - {0, 1000})
MORE = [(user, T0 + ms * MS, f"{user} {ms}") for user in USERS for ms in OFFSETS]


@pytest.fixture(scope="module")
def first(stage: Stage) -> Rows:
    stage.play(user_operations)
    return stage.rows("user_ops")


def test_the_newest_of_each_user_stands_first(first: Rows) -> None:
    assert first == EXPECTED
    assert list(first) == sorted(EXPECTED)


def test_1400000000000_ms_is_7ffffeba097f4fff(first: Rows) -> None:
    assert bytes.fromhex("7ffffeba097f4fff") in {row[10:] for row in first}


@pytest.mark.usefixtures("first")
def test_the_printed_ends_of_the_range_find_nothing_and_the_right_ones_everything(
    stage: Stage,
) -> None:
    start, end = NEWEST + b"\x4c\x17", NEWEST + b"\x44\x47"  # one second later, three later
    user = b"2100000000"

    assert stage.rows("user_ops", row_start=user + start, row_stop=user + end) == {}
    right = stage.rows("user_ops", row_start=user + end, row_stop=user + start)
    assert right[user + NEWEST + b"\x48\x2f"] == {b"d:a": b"buy"}
    assert user + start not in right


@pytest.mark.usefixtures("first")
def test_among_a_thousand_operations_those_of_a_user_and_a_time_are_found(stage: Stage) -> None:
    stage.load(Operation(user=user, at=at, action=action) for user, at, action in MORE)
    mine = [(at, action) for user, at, action in MORE if user == 12]
    mine += [(T0 + n * 1000 * MS, a) for n, a in enumerate(("login", "search", "buy", "logout"))]
    mine = sorted({at: (at, action) for at, action in mine}.values(), reverse=True)
    of_user = select(Operation).where(Operation.user == 12)
    start, stop = T0 - 1000 * MS, T0 + 999 * MS
    in_time = of_user.where(Operation.at >= start, Operation.at < stop)

    everything, cost = stage.sent_by(lambda session: session.all(of_user))
    some, _ = stage.sent_by(lambda session: session.all(in_time))
    rising, _ = stage.sent_by(lambda session: session.all(in_time.order_by(Operation.at.asc())))
    newest, _ = stage.sent_by(lambda session: session.first(of_user))

    wanted = [(at, action) for at, action in mine if start <= at < stop]
    assert [(each.at, each.action) for each in everything] == mine
    assert cost.scanners == 1
    assert [(each.at, each.action) for each in some] == wanted
    assert [(each.at, each.action) for each in rising] == wanted[::-1]
    assert newest is not None
    assert (newest.at, newest.action) == mine[0]
