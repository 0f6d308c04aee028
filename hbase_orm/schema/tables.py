"""The frozen description of a model's table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hbase_orm.codecs import Codec
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.rowkey import KeyLayout
from hbase_orm.rowkey.record_types import RecordTypeCodec
from hbase_orm.schema.conditions import Condition, Expr
from hbase_orm.schema.functions import FunctionExpr
from hbase_orm.schema.storage import Storage, StoredAsCells, StoredAsRows

MARKER_QUALIFIER = b"_0"

Maintained = Literal["always", "manual"]


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

    @property
    def makes_default(self) -> bool:
        """Whether every read of a row without the cell makes a value, by `default_factory`."""
        return self.has_default and not self.nullable and self.default_factory is not None

    def new_default(self) -> Any:
        """Return the declared default, or a new one of `default_factory`."""
        return self.default if self.default_factory is None else self.default_factory()


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
        """Return whether a column is that of an entry."""
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
class RecordTypes:
    """The record types of a base model; they join when their classes are made.

    Attributes:
        codec: The part of the key that holds them.
        models: Their classes, by the part's bytes.
    """

    codec: RecordTypeCodec
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
        record_types: The record types in the table, if the model is the base of several.
        dynamics: Fields of dynamic columns.
        version: The column that counts the writes of a row, or None.
        timestamps: Who stamps the cells, "server" or "client"; None leaves it to the engine.
        anchor: The first required plain column that is not deferred: a guarded row exists exactly
            when it is visible.
        marker: The column that every put of a model without an anchor writes, so that a row exists;
            None where there is an anchor.
        deferred: The plain columns that reads of objects leave out.
        column_by_name: Plain columns, counters and the version by the name of their field.
        codecs: The codec of each field by name: in the row key, else in its column.
        family_names: The data families' names: what a read of the whole row asks for.
        storage: How objects are stored: each as a row, or each as a cell.
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
    record_types: RecordTypes | None = field(default=None, compare=False, repr=False)
    dynamics: tuple[DynamicSchema, ...] = ()
    version: ColumnSchema | None = None
    timestamps: str | None = None
    anchor: ColumnSchema | None = field(init=False, compare=False, repr=False)
    marker: bytes | None = field(init=False, compare=False, repr=False)
    deferred: tuple[ColumnSchema, ...] = field(init=False, compare=False, repr=False)
    column_by_name: Mapping[str, ColumnSchema] = field(init=False, compare=False, repr=False)
    codecs: Mapping[str, Codec[Any]] = field(init=False, compare=False, repr=False)
    family_names: tuple[bytes, ...] = field(init=False, compare=False, repr=False)
    storage: Storage = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compute once the values that every read needs."""
        set_ = object.__setattr__
        read = (c for c in self.columns if not c.deferred)
        anchor = next((c for c in read if c.is_required), None)
        set_(self, "anchor", anchor)
        has_marker = anchor is None and bool(self.families)
        marker = self.families[0].name + b":" + MARKER_QUALIFIER if has_marker else None
        set_(self, "marker", marker)
        set_(self, "deferred", tuple(c for c in self.columns if c.deferred))
        by_name = {column.name: column for column in (*self.columns, *self.numbers)}
        set_(self, "column_by_name", by_name)
        of_columns = {name: column.codec for name, column in by_name.items()}
        set_(self, "codecs", of_columns | dict(self.layout.codecs))
        set_(self, "family_names", tuple(family.name for family in self.families))
        storage: Storage = StoredAsRows()
        if self.packed_bytes:
            column = self.columns[0].column
            storage = StoredAsCells(self.model_name, self.layout, column, self.packed_bytes)
        set_(self, "storage", storage)

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
        """Return whether a field belongs to the model, or to one it inherits from."""
        own = self.fields.get(field.name)
        return own is not None and own.is_same_field(field)

    @property
    def numbers(self) -> tuple[ColumnSchema, ...]:
        """Counters and version: nobody sets them, and where they are absent they read 0."""
        return self.counters if self.version is None else (*self.counters, self.version)

    @property
    def dynamic_by_name(self) -> Mapping[str, DynamicSchema]:
        """Fields of dynamic columns by name."""
        return {dynamic.name: dynamic for dynamic in self.dynamics}
