"""Model classes print with what they declare, and take abstract classes and protocols as bases."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import new_class
from typing import Generic, Protocol, TypeVar

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    column,
    connect,
    key,
    rowkey,
    select,
)

T = TypeVar("T")


class Order(Model, table="orders"):
    d = Family()
    city: Key[str] = key()
    total: Mapped[float] = column(d)
    by_total = Index(total)
    __rowkey__ = rowkey(Salt(4, of=[city]), city)


class Stamped(Model, abstract=True):
    by: Mapped[str] = column()


class Base(Model, table="kinds"):
    d = Family()
    name: Key[str] = key()
    __rowkey__ = rowkey(RecordType(), name)


class HasName(Protocol):
    name: str

    def shout(self) -> str:
        return self.name.upper()


class Described(ABC):
    @abstractmethod
    def describe(self) -> str: ...


class Thing(Model, HasName, Described, table="things"):
    d = Family()
    name: Key[str] = key()
    n: Mapped[int] = column(d)

    def describe(self) -> str:
        return f"{self.name}: {self.n}"


def test_a_model_prints_with_table_key_fields_and_indexes() -> None:
    assert repr(Order) == (
        f"<model {__name__}.Order: table 'orders', row key [salt 4][city text], "
        "fields city, total, indexes by_total>"
    )


def test_a_model_without_indexes_or_without_a_table_prints_what_it_has() -> None:
    assert repr(Base) == (
        f"<model {__name__}.Base: table 'kinds', row key [record type][name text], fields name>"
    )
    assert repr(Stamped) == f"<model {__name__}.Stamped: abstract, fields by>"
    assert repr(Model) == "<class 'hbase_orm.model.base.Model'>"


def test_a_model_with_many_fields_prints_in_short() -> None:
    fields = {f"field_{n:03}": column() for n in range(300)}
    types = dict.fromkeys(fields, Mapped[str])
    body = {"d": Family(), "id": key(), **fields, "__annotations__": {"id": Key[str], **types}}

    wide = new_class("Wide", (Model,), {"table": "wide"}, lambda space: space.update(body))

    assert len(repr(wide)) < 700
    assert "field_000, field_001" in repr(wide)


def test_an_object_whose_constructor_has_not_run_prints() -> None:
    assert repr(Order.__new__(Order)) == "<Order without values>"


def test_a_model_may_have_a_protocol_and_an_abstract_class_among_its_bases() -> None:
    engine = connect("memory://")
    engine.create_tables(Thing)
    with engine.session() as session:
        session.add(Thing(name="a", n=1))
    with engine.session() as session:
        (thing,) = session.all(select(Thing).allow_full_scan())

    assert (thing.shout(), thing.describe()) == ("A", "a: 1")
    assert isinstance(thing, Described)


def test_a_model_may_be_generic() -> None:
    class Boxed(Model, Generic[T], abstract=True):
        name: Key[str] = key()

        def wrapped(self, value: T) -> list[T]:
            return [value]

    class Box(Boxed[int], table="boxes"):
        d = Family()
        n: Mapped[int] = column(d)

    assert Box(name="a", n=1).wrapped(2) == [2]


def test_an_object_is_one_of_its_own_classes_only() -> None:
    thing = Thing(name="a", n=1)

    assert isinstance(thing, Thing)
    assert isinstance(thing, Model)
    assert not isinstance(thing, Order)
    assert issubclass(Thing, Model)
    assert not issubclass(Thing, Order)


def test_a_model_with_an_abstract_method_makes_no_objects() -> None:
    class Silent(Model, Described, table="silent"):
        d = Family()
        name: Key[str] = key()

    with pytest.raises(TypeError, match="abstract"):
        Silent(name="a")  # type: ignore[abstract]  # which is refused
