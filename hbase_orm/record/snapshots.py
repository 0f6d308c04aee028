"""Snapshots: a model's declaration as values that a record stores and that can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from hbase_orm.index.catalog.declaration_text import declaration_texts
from hbase_orm.index.catalog.entry_details import without_details
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.record.declaration import (
    NO_TYPE,
    Declaration,
    RecordedColumn,
    RecordedIndex,
    RecordedModel,
    RecordedRows,
)
from hbase_orm.record.index_specs import index_spec
from hbase_orm.record.option_snapshots import options_of, table_options
from hbase_orm.record.specifications import codec_spec, key_fields, key_spec
from hbase_orm.rowkey.derivations import Fixed
from hbase_orm.schema import ColumnSchema, TableSchema, record_types_of


def declaration_of(schemas: Sequence[TableSchema]) -> Declaration:
    """Return what models declare together about the rows of one table.

    The anchor of rows is the first column of their first model that all their models require and
    that is not deferred. For a base of record types, each of its record types is described.

    Args:
        schemas: The schemas of the models, all of the same table.
    """
    families: dict[bytes, FamilyDescriptor] = {}
    alike: list[list[TableSchema]] = []
    for schema in schemas:
        for each in _described(schema):
            families |= {f.name: f for f in each.families if f.name not in families}
            own = next((others for others in alike if _have_one_key(others[0], each)), None)
            if own is None:
                alike.append([each])
            else:
                own.append(each)
    period = schemas[0].layout.table_period
    return Declaration(
        families,
        tuple(_joined(each) for each in alike),
        "" if period is None else period.unit.name,
        any(schema.is_guarded for schema in schemas),
        {name: index for schema in schemas for name, index in _indexes_of(schema).items()},
        table_options(schemas[0]),
    )


def _indexes_of(schema: TableSchema) -> dict[str, RecordedIndex]:
    texts = declaration_texts(schema)
    return {
        index.name: RecordedIndex(
            without_details(texts[index.name]),
            index.split_keys,
            index.maintained,
            index_spec(index, schema),
        )
        for index in schema.indexes
    }


def _have_one_key(one: TableSchema, other: TableSchema) -> bool:
    """Return whether two models have the same row key, record type and packing of objects."""
    return (
        type_of(one) == type_of(other)
        and key_spec(one.layout, one.namespace) == key_spec(other.layout, other.namespace)
        and one.packed_bytes == other.packed_bytes
    )


def _described(schema: TableSchema) -> Iterable[TableSchema]:
    """Return the schemas of a base's record types; for any other model, its own schema."""
    return record_types_of(schema) or (schema,)


def type_of(schema: TableSchema) -> str:
    """Return the record type of a model's rows as text; `NO_TYPE` without one."""
    for part in schema.layout.parts:
        if isinstance(part.derivation, Fixed):
            value = part.derivation.value
            return value.decode("latin-1") if isinstance(value, bytes) else str(value)
    return NO_TYPE


def rows_of(schema: TableSchema) -> RecordedRows:
    """Return what one model declares about its rows."""
    columns = {column.column: _column(column, "column") for column in schema.columns}
    columns |= {column.column: _column(column, "counter") for column in schema.counters}
    if schema.version is not None:
        columns[schema.version.column] = _column(schema.version, "version")
    fields = {each.name: each.column for each in (*schema.columns, *schema.numbers)}
    key = tuple(key_fields(schema.layout))
    for dynamic in schema.dynamics:
        names = codec_spec(dynamic.name_codec)
        columns[dynamic.prefix] = RecordedColumn("dynamic", codec_spec(dynamic.codec), names=names)
        fields[dynamic.name] = dynamic.prefix
    return RecordedRows(
        record_type=type_of(schema),
        key=tuple(key_spec(schema.layout, schema.namespace)),
        anchor=None if schema.anchor is None else schema.anchor.column,
        marker=schema.marker,
        columns=columns,
        models={schema.model_name: RecordedModel(key, fields, options=options_of(schema))},
        packed_bytes=schema.packed_bytes,
    )


def _column(column: ColumnSchema, role: str) -> RecordedColumn:
    return RecordedColumn(
        role, codec_spec(column.codec), is_required=role == "column" and column.is_required
    )


def _joined(schemas: Sequence[TableSchema]) -> RecordedRows:
    """Return what several models declare together about the same rows."""
    first = rows_of(schemas[0])
    each = [rows_of(schema) for schema in schemas]
    candidates = [c.column for c in schemas[0].columns if c.is_required and not c.deferred]
    shared = [c for c in candidates if all(_requires(rows.columns, c) for rows in each)]
    anchor = shared[0] if shared else None
    marker = None if anchor is not None else _marker_of(schemas)
    columns: dict[bytes, RecordedColumn] = {}
    models: dict[str, RecordedModel] = {}
    for rows in reversed(each):
        columns = {**rows.columns, **columns, **rows.columns}
    # Models with indexes come first: the texts of indexes have the names of the first model.
    for schema in sorted(schemas, key=lambda schema: not schema.is_guarded):
        models |= rows_of(schema).models
    columns = {
        name: replace(column, is_required=all(_requires(rows.columns, name) for rows in each))
        for name, column in columns.items()
    }
    return replace(first, anchor=anchor, marker=marker, columns=columns, models=models)


def _requires(columns: Mapping[bytes, RecordedColumn], column: bytes) -> bool:
    return column in columns and columns[column].is_required


def _marker_of(schemas: Sequence[TableSchema]) -> bytes | None:
    family = next((f.name for schema in schemas for f in schema.families), None)
    return None if family is None else family + b":_0"
