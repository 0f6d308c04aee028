from __future__ import annotations

import pytest

from examples import customer_orders, order_blobs
from examples.customer_orders import (
    Customer,
    CustomerRecord,
    FlatOrder,
    Order,
    OrderLine,
    OrderRecord,
    Record,
    in_three_shapes,
    load,
)
from examples.order_blobs import BlobOrder, FirstBlobOrder, FirstWhole, Whole
from hbase_orm import select
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

EXPECTED: dict[str, Rows] = {
    "customers": {b"\x00\x00\x01\x02": {b"d:n": b"Ann"}},
    "orders": {b"\x00\x00\x00\x07": {b"d:c": b"\x00\x00\x01\x02"}},
    "order_lines": {
        b"\x00\x00\x00\x07\x00\x01": {b"d:s": b"lamp"},
        b"\x00\x00\x00\x07\x00\x02": {b"d:s": b"bulb"},
    },
    "customer_records": {
        b"\x00\x00\x01\x02C": {b"d:n": b"Ann"},
        b"\x00\x00\x01\x02O\x00\x00\x00\x07": {b"d:s": b'{"v":1,"d":["lamp","bulb"]}'},
    },
    "flat_orders": {
        b"\x00\x00\x00\x07": {b"d:n": b"Ann", b"d:l:\x00\x01": b"lamp", b"d:l:\x00\x02": b"bulb"}
    },
    "blob_orders": {
        b"\x00\x00\x00\x06": {
            b"d:w": b'{"v":2,"d":{"name":"Ann","skus":["lamp","bulb"],"note":"gift"}}'
        },
        b"\x00\x00\x00\x07": {
            b"d:w": b'{"v":2,"d":{"name":"Ann","skus":["lamp","bulb"],"note":""}}'
        },
    },
}

# Customers one away from each other at either end of the number; some orders have one line only.
CUSTOMERS = (0x101, 0x102, 0x103, 0x10200, 0x10002)
MORE = [
    (customer, number * 10 + place, f"name {customer}", [f"s{n}" for n in range(number % 3 + 1)])
    for place, customer in enumerate(CUSTOMERS)
    for number in range(1, 201)
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> dict[str, Rows]:
    stage.play(customer_orders)
    stage.play(order_blobs)
    return {table: stage.rows(table) for table in EXPECTED}


@pytest.fixture(scope="module")
def more(first: dict[str, Rows], stage: Stage) -> None:
    assert first
    with stage.engine.session() as session:
        for customer, number, name, skus in MORE:
            load(session, number, customer, name, skus)
            session.add(BlobOrder(order_id=number, whole=Whole(name, skus)))


@pytest.mark.parametrize("table", EXPECTED)
def test_an_order_stands_in_the_shape_of_its_table(first: dict[str, Rows], table: str) -> None:
    assert first[table] == EXPECTED[table]


@pytest.mark.usefixtures("more")
def test_the_four_shapes_give_one_equal_order(stage: Stage) -> None:
    for customer, number, name, skus in MORE[5::200]:
        with stage.engine.session() as session:
            blob = session.get(BlobOrder, order_id=number)
            assert blob is not None
            found = [
                *in_three_shapes(session, number, customer),
                (blob.whole.name, blob.whole.skus),
            ]

        assert found == [(name, skus)] * 4


@pytest.mark.usefixtures("more")
def test_one_scan_gives_a_customer_and_its_orders(stage: Stage) -> None:
    of_customer = select(Record).where(Record.customer_id == 0x102)

    records, one_scan = stage.sent_by(lambda session: session.all(of_customer))
    orders, _ = stage.sent_by(
        lambda session: session.all(select(OrderRecord).where(OrderRecord.customer_id == 0x102))
    )

    wanted = [(7, ["lamp", "bulb"])]
    wanted += [(number, skus) for customer, number, _, skus in MORE if customer == 0x102]
    assert isinstance(records[0], CustomerRecord)
    assert records[1:] == orders
    assert [(order.order_id, order.skus) for order in orders] == sorted(wanted)
    assert (one_scan.scanners, one_scan.gets) == (1, 0)


@pytest.mark.usefixtures("more")
def test_an_order_costs_a_get_a_multi_get_and_a_scan_or_one_get(stage: Stage) -> None:
    of_order = select(Order).where(Order.order_id == 31).load_related(Order.customer)
    of_lines = select(OrderLine).where(OrderLine.order_id == 31)

    [order], with_customer = stage.sent_by(lambda session: session.all(of_order))
    lines, one_scan = stage.sent_by(lambda session: session.all(of_lines))
    flat, one_get = stage.sent_by(lambda session: session.get(FlatOrder, order_id=31))
    customer, _ = stage.sent_by(lambda session: session.get(Customer, customer_id=0x102))

    [(_, _, name, skus)] = [each for each in MORE if each[1] == 31]
    assert order.customer == customer
    assert [line.sku for line in lines] == skus
    assert flat is not None
    assert (flat.name, list(flat.lines.values())) == (name, skus)
    assert (with_customer.gets, with_customer.scanners) == (2, 0)
    assert (one_scan.gets, one_scan.scanners) == (0, 1)
    assert (one_get.gets, one_get.scanners) == (1, 0)


@pytest.mark.usefixtures("first")
def test_a_blob_of_the_older_class_decodes(stage: Stage) -> None:
    with stage.engine.session() as session:
        session.add(FirstBlobOrder(order_id=5, whole=FirstWhole("Eve", ["fuse"])))
    stored = stage.rows("blob_orders", row_prefix=b"\x00\x00\x00\x05")

    found, _ = stage.sent_by(lambda session: session.get(BlobOrder, order_id=5))

    assert stored == {b"\x00\x00\x00\x05": {b"d:w": b'{"v":1,"d":{"name":"Eve","items":["fuse"]}}'}}
    assert found is not None
    assert found.whole == Whole("Eve", ["fuse"], note="")
