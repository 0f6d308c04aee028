"""The fixtures that users' tests take, on the HBase of this run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.ops import (
    CreateNamespace,
    CreateTable,
    FamilyDescriptor,
    ListNamespaces,
    ListTables,
    TableDescriptor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

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
