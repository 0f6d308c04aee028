"""Salts: Phoenix's, computed of the key, and one drawn at random.

Choose a computed salt where keys rise and are got by their whole key: the bucket follows from the
key, so a get stays one get. It costs every range a scan a bucket. The bytes are those of a Phoenix
table with SALT_BUCKETS, so that Phoenix reads what is written here and the other way round.

Choose a random salt only for keys that are written once. A get has to ask for the key in every
bucket, and two programs that write one key at once may store it twice, in two buckets: a get then
reports that instead of choosing one. Salting by hand has the same fault and does not tell.
"""

from __future__ import annotations

from typing import ClassVar

from examples.program import ask, run
from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Salt,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import HBaseORMError


class Page(Model, table="pages"):
    """`[phoenix salt][name]`, four buckets in four regions."""

    d = Family()
    name: Key[str] = key()
    title: Mapped[str] = column(d, "t")

    __rowkey__ = rowkey(Salt(4), name)


class Ticket(Model, table="tickets"):
    """`[a to d at random][name]`."""

    d = Family()
    name: Key[str] = key()
    title: Mapped[str] = column(d, "t")

    __rowkey__ = rowkey(RandomSalt(4, form=lambda n: b"abcd"[n : n + 1] + b"-"), name)
    __lint__: ClassVar = {"salt-random": "the example shows what a random salt costs"}


NAMES = ["foo0001", "foo0002", "foo0003", "foo0004"]


def show(engine: Engine) -> None:
    """Load four names both ways; get one, scan a range; then store one key twice."""
    engine.drop_tables(Page, Ticket)
    engine.create_tables(Page, Ticket)
    with engine.session() as session:
        session.add_all(Page(name=name, title=name.upper()) for name in NAMES)
        session.add_all(Ticket(name=name, title=name.upper()) for name in NAMES)
        session.flush()

        one = ask(session, "a get of the salted name", select(Page).where(Page.name == "foo0003"))
        some = select(Page.name).where(Page.name >= "foo0002", Page.name < "foo0004")
        names = ask(session, "a range of names", some)
        ticket = ask(
            session, "a get under a random salt", select(Ticket).where(Ticket.name == "foo0003")
        )

    assert [page.title for page in one] == ["FOO0003"]
    assert names == ["foo0002", "foo0003"]
    assert [each.title for each in ticket] == ["FOO0003"]
    stored_twice(engine)


def stored_twice(engine: Engine) -> None:
    """Let two programs write one new key until they draw two salts; a get reports it."""
    print("\nthe name 'twice', written by program after program")
    for number in range(100):
        with engine.session() as session:
            session.add(Ticket(name="twice", title=f"program {number}"))
        try:
            with engine.session() as session:
                session.get(Ticket, name="twice")
        except HBaseORMError as error:
            print(f"  after {number + 1}: {error}")
            return
    raise AssertionError("a hundred programs drew the same salt")


if __name__ == "__main__":
    run(show)
