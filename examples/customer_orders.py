"""Customers and orders in three shapes; each gives the same order. A fourth is order_blobs.py.

- Three tables: choose it where lines are also read by themselves. A whole order costs a get, a
  multi-get for its customer and a scan.
- One table with record types, `[customer]C` and `[customer]O[order]`: choose it where a customer is
  read with the orders: that is one scan. "All orders of everybody" costs a full scan.
- Denormalised, the lines as columns `l:<number>`: choose it where an order is always read whole:
  one get. What the customer is called is repeated in each order and changes in none of them.
"""

from __future__ import annotations

from examples.program import ask, run
from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RecordType,
    Related,
    Session,
    codecs,
    column,
    dynamic,
    key,
    related,
    rowkey,
    select,
)


class Customer(Model, table="customers"):
    """Shape 1."""

    d = Family()
    customer_id: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d, "n")


class Order(Model, table="orders"):
    """Shape 1: the customer is looked up only where a statement says so."""

    d = Family()
    order_id: Key[int] = key(codecs.uint32())
    customer_id: Mapped[int] = column(d, "c", codec=codecs.uint32())
    customer: Related[Customer] = related(customer_id=customer_id)


class OrderLine(Model, table="order_lines"):
    """Shape 1: `[order][line]`."""

    d = Family()
    order_id: Key[int] = key(codecs.uint32())
    line: Key[int] = key(codecs.uint16())
    sku: Mapped[str] = column(d, "s")


class Record(Model, table="customer_records"):
    """Shape 2: `select(Record)` gives all kinds."""

    d = Family()
    customer_id: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(customer_id, RecordType())


class CustomerRecord(Record, record_type="C"):
    """`[customer]C`."""

    name: Mapped[str] = column(Record.d, "n")


class OrderRecord(Record, record_type="O"):
    """`[customer]O[order]`."""

    order_id: Key[int] = key(codecs.uint32())
    skus: Mapped[list[str]] = column(Record.d, "s", codec=codecs.json(list[str]))


class FlatOrder(Model, table="flat_orders"):
    """Shape 3."""

    d = Family()
    order_id: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d, "n")
    lines: Dynamic[int, str] = dynamic(d, prefix="l:", name=codecs.uint16())


MODELS = (Customer, Order, OrderLine, Record, FlatOrder)
SKUS = ["lamp", "bulb"]


def load(session: Session, number: int, customer: int, name: str, skus: list[str]) -> None:
    """Add one order in each of the three shapes."""
    flat = FlatOrder(order_id=number, name=name)
    flat.lines = dict(enumerate(skus, 1))
    session.add_all([Customer(customer_id=customer, name=name), flat])
    session.add(Order(order_id=number, customer_id=customer))
    session.add_all(OrderLine(order_id=number, line=n, sku=sku) for n, sku in enumerate(skus, 1))
    session.add(CustomerRecord(customer_id=customer, name=name))
    session.add(OrderRecord(customer_id=customer, order_id=number, skus=skus))


def in_three_shapes(session: Session, number: int, customer: int) -> list[tuple[str, list[str]]]:
    """Return whose order it is and what was bought, as each shape has it."""
    of_order = select(Order).where(Order.order_id == number)
    [order] = ask(session, "three tables: the order", of_order.load_related(Order.customer))
    lines = ask(session, "its lines", select(OrderLine).where(OrderLine.order_id == number))
    of_customer = select(Record).where(Record.customer_id == customer)
    person, *records = ask(session, "one table: customer and orders in one scan", of_customer)
    [flat] = ask(session, "denormalised", select(FlatOrder).where(FlatOrder.order_id == number))
    assert order.customer
    assert isinstance(person, CustomerRecord)
    kept = {each.order_id: each.skus for each in records if isinstance(each, OrderRecord)}
    return [
        (order.customer.name, [line.sku for line in lines]),
        (person.name, kept[number]),
        (flat.name, list(flat.lines.values())),
    ]


def show(engine: Engine) -> None:
    """Load an order in each shape and read it back."""
    engine.drop_tables(*MODELS)
    engine.create_tables(*MODELS)
    with engine.session() as session:
        load(session, 7, 258, "Ann", SKUS)
        session.flush()
        assert in_three_shapes(session, 7, 258) == [("Ann", SKUS)] * 3


if __name__ == "__main__":
    run(show)
