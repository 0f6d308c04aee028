"""What programs expect of objects besides their fields: dicts, properties, mixins, repr, pydantic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, cast

import pydantic
import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    RecordType,
    Related,
    Version,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    key,
    related,
    rowkey,
    version,
)
from hbase_orm.errors import SchemaError, ValidationError

NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)


class Owner(Model, table="owners"):
    d = Family()
    owner: Key[str] = key()
    name: Mapped[str] = column(d)


class Named(Model, abstract=True):
    first: Mapped[str] = column()
    last: Mapped[str] = column()

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @name.setter
    def name(self, value: str) -> None:
        self.first, self.last = value.split(" ")


class Person(Named, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    born: Mapped[datetime | None] = column(d, default=None)
    owner: Mapped[str | None] = column(d, default=None)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    secret: Mapped[str | None] = column(d, default=None, repr=False)
    hits: Counter = counter(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    revision: Version = version(d)
    owned_by: Related[Owner] = related(owner=owner)

    @property
    def age_years(self) -> int | None:
        return None if self.born is None else 2024 - self.born.year

    @cached_property
    def initials(self) -> str:
        return self.first[0] + self.last[0]


class Child(Person, table="children"):
    school: Mapped[str | None] = column(Person.d, default=None)

    @property
    def age_years(self) -> int | None:
        return 0 if self.born is None else super().age_years


def person(**values: Any) -> Person:
    return Person(**{"number": 7, "first": "Ada", "last": "Byron", **values})


# --- to_dict and from_dict -------------------------------------------------------------------------

FIELDS = {
    *("first", "last", "number", "born", "owner", "labels", "secret", "hits", "tags", "revision"),
}


def test_a_dict_has_the_fields_alone() -> None:
    made = person(born=NOON)
    made.tags["a"] = "b"
    assert made.initials == "AB"

    values = made.to_dict()

    assert values.keys() == FIELDS
    assert (values["born"], values["tags"], values["hits"]) == (NOON, {"a": "b"}, 0)


def test_an_object_comes_back_from_its_dict() -> None:
    made = person(born=NOON, labels=["x"], secret="s", owner="o")
    made.tags["a"] = "b"

    again = Person.from_dict(made.to_dict())

    assert again == made
    assert again is not made
    assert hash(again) == hash(made)


def test_a_dict_of_a_stored_row_gives_a_new_object_without_its_counters_and_version() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person)
        with engine.session() as session:
            session.add(person())
            session.flush()
            session.increment(Person, Person.hits.by(3), number=7)
            stored = session.get(Person, number=7)
            assert stored is not None
            session.refresh(stored)
            again = Person.from_dict(stored.to_dict())

    assert (stored.hits, stored.revision) == (3, 1)
    assert (again.hits, again.revision) == (0, 0)


def test_defaults_fill_in_what_a_dict_lacks() -> None:
    made = Person.from_dict({"number": 1, "first": "A", "last": "B"})

    assert made == person(number=1, first="A", last="B")


@pytest.mark.parametrize("name", ["bogus", "owned_by", "name", "age_years", "d"])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="no constructor argument") as caught:
        Person.from_dict({**person().to_dict(), name: "x"})

    assert (caught.value.model, caught.value.field) == ("Person", name)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ValidationError, match="missing") as caught:
        Person.from_dict({"number": 1, "first": "A"})

    assert caught.value.field == "last"


@pytest.mark.parametrize("values", [3, None, [("number", 1)], {1: 2}])
def test_what_is_no_mapping_of_fields_is_refused(values: Any) -> None:
    with pytest.raises(
        ValidationError, match="from_dict takes a mapping of field names to values"
    ) as caught:
        Person.from_dict(values)

    assert caught.value.model == "Person"


class Shape(Model, table="shapes"):
    d = Family()
    shape: Key[str] = key(codecs.text(separator=b"\x00"))
    __rowkey__ = rowkey(RecordType(), shape)


@pytest.mark.parametrize("model", [Named, Shape])
def test_a_model_without_rows_makes_no_objects_of_dicts(model: type[Model]) -> None:
    with pytest.raises(
        SchemaError,
        match="this model has no objects, because it is abstract or the base of record types",
    ) as caught:
        model.from_dict({})

    assert caught.value.model == model.__name__


# --- computed properties ---------------------------------------------------------------------------


def test_properties_are_computed_inherited_and_overridden() -> None:
    made = person(born=NOON)
    child = Child(number=1, first="Al", last="B")

    assert (made.name, made.age_years, made.initials) == ("Ada Byron", 0, "AB")
    assert (child.name, child.age_years, person().age_years) == ("Al B", 0, None)


def test_setting_a_property_sets_the_fields_behind_it_and_nothing_else() -> None:
    made = person()

    made.name = "Max Moritz"

    assert (made.first, made.last) == ("Max", "Moritz")
    with pytest.raises(AttributeError):
        setattr(made, "age_years", 3)  # noqa: B010 - a checker would refuse it


def test_what_a_property_changed_is_flushed() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person)
        with engine.session() as session:
            session.add(person())
            session.flush()
            found = session.get(Person, number=7)
            assert found is not None
            found.name = "Max Moritz"
        with engine.session() as session:
            again = session.get(Person, number=7)

    assert again is not None
    assert again.name == "Max Moritz"


# --- mixins ----------------------------------------------------------------------------------------


class Tenanted(Model, abstract=True):
    tenant: Key[str] = key(codecs.text(separator=b"\x00"))


class Regional(Model, abstract=True):
    region: Key[str] = key(codecs.text(separator=b"\x00"))
    price: Mapped[int] = column(default=1)


class Order(Tenanted, Regional, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    price: Mapped[int] = column(d, default=2)


class Parcel(Order, table="parcels"):
    weight: Mapped[int | None] = column(default=None)


def test_key_fields_of_bases_come_first_those_of_the_last_base_foremost() -> None:
    assert Order.__schema__.layout.names == ("region", "tenant", "number")
    assert Order.encode_key(region="r", tenant="t", number=1) == b"r\x00t\x00\x00\x00\x00\x01"


def test_a_field_that_is_declared_again_keeps_its_place_and_has_the_new_declaration() -> None:
    made = Order(region="r", tenant="t", number=1)

    assert [*made.to_dict()] == ["region", "price", "tenant", "number"]
    assert made.price == 2


def test_a_model_derived_from_a_model_has_its_fields_and_a_table_of_its_own() -> None:
    made = Parcel(region="r", tenant="t", number=1, weight=3)

    assert Parcel.__schema__.table == "parcels"
    assert [*made.to_dict()] == ["region", "price", "tenant", "number", "weight"]
    assert made != Order(region="r", tenant="t", number=1)


# --- equality, hash, repr --------------------------------------------------------------------------


def test_objects_are_equal_by_class_and_fields_whatever_version_they_have() -> None:
    one, other = person(), person()
    other.__dict__["revision"] = 9
    other.__dict__["_note"] = "no field"

    assert one == other
    assert one != person(first="Eva")
    assert one != Child(number=7, first="Ada", last="Byron")
    assert hash(one) == hash(person(first="Eva"))
    assert hash(one) != hash(person(number=8))


def test_repr_shows_the_fields_but_those_left_out() -> None:
    shown = repr(person(secret="hush"))

    assert shown == (
        "Person(first='Ada', last='Byron', number=7, born=None, owner=None, labels=[], hits=0, "
        "tags={}, revision=0)"
    )


@dataclass
class Blob:
    text: str


class Long(Model, table="long"):
    d = Family()
    k: Key[str] = key()
    data: Mapped[bytes] = column(d)
    text: Mapped[str] = column(d)
    items: Mapped[list[int]] = column(d, codec=codecs.json(list[int]))
    blob: Mapped[Blob] = column(d, codec=codecs.json(Blob))
    at: Mapped[datetime] = column(d, default=NOON)


def test_repr_cuts_long_values() -> None:
    size = 2_000_000
    made = Long(k="k", data=b"d" * size, text="t" * size, items=[*range(99)], blob=Blob("b" * size))

    shown = repr(made)

    assert len(shown) < 1000
    for part in (
        f"data={b'd' * 40!r}...{b'd' * 40!r}",
        f"text={'t' * 40!r}...{'t' * 40!r}",
        "items=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...]",
        "blob=Blob(text='bbb",
        f"at={NOON!r}",
    ):
        assert part in shown


def test_repr_shows_values_of_usual_length_whole() -> None:
    made = Long(k="k", data=b"d" * 80, text="t" * 80, items=[*range(10)], blob=Blob("b"))

    shown = repr(made)

    assert f"data={b'd' * 80!r}, text={'t' * 80!r}, items={[*range(10)]!r}" in shown
    assert "..." not in shown


# --- pydantic --------------------------------------------------------------------------------------


class Address(pydantic.BaseModel):
    city: str


class PersonForm(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(from_attributes=True)

    number: int
    first: str
    last: str
    born: datetime | None = None
    labels: list[str] = []


class Resident(Model, table="residents"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    home: Mapped[Address] = column(d, codec=codecs.json(Address))
    office: Mapped[Address | None] = column(d, codec=codecs.msgpack(Address), default=None)


def test_an_object_is_made_of_a_pydantic_model() -> None:
    form = PersonForm(number=7, first="Ada", last="Byron", born=NOON, labels=["x"])

    assert Person.from_dict(form.model_dump()) == person(born=NOON, labels=["x"])


def test_a_pydantic_model_is_made_of_an_object() -> None:
    form = PersonForm.model_validate(person(born=NOON, labels=["x"]))

    assert form == PersonForm(number=7, first="Ada", last="Byron", born=NOON, labels=["x"])


def test_pydantic_models_are_values_of_fields() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Resident)
        with engine.session() as session:
            session.add(Resident(number=1, home=Address(city="Ulm"), office=Address(city="Rom")))
        with engine.session() as session:
            found = session.get(Resident, number=1)
            assert found is not None
            assert (found.home, found.office) == (Address(city="Ulm"), Address(city="Rom"))
            found.home.city = "Bonn"
        with engine.session() as session:
            found = session.get(Resident, number=1)

    assert found is not None
    assert found.home == Address(city="Bonn")
    assert cast("Any", Resident.from_dict(found.to_dict())) == found
