from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    RecordType,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import ConfigurationError, SchemaError, ValidationError
from hbase_orm.testing import factory, objects_of
from hbase_orm.validators import between, matches
from tests.support import typical_models
from tests.unit.testing.tested_models import Order

TYPICAL = [
    each
    for each in vars(typical_models).values()
    if isinstance(each, type)
    and issubclass(each, Model)
    and "__schema__" in vars(each)
    and not (each.__schema__.record_types or each.__schema__.layout.table_period)
]

ADDRESS = typical_models.Address("Road", "Oslo")


def test_what_is_not_given_is_made_and_differs() -> None:
    make = factory(Order, city="Oslo")

    first, second = make(), make(total=3)

    assert (first.city, second.city, second.total) == ("Oslo", "Oslo", 3)
    assert first.number != second.number
    assert first.total is None


def test_functions_get_the_number_of_the_object() -> None:
    orders = factory(Order, total=lambda n: n * 100).batch(3, city=lambda n: f"city {n}")

    assert [(each.total, each.city) for each in orders] == [
        (100, "city 1"),
        (200, "city 2"),
        (300, "city 3"),
    ]


@pytest.mark.parametrize("model", TYPICAL)
def test_objects_of_many_models_are_saved_and_read(model: Any) -> None:
    given = {"address": ADDRESS} if model is typical_models.Customer else {}
    objects = factory(model, **given).batch(5)
    with connect("memory:///made") as engine:
        engine.create_tables(model)
        with engine.session() as session:
            session.add_all(objects)
        stored = engine.session().all(select(model).allow_full_scan())

    assert len(stored) == 5


def test_a_field_that_cannot_be_made_is_named() -> None:
    class Page(Model, table="pages"):
        d = Family()
        at: Key[datetime] = key()
        address: Mapped[typical_models.Address] = column(
            d, codec=codecs.json(typical_models.Address)
        )

    with pytest.raises(ConfigurationError, match="no values of this field can be made") as raised:
        factory(Page)()

    assert "address" in str(raised.value)
    assert factory(Page, address=ADDRESS)().at > datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("make", [factory, objects_of])
def test_a_model_without_objects_is_refused(make: Any) -> None:
    class Record(Model, table="records"):
        d = Family()
        host: Key[str] = key()
        __rowkey__ = rowkey(host, RecordType())

    class Sale(Record, record_type="s"):
        pass

    class Mixin(Model, abstract=True):
        d = Family()

    for model in (Record, Mixin):
        with pytest.raises(SchemaError, match="has no objects"):
            make(model)
    make(Sale)


def test_validators_are_kept_to() -> None:
    class Review(Model, table="reviews"):
        d = Family()
        number: Key[int] = key()
        stars: Mapped[int] = column(d, validate=between(1, 10))
        word: Mapped[str] = column(d, validate=matches("[A-Z]+"))

    make = factory(Review, word="GOOD")

    assert {each.stars for each in make.batch(50)} <= set(range(1, 11))
    with pytest.raises(ConfigurationError, match="give the value of word"):
        factory(Review)()


def test_unknown_fields_are_refused_at_once() -> None:
    with pytest.raises(ValidationError, match="give only: number, city, total"):
        factory(Order, town="Oslo")
    with pytest.raises(ValidationError, match="give only: number, city, total"):
        factory(Order)(town="Oslo")
