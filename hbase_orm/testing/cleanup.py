"""Drops the tables and namespaces that a test has made, by their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

from hbase_orm.binding.url import parse_url
from hbase_orm.errors import ConfigurationError, TableNotFoundError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.gateway.thrift.wire import WireStyle
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE
from hbase_orm.ops import (
    Delete,
    DropNamespace,
    DropTable,
    KeyRange,
    ListNamespaces,
    ListTables,
    MutateRows,
    ReadFirstRows,
    RowMutation,
    Scan,
)

_SEPARATOR = ":"
_MOST_ROWS = 500
_THREADS = 4
"""How many tables are dropped at once."""


def drop_tables(url: str, prefix: str) -> None:
    """Drop every table whose name starts with `prefix`.

    A name with a namespace is compared twice: as a whole, and without its namespace.

    Raises:
        ConfigurationError: The URL names no Thrift2 gateway.
    """
    with _thrift2(url) as gateway:
        for table in gateway.execute(ListTables()):
            name = table.rpartition(_SEPARATOR)[2]
            if table.startswith(prefix) or name.startswith(prefix):
                gateway.execute(DropTable(table))


def drop_namespace(url: str, namespace: str) -> None:
    """Drop a namespace with all its tables, and what the catalog says of them.

    If the namespace does not exist, do nothing.

    Raises:
        ConfigurationError: The URL names no Thrift2 gateway.
    """
    with _thrift2(url) as gateway:
        if namespace not in gateway.execute(ListNamespaces()):
            return
        tables = gateway.execute(ListTables())
        own = [DropTable(table) for table in tables if table.startswith(namespace + _SEPARATOR)]
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(gateway.execute, own))
        gateway.execute(DropNamespace(namespace))
        _forget(gateway, namespace)


def _forget(gateway: Gateway, namespace: str) -> None:
    """Delete the rows of the catalog about tables of a namespace."""
    own = Scan(CATALOG_TABLE, KeyRange.prefix(f"{namespace}{_SEPARATOR}".encode()))
    with suppress(TableNotFoundError):
        while rows := gateway.execute(ReadFirstRows(own, _MOST_ROWS)).rows:
            gateway.execute(forget_tables(row.key for row in rows))


def forget_tables(keys: Iterable[bytes]) -> MutateRows:
    """Return the request that deletes what the catalog says of tables, by their row keys in it."""
    whole = (Delete(CATALOG_COLUMN.partition(b":")[0]),)
    return MutateRows(CATALOG_TABLE, tuple(RowMutation(key, deletes=whole) for key in keys))


@contextmanager
def _thrift2(url: str) -> Iterator[Gateway]:
    options = parse_url(url)
    if not options.thrift2:
        raise ConfigurationError(
            "tests cannot drop their tables without Thrift2",
            url=url,
            fix="add ?thrift2=host:port to HBASE_ORM_TEST_URL",
        )
    style = WireStyle(protocol=options.protocol, transport=options.transport)
    addresses = [Address(*address) for address in options.thrift2]
    with closing(Thrift2Gateway.connect(addresses, style=style)) as gateway:
        yield gateway
