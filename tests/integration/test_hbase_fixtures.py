"""The fixtures that users' tests take, on the HBase of this run."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm import Family, Key, Mapped, Model, column, connect, key, select
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.ops import (
    CreateNamespace,
    CreateTable,
    FamilyDescriptor,
    ListNamespaces,
    ListTables,
    MutateRow,
    Put,
    RowMutation,
    TableDescriptor,
)
from hbase_orm.session.engine import runtime_of
from hbase_orm.testing import empty_tables
from hbase_orm.testing.emptying import read_rows
from tests.unit.testing.tested_models import Order, Parcel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hbase_orm import Engine
    from hbase_orm.gateway.base import Gateway
    from hbase_orm.testing import RealHBase

pytestmark = pytest.mark.hbase


@pytest.fixture
def gateway(hbase: RealHBase) -> Iterator[Gateway]:
    host, _, port = parse_qs(urlsplit(hbase.url).query)["thrift2"][0].rpartition(":")
    with closing(Thrift2Gateway.connect([Address(host, int(port))])) as opened:
        yield opened


def create(gateway: Gateway, table: str) -> None:
    gateway.execute(CreateTable(TableDescriptor(table, (FamilyDescriptor(b"d"),))))


def test_a_tests_tables_are_dropped_by_their_prefix_and_no_others(
    hbase: RealHBase, gateway: Gateway, table_prefix: str
) -> None:
    create(gateway, f"{table_prefix}orders")
    create(gateway, f"other_{table_prefix}orders")

    hbase.drop_tables(table_prefix)

    left = [name for name in gateway.execute(ListTables()) if table_prefix in name]
    assert left == [f"other_{table_prefix}orders"]
    hbase.drop_tables(f"other_{table_prefix}")


def test_a_tests_namespace_is_dropped_with_its_tables(
    hbase: RealHBase, gateway: Gateway, hbase_url: str
) -> None:
    namespace = urlsplit(hbase_url).path.strip("/")
    gateway.execute(CreateNamespace(namespace))
    create(gateway, f"{namespace}:orders")

    hbase.drop_namespace(namespace)

    assert namespace not in gateway.execute(ListNamespaces())
    assert f"{namespace}:orders" not in gateway.execute(ListTables())


def test_the_admin_reaches_the_regions_of_a_test(
    hbase: RealHBase, gateway: Gateway, table_prefix: str
) -> None:
    if hbase.source == "url":
        pytest.skip("a server given by URL has no admin port")
    create(gateway, f"{table_prefix}t")

    regions = hbase.admin.split(f"{table_prefix}t", b"m")

    assert [(region.start, region.stop) for region in regions] == [(b"", b"m"), (b"m", b"")]


@pytest.fixture(scope="session")
def hbase_models() -> list[type[Model]]:
    return [Order, Parcel]


@pytest.mark.parametrize("city", ["Oslo", "Rome"])
def test_tables_made_once_are_empty_for_each_test(hbase_engine: Engine, city: str) -> None:
    with hbase_engine.session() as session:
        session.add(Order(number=1, city=city))
        session.add(Parcel(number=1, city=city))
    assert hbase_engine.sequence("orders")() == 1

    session = hbase_engine.session()
    assert [each.city for each in session.all(select(Order).allow_full_scan())] == [city]
    assert [each.number for each in session.all(select(Parcel).where(Parcel.city == city))] == [1]


class OtherOrder(Model, table="orders"):
    """Another model of a table with the same name, as another folder of tests may have."""

    f = Family()
    name: Key[str] = key()
    note: Mapped[str] = column(f)


def test_each_list_of_models_has_tables_of_its_own(request: pytest.FixtureRequest) -> None:
    namespaces = request.getfixturevalue("_hbase_namespaces")
    own = {namespaces.next([Order, Parcel]) for _ in range(2)}  # two, if they are kept
    others = {namespaces.next((OtherOrder,)) for _ in range(2)}
    with connect(min(others)) as engine:
        with engine.session() as session:
            session.add(OtherOrder(name="Oslo", note="x"))
        rows = engine.session().all(select(OtherOrder).allow_full_scan())

    assert [each.name for each in rows] == ["Oslo"]
    assert not own & others


def test_tables_with_many_rows_or_rows_of_the_future_are_emptied(hbase_engine: Engine) -> None:
    with hbase_engine.session() as session, session.bulk() as bulk:
        bulk.add_all(Order(number=n, city="Oslo") for n in range(2_001))
    future_ms = (int(time.time()) + 1_000) * 1_000
    stamped = MutateRow(
        f"{hbase_engine.options.namespace}:parcels",
        RowMutation(b"k", puts=(Put(b"d:x", b"1", future_ms),)),
    )
    runtime_of(hbase_engine).execute(stamped)

    empty_tables(hbase_engine)

    for table in ("orders", "parcels", "parcels_ix_by_city"):
        assert not runtime_of(hbase_engine).run_as_is(
            read_rows(f"{hbase_engine.options.namespace}:{table}")
        )
