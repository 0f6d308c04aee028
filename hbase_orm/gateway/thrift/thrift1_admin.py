"""Administration of tables over Thrift1, as far as Thrift1 supports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hbase_orm.errors import RejectedError, TableDisabledError
from hbase_orm.gateway.thrift.decoding.answers import text
from hbase_orm.gateway.thrift.faults import WIRE_ERRORS, is_internal, translate
from hbase_orm.gateway.thrift.gateway import (
    FOREVER_S,
    Call,
    needs_thrift2,
    no_server,
    no_table,
    server_of,
    table_bytes,
)
from hbase_orm.gateway.thrift.primary_regions import primary_regions
from hbase_orm.gateway.thrift.wire import HBASE1
from hbase_orm.ops import (
    CreateTable,
    DescribeTable,
    DisableTable,
    DropTable,
    EnableTable,
    FamilyDescriptor,
    ListRegions,
    ListTables,
    Operation,
    Ping,
    RegionRange,
    TableDescriptor,
)


def _ping(client: Any, _operation: Ping) -> None:
    client.getTableNames()


def _list_tables(client: Any, _operation: ListTables) -> list[str]:
    return sorted(map(text, client.getTableNames()))


def _list_regions(client: Any, operation: ListRegions) -> list[RegionRange]:
    try:
        regions = client.getTableRegions(table_bytes(operation))
    except WIRE_ERRORS as exc:
        if not isinstance(translate(exc, operation), RejectedError):
            raise
        # The gateway fails like this if the table is dropped between its own two requests,
        if table_bytes(operation) not in client.getTableNames():
            raise no_table(operation) from exc
        # and if a region has no server, as while a table is created or dropped.
        if is_internal(exc):
            raise no_server(operation) from exc
        raise
    if not regions:
        raise no_table(operation)
    return [
        RegionRange(
            each.startKey,
            each.endKey or None,
            server_of(operation, each.serverName, each.port),
            each.id,
        )
        for each in primary_regions(regions, lambda region: bytes(region.startKey))
    ]


def _describe_table(client: Any, operation: DescribeTable) -> TableDescriptor:
    families = client.getColumnDescriptors(table_bytes(operation))
    return TableDescriptor(
        operation.table,
        tuple(_family(families[name]) for name in sorted(families)),
    )


def _family(described: Any) -> FamilyDescriptor:
    return FamilyDescriptor(
        described.name.rstrip(b":"),
        versions=described.maxVersions,
        ttl_s=None if described.timeToLive in (-1, FOREVER_S) else described.timeToLive,
        compression=text(described.compression),
        bloom=text(described.bloomFilterType),
        block_cache=described.blockCacheEnabled,
        in_memory=described.inMemory,
    )


def _create_table(client: Any, operation: CreateTable) -> None:
    wanted = operation.descriptor
    families = [_column_descriptor(family) for family in wanted.families]
    # Thrift1 silently drops options that it does not know. A table with such options changes in a
    # conversion to Thrift1's descriptors and back.
    if operation.split_keys or wanted != TableDescriptor(
        wanted.name, tuple(_family(family) for family in families)
    ):
        raise needs_thrift2("a table with split keys or further options", operation)
    client.createTable(wanted.name.encode(), families)


def _column_descriptor(family: FamilyDescriptor) -> Any:
    return HBASE1.ColumnDescriptor(
        name=family.name + b":",
        maxVersions=family.versions,
        compression=family.compression.encode(),
        inMemory=family.in_memory,
        bloomFilterType=family.bloom.encode(),
        blockCacheEnabled=family.block_cache,
        timeToLive=FOREVER_S if family.ttl_s is None else family.ttl_s,
    )


def _enable_table(client: Any, operation: EnableTable) -> None:
    client.enableTable(table_bytes(operation))


def _disable_table(client: Any, operation: DisableTable) -> None:
    client.disableTable(table_bytes(operation))


def _drop_table(client: Any, operation: DropTable) -> None:
    table = table_bytes(operation)
    try:
        client.disableTable(table)
    except HBASE1.IOError as exc:
        if not isinstance(translate(exc, operation), TableDisabledError):
            raise
    client.deleteTable(table)


ADMIN_CALLS: Mapping[type[Operation[Any]], Call] = {
    CreateTable: _create_table,
    DescribeTable: _describe_table,
    DisableTable: _disable_table,
    DropTable: _drop_table,
    EnableTable: _enable_table,
    ListRegions: _list_regions,
    ListTables: _list_tables,
    Ping: _ping,
}
"""The function that executes each kind of administration request."""
