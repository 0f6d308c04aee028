"""Requests about tables, families, regions and namespaces, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hbase_orm.ops.operation import Operation


@dataclass(frozen=True, slots=True)
class FamilyDescriptor:
    """A column family as HBase knows it.

    Attributes:
        versions: Most versions kept a column (1 or more).
        min_versions: Versions kept although their TTL has run out.
        ttl_s: Time to live in seconds; None means for ever.
        compression: NONE, SNAPPY, LZ4, ZSTD or GZ, if the server has the codec.
        bloom: NONE, ROW or ROWCOL.
        block_encoding: NONE, PREFIX, DIFF, FAST_DIFF or ROW_INDEX_V1.
        keep_deleted_cells: FALSE, TRUE or TTL.
        block_size_bytes: Size of a block in a store file.
        scope: 1 to replicate the family to other clusters, 0 not to.
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


@dataclass(frozen=True, slots=True)
class TableDescriptor:
    """A table as HBase knows it: `namespace:name` (the default namespace is left out).

    Attributes:
        attributes: Free table attributes, and those HBase reads.
        durability: USE_DEFAULT, SKIP_WAL, ASYNC_WAL, SYNC_WAL or FSYNC_WAL.
    """

    name: str
    families: tuple[FamilyDescriptor, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)
    durability: str = "USE_DEFAULT"
    region_replication: int = 1


@dataclass(frozen=True, slots=True)
class RegionRange:
    """One region: keys from `start` (included) to `stop` (excluded; None is the table's end)."""

    start: bytes
    stop: bytes | None
    server: str


@dataclass(frozen=True, slots=True)
class Ping(Operation[None]):
    """Ask for something small that every working gateway can answer."""


@dataclass(frozen=True, slots=True)
class ListTables(Operation[list[str]]):
    """Name all user tables, namespaces included unless default, sorted."""


@dataclass(frozen=True, slots=True)
class DescribeTable(Operation[TableDescriptor]):
    """Describe one table. Thrift1 shows less: fields it does not know keep their defaults."""

    table: str


@dataclass(frozen=True, slots=True)
class CreateTable(Operation[None]):
    """Create a table, pre-split at `split_keys` (non-empty, distinct). Needs Thrift2.

    Raises (from the driver): TableExistsError, NamespaceNotFoundError.
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
class ListRegions(Operation[list[RegionRange]]):
    """List a table's regions in key order."""

    table: str


@dataclass(frozen=True, slots=True)
class ListNamespaces(Operation[list[str]]):
    """Name all namespaces, sorted. Needs Thrift2."""


@dataclass(frozen=True, slots=True)
class CreateNamespace(Operation[None]):
    """Create a namespace. Needs Thrift2."""

    namespace: str


@dataclass(frozen=True, slots=True)
class DropNamespace(Operation[None]):
    """Delete an empty namespace. Needs Thrift2."""

    namespace: str
