"""Administration over Thrift2: tables with all options, families, namespaces and regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hbase_orm.errors import FamilyNotFoundError, TableDisabledError
from hbase_orm.gateway.thrift.decoding.answers import text
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.faults import translate
from hbase_orm.gateway.thrift.gateway import Call, no_table, server_of, table_bytes
from hbase_orm.gateway.thrift.primary_regions import primary_regions
from hbase_orm.gateway.thrift.thrift2_families import (
    changed_family,
    copied_family,
    family_descriptor,
    name_of,
    number_of,
    thrift_family,
)
from hbase_orm.gateway.thrift.wire import HBASE2
from hbase_orm.ops import (
    AddFamily,
    CreateNamespace,
    CreateTable,
    DeleteFamily,
    DescribeTable,
    DisableTable,
    DropNamespace,
    DropTable,
    EnableTable,
    ListNamespaces,
    ListRegions,
    ListTables,
    ModifyFamily,
    ModifyTable,
    Operation,
    Ping,
    RegionRange,
    TableDescriptor,
    TruncateTable,
)

# Numbers of the server's enumerations.
_DURABILITIES = {
    "USE_DEFAULT": 0,
    "SKIP_WAL": 1,
    "ASYNC_WAL": 2,
    "SYNC_WAL": 3,
    "FSYNC_WAL": 4,
}

_REPLICATION = b"REGION_REPLICATION"
# Attributes that HBase sets: `TableDescriptor` has a field for them, or they mean nothing to users.
_OWN_ATTRIBUTES = frozenset(
    {"REGION_REPLICATION", "IS_META", "DURABILITY", "hbase.store.file-tracker.impl"}
)


def _table_name(name: str) -> Any:
    namespace, colon, qualifier = name.rpartition(":")
    return HBASE2.TableName(
        namespace_name=namespace.encode() if colon else None, qualifier=qualifier.encode()
    )


def _ping(client: Any, _operation: Ping) -> None:
    client.listNamespaces()


def _list_tables(client: Any, _operation: ListTables) -> list[str]:
    return sorted(_name(table) for table in client.getTableNamesByPattern(None, False))


def _name(table: Any) -> str:
    namespace = text(table.namespace_name or b"default")
    qualifier = text(table.qualifier)
    return qualifier if namespace == "default" else f"{namespace}:{qualifier}"


def _list_namespaces(client: Any, _operation: ListNamespaces) -> list[str]:
    return sorted(map(text, client.listNamespaces()))


def _create_namespace(client: Any, operation: CreateNamespace) -> None:
    client.createNamespace(HBASE2.Namespace(name=operation.namespace))


def _drop_namespace(client: Any, operation: DropNamespace) -> None:
    client.deleteNamespace(operation.namespace)


def _list_regions(client: Any, operation: ListRegions) -> list[RegionRange]:
    locations = client.getAllRegionLocations(table_bytes(operation))
    if not locations:
        raise no_table(operation)
    return [
        RegionRange(
            each.region.start_key or b"",
            each.region.stop_key or None,
            server_of(
                operation, each.server and each.server.host, each.server and each.server.port
            ),
            each.region.id,
        )
        for each in primary_regions(locations, lambda location: location.region.start_key or b"")
    ]


def _address(server: Any) -> tuple[bytes | None, int | None]:
    return (None, None) if server is None else (server.host, server.port)


def _create_table(client: Any, operation: CreateTable) -> None:
    client.createTable(_thrift_table(operation.descriptor), list(operation.split_keys) or None)


def _thrift_table(descriptor: TableDescriptor) -> Any:
    attributes = {name.encode(): value.encode() for name, value in descriptor.attributes.items()}
    if descriptor.region_replication > 1:
        attributes[_REPLICATION] = str(descriptor.region_replication).encode()
    return HBASE2.Table(
        name=_table_name(descriptor.name),
        families=[thrift_family(family) for family in descriptor.families],
        attributes=attributes or None,
        durability=number_of(_DURABILITIES, "durability", descriptor.durability),
    )


def _describe_table(client: Any, operation: DescribeTable) -> TableDescriptor:
    table = client.getTableDescriptor(_table_name(operation.table))
    attributes = {text(name): text(value) for name, value in (table.attributes or {}).items()}
    return TableDescriptor(
        _name(table.name),
        tuple(
            family_descriptor(family) for family in sorted(table.families or (), key=_family_name)
        ),
        attributes={
            name: value for name, value in attributes.items() if name not in _OWN_ATTRIBUTES
        },
        durability=name_of(_DURABILITIES, table.durability, "USE_DEFAULT"),
        region_replication=_replicas(attributes.get(_REPLICATION.decode(), "1")),
    )


def _replicas(number: str) -> int:
    if not (number.isascii() and number.isdecimal()):
        message = "a count of replicas that is not a number"
        raise GarbledAnswerError(message)
    return int(number)


def _family_name(family: Any) -> bytes:
    name: bytes = family.name
    return name


def _add_family(client: Any, operation: AddFamily) -> None:
    client.addColumnFamily(_table_name(operation.table), thrift_family(operation.family))


def _delete_family(client: Any, operation: DeleteFamily) -> None:
    client.deleteColumnFamily(_table_name(operation.table), operation.family)


def _modify_family(client: Any, operation: ModifyFamily) -> None:
    table = _table_name(operation.table)
    described = client.getTableDescriptor(table)
    known = {family.name: family for family in described.families or ()}
    if operation.family not in known:
        raise FamilyNotFoundError(
            "the table has no such column family",
            table=operation.table,
            family=operation.family,
            fix="add the family to the table, or correct its name",
        )
    client.modifyColumnFamily(table, changed_family(known[operation.family], operation.options))


def _modify_table(client: Any, operation: ModifyTable) -> None:
    described = client.getTableDescriptor(_table_name(operation.table))
    options = dict(operation.options)
    changes = {
        name.encode(): None if value is None else value.encode()
        for name, value in options.get("attributes", {}).items()
    }
    replication = options.get("region_replication")
    if replication is not None:
        changes[_REPLICATION] = str(replication).encode()
    durability = described.durability
    if "durability" in options:
        durability = number_of(_DURABILITIES, "durability", options["durability"])
        # The number counts; HBase shows the attribute too, which must not contradict it.
        changes[b"DURABILITY"] = None
    attributes = {**(described.attributes or {}), **changes}
    client.modifyTable(
        HBASE2.Table(
            name=described.name,
            families=[copied_family(family) for family in described.families or ()],
            attributes={name: value for name, value in attributes.items() if value is not None},
            durability=durability,
        )
    )


def _enable_table(client: Any, operation: EnableTable) -> None:
    client.enableTable(_table_name(operation.table))


def _disable_table(client: Any, operation: DisableTable) -> None:
    client.disableTable(_table_name(operation.table))


def _drop_table(client: Any, operation: DropTable) -> None:
    _disable(client, operation)
    client.deleteTable(_table_name(operation.table))


def _truncate_table(client: Any, operation: TruncateTable) -> None:
    _disable(client, operation)
    client.truncateTable(_table_name(operation.table), True)  # with its splits


def _disable(client: Any, operation: DropTable | TruncateTable) -> None:
    """Disable a table, unless it is disabled already."""
    try:
        client.disableTable(_table_name(operation.table))
    except HBASE2.ServerFault as exc:
        if not isinstance(translate(exc, operation), TableDisabledError):
            raise


ADMIN_CALLS: Mapping[type[Operation[Any]], Call] = {
    AddFamily: _add_family,
    CreateNamespace: _create_namespace,
    CreateTable: _create_table,
    DeleteFamily: _delete_family,
    DescribeTable: _describe_table,
    DisableTable: _disable_table,
    DropNamespace: _drop_namespace,
    DropTable: _drop_table,
    EnableTable: _enable_table,
    ListNamespaces: _list_namespaces,
    ListRegions: _list_regions,
    ListTables: _list_tables,
    ModifyFamily: _modify_family,
    ModifyTable: _modify_table,
    Ping: _ping,
    TruncateTable: _truncate_table,
}
"""The function that executes each kind of administration request."""
