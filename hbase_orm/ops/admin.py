"""Requests about tables, families, regions and namespaces, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.ops.operation import Operation

FAMILY_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "IS_MOB": "mob_enabled",
        "MOB_THRESHOLD": "mob_threshold_bytes",
        "NEW_VERSION_BEHAVIOR": "new_version_behavior",
        "PREFETCH_BLOCKS_ON_OPEN": "prefetch_on_open",
        "IN_MEMORY_COMPACTION": "in_memory_compaction",
        "STORAGE_POLICY": "storage_policy",
        "COMPRESSION_COMPACT": "compaction_compression",
        "INDEX_BLOCK_ENCODING": "index_block_encoding",
    }
)
"""The family attributes without a field in Thrift2: attribute name to `FamilyDescriptor` field."""

FIELD_ATTRIBUTES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "BLOCKCACHE": "block_cache",
        "BLOCKSIZE": "block_size_bytes",
        "BLOOMFILTER": "bloom",
        "CACHE_BLOOMS_ON_WRITE": "cache_blooms_on_write",
        "CACHE_DATA_ON_WRITE": "cache_data_on_write",
        "CACHE_INDEX_ON_WRITE": "cache_indexes_on_write",
        "COMPRESSION": "compression",
        "COMPRESS_TAGS": "compress_tags",
        "DATA_BLOCK_ENCODING": "block_encoding",
        "DFS_REPLICATION": "dfs_replication",
        "EVICT_BLOCKS_ON_CLOSE": "evict_on_close",
        "IN_MEMORY": "in_memory",
        "KEEP_DELETED_CELLS": "keep_deleted_cells",
        "MIN_VERSIONS": "min_versions",
        "REPLICATION_SCOPE": "scope",
        "TTL": "ttl_s",
        "VERSIONS": "versions",
    }
)
"""The family attributes with a field in Thrift2: attribute name to `FamilyDescriptor` field."""

BLOOM_PREFIX_SETTING: Final = "RowPrefixBloomFilter.prefix_length"
"""The setting in `configuration` for the prefix length of bloom="ROWPREFIX_FIXED_LENGTH"."""

MAX_FILE_SIZE_ATTRIBUTE: Final = "MAX_FILESIZE"
FLUSH_SIZE_ATTRIBUTE: Final = "MEMSTORE_FLUSHSIZE"


@dataclass(frozen=True, slots=True)
class FamilyDescriptor:
    """The descriptor of a column family in HBase.

    Attributes:
        versions: The largest number of versions that are kept of a column, 1 or more.
        min_versions: The number of versions that are kept even if their TTL is over.
        ttl_s: The time to live in seconds; None means forever.
        compression: NONE, SNAPPY, LZ4, ZSTD or GZ, if the server has the codec.
        bloom: NONE, ROW, ROWCOL or ROWPREFIX_FIXED_LENGTH, which needs the length of the prefix in
            `configuration`.
        block_encoding: NONE, PREFIX, DIFF, FAST_DIFF or ROW_INDEX_V1.
        keep_deleted_cells: FALSE, TRUE or TTL.
        block_size_bytes: The size of a block in a store file.
        scope: 1 to replicate the family to other clusters, 0 not to.
        dfs_replication: The number of copies of each block in the file system; 0 means the file
            system's own number.
        mob_threshold_bytes: The size from which a value is stored in a MOB file, if `mob_enabled`.
        in_memory_compaction: NONE, BASIC, EAGER or ADAPTIVE; None means the server's setting.
        storage_policy: The policy of HDFS for store files; None means the server's setting.
        compaction_compression: The compression of compacted store files; None means `compression`.
        index_block_encoding: NONE or PREFIX_TREE, from HBase 2.6 on.
        configuration: The settings of HBase for this family, by name.
        attributes: The attributes that have no field here, by name.
    """

    name: bytes
    versions: int = 1
    min_versions: int = 0
    ttl_s: int | None = None
    compression: str = "NONE"
    bloom: str = "ROW"
    block_encoding: str = "NONE"
    keep_deleted_cells: str = "FALSE"
    block_size_bytes: int = 65_536
    block_cache: bool = True
    in_memory: bool = False
    cache_data_on_write: bool = False
    evict_on_close: bool = False
    scope: int = 0
    dfs_replication: int = 0
    cache_blooms_on_write: bool = False
    cache_indexes_on_write: bool = False
    prefetch_on_open: bool = False
    compress_tags: bool = True
    new_version_behavior: bool = False
    mob_enabled: bool = False
    mob_threshold_bytes: int = 102_400
    in_memory_compaction: str | None = None
    storage_policy: str | None = None
    compaction_compression: str | None = None
    index_block_encoding: str = "NONE"
    configuration: Mapping[str, str] = field(default_factory=dict, hash=False)
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)

    def with_options(self, options: Mapping[str, Any]) -> FamilyDescriptor:
        """Return a copy with changed options; for the form of `options` see `ModifyFamily`."""
        return replace(self, **_merged_options(self, options))


@dataclass(frozen=True, slots=True)
class TableDescriptor:
    """The descriptor of a table in HBase.

    Attributes:
        name: The name of the table, as `namespace:name` unless the namespace is the default one.
        attributes: The attributes of the table, by name. HBase also stores attributes whose names
            it does not know, but does not use them.
        durability: USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL or FSYNC_WAL.
    """

    name: str
    families: tuple[FamilyDescriptor, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    durability: str = "USE_DEFAULT"
    region_replication: int = 1

    def with_options(self, options: Mapping[str, Any]) -> TableDescriptor:
        """Return a copy with changed options; for the form of `options` see `ModifyTable`."""
        return replace(self, **_merged_options(self, options))


def _merged_options(
    descriptor: FamilyDescriptor | TableDescriptor, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the new value of each option in `options`.

    A mapping of settings has only the settings to change: it is merged with the known settings.
    """
    return {
        option: merged_settings(getattr(descriptor, option), value)
        if isinstance(value, Mapping)
        else value
        for option, value in options.items()
    }


def merged_settings(known: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return `known` with `changes` applied; the value None in `changes` removes a setting."""
    merged = {**known, **changes}
    return {name: value for name, value in merged.items() if value is not None}


@dataclass(frozen=True, slots=True)
class RegionRange:
    """One region of a table.

    Attributes:
        start: The first possible row key of the region; empty means the beginning of the table.
        stop: The first possible row key after the region; None means the end of the table.
        server: The address of the region's server as `host:port`; "memory" in the memory gateway.
        created_ms: The time when the region was created, by HBase's clock: the id in its name. 0 if
            it is unknown, because Thrift2 (HBase 2.6) answers 0 for every region. The regions of a
            new table have the same time, and so have the two parts of a split region. A merged
            region has the greatest time of its parts, plus one. The time is not compared for
            equality.
    """

    start: bytes
    stop: bytes | None
    server: str
    created_ms: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Ping(Operation[None]):
    """A small request that every working gateway can answer."""


@dataclass(frozen=True, slots=True)
class ListTables(Operation[list[str]]):
    """List the names of all user tables, sorted.

    A name is `namespace:name`, or only `name` in the default namespace.
    """


@dataclass(frozen=True, slots=True)
class DescribeTable(Operation[TableDescriptor]):
    """Return the descriptor of one table.

    Thrift1 returns only some options of the families. All other options then have the default
    values of the descriptor classes, even if HBase has other values.
    """

    table: str


@dataclass(frozen=True, slots=True)
class CreateTable(Operation[None]):
    """Create a table, pre-split at `split_keys`, which must be distinct and not empty.

    Split keys, and options that Thrift1 does not know, need Thrift2. TableExistsError is raised if
    the table exists. NamespaceNotFoundError is raised if its namespace does not exist.
    """

    descriptor: TableDescriptor
    split_keys: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class DropTable(Operation[None]):
    """Disable and delete a table with all its data."""

    table: str


@dataclass(frozen=True, slots=True)
class DisableTable(Operation[None]):
    """Disable a table: reads and writes are refused until it is enabled."""

    table: str


@dataclass(frozen=True, slots=True)
class EnableTable(Operation[None]):
    """Enable a disabled table."""

    table: str


@dataclass(frozen=True, slots=True)
class AddFamily(Operation[None]):
    """Add a column family to an existing table, online. Needs Thrift2."""

    table: str
    family: FamilyDescriptor


@dataclass(frozen=True, slots=True)
class DeleteFamily(Operation[None]):
    """Delete a column family of an existing table with all its cells, online. Needs Thrift2.

    RejectedError is raised if the table does not have the family, or has no other one.
    """

    table: str
    family: bytes


@dataclass(frozen=True, slots=True)
class TruncateTable(Operation[None]):
    """Delete all rows of a table; its split keys and options stay, and it is enabled afterwards.

    The table is disabled while its rows are deleted. It may also be disabled before the request,
    for example because an earlier `TruncateTable` was interrupted. Needs Thrift2.
    """

    table: str


@dataclass(frozen=True, slots=True)
class ModifyFamily(Operation[None]):
    """Change some options of a column family, online, and keep all others. Needs Thrift2.

    The answer comes when all regions use the new options. The request is safe to repeat.
    FamilyNotFoundError is raised if the table does not have the family.

    Attributes:
        options: The new values by the names of `FamilyDescriptor`'s attributes. `configuration` and
            `attributes` have only the settings to change, by name; None removes a setting.
    """

    table: str
    family: bytes
    options: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class ModifyTable(Operation[None]):
    """Change some options of a table, online, and keep all others. Needs Thrift2.

    The answer comes when all regions use the new options. The request is safe to repeat. Over
    Thrift2, it reads the table's descriptor, and writes the whole descriptor back with the changes.
    If another program changes the table or its families in between, that change is lost. So do not
    send the request while another program changes the table.

    Attributes:
        options: The new values by the names of `TableDescriptor`'s attributes. `attributes` has
            only the attributes to change, by name; None removes an attribute.
    """

    table: str
    options: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class ListRegions(Operation[list[RegionRange]]):
    """List a table's regions in key order, without their replicas.

    Attributes:
        needs_times: Whether the answer must have the times when the regions were created, which
            only Thrift1 shows.
    """

    table: str
    needs_times: bool = False


@dataclass(frozen=True, slots=True)
class ListNamespaces(Operation[list[str]]):
    """List the names of all namespaces, sorted. Needs Thrift2."""


@dataclass(frozen=True, slots=True)
class CreateNamespace(Operation[None]):
    """Create a namespace. Needs Thrift2."""

    namespace: str


@dataclass(frozen=True, slots=True)
class DropNamespace(Operation[None]):
    """Delete an empty namespace. Needs Thrift2."""

    namespace: str


ADMINISTRATION: Final[tuple[type[Operation[Any]], ...]] = (
    AddFamily,
    CreateNamespace,
    CreateTable,
    DeleteFamily,
    DisableTable,
    DropNamespace,
    DropTable,
    EnableTable,
    ModifyFamily,
    ModifyTable,
    TruncateTable,
)
"""The requests that change tables or namespaces. Most of them fail if they are sent twice."""
