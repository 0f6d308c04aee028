from __future__ import annotations

from decimal import Decimal

import pytest

from examples import user_orders
from examples.user_orders import UserOrder
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

# `printf u1 | md5sum` begins with e477, `printf u12 | md5sum` with e2db.
ONE = b"\x00\x00\x00\x00\x00\x00\x00\x01"
TWO = b"\x00\x00\x00\x00\x00\x00\x00\x02"
THREE = b"\x00\x00\x00\x00\x00\x00\x00\x03"
EXPECTED: Rows = {
    b"e2dbu12\x00\x01" + THREE: {b"d:t": b"\x00\x00\x00\x00\x07"},
    b"e477u1\x00\x01" + ONE: {b"d:t": b"\x00\x00\x00\x02\x04\xe2"},
    b"e477u1\x00\x01" + TWO: {b"d:t": b"\x00\x00\x00\x02\x63"},
}

USERS = ("u1", "u10", "u12", "u", "u1\x00")
MORE = [(user, order) for user in USERS for order in range(10, 220)]


@pytest.fixture(scope="module")
def first(stage: Stage) -> Rows:
    stage.play(user_orders)
    return stage.rows("user_orders")


def test_four_digits_of_the_hash_stand_before_the_user(first: Rows, stage: Stage) -> None:
    assert first == EXPECTED
    assert stage.starts("user_orders") == [b"", b"4000", b"8000", b"c000"]


@pytest.mark.usefixtures("first")
def test_among_a_thousand_orders_those_of_a_user_are_found(stage: Stage) -> None:
    stage.load(UserOrder(user=user, order=n, total=Decimal(n)) for user, n in MORE)
    mine = [(1, Decimal("12.50")), (2, Decimal("0.99"))]
    mine += [(n, Decimal(n)) for user, n in MORE if user == "u1"]
    of_user = select(UserOrder).where(UserOrder.user == "u1")
    some = of_user.where(UserOrder.order.between(100, 200))

    orders, cost = stage.sent_by(lambda session: session.all(of_user))
    between, _ = stage.sent_by(lambda session: session.all(some))
    one, one_get = stage.sent_by(lambda session: session.get(UserOrder, user="u1", order=100))
    none, _ = stage.sent_by(lambda session: session.get(UserOrder, user="u1", order=9))

    assert [(order.order, order.total) for order in orders] == mine
    assert {order.user for order in orders} == {"u1"}
    assert cost.scanners == 1
    assert [order.order for order in between] == [n for n, _ in mine if 100 <= n <= 200]
    assert one is not None
    assert (one.total, one_get, none) == (Decimal(100), Sent(gets=1, rows=1), None)
