"""Snapshots of what models declare besides names and columns, and of their tables' options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_origin

from hbase_orm.errors import CodecError
from hbase_orm.model.declare.placement import base_of
from hbase_orm.record.declared_options import ModelOptions, TableOptions
from hbase_orm.record.packed_type_specs import PackedEmpty, packed_type
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.computed import Calculated
from hbase_orm.schema import ColumnSchema, TableSchema
from hbase_orm.schema.absent import EMPTY_TYPES


def options_of(schema: TableSchema) -> ModelOptions:
    """Return what a model declares besides its key, its columns and the names of its fields."""
    layout, period = schema.layout, schema.layout.table_period
    codecs = {column.name: column.codec for column in schema.columns}
    codecs |= {dynamic.name: dynamic.codec for dynamic in schema.dynamics}
    packed = {name: packed_type(codec) for name, codec in codecs.items()}
    return ModelOptions(
        keys=layout.arguments,
        parts=tuple(part.name for part in derived_parts(layout)),
        values={
            part.name: values for part in derived_parts(layout) if (values := _values_of(part))
        },
        nullable=tuple(column.name for column in schema.columns if column.nullable),
        deferred=tuple(column.name for column in schema.deferred),
        defaults={c.name: _default_of(c) for c in schema.columns if c.has_default},
        types={name: each for name, each in packed.items() if each is not None},
        indexes=tuple(index.name for index in schema.indexes),
        base=_base_name(schema),
        period_field="" if period is None else period.field,
        creates_tables=period is not None and period.is_made_by_writes,
        timestamps=schema.timestamps or "",
    )


def table_options(schema: TableSchema) -> TableOptions:
    """Return the options of a model's new tables."""
    return TableOptions(
        schema.split_keys, schema.durability, schema.region_replication, dict(schema.attributes)
    )


def derived_parts(layout: KeyLayout) -> Iterator[Part]:
    """Yield the derived parts of a row key, each before its inputs that are derived too."""
    return (part for part in _each(layout.parts) if part.derivation is not None)


def _each(parts: tuple[Part, ...]) -> Iterator[Part]:
    for part in parts:
        yield part
        yield from _each(part.inputs)


def _values_of(part: Part) -> tuple[str, ...]:
    """Return the declared values of a computed part, encoded; empty if a function returns them."""
    derivation = part.derivation
    if not isinstance(derivation, Calculated) or not isinstance(derivation.values, tuple):
        return ()
    return tuple(part.codec.encode(value).hex() for value in derivation.values)


def _default_of(column: ColumnSchema) -> dict[str, Any]:
    """Return the default of a column.

    A type that makes empty values is named, with the value. Any other function is only named.
    """
    factory: Any = column.default_factory
    if factory is None:
        value = column.default
        return {"value": None if value is None else column.codec.encode(value).hex()}
    if isinstance(factory, PackedEmpty):
        return {"type": factory.type_name, "value": factory.data.hex()}
    kind = get_origin(factory) or factory
    if not isinstance(kind, type) or kind not in EMPTY_TYPES:
        return {"function": str(getattr(factory, "__name__", type(factory).__name__))}
    try:
        return {"type": kind.__name__, "value": column.codec.encode(kind()).hex()}
    except CodecError:
        return {"function": kind.__name__}


def _base_name(schema: TableSchema) -> str:
    """Return the name of the base of a record type; empty for any other model."""
    owner = next(iter(schema.fields.values())).owner
    base = None if owner is None else base_of(owner)
    return "" if base is None else base.__name__
