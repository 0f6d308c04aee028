"""Objects under a salt drawn at random, in models whose keys hold numbers in names' stead."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Substitute,
    Version,
    column,
    connect,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import DuplicateRowError
from tests.support.recording import RecordsRequests, batches_of, gateway_of, through


class Visit(Model, table="visits"):
    d = Family()
    host: Key[str] = key()
    page: Key[str] = key()
    count: Mapped[int] = column(d)
    __rowkey__ = rowkey(RandomSalt(4), Substitute(of=host, dictionary="hosts"), page)


class Log(Model, table="random_logs"):
    d = Family()
    number: Key[int] = key()
    text: Mapped[str] = column(d)
    __rowkey__ = rowkey(RandomSalt(16), number)


class CountedLog(Model, table="random_counted_logs"):
    d = Family()
    number: Key[int] = key()
    text: Mapped[str] = column(d)
    changes: Version = version(d)
    __rowkey__ = rowkey(RandomSalt(16), number)


class TwoSaltsLog(Model, table="two_salts_logs"):
    d = Family()
    number: Key[int] = key()
    text: Mapped[str] = column(d)
    __rowkey__ = rowkey(RandomSalt(2), number)


@pytest.mark.parametrize("model", [Log, CountedLog])
def test_an_insert_finds_the_row_under_whatever_salt(model: Any) -> None:
    with connect("memory://") as engine:
        engine.create_tables(model)
        with engine.session() as session:
            session.insert(model(number=1, text="first"))
        with engine.session() as session:
            for _ in range(20):
                with pytest.raises(DuplicateRowError):
                    session.insert(model(number=1, text="second"))
            assert session.all(select(model.text).where(model.number == 1)) == ["first"]


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


@pytest.mark.parametrize("model", [TwoSaltsLog, Log])
def test_a_row_is_deleted_under_its_own_salt_alone(model: Any) -> None:
    with connect("memory://") as engine:
        engine.create_tables(model)
        with engine.session() as session:
            session.add(model(number=1, text="a"))
        row_key = engine.session().one(select(model).where(model.number == 1)).__state__.row.key
        gateway = RecordsRequests(gateway_of(engine))

        through(gateway, engine).session().delete_row(model, number=1)

        assert engine.session().get(model, number=1) is None
        (deletes,) = batches_of(gateway.writes)

    assert [mutation.row for mutation in deletes.mutations] == [row_key]
