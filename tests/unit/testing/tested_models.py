"""A model for the tests of what helps tests."""

from __future__ import annotations

from datetime import timedelta

from hbase_orm import Family, Index, Key, Mapped, Model, column, key


class Order(Model, table="orders"):
    d = Family(ttl=timedelta(days=1))
    number: Key[int] = key()
    city: Mapped[str] = column(d)
    total: Mapped[int | None] = column(d, default=None)


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)
