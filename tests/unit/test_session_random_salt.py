"""Objects under a salt drawn at random, in models whose keys hold numbers in names' stead."""

from __future__ import annotations

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Substitute,
    column,
    connect,
    key,
    rowkey,
    select,
)


class Visit(Model, table="visits"):
    d = Family()
    host: Key[str] = key()
    page: Key[str] = key()
    count: Mapped[int] = column(d)
    __rowkey__ = rowkey(RandomSalt(4), Substitute(of=host, dictionary="hosts"), page)


def test_a_random_salt_and_a_number_stand_in_one_key() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Visit)
        with engine.session() as session:
            session.add_all(Visit(host=f"h{n}", page="p", count=n) for n in range(8))
        with engine.session() as session:
            found = session.all(select(Visit).where(Visit.host.in_(["h3", "h5"])))
            one = session.get(Visit, host="h3", page="p")
            assert one is not None
            one.count = 9
        with engine.session() as session:
            changed = session.get(Visit, host="h3", page="p")

    assert sorted((visit.host, visit.page) for visit in found) == [("h3", "p"), ("h5", "p")]
    assert changed is not None
    assert changed.count == 9
