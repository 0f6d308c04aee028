"""Declarations of families and tables, and the frozen description of a model's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final, Literal

from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.rowkey import KeyLayout, split_keys
from hbase_orm.rowkey.kinds import Kinds
from hbase_orm.schema.conditions import Condition, Expr
from hbase_orm.schema.functions import FunctionExpr
from hbase_orm.schema.options import (
    check_choice,
    check_count,
    check_splits,
    check_table_name,
    check_time_to_live,
)

GUARD_FAMILY = b"_"
MARKER_QUALIFIER = b"_0"

Maintained = Literal["always", "manual"]


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
        name: The family's name; the attribute's, if none is given.
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
            name: Printable, without a colon; not `_`, which holds the guards of indexed rows.
            versions: Most versions kept of a column, 1 or more.
            min_versions: Versions kept though their TTL has run out.
            ttl: How long a cell lives; whole seconds, HBase's unit.
            compression: Of store files; the server must have the codec.
            bloom: What the bloom filter holds.
            block_encoding: How keys are stored within a block.
            block_size_bytes: Size of a block in a store file.
            block_cache: Whether reads fill the block cache.
            keep_deleted_cells: Keep what was deleted, for reads as of a time before.
            in_memory: Prefer this family's blocks in the cache.
            cache_data_on_write: Cache blocks when they are written.
            evict_on_close: Drop the blocks from the cache when a region closes.
            scope: 1 replicates the family to other clusters.

        Raises:
            SchemaError: An option has the wrong type or is out of its range.
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
        """Take the attribute's name unless one was given."""
        if self.name is None:
            self.name = attribute  # checked with the class: Python 3.11 wraps what is raised here

    def descriptor(self) -> FamilyDescriptor:
        """Return the family as HBase knows it."""
        return FamilyDescriptor(name=(self.name or "").encode(), **self._options)


def check_family_name(name: str) -> None:
    """Refuse a name that HBase would not take or that this library needs.

    Raises:
        SchemaError: No text, empty, a colon, a slash, a backslash, a control character, a leading
            dot, HBase's own "recovered.edits", or `_`.
    """
    is_text = isinstance(name, str) and name.isprintable() and not set(name) & set(":/\\")
    if not name or not is_text or name.startswith(".") or name == "recovered.edits":
        raise SchemaError(
            "this is no name for a column family", family=name, fix='choose a short one, as "d"'
        )
    if name.encode() == GUARD_FAMILY:
        raise SchemaError(
            "the family name is reserved for the guards of indexed rows",
            family=name,
            fix='choose another, as "d"',
        )


class Table:
    """A table's name and how it is made.

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
            name: The table, with its namespace unless that is the default one.
            splits: Row keys at which the new table is cut, or how many regions share alike in what
                row keys can begin with; "auto" takes one region a salt bucket or partition, and
                16 where the key begins with a hash.
            durability: How a write reaches the log before it is acknowledged.
            region_replication: Copies of each region that serve reads, 1 or more.

        Raises:
            SchemaError: HBase takes no such name, or an option has the wrong type or is out of
                its range.
        """
        check_table_name(name)
        check_splits(splits)
        check_choice("durability", durability, _DURABILITIES)
        check_count("region_replication", region_replication, 1)
        self.name = name
        self.splits = splits
        self.durability = durability
        self.region_replication = region_replication


@dataclass(frozen=True, slots=True)
class ColumnSchema:
    """A field that is stored in a column.

    Attributes:
        name: The field.
        column: `family:qualifier`.
        codec: Value to bytes.
        nullable: Whether None stands for an absent cell.
        default: The declared default, if `has_default`.
        default_factory: Makes the default, or None.
        deferred: Whether reads of objects leave it out.
    """

    name: str
    column: bytes
    codec: Codec[Any]
    nullable: bool
    has_default: bool = False
    default: Any = None
    default_factory: Callable[[], Any] | None = None
    deferred: bool = False

    @property
    def is_required(self) -> bool:
        """Whether every row of the model is written with this column."""
        return not self.nullable


@dataclass(frozen=True, slots=True)
class DynamicSchema:
    """A field that is a map over the columns of one family whose qualifiers have a prefix.

    Attributes:
        name: The field.
        prefix: What the columns start with: `family:prefix`.
        name_codec: The rest of a column, which is the entry's name, to bytes.
        codec: Value to bytes.
        taken: Columns that start so and are no entries: declared ones and the marker.
    """

    name: str
    prefix: bytes
    name_codec: Codec[Any]
    codec: Codec[Any]
    taken: frozenset[bytes] = frozenset()

    def holds(self, column: bytes) -> bool:
        """Say whether a column is that of an entry."""
        return column.startswith(self.prefix) and column not in self.taken

    def column_of(self, name: Any) -> bytes:
        """Return the column of an entry.

        Raises:
            CodecError: The name does not fit.
        """
        return self.prefix + self.name_codec.encode(name)


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """A secondary index.

    Attributes:
        name: The attribute it was declared as.
        table: The physical index table.
        layout: The entry key's own parts, in order; the base row key follows them, but for a
            unique index.
        expressions: What each part holds: a field, an entry of dynamic columns, or a function of
            one of them.
        columns: The columns that a row's entries derive from, those of `where` among them.
        unique: Whether no two rows have the same values: an entry's key is the values alone.
        included: Columns whose bytes each entry repeats.
        covering: Whether statements may be answered from entries alone.
        where: Only rows that fulfil all of these have entries.
        salt: How many buckets the entries are spread over by a byte in front; 0 for none.
        nulls: Whether a row where a part is None has an entry.
        maintained: "always" by every write, or "manual" by builds alone.
    """

    name: str
    table: str
    layout: KeyLayout
    expressions: tuple[Expr[Any], ...] = field(default=(), compare=False, repr=False)
    columns: tuple[ColumnSchema, ...] = ()
    unique: bool = False
    included: tuple[ColumnSchema, ...] = ()
    covering: bool = False
    where: tuple[Condition, ...] = field(default=(), compare=False)
    salt: int = 0
    nulls: bool = False
    maintained: Maintained = "always"

    @property
    def is_multi_valued(self) -> bool:
        """Whether a row may have several entries."""
        return any(isinstance(of, FunctionExpr) and of.is_each for of in self.expressions)


@dataclass(frozen=True, slots=True)
class RecordKinds:
    """The record types of a base model; they join when their classes are made.

    Attributes:
        codec: The part of the key that tells them apart.
        models: Their classes, by the part's bytes.
    """

    codec: Kinds
    models: dict[bytes, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """What a model declares, resolved and checked.

    Attributes:
        model_name: The class.
        table: `namespace:name`.
        families: The data families, as HBase knows them.
        layout: The row key.
        columns: Plain columns.
        counters: Counter columns.
        indexes: Secondary indexes.
        fields: Every field by name: the very objects that conditions hold.
        split_keys: Where a new table is cut.
        packed_bytes: How many bytes at the end of `layout` are the qualifier of the one column, in
            models whose objects are cells; else 0.
        kinds: The record types in the table, if the model is the base of several.
        dynamics: Fields of dynamic columns.
        version: The column that counts the writes of a row, or None.
        timestamps: Who stamps the cells, "server" or "client"; None leaves it to the engine.
        anchor: The first required plain column that is not deferred: a guarded row exists exactly
            when it is visible.
        deferred: The plain columns that reads of objects leave out.
        column_by_name: Plain columns, counters and the version by the name of their field.
        codecs: The codec of each field by name: in the row key, else in its column.
        family_names: The data families' names: what a read of the whole row asks for.
    """

    model_name: str
    table: str
    families: tuple[FamilyDescriptor, ...]
    layout: KeyLayout
    columns: tuple[ColumnSchema, ...]
    counters: tuple[ColumnSchema, ...]
    indexes: tuple[IndexSchema, ...]
    fields: Mapping[str, Any] = field(compare=False, repr=False)
    split_keys: tuple[bytes, ...] = ()
    durability: str = "USE_DEFAULT"
    region_replication: int = 1
    packed_bytes: int = 0
    kinds: RecordKinds | None = field(default=None, compare=False, repr=False)
    dynamics: tuple[DynamicSchema, ...] = ()
    version: ColumnSchema | None = None
    timestamps: str | None = None
    anchor: ColumnSchema | None = field(init=False, compare=False, repr=False)
    deferred: tuple[ColumnSchema, ...] = field(init=False, compare=False, repr=False)
    column_by_name: Mapping[str, ColumnSchema] = field(init=False, compare=False, repr=False)
    codecs: Mapping[str, Codec[Any]] = field(init=False, compare=False, repr=False)
    family_names: tuple[bytes, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Work out, once, what every read asks."""
        set_ = object.__setattr__
        read = (c for c in self.columns if not c.deferred)
        set_(self, "anchor", next((c for c in read if c.is_required), None))
        set_(self, "deferred", tuple(c for c in self.columns if c.deferred))
        by_name = {column.name: column for column in (*self.columns, *self.numbers)}
        set_(self, "column_by_name", by_name)
        of_columns = {name: column.codec for name, column in by_name.items()}
        set_(self, "codecs", of_columns | dict(self.layout.codecs))
        set_(self, "family_names", tuple(family.name for family in self.families))

    @property
    def row_layout(self) -> KeyLayout:
        """The row key alone: `layout` without what stands in a qualifier."""
        layout = self.layout
        return replace(layout, parts=layout.parts[:-1]) if self.packed_bytes else layout

    @property
    def is_guarded(self) -> bool:
        """Whether rows are written by the index protocol."""
        return bool(self.indexes) or self.version is not None

    def has_field(self, field: Any) -> bool:
        """Say whether a field, or dynamic columns, are the model's, or of one it inherits from."""
        own = self.fields.get(field.name)
        return own is not None and own.is_same_field(field)

    @property
    def numbers(self) -> tuple[ColumnSchema, ...]:
        """Counters and version: nobody sets them, and where they are absent they read 0."""
        return self.counters if self.version is None else (*self.counters, self.version)

    @property
    def marker(self) -> bytes | None:
        """The column that every put of a model without an anchor writes, so that a row exists."""
        if self.anchor is not None:
            return None
        return self.families[0].name + b":" + MARKER_QUALIFIER

    @property
    def dynamic_by_name(self) -> Mapping[str, DynamicSchema]:
        """Fields of dynamic columns by name."""
        return {dynamic.name: dynamic for dynamic in self.dynamics}


def resolve_splits(table: Table, layout: KeyLayout) -> tuple[bytes, ...]:
    """Return the split keys of a new table, sorted.

    Raises:
        SchemaError: A split key is empty or stands twice, or the key is not known to begin with
            anything that a number of regions could share.
    """
    if table.splits == "auto":
        return split_keys(layout)
    if isinstance(table.splits, int):
        return split_keys(layout, table.splits)
    keys = tuple(sorted(table.splits))
    if len(set(keys)) < len(keys) or b"" in keys:
        raise SchemaError(
            "split keys must be distinct and not empty",
            table=table.name,
            splits=keys,
            fix='name each key once, or write splits="auto"',
        )
    return keys
