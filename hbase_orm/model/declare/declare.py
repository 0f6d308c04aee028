"""Makes a model's frozen `TableSchema` from its class body, and refuses wrong declarations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hbase_orm.codecs import Codec, default_codec
from hbase_orm.codecs.counters import Long
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.model.declare.annotations import check_annotations, field_type
from hbase_orm.model.declare.foreign import checked_foreign
from hbase_orm.model.declare.keys import RowPlacement, key_layout
from hbase_orm.model.declare.names import check_names
from hbase_orm.model.declare.packing import check_packed, packed_offset
from hbase_orm.model.fields.counters import Counter, Version
from hbase_orm.model.fields.fields import UNSET, Key, Mapped
from hbase_orm.model.fields.validation import check_default
from hbase_orm.rowkey import KeyLayout, Offset
from hbase_orm.rowkey.record_types import RecordTypeCodec
from hbase_orm.schema import (
    MARKER_QUALIFIER,
    ColumnSchema,
    Family,
    Index,
    RecordTypes,
    TableSchema,
    check_family_name,
    resolve_splits,
)

Field = Mapped[Any] | Counter | Version


def declared(cls: type, kind: type | tuple[type, ...]) -> dict[str, Any]:
    """Return the attributes of a class that are instances of `kind`, by name.

    Inherited attributes come first, each class's attributes in the order of declaration. An
    attribute that a derived class replaces by an object of another kind is left out.
    """
    attributes: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        own = vars(base).items()
        attributes.update({name: value for name, value in own if isinstance(value, kind)})
    return {name: value for name, value in attributes.items() if getattr(cls, name, None) is value}


def build_schema(cls: type, placement: RowPlacement) -> TableSchema:
    """Return the schema of a model, still without indexes and dynamic columns.

    Args:
        cls: The model.
        placement: The table of the model's rows.

    Raises:
        SchemaError: The declaration is wrong; the error names the class, the field and the fix.
    """
    check_annotations(cls)
    fields: dict[str, Field] = declared(cls, (Mapped, Counter, Version))
    families: dict[str, Family] = declared(cls, Family)
    check_names(cls, fields)
    hints = {name: field_type(cls, name) for name in fields}
    codecs = {
        name: _codec(cls, field, *hints[name])
        for name, field in fields.items()
        if isinstance(field, Mapped)
    }
    _check_families(cls, families)
    keys = {name: field for name, field in fields.items() if isinstance(field, Key)}
    with of_model(cls):
        packed = packed_offset(fields, declared(cls, Index))
        layout = key_layout(cls, replace(placement, packed=packed), keys, codecs)
        split_keys = resolve_splits(placement.table, layout)
    columns, counters, version = _columns(cls, fields, families, codecs, hints)
    table = placement.table
    return TableSchema(
        model_name=cls.__name__,
        table=table.name if placement.periods is None else placement.periods.name,
        families=tuple(family.descriptor() for family in families.values()),
        layout=layout,
        columns=columns,
        counters=counters,
        indexes=(),
        fields=MappingProxyType(dict(fields)),
        split_keys=split_keys,
        durability=table.durability,
        region_replication=table.region_replication,
        attributes=table.attributes,
        is_foreign=checked_foreign(cls, table, [*declared(cls, Index), *declared(cls, Version)]),
        packed_bytes=_packed_bytes(cls, layout, columns) if packed is not None else 0,
        record_types=RecordTypes(placement.record)
        if isinstance(placement.record, RecordTypeCodec)
        else None,
        version=_only_version(cls, placement, version),
    )


def _only_version(
    cls: type, placement: RowPlacement, columns: list[ColumnSchema]
) -> ColumnSchema | None:
    names = [column.name for column in columns]
    if len(columns) > 1:
        raise SchemaError(
            "a model can have only one version column",
            model=cls.__name__,
            fields=names,
            fix="leave only one of them",
        )
    if columns and (placement.periods is not None or isinstance(placement.record, RecordTypeCodec)):
        raise SchemaError(
            "a model with a table for each period, or with record types, cannot have a version "
            "column: its rows have no guards",
            model=cls.__name__,
            field=names[0],
            fix="leave the version out, or give the model a table of its own",
        )
    return columns[0] if columns else None


def refuse_arrival_order(schema: TableSchema) -> None:
    """Refuse guarded rows in a family in which HBase orders puts and deletes by arrival.

    Raises:
        SchemaError: A family has `new_version_behavior`, and the model has indexes or a version
            column.
    """
    names = [family.name.decode() for family in schema.families if family.new_version_behavior]
    if names and schema.is_guarded:
        raise SchemaError(
            "a model with indexes or a version column cannot have a family with "
            "new_version_behavior: its writes count on the order of timestamps",
            model=schema.model_name,
            families=names,
            fix="leave new_version_behavior out",
        )


def stamped(schema: TableSchema, timestamps: str | None) -> TableSchema:
    """Return the schema with the model's option `timestamps`: who sets the timestamps of cells.

    Raises:
        SchemaError: `timestamps` has a wrong value, or is given for a guarded model.
    """
    if timestamps not in {None, "server", "client"}:
        raise SchemaError(
            "timestamps= does not have an allowed value",
            model=schema.model_name,
            timestamps=timestamps,
            fix='write timestamps="server" or "client"',
        )
    if timestamps is not None and schema.is_guarded:
        raise SchemaError(
            "a model with indexes or a version column takes its timestamps from its guards",
            model=schema.model_name,
            fix="leave timestamps= out",
        )
    return replace(schema, timestamps=timestamps)


def with_own_fields(cls: type, schema: TableSchema) -> TableSchema:
    """Copy the inherited fields of a model; return the model's schema with the copies.

    `Sub.host` then refers to the rows of `Sub`, even if a base of `Sub` declares `host`.
    """
    fields = dict(schema.fields)
    for name, field in fields.items():
        if name not in vars(cls):
            fields[name] = field.inherited_by(cls)
            setattr(cls, name, fields[name])
    return replace(schema, fields=MappingProxyType(fields))


def _packed_bytes(cls: type, layout: KeyLayout, columns: tuple[ColumnSchema, ...]) -> int:
    with of_model(cls):
        return check_packed(layout, nullable=columns[0].nullable)


def _check_families(cls: type, families: Mapping[str, Family]) -> None:
    if not families:
        raise SchemaError(
            "the model declares no column family", model=cls.__name__, fix="add: d = Family()"
        )
    for attribute, family in families.items():
        with of_model(cls):
            check_family_name(family.name or attribute)
    names = [family.name for family in families.values()]
    if len(set(names)) < len(names):
        raise SchemaError(
            "two families have the same name",
            model=cls.__name__,
            families=names,
            fix="declare the family once and name it in column(<family>, ...)",
        )


@contextmanager
def of_model(cls: type) -> Iterator[None]:
    """Add the model's name to errors that are raised inside the with block."""
    try:
        yield
    except SchemaError as error:
        details = {"model": cls.__name__, **error.details}
        raise SchemaError(error.text, fix=error.fix, **details) from None


def _codec(cls: type, field: Mapped[Any], python_type: Any, nullable: bool) -> Codec[Any]:  # noqa: FBT001 - half of a pair
    where = {"model": cls.__name__, "field": field.name}
    if field.default is None and not nullable:
        raise SchemaError(
            "the default is None, but the annotation does not allow None",
            **where,
            fix="annotate it as Mapped[... | None]",
        )
    if isinstance(field, Key) and nullable:
        raise SchemaError(
            "a key field cannot be None", **where, fix="use a value that means 'none'"
        )
    codec = field.codec
    if codec is None:
        own: Mapping[type, Codec[Any]] = getattr(cls, "__codecs__", {})
        codec = own.get(python_type) or default_codec(python_type)
    if not isinstance(codec, Codec):
        raise SchemaError(
            "no codec is known for the annotated type",
            **where,
            type=python_type,
            fix="name one by codec=codecs.…",
        )
    check_type(codec, python_type, where)
    _check_default(codec, field, where)
    return codec


def _check_default(codec: Codec[Any], field: Mapped[Any], where: Mapping[str, str]) -> None:
    if field.default is UNSET or field.default is None:
        return
    _refuse_mutable(field, where)
    try:
        value = codec.normalize(field.default)
    except CodecError as error:
        raise SchemaError(
            "the default does not fit the field's codec",
            **where,
            default=field.default,
            codec=codec.name,
            reason=error.text,
            fix="choose a default that the codec can store",
        ) from None
    check_default(field, value, where)


def _refuse_mutable(field: Mapped[Any], where: Mapping[str, str]) -> None:
    try:
        hash(field.default)
    except TypeError:
        raise SchemaError(
            "the default is mutable, and all objects would share it",
            **where,
            default=field.default,
            fix="write default_factory=list, or a function that returns the default",
        ) from None


def check_type(codec: Codec[Any], python_type: Any, where: Mapping[str, str]) -> None:
    """Refuse a codec that does not store the annotated type.

    Raises:
        SchemaError: The codec's type and the annotated type are different, and neither is a base
            class of the other.
    """
    if not isinstance(python_type, type) or python_type in {object, Any}:  # Any is a class
        return
    try:
        fits = issubclass(codec.python_type, python_type)
        fits = fits or issubclass(python_type, codec.python_type)
    except TypeError:  # a TypedDict or a protocol, which no class is derived from
        return
    if not fits:
        raise SchemaError(
            "the codec stores another type than the annotation names",
            **where,
            annotated=python_type.__name__,
            codec=codec.name,
            codec_type=codec.python_type.__name__,
            fix=f"annotate it as {codec.python_type.__name__}, or name another codec",
        )


def _columns(
    cls: type,
    fields: Mapping[str, Field],
    families: Mapping[str, Family],
    codecs: Mapping[str, Codec[Any]],
    hints: Mapping[str, tuple[Any, bool]],
) -> tuple[tuple[ColumnSchema, ...], tuple[ColumnSchema, ...], list[ColumnSchema]]:
    columns: list[ColumnSchema] = []
    counters: list[ColumnSchema] = []
    versions: list[ColumnSchema] = []
    taken: dict[bytes, str] = {}
    for name, field in fields.items():
        if isinstance(field, Key) and field.family is None:
            continue
        column = _column_name(cls, name, field, families)
        if column in taken:
            raise SchemaError(
                "two fields have the same column",
                model=cls.__name__,
                column=column,
                field=name,
                other_field=taken[column],
                fix='give one of them another qualifier: column(d, "x")',
            )
        taken[column] = name
        if isinstance(field, (Counter, Version)):
            numbers = counters if isinstance(field, Counter) else versions
            numbers.append(ColumnSchema(name, column, Long(), nullable=True))
        else:
            columns.append(_column(name, field, column, codecs[name], nullable=hints[name][1]))
    return tuple(columns), tuple(counters), versions


def _column(
    name: str, field: Mapped[Any], column: bytes, codec: Codec[Any], *, nullable: bool
) -> ColumnSchema:
    return ColumnSchema(
        name=name,
        column=column,
        codec=codec,
        nullable=nullable,
        has_default=field.has_default,
        default=codec.normalize(field.default) if _has_value(field) else None,
        default_factory=field.default_factory,
        deferred=field.is_deferred,
    )


def _has_value(field: Mapped[Any]) -> bool:
    return field.default is not UNSET and field.default is not None


def family_of(
    cls: type, name: str, family: Family | None, families: Mapping[str, Family]
) -> Family:
    """Return the family of a field: the family that the field names, or the model's only family.

    Raises:
        SchemaError: The field names no family and the model has several, or it names a family of
            another model.
    """
    if family is None:
        if len(families) > 1:
            raise SchemaError(
                "the field names no family and the model has several",
                model=cls.__name__,
                field=name,
                families=sorted(families),
                fix="write column(<family>, ...)",
            )
        family = next(iter(families.values()))
    if not any(family is known for known in families.values()):
        raise SchemaError(
            "the field's family is not one of the model's",
            model=cls.__name__,
            field=name,
            families=sorted(families),
            fix="declare the family in the model's body or in one of its bases",
        )
    return family


def _column_name(cls: type, name: str, field: Field, families: Mapping[str, Family]) -> bytes:
    family = family_of(cls, name, field.family, families)
    if isinstance(field.qualifier, Offset):
        return f"{family.name}:".encode()  # the offset follows
    qualifier = name if field.qualifier is None else field.qualifier
    if qualifier.encode() == MARKER_QUALIFIER:
        raise SchemaError(
            "the qualifier is reserved for the marker cell of rows",
            model=cls.__name__,
            field=name,
            qualifier=qualifier,
            fix="choose another qualifier",
        )
    return f"{family.name}:{qualifier}".encode()
