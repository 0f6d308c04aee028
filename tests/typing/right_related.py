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


class Order(Model, table="orders"):
    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    customer_id: Mapped[int] = column(d, "c")
    before_id: Mapped[int | None] = column(d, "b", default=None)
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
