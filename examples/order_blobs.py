"""Orders as one BLOB each: the fourth shape of customer_orders.py, and how it changes over time.

Choose it where an order is always read and written whole: one cell is the least space, and what is
in it may have any depth. It costs the server's filters, and every change writes all of it.

A version stands before what is stored, so that older rows go on decoding: a field that they lack
takes its default, and a function for each older version makes the fields of the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from examples.program import ask, run
from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key, select


@dataclass
class FirstWhole:
    """What was stored at first."""

    name: str
    items: list[str]


@dataclass
class Whole:
    """What is stored now: items are called SKUs, and there is a note."""

    name: str
    skus: list[str]
    note: str = ""


def renamed(old: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of version 2, made of those of version 1."""
    return {"name": old["name"], "skus": old["items"]}


class FirstBlobOrder(Model, table="blob_orders"):
    """The class as it was; programs that still have it write version 1."""

    d = Family()
    order_id: Key[int] = key(codecs.uint32())
    whole: Mapped[FirstWhole] = column(d, "w", codec=codecs.json(FirstWhole))


class BlobOrder(Model, table="blob_orders"):
    """The class as it is."""

    d = Family()
    order_id: Key[int] = key(codecs.uint32())
    whole: Mapped[Whole] = column(
        d, "w", codec=codecs.json(Whole, version=2, upgrades={1: renamed})
    )


SKUS = ["lamp", "bulb"]


def show(engine: Engine) -> None:
    """Store an order by each class, read both by the newer one, change the older order."""
    engine.drop_tables(BlobOrder)
    engine.create_tables(BlobOrder)
    with engine.session() as session:
        session.add(FirstBlobOrder(order_id=6, whole=FirstWhole("Ann", SKUS)))
        session.add(BlobOrder(order_id=7, whole=Whole("Ann", SKUS)))
    with engine.session() as session:
        [order] = ask(session, "order 7", select(BlobOrder).where(BlobOrder.order_id == 7))
        older = select(BlobOrder).where(BlobOrder.order_id < 7)
        [old] = ask(session, "orders before 7, of the older class", older)
        assert order.whole == old.whole == Whole("Ann", SKUS, note="")
        old.whole.note = "gift"  # changed in place; the flush finds it
    with engine.session() as session:
        [old] = ask(session, "as changed", older)
        assert old.whole.note == "gift"


if __name__ == "__main__":
    run(show)
