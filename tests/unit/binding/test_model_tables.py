"""Which tables a model gets, and how long what belongs to an index lives in them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, column, connect, key
from hbase_orm.index.protocol.attempt import DEAD_GUARD_TTL_MS
from hbase_orm.ops import DescribeTable
from tests.support.recording import gateway_of

MINUTE = timedelta(minutes=1)
GUARD_TTL_S = DEAD_GUARD_TTL_MS // 1000


class Short(Model, table="short"):
    d = Family(ttl=MINUTE)
    e = Family(ttl=60 * MINUTE)
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(e, default=None)
    by_city = Index(city)


class Lasting(Model, table="lasting"):
    d = Family(ttl=MINUTE)
    e = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(e, default=None)
    by_city = Index(city)


class Kept(Model, table="kept"):
    d = Family(ttl=MINUTE, min_versions=1, versions=2)
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


@pytest.mark.parametrize(
    ("model", "ttl_s"), [(Short, 3600 + GUARD_TTL_S), (Lasting, None), (Kept, None)]
)
def test_guards_and_entries_live_longer_than_all_data(model: Any, ttl_s: int | None) -> None:
    with connect("memory://") as engine:
        engine.create_tables(model)
        gateway, table = gateway_of(engine), model.__schema__.table
        base = gateway.execute(DescribeTable(table))
        index = gateway.execute(DescribeTable(f"{table}_ix_by_city"))

    assert {family.name: family.ttl_s for family in base.families}[b"_"] == ttl_s
    assert [family.ttl_s for family in index.families] == [ttl_s]
