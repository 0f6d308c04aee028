"""A guarded model and its later release, which differs in everything that can be altered."""

from __future__ import annotations

from datetime import timedelta

from hbase_orm import Family, Index, Key, Mapped, Model, Table, codecs, column, key

DAY = timedelta(days=1)


def first_release() -> type[Model]:
    """Return the model that tables are created for."""

    class Order(Model, table="orders"):
        d = Family(ttl=20 * DAY, configuration={"hbase.hstore.blockingStoreFiles": "20"})
        f = Family(ttl=5 * DAY)
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)
        extra: Mapped[str | None] = column(f, default=None)
        by_state = Index(state)

    return Order


def later_release() -> type[Model]:
    """Return the model that tables are altered for; its changes take seven requests."""

    class Order(
        Model, table=Table("orders", durability="FSYNC_WAL", attributes={"COST_CENTRE": "7"})
    ):
        d = Family(ttl=30 * DAY, versions=3, bloom="ROWCOL")
        e = Family(compression="GZ", ttl=DAY)
        f = Family(ttl=4 * DAY)
        number: Key[int] = key(codecs.uint32())
        state: Mapped[str] = column(d)
        extra: Mapped[str | None] = column(f, default=None)
        note: Mapped[str | None] = column(e, default=None)
        by_state = Index(state)

    return Order
