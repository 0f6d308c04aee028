"""Declarations of models as plain values, and the classes that they stand for.

The values are what the oracle decides from. Neither they nor it use the library's own schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import new_class
from typing import Any

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    Table,
    TablePerPeriod,
    Version,
    codecs,
    column,
    counter,
    dynamic,
    key,
    rowkey,
    version,
)

T0 = datetime(2024, 5, 1, tzinfo=UTC)
TIMES = tuple(T0 + timedelta(hours=9 * n) for n in range(4))


@dataclass(frozen=True)
class ValueKind:
    """The Python type and the codec of a field, and a few of its values."""

    name: str
    python: type
    codec: Callable[[], Any]
    values: tuple[Any, ...]

    def __repr__(self) -> str:
        return self.name


TEXT = ValueKind("text", str, codecs.text, ("a", "bc", "\u00e4", "zz"))
JSON = ValueKind("json", str, lambda: codecs.json(str), ("a", "bc", "\u00e4", "zz"))
INT64 = ValueKind("int64", int, codecs.int64, (0, 1, 7, 300))
UINT64 = ValueKind("uint64", int, codecs.uint64, (0, 1, 7, 300))
UINT32 = ValueKind("uint32", int, codecs.uint32, (0, 1, 7, 300))
INT32 = ValueKind("int32", int, codecs.int32, (0, 1, 7, 300))
FALLING = ValueKind("int64 desc", int, lambda: codecs.int64(desc=True), (0, 1, 7, 300))
FLOAT = ValueKind("float64", float, codecs.float64, (-1.5, 0.25, 2.0, 1e9))
BOOLEAN = ValueKind("boolean", bool, codecs.boolean, (False, True))
RAW = ValueKind("raw", bytes, codecs.raw, (b"\x00", b"a", b"\xff\x01", b"zz"))
MILLIS = ValueKind("millis", datetime, codecs.millis, TIMES)
MICROS = ValueKind("micros", datetime, codecs.micros, TIMES)

VALUE_KINDS = (TEXT, JSON, INT64, UINT64, UINT32, INT32, FLOAT, BOOLEAN, RAW, MILLIS, MICROS)
INDEXED_KINDS = (TEXT, INT64, UINT32, INT32, FLOAT, MILLIS)
KEY_KINDS = (TEXT, UINT32, INT64, UINT64, FALLING)
TAG_NAMES = ("p", "q", "r")


@dataclass(frozen=True)
class FieldSpec:
    """A field that is stored in columns.

    Attributes:
        name: The name of the attribute.
        column: `family:qualifier`; for dynamic columns their prefix.
        kind: The kind of the values.
        nullable: Whether the value may be None.
        default: The default of a field that cannot be None; None without one.
        role: "column", "counter", "dynamic" or "version".
        of: The record type that declares the field; empty for a field of the base.
    """

    name: str
    column: str
    kind: ValueKind
    nullable: bool = False
    default: Any = None
    role: str = "column"
    of: str = ""

    @property
    def family(self) -> str:
        return self.column.partition(":")[0]

    @property
    def qualifier(self) -> str:
        return self.column.partition(":")[2]

    @property
    def is_plain(self) -> bool:
        return self.role == "column"

    @property
    def is_required(self) -> bool:
        return self.is_plain and not self.nullable


@dataclass(frozen=True)
class KeySpec:
    """A key field; `of` is the record type that declares it."""

    name: str
    kind: ValueKind
    of: str = ""


@dataclass(frozen=True)
class IndexSpec:
    """An index over fields, falling where the flag is set."""

    name: str
    parts: tuple[tuple[str, bool], ...]
    include: tuple[str, ...] = ()
    salt: int = 0

    @property
    def fields(self) -> tuple[str, ...]:
        return (*(name for name, _ in self.parts), *self.include)


@dataclass(frozen=True)
class ModelSpec:
    """A model, with its record types if it has any.

    Attributes:
        name: The name of the class.
        table: The name of the table, or the beginning of the names of the tables of periods.
        families: The options of each family.
        keys: The key fields in the order of the row key.
        fields: The other fields in the order of the class's body.
        salt: The number of salt buckets, or 0.
        indexes: The indexes.
        types: The names of the record types' classes by record type.
        period: The period that a table holds; empty for one table.
        without_thrift2: Whether its programs have a Thrift1 gateway only.
    """

    name: str
    table: str
    families: Mapping[str, Mapping[str, Any]]
    keys: tuple[KeySpec, ...]
    fields: tuple[FieldSpec, ...]
    salt: int = 0
    indexes: tuple[IndexSpec, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    period: str = ""
    without_thrift2: bool = False

    @property
    def version(self) -> FieldSpec | None:
        return next((each for each in self.fields if each.role == "version"), None)

    @property
    def is_guarded(self) -> bool:
        return bool(self.indexes) or self.version is not None

    @property
    def kinds_of_rows(self) -> tuple[str, ...]:
        """The record types; one without a name for a model without them."""
        return tuple(self.types) or ("",)

    def fields_of(self, record_type: str) -> tuple[FieldSpec, ...]:
        return tuple(each for each in self.fields if each.of in {"", record_type})

    def keys_of(self, record_type: str) -> tuple[KeySpec, ...]:
        return tuple(each for each in self.keys if each.of in {"", record_type})

    def anchor(self, record_type: str) -> FieldSpec | None:
        """Return the first required column: that of the base before those of the record type."""
        own = sorted(self.fields_of(record_type), key=lambda each: bool(each.of))
        return next((each for each in own if each.is_required), None)

    def named(self, name: str) -> FieldSpec:
        return next(each for each in self.fields if each.name == name)

    def with_field(self, of: str, /, **changes: Any) -> ModelSpec:
        """Return the model with another declaration of the field of this name."""
        fields = tuple(replace(f, **changes) if f.name == of else f for f in self.fields)
        return replace(self, fields=fields)


@dataclass(frozen=True)
class Built:
    """The classes of a declaration: the model, and the class of each kind of rows."""

    spec: ModelSpec
    model: type[Model]
    makers: Mapping[str, Any]


def built(spec: ModelSpec) -> Built:
    """Return the classes that a declaration stands for."""
    families = {name: Family(**options) for name, options in spec.families.items()}
    body = _body(spec, "", families)
    keys = [body[each.name] for each in spec.keys if not each.of]
    if spec.types:
        # The fields of a record type follow; the first key field is in front of the type.
        body["__rowkey__"] = rowkey(keys[0], RecordType(), *keys[1:])
    elif spec.salt:
        body["__rowkey__"] = rowkey(Salt(spec.salt, of=keys[:1]), *keys)
    for index in spec.indexes:
        parts = [body[name].desc() if falls else body[name] for name, falls in index.parts]
        own: dict[str, Any] = {"salt": index.salt} if index.salt else {}
        if index.include:
            own |= {"include": [body[name] for name in index.include], "covering": True}
        body[index.name] = Index(*parts, **own)
    table: Any = Table(spec.table, splits=())
    if spec.period:
        form = {"day": "%Y%m%d", "month": "%Y%m"}[spec.period]
        table = TablePerPeriod(f"{spec.table}_{form}", of="at", period=spec.period)
    model: Any = new_class(spec.name, (Model,), {"table": table}, partial(_fill, body))
    makers: dict[str, Any] = {"": model} if not spec.types else {}
    for record_type, name in spec.types.items():
        fields = _body(spec, record_type, families)
        options = {"record_type": record_type}
        makers[record_type] = new_class(name, (model,), options, partial(_fill, fields))
    return Built(spec, model, makers)


def _fill(body: Mapping[str, Any], namespace: dict[str, Any]) -> None:
    namespace.update(body)


def _body(spec: ModelSpec, of: str, families: Mapping[str, Family]) -> dict[str, Any]:
    body: dict[str, Any] = {"__module__": __name__}
    annotations: dict[str, Any] = {}
    if not of:
        body |= families
    for each in spec.keys:
        if each.of == of:
            body[each.name] = key(each.kind.codec())
            annotations[each.name] = Key[each.kind.python]  # type: ignore[name-defined]  # at run time
    for own in spec.fields:
        if own.of == of:
            body[own.name], annotations[own.name] = _declared(own, families[own.family])
    return {**body, "__annotations__": annotations}


def _declared(spec: FieldSpec, family: Family) -> tuple[Any, Any]:
    """Return what a class's body has for a field, and its annotation."""
    value: Any = spec.kind.python
    if spec.role == "counter":
        return counter(family, spec.qualifier), Counter
    if spec.role == "version":
        return version(family, spec.qualifier), Version
    if spec.role == "dynamic":
        return (
            dynamic(family, prefix=spec.qualifier, codec=spec.kind.codec()),
            Dynamic[str, value],
        )
    codec = spec.kind.codec()
    if spec.nullable:
        return column(family, spec.qualifier, codec=codec, default=None), Mapped[value | None]
    if spec.default is not None:
        made = column(family, spec.qualifier, codec=codec, default=spec.default)
        return made, Mapped[value]
    return column(family, spec.qualifier, codec=codec), Mapped[value]
