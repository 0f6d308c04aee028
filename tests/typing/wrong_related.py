"""Each line marked `# E` must be rejected by both checkers, and no other line."""

from __future__ import annotations

from hbase_orm import Family, Key, Mapped, Model, Related, Session, codecs, column, key, related, select


class Customer(Model, table="customers"):
    d = Family()
    customer_id: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(d, "n")


class Order(Model, table="orders"):
    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    customer_id: Mapped[int] = column(d, "c")
    customer: Related[Customer] = related(customer_id=customer_id)
    bad1: Mapped[int] = related(customer_id=customer_id)  # E
    bad2: Related[Customer] = related(customer_id=3)  # E
    bad3: Related[Customer] = related(customer_id)  # E


class Author(Model, table="authors"):
    d = Family()
    author_id: Key[int] = key(codecs.uint64())
    orders: Related[list[Order]] = related(author_id=lambda: Order.customer_id)
    bad: Related[list[Order]] = related(author_id=lambda: 3)  # E


def authors(author: Author) -> None:
    author.orders = []  # E
    Author(author_id=1, orders=[])  # E
    select(Author).load_related(Author.orders, limit="3")  # E
    print(author.orders.customer)  # E


def orders(session: Session, order: Order) -> None:
    Order(order_id=1, customer_id=2, customer=None)  # E
    order.customer = Customer(customer_id=1, name="x")  # E
    order.customer.name  # E
    select(Order).load_related(Order.customer_id)  # E
    select(Order).load_related("customer")  # E
    select(Order).where(Order.customer == 3).limit(Order.customer)  # E
    session.delete_where(Order)  # E
    rows: list[int] = session.delete_where(select(Order))  # E
    print(rows)
