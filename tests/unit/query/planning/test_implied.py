"""Whether a statement's conditions imply those of a partial index, at its upper ends."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Condition, Family, Index, Key, Mapped, Model, column, key, select
from hbase_orm.errors import UnboundedScanError
from hbase_orm.query import IndexPlan, plan


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key()
    city: Mapped[str] = column(d)
    size: Mapped[int] = column(d)
    weight: Mapped[int] = column(d)
    price: Mapped[int] = column(d)
    small = Index(city, where=size < 10)
    light = Index(city, where=weight <= 10)
    priced = Index(city, where=price != 10)


def index_of(condition: Condition) -> str | None:
    """Return the partial index that serves the parcels of a city that fulfil a condition."""
    try:
        made = plan(select(Parcel).where(Parcel.city == "Oslo", condition), Parcel.__schema__)
    except UnboundedScanError:
        return None
    return made.index.name if isinstance(made, IndexPlan) else None


@pytest.mark.parametrize(
    ("index", "condition"),
    [
        ("small", Parcel.size < 9),
        ("small", Parcel.size <= 9),
        ("small", (Parcel.size < 10) & (Parcel.size > 3)),
        ("small", Parcel.size.between(3, 9)),
        ("light", Parcel.weight < 10),
        ("light", Parcel.weight < 9),
        ("light", Parcel.weight.between(3, 10)),
        ("priced", Parcel.price < 10),
        ("priced", Parcel.price <= 9),
        ("priced", Parcel.price > 10),
        ("priced", Parcel.price >= 11),
    ],
)
def test_a_range_within_that_of_an_index_is_read_by_it(index: str, condition: Any) -> None:
    assert index_of(condition) == index


@pytest.mark.parametrize(
    "condition",
    [
        Parcel.size <= 10,
        Parcel.size < 11,
        Parcel.size.between(3, 10),
        Parcel.size > 3,
        Parcel.weight < 11,
        Parcel.weight <= 11,
        Parcel.weight.between(3, 11),
        Parcel.price <= 10,
        Parcel.price < 11,
        Parcel.price >= 10,
        Parcel.price > 9,
    ],
)
def test_a_range_that_reaches_beyond_is_not(condition: Any) -> None:
    assert index_of(condition) is None
