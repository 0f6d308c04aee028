"""Orders by user, spread by four characters of a hash: `[md5(user)[:4]][user][order]`.

Choose it where users come in an order that would make a hot spot, and all questions name the user:
the prefix is computed of the user, so a get needs no look-up and a user's orders stay together. It
costs four bytes a cell and the order of users: a range of users is a full scan.

Four characters are 65,536 beginnings, far more than regions: cut the table where the hexadecimal
digits cut it evenly. A digest kept as text must be written in digits, as here: sixteen raw bytes
that went through a text encoding are destroyed. What does not help is a random number behind the
order's: all orders of a user stay in one region, and a get must guess the number.
"""

from __future__ import annotations

from decimal import Decimal

from examples.program import ask, run
from hbase_orm import (
    Engine,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Table,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.rowkey.split_algorithms import hex_string_split


class UserOrder(Model, table=Table("user_orders", splits=hex_string_split(4, "0000", "ffff"))):
    """The user ends with 00 01, so that u1 is no beginning of u12."""

    d = Family()
    user: Key[str] = key()
    order: Key[int] = key(codecs.uint64())
    total: Mapped[Decimal] = column(d, "t", codec=codecs.get("bytes.decimal"))

    __rowkey__ = rowkey(HashPrefix(4, of=user, form="hex"), user, order)


ORDERS = [
    UserOrder(user="u1", order=1, total=Decimal("12.50")),
    UserOrder(user="u1", order=2, total=Decimal("0.99")),
    UserOrder(user="u12", order=3, total=Decimal(7)),
]


def show(engine: Engine) -> None:
    """Load three orders; get one, ask for those of a user and for a range of them."""
    engine.drop_tables(UserOrder)
    engine.create_tables(UserOrder)
    with engine.session() as session:
        session.add_all(ORDERS)
        session.flush()

        of_user = select(UserOrder).where(UserOrder.user == "u1")
        one = ask(session, "order 2 of u1", of_user.where(UserOrder.order == 2))
        orders = ask(session, "the orders of u1", of_user)
        later = ask(session, "those from 2 on", of_user.where(UserOrder.order >= 2))

    assert [order.total for order in one] == [Decimal("0.99")]
    assert [order.order for order in orders] == [1, 2]
    assert [order.order for order in later] == [2]


if __name__ == "__main__":
    run(show)
