"""Which tables a model gets, and how long what belongs to an index lives in them."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.protocol.attempt import DEAD_GUARD_TTL_MS
from hbase_orm.ops import DescribeTable, DropTable, ListRegions
from tests.support.recording import gateway_of
from tests.support.shop_processes import Clock, engine_on
from tests.support.thrift1_only import Account, engine_without_thrift2

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


# --- the regions of index tables ------------------------------------------------------------------


class Event(Model, table="events"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    at: Mapped[int] = column(d, codec=codecs.uint64())
    token: Mapped[UUID] = column(d)
    kind: Mapped[str] = column(d)
    by_at = Index(at, salt=8)
    by_token = Index(token)
    by_kind = Index(kind, splits=[b"g", b"p"])
    by_kind_and_at = Index(kind, at)


def starts(engine: Engine, table: str) -> list[bytes]:
    return [region.start for region in gateway_of(engine).execute(ListRegions(table))]


def test_index_tables_are_split_as_their_indexes_say() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Event)

        assert starts(engine, "events_ix_by_at") == [b"", *(bytes([n]) for n in range(1, 8))]
        assert len(starts(engine, "events_ix_by_token")) == 16
        assert starts(engine, "events_ix_by_kind") == [b"", b"g", b"p"]
        assert starts(engine, "events_ix_by_kind_and_at") == [b""]
        assert starts(engine, "events") == [b""]


def test_the_table_of_a_build_is_split_like_the_first() -> None:
    with engine_on(MemoryGateway(), Clock()) as engine:
        engine.create_tables(Event)
        before = starts(engine, "events_ix_by_at")

        status = engine.build_index(Event, "by_at", rebuild=True)

        assert status.table is not None
        assert status.table != "events_ix_by_at"
        assert starts(engine, status.table) == before
        assert len(before) == 8


def test_a_table_that_a_build_replaces_is_split_again() -> None:
    with engine_on(MemoryGateway(), Clock()) as engine:
        engine.create_tables(Event)
        with engine.session() as session:
            session.add(Event(number=1, at=1, token=UUID(int=1), kind="a"))
        gateway_of(engine).execute(DropTable("events_ix_by_at"))

        engine.build_index(Event, "by_kind", rebuild=True)

        assert len(starts(engine, "events_ix_by_at")) == 8


def test_without_thrift2_an_index_table_has_one_region_and_a_warning_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "hbase_orm.session"):
        engine, gateway = engine_without_thrift2()
        engine.create_tables(Account)

    assert len(gateway.execute(ListRegions("account_ix_by_points"))) == 1
    assert "account_ix_by_points has one region instead of 2" in caplog.text
