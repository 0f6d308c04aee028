"""Related objects and deletes by statements; both checkers must infer these types."""

from __future__ import annotations

from typing import assert_type

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    Related,
    RelatedExpr,
    Session,
    codecs,
    column,
    key,
    related,
    select,
)


class Customer(Model, table="customers"):
    d = Family()
    customer_id: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(d, "n")
    orders: Related[list[Order]] = related(customer_id=lambda: Order.customer_id)
    others: Related[list[Order]] = related(
        customer_id=lambda: Order.before_id, name=lambda: Order.note
    )


class Order(Model, table="orders"):
    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    customer_id: Mapped[int] = column(d, "c")
    before_id: Mapped[int | None] = column(d, "b", default=None)
    note: Mapped[str] = column(d, default="")
    customer: Related[Customer] = related(customer_id=customer_id)
    before: Related[Order] = related(order_id=before_id)


def orders(session: Session) -> None:
    assert_type(Order.customer, RelatedExpr[Customer])
    made = Order(order_id=1, customer_id=2)
    stmt = select(Order).load_related(Order.customer, Order.before).allow_full_scan()
    for order in session.all(stmt):
        assert_type(order.customer, Customer | None)
        assert_type(order.before, Order | None)
    session.add(made)
    assert_type(session.delete_where(select(Order).where(Order.order_id == 1)), int)


def customers(session: Session) -> None:
    assert_type(Customer.orders, RelatedExpr[list[Order]])
    made = Customer(customer_id=2, name="x")
    for customer in session.all(select(Customer).load_related(Customer.orders, limit=3)):
        assert_type(customer.orders, list[Order])
        assert_type(customer.orders[0].customer, Customer | None)
    session.add(made)
