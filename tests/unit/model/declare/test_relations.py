"""Related fields: models that are related to themselves, and declarations that are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm import (
    Counter,
    Family,
    Key,
    Mapped,
    Model,
    Related,
    codecs,
    column,
    counter,
    key,
    related,
    select,
)
from hbase_orm.errors import SchemaError
from tests.behaviour.test_related_objects import Customer, Record


def test_a_model_may_be_related_to_itself_and_be_made_twice() -> None:
    def make() -> type[Model]:
        class Node(Model, table="nodes"):
            d = Family()
            number: Key[int] = key(codecs.uint8())
            up: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
            parent: Related[Node] = related(number=up)

        return Node

    first, second = make(), make()

    assert first.__related__["parent"].target is first
    assert second.__related__["parent"].target is second


def test_a_model_made_again_under_its_name_is_related_to_itself() -> None:
    text = (
        "from hbase_orm import *\n"
        "class Again(Model, table='again'):\n"
        "    d = Family()\n"
        "    n: Key[int] = key()\n"
        "    next: Related['Again'] = related(n=n)\n"
    )
    globals_ = globals()
    exec(text, globals_)  # a notebook's cell, run twice
    first = globals_["Again"]
    exec(text, globals_)  # as above
    second = globals_.pop("Again")

    assert first.__related__["next"].target is first
    assert second.__related__["next"].target is second


def of_other_names() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        customer: Related[Customer] = related(id=n)


def of_too_many() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        customer: Related[Customer] = related(customer_id=n, name=n)


def of_another_type() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[str] = key()
        customer: Related[Customer] = related(customer_id=n)


def of_a_foreign_field() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        customer: Related[Customer] = related(customer_id=Customer.customer_id)


def of_a_counter() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        hits: Counter = counter()
        customer: Related[Customer] = related(customer_id=hits)


def to_a_base_of_kinds() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        record: Related[Record] = related(number=n)


def to_no_model() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        record: Related[int] = related(n=n)


def to_a_later_model() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        record: Related[Later] = related(n=n)  # type: ignore[name-defined]  # noqa: F821  # the case


def without_a_value() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        record: Related[Customer]


def under_another_annotation() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        record: Mapped[Customer] = related(customer_id=n)  # type: ignore[assignment]  # the case


def under_a_reserved_name() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        n: Key[int] = key()
        to_dict: Related[Customer] = related(customer_id=n)  # type: ignore[assignment]  # the case


def by_nothing() -> None:
    related()


def by_a_value() -> None:
    related(customer_id=3)  # type: ignore[arg-type]  # the case


@pytest.mark.parametrize(
    ("declare", "hint"),
    [
        (of_other_names, "related(customer_id=...)"),
        (of_too_many, "related(customer_id=...)"),
        (of_another_type, "type int"),
        (of_a_foreign_field, "name one of: n"),
        (of_a_counter, "name one of: n"),
        (to_a_base_of_kinds, "one of its record types"),
        (to_no_model, "declared before"),
        (to_a_later_model, "before the class"),
        (without_a_value, "related()"),
        (under_another_annotation, "Related[...] = related()"),
        (under_a_reserved_name, "another name"),
        (by_nothing, "related(ARGUMENT=...)"),
        (by_a_value, "related(customer_id=...)"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_when_the_class_is_made(
    declare: Callable[[], None], hint: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        declare()

    assert hint in caught.value.fix


def test_the_fields_print_as_one_writes_them() -> None:
    assert repr(Record.customer) == "Record.customer"
    assert select(Record).load_related(Record.customer, Record.customer).related == (
        Record.customer,
    )
