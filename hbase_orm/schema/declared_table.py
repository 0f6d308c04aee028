"""The declarations of families and tables in a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from hbase_orm.errors import SchemaError
from hbase_orm.ops import (
    BLOOM_PREFIX_SETTING,
    FAMILY_ATTRIBUTES,
    FIELD_ATTRIBUTES,
    FLUSH_SIZE_ATTRIBUTE,
    MAX_FILE_SIZE_ATTRIBUTE,
    MAX_ROW_KEY_BYTES,
    FamilyDescriptor,
)
from hbase_orm.rowkey import KeyLayout, split_keys
from hbase_orm.schema.options import (
    check_choice,
    check_count,
    check_split_keys,
    check_splits,
    check_table_name,
    check_texts,
    check_time_to_live,
)

GUARD_FAMILY = b"_"

_FAMILY_CHOICES: Final[Mapping[str, tuple[object, ...]]] = MappingProxyType(
    {
        "compression": ("NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"),
        "bloom": ("NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"),
        "block_encoding": ("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"),
        "scope": (0, 1),
        "block_cache": (False, True),
        "in_memory": (False, True),
        "cache_data_on_write": (False, True),
        "evict_on_close": (False, True),
        "cache_blooms_on_write": (False, True),
        "cache_indexes_on_write": (False, True),
        "prefetch_on_open": (False, True),
        "compress_tags": (False, True),
        "new_version_behavior": (False, True),
        "mob_enabled": (False, True),
        "in_memory_compaction": (None, "NONE", "BASIC", "EAGER", "ADAPTIVE"),
        "storage_policy": (None, "HOT", "WARM", "COLD", "ONE_SSD", "ALL_SSD", "LAZY_PERSIST"),
        "index_block_encoding": ("NONE", "PREFIX_TREE"),
        "compaction_compression": (None, "NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"),
    }
)
_MOST_DFS_REPLICATION: Final = 32_767  # Thrift2 sends a short
_OWN_OPTION: Final = "use the option of Family(...) for this attribute"
_RESERVED_IN_FAMILIES: Final[Mapping[str, str]] = MappingProxyType(
    dict.fromkeys((*FAMILY_ATTRIBUTES, *FIELD_ATTRIBUTES), _OWN_OPTION)
)
_RESERVED_SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {BLOOM_PREFIX_SETTING: "write bloom_prefix_bytes="}
)
_RESERVED_IN_TABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        MAX_FILE_SIZE_ATTRIBUTE: "write max_file_size_bytes=",
        FLUSH_SIZE_ATTRIBUTE: "write flush_size_bytes=",
        "DURABILITY": "write durability=",
        "REGION_REPLICATION": "write region_replication=",
        "IS_META": "leave this attribute to HBase",
        "READONLY": "no row can be written to a new table that is read-only: make the table "
        "read-only in the hbase shell, after its rows were written",
        "hbase_orm.*": "choose a name that does not begin with 'hbase_orm.'",
        "hbase.hregion.keyvalue.timestamp.slop.millisecs": "leave this attribute out: the library "
        "sets it for tables with guards",
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
        bloom: Literal["NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"] = "ROW",
        block_encoding: Literal["NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"] = "NONE",
        block_size_bytes: int = 65_536,
        block_cache: bool = True,
        keep_deleted_cells: bool | Literal["TTL"] = False,
        in_memory: bool = False,
        cache_data_on_write: bool = False,
        evict_on_close: bool = False,
        scope: Literal[0, 1] = 0,
        bloom_prefix_bytes: int | None = None,
        cache_blooms_on_write: bool = False,
        cache_indexes_on_write: bool = False,
        prefetch_on_open: bool = False,
        compress_tags: bool = True,
        new_version_behavior: bool = False,
        mob_enabled: bool = False,
        mob_threshold_bytes: int | None = None,
        dfs_replication: int = 0,
        in_memory_compaction: Literal["NONE", "BASIC", "EAGER", "ADAPTIVE"] | None = None,
        storage_policy: Literal["HOT", "WARM", "COLD", "ONE_SSD", "ALL_SSD", "LAZY_PERSIST"]
        | None = None,
        compaction_compression: Literal["NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"] | None = None,
        index_block_encoding: Literal["NONE", "PREFIX_TREE"] = "NONE",
        configuration: Mapping[str, str] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        """Declare a family; the options are HBase's own.

        Args:
            name: The family's name: printable, without a colon; `_` is reserved for the guards of
                rows.
            versions: The largest number of versions that HBase keeps of a column, 1 or more.
            min_versions: The number of versions that HBase keeps even if their TTL is over.
            ttl: The time to live of cells, in whole seconds as HBase stores it.
            compression: The compression of store files; the server must have its codec.
            bloom: The kind of bloom filter: none, by row key, by row key and column, or by the
                first `bloom_prefix_bytes` of row keys.
            block_encoding: The encoding of keys inside a block.
            block_size_bytes: The size of a block in a store file.
            block_cache: Whether reads fill the block cache.
            keep_deleted_cells: Whether deleted cells are kept, for reads of the past. "TTL" keeps
                them until the delete is older than `ttl`.
            in_memory: Whether the block cache prefers this family's blocks.
            cache_data_on_write: Whether blocks are cached when they are written.
            evict_on_close: Whether a region's blocks are dropped from the cache when it closes.
            scope: 1 replicates the family to other clusters.
            bloom_prefix_bytes: The length of the prefix for bloom="ROWPREFIX_FIXED_LENGTH".
            cache_blooms_on_write: Whether blocks of bloom filters are cached when they are written.
            cache_indexes_on_write: Whether index blocks are cached when they are written.
            prefetch_on_open: Whether all blocks are read into the cache when a region opens.
            compress_tags: Whether the tags of cells are compressed, if the blocks are encoded.
            new_version_behavior: Whether HBase orders puts and deletes of a column by their order
                of arrival instead of their timestamps. Models with indexes or a version column
                cannot have such a family, and `memory://` refuses to create it.
            mob_enabled: Whether large values are stored in files of their own (MOB files).
            mob_threshold_bytes: The size from which a value is large, 102,400 by default; only with
                `mob_enabled`.
            dfs_replication: The number of copies of each block in HDFS; 0 means HDFS's own setting.
            in_memory_compaction: How HBase compacts the memstore before a flush; None means the
                server's setting.
            storage_policy: HDFS's policy for the store files; None means the server's setting.
            compaction_compression: The compression of store files that a compaction writes; None
                means `compression`.
            index_block_encoding: The encoding of index blocks, from HBase 2.6 on; older servers
                ignore the option.
            configuration: Settings of HBase for this family, such as
                {"hbase.hstore.blockingStoreFiles": "20"}.
            attributes: Other attributes of the family, such as {"ENCRYPTION": "AES"}.

        Raises:
            SchemaError: An option has the wrong type or is out of range.
        """
        check_count("versions", versions, 1)
        check_count("min_versions", min_versions, 0, versions)
        check_time_to_live(ttl)
        check_count("block_size_bytes", block_size_bytes, 1)
        check_choice("keep_deleted_cells", keep_deleted_cells, (False, True, "TTL"))
        check_count("dfs_replication", dfs_replication, 0, _MOST_DFS_REPLICATION)
        settings = dict(
            check_texts(
                "configuration",
                configuration,
                _RESERVED_SETTINGS,
                '{"hbase.hstore.blockingStoreFiles": "20"}',
            )
        )
        if (bloom == "ROWPREFIX_FIXED_LENGTH") != (bloom_prefix_bytes is not None):
            raise SchemaError(
                "a bloom filter of row prefixes and the length of the prefix need each other",
                bloom=bloom,
                bloom_prefix_bytes=bloom_prefix_bytes,
                fix='write bloom="ROWPREFIX_FIXED_LENGTH", bloom_prefix_bytes=4; or leave '
                "bloom_prefix_bytes out",
            )
        if bloom_prefix_bytes is not None:
            check_count("bloom_prefix_bytes", bloom_prefix_bytes, 1, MAX_ROW_KEY_BYTES)
            settings[BLOOM_PREFIX_SETTING] = str(bloom_prefix_bytes)
        if mob_threshold_bytes is not None:
            check_count("mob_threshold_bytes", mob_threshold_bytes, 0)
            if mob_enabled is not True:
                raise SchemaError(
                    "mob_threshold_bytes= has no effect without mob_enabled=True",
                    mob_threshold_bytes=mob_threshold_bytes,
                    fix="add mob_enabled=True, or leave mob_threshold_bytes out",
                )
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
            "cache_blooms_on_write": cache_blooms_on_write,
            "cache_indexes_on_write": cache_indexes_on_write,
            "prefetch_on_open": prefetch_on_open,
            "compress_tags": compress_tags,
            "new_version_behavior": new_version_behavior,
            "mob_enabled": mob_enabled,
            "dfs_replication": dfs_replication,
            "in_memory_compaction": in_memory_compaction,
            "storage_policy": storage_policy,
            "compaction_compression": compaction_compression,
            "index_block_encoding": index_block_encoding,
            "configuration": settings,
            "attributes": check_texts(
                "attributes", attributes, _RESERVED_IN_FAMILIES, '{"ENCRYPTION": "AES"}'
            ),
        }
        if mob_threshold_bytes is not None:
            self._options["mob_threshold_bytes"] = mob_threshold_bytes
        for option, allowed in _FAMILY_CHOICES.items():
            check_choice(option, self._options[option], allowed)

    def __set_name__(self, owner: type, attribute: str) -> None:
        """Store the attribute's name unless a name was given."""
        if self.name is None:
            self.name = attribute  # checked with the class: Python 3.11 wraps errors raised here

    def __repr__(self) -> str:
        """Return the declaration: the name, and the options that are not the defaults."""
        usual = {each.name: each.default for each in fields(FamilyDescriptor)}
        options = {
            option: value
            for option, value in self._options.items()
            if value not in (usual[option], {})
        }
        if "ttl_s" in options:
            options["ttl"] = timedelta(seconds=options.pop("ttl_s"))
        return _declared("Family", self.name, options)

    def descriptor(self) -> FamilyDescriptor:
        """Return the family's descriptor for HBase."""
        return FamilyDescriptor(name=(self.name or "").encode(), **self._options)


def _declared(kind: str, name: str | None, options: Mapping[str, object]) -> str:
    arguments = [] if name is None else [repr(name)]
    arguments += [f"{option}={value!r}" for option, value in options.items()]
    return f"{kind}({', '.join(arguments)})"


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
        attributes: The attributes of a new table: the given ones, and those of the options for
            sizes.
        foreign: Whether other programs own the table and decide what its rows are.
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
        max_file_size_bytes: int | None = None,
        flush_size_bytes: int | None = None,
        attributes: Mapping[str, str] | None = None,
        foreign: bool = False,
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
            max_file_size_bytes: The size from which HBase splits a region; None means the server's
                setting.
            flush_size_bytes: The size of a memstore from which HBase flushes it; None means the
                server's setting.
            attributes: Other attributes of the table and settings of HBase for it, such as
                {"COMPACTION_ENABLED": "false", "owner": "sales"}.
            foreign: Whether other programs own the table and decide what its rows are. Models are
                then not compared with the table's record, and nothing about the table is read from
                the catalog or written to it. The models cannot have indexes or a version column.

        Raises:
            SchemaError: HBase does not allow the name, or an option has the wrong type or is out of
                range.
        """
        check_table_name(name)
        check_splits(splits)
        check_choice("durability", durability, _DURABILITIES)
        check_count("region_replication", region_replication, 1)
        check_choice("foreign", foreign, (False, True))
        self.name = name
        self.foreign = foreign
        self.splits = splits
        self.durability = durability
        self.region_replication = region_replication
        self.attributes = dict(
            check_texts(
                "attributes", attributes, _RESERVED_IN_TABLES, '{"COMPACTION_ENABLED": "false"}'
            )
        )
        sizes = (
            ("max_file_size_bytes", MAX_FILE_SIZE_ATTRIBUTE, max_file_size_bytes),
            ("flush_size_bytes", FLUSH_SIZE_ATTRIBUTE, flush_size_bytes),
        )
        for option, attribute, size_bytes in sizes:
            if size_bytes is not None:
                check_count(option, size_bytes, 1)
                self.attributes[attribute] = str(size_bytes)

    def __repr__(self) -> str:
        """Return the declaration: the name, and the options that are not the defaults."""
        usual = {"splits": "auto", "durability": "USE_DEFAULT", "region_replication": 1}
        usual |= {"attributes": {}, "foreign": False}
        given = {option: getattr(self, option) for option in usual}
        return _declared(
            "Table",
            self.name,
            {option: value for option, value in given.items() if value != usual[option]},
        )


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
