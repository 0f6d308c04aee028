"""The declarations of families and tables in a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from hbase_orm.errors import SchemaError
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.rowkey import KeyLayout, split_keys
from hbase_orm.schema.options import (
    check_choice,
    check_count,
    check_split_keys,
    check_splits,
    check_table_name,
    check_time_to_live,
)

GUARD_FAMILY = b"_"

_FAMILY_CHOICES: Final[Mapping[str, tuple[object, ...]]] = MappingProxyType(
    {
        "compression": ("NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"),
        "bloom": ("NONE", "ROW", "ROWCOL"),
        "block_encoding": ("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"),
        "scope": (0, 1),
        "block_cache": (False, True),
        "in_memory": (False, True),
        "cache_data_on_write": (False, True),
        "evict_on_close": (False, True),
    }
)
_DURABILITIES: Final = ("USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL")


class Family:
    """A column family, declared in a model's body.

    Attributes:
        name: The family's name; by default the name of its attribute.
    """

    def __init__(
        self,
        name: str | None = None,
        /,
        *,
        versions: int = 1,
        min_versions: int = 0,
        ttl: timedelta | None = None,
        compression: Literal["NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"] = "NONE",
        bloom: Literal["NONE", "ROW", "ROWCOL"] = "ROW",
        block_encoding: Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"] = "NONE",
        block_size_bytes: int = 65_536,
        block_cache: bool = True,
        keep_deleted_cells: bool | Literal["TTL"] = False,
        in_memory: bool = False,
        cache_data_on_write: bool = False,
        evict_on_close: bool = False,
        scope: Literal[0, 1] = 0,
    ) -> None:
        """Declare a family; the options are HBase's own.

        Args:
            name: The family's name: printable, without a colon; `_` is reserved for the guards of
                rows.
            versions: The largest number of versions that HBase keeps of a column, 1 or more.
            min_versions: The number of versions that HBase keeps even if their TTL is over.
            ttl: The time to live of cells, in whole seconds as HBase stores it.
            compression: The compression of store files; the server must have its codec.
            bloom: The kind of bloom filter: none, by row key, or by row key and column.
            block_encoding: The encoding of keys inside a block.
            block_size_bytes: The size of a block in a store file.
            block_cache: Whether reads fill the block cache.
            keep_deleted_cells: Whether deleted cells are kept, for reads of the past. "TTL" keeps
                them until the delete is older than `ttl`.
            in_memory: Whether the block cache prefers this family's blocks.
            cache_data_on_write: Whether blocks are cached when they are written.
            evict_on_close: Whether a region's blocks are dropped from the cache when it closes.
            scope: 1 replicates the family to other clusters.

        Raises:
            SchemaError: An option has the wrong type or is out of range.
        """
        check_count("versions", versions, 1)
        check_count("min_versions", min_versions, 0, versions)
        check_time_to_live(ttl)
        check_count("block_size_bytes", block_size_bytes, 1)
        check_choice("keep_deleted_cells", keep_deleted_cells, (False, True, "TTL"))
        if name is not None:
            check_family_name(name)
        self.name = name
        self._options: dict[str, Any] = {
            "versions": versions,
            "min_versions": min_versions,
            "ttl_s": None if ttl is None else int(ttl.total_seconds()),
            "compression": compression,
            "bloom": bloom,
            "block_encoding": block_encoding,
            "block_size_bytes": block_size_bytes,
            "block_cache": block_cache,
            "keep_deleted_cells": str(keep_deleted_cells).upper(),
            "in_memory": in_memory,
            "cache_data_on_write": cache_data_on_write,
            "evict_on_close": evict_on_close,
            "scope": scope,
        }
        for option, allowed in _FAMILY_CHOICES.items():
            check_choice(option, self._options[option], allowed)

    def __set_name__(self, owner: type, attribute: str) -> None:
        """Store the attribute's name unless a name was given."""
        if self.name is None:
            self.name = attribute  # checked with the class: Python 3.11 wraps errors raised here

    def descriptor(self) -> FamilyDescriptor:
        """Return the family's descriptor for HBase."""
        return FamilyDescriptor(name=(self.name or "").encode(), **self._options)


def check_family_name(name: str) -> None:
    """Raise an error for a name that HBase does not allow or this library reserves.

    Raises:
        SchemaError: The name is not a str, is empty, or begins with a dot. Or it has a colon, a
            slash, a backslash or a control character. Or it is `_`, or HBase's own
            "recovered.edits".
    """
    is_text = isinstance(name, str) and name.isprintable() and not set(name) & set(":/\\")
    if not name or not is_text or name.startswith(".") or name == "recovered.edits":
        raise SchemaError(
            "the name is not allowed for a column family",
            family=name,
            fix='choose a short name such as "d"',
        )
    if name.encode() == GUARD_FAMILY:
        raise SchemaError(
            "the family name is reserved for the guards of indexed rows",
            family=name,
            fix='choose another name such as "d"',
        )


class Table:
    """A table's name and the options for creating it.

    Attributes:
        name: `name` or `namespace:name`.
    """

    def __init__(
        self,
        name: str,
        /,
        *,
        splits: Literal["auto"] | int | Sequence[bytes] = "auto",
        durability: Literal[
            "USE_DEFAULT", "SKIP_WAL", "ASYNC_WAL", "SYNC_WAL", "FSYNC_WAL"
        ] = "USE_DEFAULT",
        region_replication: int = 1,
    ) -> None:
        """Declare a table.

        Args:
            name: The name of the table, with its namespace unless that is the default one.
            splits: The split keys of a new table in ascending order, or a number of regions, which
                divide the possible beginnings of row keys evenly. "auto" makes one region for each
                salt bucket or partition, and 16 regions for keys that begin with a hash.
            durability: Whether and how a write reaches the write-ahead log before it is
                acknowledged.
            region_replication: The number of copies of each region that serve reads, 1 or more.

        Raises:
            SchemaError: HBase does not allow the name, or an option has the wrong type or is out of
                range.
        """
        check_table_name(name)
        check_splits(splits)
        check_choice("durability", durability, _DURABILITIES)
        check_count("region_replication", region_replication, 1)
        self.name = name
        self.splits = splits
        self.durability = durability
        self.region_replication = region_replication


def resolve_splits(table: Table, layout: KeyLayout) -> tuple[bytes, ...]:
    """Return the split keys of a new table, in ascending order.

    Raises:
        SchemaError: A split key is empty, is given twice, or follows a greater one; or a number of
            regions is given, but the possible beginnings of row keys are unknown.
    """
    if table.splits == "auto":
        return split_keys(layout)
    if isinstance(table.splits, int):
        return split_keys(layout, table.splits)
    return check_split_keys(table.splits, table=table.name)
