"""`inspect.signature` and `help` show a model's fields, and a model without a docstring gets one."""

from __future__ import annotations

import inspect
import pydoc
from datetime import datetime

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    column,
    counter,
    dynamic,
    key,
    rowkey,
)


def _now() -> datetime:
    return datetime.now().astimezone()


class Order(Model, table="orders"):
    d = Family()
    city: Key[str] = key()
    at: Key[datetime] = key(default_factory=_now)
    total: Mapped[float] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")
    by_total = Index(total, at.desc())
    __rowkey__ = rowkey(Salt(4, of=[city]), city, at)


class Described(Model, table="described"):
    """What its author wrote."""

    d = Family()
    id: Key[str] = key()


class Own(Model, table="own"):
    d = Family()
    id: Key[str] = key()

    def __init__(self, name: str) -> None:
        super().__init__(id=name)


class Base(Model, table="kinds"):
    d = Family()
    name: Key[str] = key()
    __rowkey__ = rowkey(RecordType(), name)


class One(Base, record_type="1"):
    n: Mapped[int] = column()


class Mixin(Model, abstract=True):
    n: Mapped[int] = column()


def test_the_signature_has_the_fields_as_keywords_with_types_and_defaults() -> None:
    parameters = inspect.signature(Order).parameters

    assert [(each.name, each.annotation) for each in parameters.values()] == [
        ("city", str),
        ("at", datetime),
        ("total", float),
        ("note", str | None),
    ]
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert parameters["city"].default is inspect.Parameter.empty
    assert parameters["note"].default is None
    assert repr(parameters["at"].default) == "<factory>"


def test_the_signature_binds_what_the_constructor_takes() -> None:
    bound = inspect.signature(Order).bind(city="x", total=1.0)

    assert Order(**bound.kwargs).city == "x"


def test_a_record_type_has_the_fields_of_its_base_too() -> None:
    assert list(inspect.signature(One).parameters) == ["name", "n"]


def test_a_constructor_of_ones_own_keeps_its_signature() -> None:
    assert list(inspect.signature(Own).parameters) == ["name"]


def test_a_class_without_objects_has_the_signature_of_any_model() -> None:
    for model in (Base, Mixin, Model):
        assert list(inspect.signature(model).parameters) == ["values"]


def test_help_shows_the_fields_and_the_table() -> None:
    text = pydoc.plain(pydoc.render_doc(Order))

    assert "Order(*, city: str, at: datetime.datetime = <factory>, total: float" in text
    assert "row key [salt 4][city text][at micros]" in text


def test_a_model_without_a_docstring_has_one_with_what_is_stored() -> None:
    assert Order.__doc__ == (
        "A row of the table orders.\n"
        "\n"
        "row key [salt 4][city text][at micros]\n"
        "columns d:total, d:note, d:hits, d:t_...\n"
        "index by_total = Index(Order.total, Order.at.desc())"
    )
    assert Order(city="x", total=1.0).__doc__ == Order.__doc__


def test_a_docstring_stays_as_it_is() -> None:
    assert Described.__doc__ == "What its author wrote."
