"""The frozen description of a model's table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hbase_orm.codecs import Codec
from hbase_orm.codecs.text import Raw
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
        name: The name of the field.
        column: `family:qualifier`.
        codec: The codec of the values.
        nullable: Whether the field may be None; a field that is None has no cell.
        has_default: Whether the field has a `default` or a `default_factory`.
        default: The declared default, or None.
        default_factory: A function that returns the default, or None.
        deferred: Whether reads of objects leave the column out.
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
        """Whether a read of a row without the cell calls `default_factory`."""
        return self.has_default and not self.nullable and self.default_factory is not None

    def new_default(self) -> Any:
        """Return the declared default, or a new value from `default_factory`."""
        return self.default if self.default_factory is None else self.default_factory()


@dataclass(frozen=True, slots=True)
class DynamicSchema:
    """A field of dynamic columns: all columns that begin with the field's prefix.

    Attributes:
        name: The name of the field.
        prefix: The prefix of the columns: `family:prefix`.
        name_codec: The codec of the names; a column is the prefix followed by an encoded name.
        codec: The codec of the values.
        taken: The columns with this prefix that do not belong to the field: declared columns and
            the marker.
    """

    name: str
    prefix: bytes
    name_codec: Codec[Any]
    codec: Codec[Any]
    taken: frozenset[bytes] = frozenset()

    def holds(self, column: bytes) -> bool:
        """Return whether a column is one of this field's dynamic columns."""
        return column.startswith(self.prefix) and column not in self.taken

    def column_of(self, name: Any) -> bytes:
        """Return the dynamic column with this name.

        Raises:
            CodecError: The name does not fit the codec.
        """
        return self.prefix + self.name_codec.encode(name)


@dataclass(frozen=True, slots=True)
class IndexSchema:
    """A secondary index.

    Attributes:
        name: The name of the attribute that the index is assigned to.
        table: The physical index table.
        layout: The indexed parts of an entry's key, in order. The row key of the base table's row
            follows them, except in a unique index.
        expressions: For each part, the expression whose values it stores.
        columns: The columns that a row's entries are computed from, including those of `where`.
        unique: Whether no two rows may have the same indexed values. An entry's key then consists
            of these values only.
        included: The columns whose bytes each entry copies.
        covering: Whether statements may be answered from the entries, without reading the rows.
        where: The conditions that rows with entries fulfil; empty if there are none.
        salt: The number of buckets over which the entries are spread by a leading byte; 0 for no
            salt.
        nulls: Whether a row in which an indexed value is None has an entry.
        maintained: "always" if every write updates the entries, "manual" if only builds do.
        split_keys: The split keys of new index tables, in ascending order.
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
    split_keys: tuple[bytes, ...] = ()

    @property
    def is_multi_valued(self) -> bool:
        """Whether a row may have several entries."""
        return any(isinstance(of, FunctionExpr) and of.is_each for of in self.expressions)


@dataclass(frozen=True, slots=True)
class RecordTypes:
    """The record types of a base model: the models whose rows are in the base model's table.

    Each model is added when its class is created.

    Attributes:
        codec: The codec of the record type, which is a part of the row key.
        models: The models by the bytes of their record type in the row key.
    """

    codec: RecordTypeCodec
    models: dict[bytes, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Columns that a record has: single ones by their names, dynamic ones by their prefixes."""

    names: frozenset[bytes]
    prefixes: tuple[bytes, ...] = ()

    def __contains__(self, column: bytes) -> bool:
        """Return whether the record has a column."""
        return column in self.names or column.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class Existence:
    """What shows that a row exists, as the record of its table says.

    Attributes:
        anchor: The column that every row has. None if there is no such column, or if the table is
            plain and the model does not declare the column.
        marker: The column that every put writes so that the row exists; None if puts need none.
        required: The record's required columns, in its order. Rows may lack some of them, because
            other programs may not declare them.
        counters: The counters; they do not show that a guarded row exists.
        is_guarded: Whether rows have guards. Any cell shows that a row without a guard exists.
        known: The columns one of which a guarded row without an anchor must have. A column that
            the record lacks shows nothing: to one program it is a counter, another does not know
            it. None where there is an anchor, or any cell shows that a row exists.
        is_recorded: Whether the programs of the other models know of this one, by the record. They
            do not look for the rows of a view that is not recorded and leaves out the anchor.
    """

    anchor: bytes | None
    marker: bytes | None
    required: tuple[bytes, ...] = ()
    counters: frozenset[bytes] = frozenset()
    is_guarded: bool = False
    known: KnownColumns | None = None
    is_recorded: bool = True


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The resolved and checked declarations of a model.

    Attributes:
        model_name: The name of the class.
        table: `namespace:name`.
        families: The descriptors of the data families.
        layout: The layout of the row key.
        columns: The plain columns.
        counters: The counter columns.
        indexes: The secondary indexes.
        fields: Every field by name; conditions refer to the same objects.
        split_keys: The split keys of a new table.
        durability: How writes of a new table reach the write-ahead log.
        region_replication: The number of copies that each region of a new table has.
        attributes: The declared attributes of a new table.
        is_foreign: Whether other programs own the table: it has no record, and the catalog is
            neither read nor written.
        packed_bytes: If each object is stored as one cell, the width of the cell's qualifier in
            bytes. The qualifier is then the last part of `layout`. Otherwise 0.
        record_types: The record types of a model that is the base of record types, else None.
        dynamics: The fields of dynamic columns.
        version: The column that counts the writes of a row, or None.
        timestamps: Who sets the timestamps of cells, "server" or "client"; None means the engine's
            option.
        existence: What shows that a row exists, as the record of the table says. None if no record
            describes this model's rows: then this model's columns and their order decide.
        type_existence: The `existence` of each record type of a base, by the bytes of the type in
            row keys.
        namespace: The engine's namespace, which tables have that are named without one; empty for
            HBase's default, None for the schema of a class, which no engine has bound.
        anchor: A guarded row exists exactly if it has a cell in this column. It is the anchor in
            the table's record. Without a record, it is the first required plain column that is not
            deferred. None if there is no such column.
        marker: The column that every put writes so that the row exists; None if puts need none. A
            model with an anchor needs none.
        deferred: The plain columns that reads of objects leave out.
        column_by_name: The plain columns, counters and the version by the name of their field.
        codecs: The codec of each field by name. A key field has the codec of the row key, every
            other field has the codec of its column.
        family_names: The names of the data families, which a read of a whole row requests.
        storage: The storage of the objects: each as a row, or each as a cell.
        has_guards: Whether the rows of the table have guards. The record of the table decides;
            without a record, the model does.
        counted: The columns of the counters of the model and of its table's record.
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
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_foreign: bool = False
    packed_bytes: int = 0
    record_types: RecordTypes | None = field(default=None, compare=False, repr=False)
    dynamics: tuple[DynamicSchema, ...] = ()
    version: ColumnSchema | None = None
    timestamps: str | None = None
    existence: Existence | None = None
    type_existence: Mapping[bytes, Existence] = field(default_factory=dict[bytes, Existence])
    namespace: str | None = field(default=None, compare=False, repr=False)
    anchor: ColumnSchema | None = field(init=False, compare=False, repr=False)
    marker: bytes | None = field(init=False, compare=False, repr=False)
    deferred: tuple[ColumnSchema, ...] = field(init=False, compare=False, repr=False)
    column_by_name: Mapping[str, ColumnSchema] = field(init=False, compare=False, repr=False)
    codecs: Mapping[str, Codec[Any]] = field(init=False, compare=False, repr=False)
    family_names: tuple[bytes, ...] = field(init=False, compare=False, repr=False)
    storage: Storage = field(init=False, compare=False, repr=False)
    has_guards: bool = field(init=False, compare=False, repr=False)
    counted: frozenset[bytes] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compute once the values that every read needs."""
        set_ = object.__setattr__
        set_(self, "anchor", self._anchor())
        set_(self, "marker", self._marker())
        set_(self, "deferred", tuple(c for c in self.columns if c.deferred))
        by_name = {column.name: column for column in (*self.columns, *self.numbers)}
        set_(self, "column_by_name", by_name)
        of_columns = {name: column.codec for name, column in by_name.items()}
        set_(self, "codecs", of_columns | dict(self.layout.codecs))
        set_(self, "family_names", tuple(family.name for family in self.families))
        known = self.existence
        set_(self, "has_guards", self.is_guarded if known is None else known.is_guarded)
        counted = frozenset(column.column for column in self.counters)
        set_(self, "counted", counted if known is None else counted | known.counters)
        storage: Storage = StoredAsRows()
        if self.packed_bytes:
            column = self.columns[0].column
            storage = StoredAsCells(self.model_name, self.layout, column, self.packed_bytes)
        set_(self, "storage", storage)

    @property
    def lacks_anchor(self) -> bool:
        """Whether the record of the table has an anchor that the model does not declare."""
        return self.existence is not None and self.anchor is not None and not self.anchor.name

    def _anchor(self) -> ColumnSchema | None:
        if self.existence is None:
            read = (column for column in self.columns if not column.deferred)
            return next((column for column in read if column.is_required), None)
        wanted = self.existence.anchor
        if wanted is None:
            return None
        own = next((column for column in self.columns if column.column == wanted), None)
        # A view may leave the column out; nobody reads its value, only that it is there.
        return own or ColumnSchema("", wanted, Raw(), nullable=False)

    def _marker(self) -> bytes | None:
        if self.existence is not None:
            return self.existence.marker
        return self.default_marker if self.anchor is None else None

    @property
    def default_marker(self) -> bytes | None:
        """The column of the marker, for a model that needs one; None if there is no family."""
        return self.families[0].name + b":" + MARKER_QUALIFIER if self.families else None

    @property
    def row_layout(self) -> KeyLayout:
        """The layout of the row key, without the parts that are stored in a qualifier."""
        layout = self.layout
        return replace(layout, parts=layout.parts[:-1]) if self.packed_bytes else layout

    @property
    def is_guarded(self) -> bool:
        """Whether rows have guards and are written by the index protocol."""
        return bool(self.indexes) or self.version is not None

    def shows_row(self, cells: Collection[bytes]) -> bool:
        """Return whether a row with cells in these data columns exists."""
        if not self.has_guards:
            return True
        if self.anchor is not None:
            return self.anchor.column in cells
        known = None if self.existence is None else self.existence.known
        return any(c not in self.counted and (known is None or c in known) for c in cells)

    @property
    def in_every_row(self) -> tuple[ColumnSchema, ...]:
        """The plain columns that every row has.

        If the table has a record, this is at most the anchor. Rows may lack any other column,
        because another program may not declare it yet, or no longer declares it.
        """
        if self.existence is None:
            return tuple(column for column in self.columns if column.is_required)
        return tuple(c for c in self.columns if c.column == self.existence.anchor)

    @property
    def written_by_all(self) -> tuple[ColumnSchema, ...]:
        """The plain columns that every program writes into new rows, as far as the record shows.

        If the table has a record, the columns are in the order of the record, which is the same for
        all programs.
        """
        required = {column.column: column for column in self.columns if column.is_required}
        if self.existence is None:
            return tuple(required.values())
        return tuple(required[name] for name in self.existence.required if name in required)

    def has_field(self, field: Any) -> bool:
        """Return whether a field belongs to the model or is inherited by it."""
        own = self.fields.get(field.name)
        return own is not None and own.is_same_field(field)

    @property
    def numbers(self) -> tuple[ColumnSchema, ...]:
        """The counters and the version, which programs cannot set; without a cell they are 0."""
        return self.counters if self.version is None else (*self.counters, self.version)

    @property
    def dynamic_by_name(self) -> Mapping[str, DynamicSchema]:
        """The fields of dynamic columns by name."""
        return {dynamic.name: dynamic for dynamic in self.dynamics}
