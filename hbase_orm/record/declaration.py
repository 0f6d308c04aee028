"""The record of a table: the values that it consists of, and its encoding as JSON.

A table has one record; all tables of a `TablePerPeriod` have one record together. The record
describes rows, not one class: several models may be views of the same table, with fewer columns or
other names of fields. Each record type is described separately, because it has its own row key,
columns and anchor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from hbase_orm.ops import FamilyDescriptor
from hbase_orm.record.declared_options import (
    ModelOptions,
    TableOptions,
    model_options_of,
    stored_model_options,
    stored_table_options,
    table_options_of,
)
from hbase_orm.record.first_version import FIRST_VERSION, completed
from hbase_orm.record.specifications import Spec, same_key
from hbase_orm.record.stored_values import RECORD_VERSION, StoredValue, latin, newer

_GUARDS_PLAIN_MODELS: Final = "guards plain models"

NO_TYPE: Final = ""
"""The record type of a model without record types."""


@dataclass(frozen=True, slots=True)
class RecordedColumn:
    """A column, or a range of dynamic columns.

    Attributes:
        role: "column", "counter", "version" or "dynamic".
        codec: The codec of the values.
        is_required: Whether every row has a cell in the column.
        names: For dynamic columns, the codec of the qualifier without the prefix; else None.
    """

    role: str
    codec: Spec
    is_required: bool = False
    names: Spec | None = None


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """The names of a model's fields, and the columns for which they stand.

    Attributes:
        key: The first names of the key fields, in the order in which the row key mentions them.
        fields: The column (for dynamic columns, the prefix) of each field, by the field's name.
        former: The columns by the names that fields had before, the oldest first.
        later_keys: The later names of the key fields: for each change, all names in the order of
            `key`.
        options: What else the model declares; None in a record of an earlier version.
    """

    key: tuple[str, ...]
    fields: Mapping[str, bytes]
    former: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    later_keys: tuple[tuple[str, ...], ...] = ()
    options: ModelOptions | None = None

    @property
    def names(self) -> dict[str, bytes]:
        """The columns by all former and present names of fields, the oldest first."""
        return {**self.former, **self.fields}


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The description of the rows of a table that have one kind of row key.

    Attributes:
        record_type: The record type in the row key; `NO_TYPE` without record types.
        key: The specification of the row key.
        anchor: The column that every row has, which shows that a row exists; None if there is none.
        marker: The column that each put writes if there is no anchor; None if there is an anchor.
        columns: The columns, by `family:qualifier`; dynamic columns by their prefix.
        models: The models that declare these rows, by the name of their class. The first one is a
            model with which the rows were recorded first.
        packed_bytes: The width of the qualifiers if each object is a cell, else 0.
    """

    record_type: str
    key: tuple[Spec, ...]
    anchor: bytes | None
    marker: bytes | None
    columns: Mapping[bytes, RecordedColumn]
    models: Mapping[str, RecordedModel]
    packed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RecordedIndex:
    """A secondary index, as it was declared when the record was last written.

    The index's entry in the catalog may be newer. That entry decides how the index is used.

    Attributes:
        entries: The text that describes how the entries are computed.
        split_keys: The split keys of new index tables.
        maintained: "always" if every write updates the entries, "manual" if only builds do.
        spec: The specification of the entries; None in a record of an earlier version.
    """

    entries: str
    split_keys: tuple[bytes, ...] = ()
    maintained: str = "always"
    spec: Spec | None = None


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that a program must know to read and write a table.

    Attributes:
        families: The data families by name.
        rows: The descriptions of the rows: one for each record type and for each row key that
            models declare. The first description is the oldest one.
        period: The unit of the periods if each period has a table; empty if there is one table.
        is_guarded: Whether rows have guards.
        indexes: The indexes by name.
        options: The options of new tables; None in a record of an earlier version.
        guards_plain_models: Whether programs write guards although no model needs them: plain rows
            are being moved to another table.
    """

    families: Mapping[bytes, FamilyDescriptor]
    rows: tuple[RecordedRows, ...]
    period: str = ""
    is_guarded: bool = False
    indexes: Mapping[str, RecordedIndex] = field(default_factory=dict[str, RecordedIndex])
    options: TableOptions | None = None
    guards_plain_models: bool = False

    def rows_of(self, declared: RecordedRows) -> RecordedRows | None:
        """Return the item of `rows` with which a model's declaration of its rows is compared.

        It is one of the items with the same record type: the item that has a model of this name, or
        else an item with the same row key, or else the first item. Return None if no item has the
        record type.
        """
        (name,) = declared.models
        kinds = [each for each in self.rows if each.record_type == declared.record_type]
        named = [each for each in kinds if name in each.models]
        alike = [each for each in kinds if same_key(each.key, declared.key)]
        return next(iter((*named, *alike, *kinds)), None)


@dataclass(frozen=True, slots=True)
class TableRecord:
    """The record of a table.

    Attributes:
        table_id: A random id, which the table has as an attribute; empty if the table has none. If
            a table of this name has another id, it is not the table that the record describes.
        current: The declaration that the rows follow.
        next: The declaration that the rows will follow after a running migration, or None.
        regions_ms: The time when the table's youngest region was created, in ms of HBase's clock,
            as read when the record was written; 0 if unknown. Programs without Thrift2 use it,
            because they cannot read the table's id.
    """

    table_id: str
    current: Declaration
    next: Declaration | None = None
    regions_ms: int = 0

    def encode(self) -> bytes:
        """Return the value of the record's cell: JSON that is the same for equal records."""
        content = {
            "version": RECORD_VERSION,
            "id": self.table_id,
            "regions": self.regions_ms,
            "current": _stored(self.current),
            "next": None if self.next is None else _stored(self.next),
        }
        return json.dumps(content, separators=(",", ":"), ensure_ascii=True).encode()

    @classmethod
    def decode(cls, value: bytes, table: str = "") -> TableRecord:
        """Return the record that is encoded in `value`.

        Args:
            value: The value of the record's cell.
            table: The table of the record, for errors.

        Raises:
            RecordError: The record is damaged, or a newer version of the library wrote it.
        """
        stored = StoredValue.of(value, table)
        version = dict(stored.each()).get("version", stored).typed(int)
        if version > RECORD_VERSION:
            raise newer(table, version)
        if version == FIRST_VERSION:
            stored = replace(stored, value=completed(stored.value))
        content = stored.members("version", "id", "current", "next", "regions")
        if version not in {FIRST_VERSION, RECORD_VERSION}:
            raise content["version"].damage()
        return cls(
            content["id"].typed(str),
            _declaration_of(content["current"]),
            content["next"].optional(_declaration_of),
            content["regions"].typed(int),
        )


def _text(data: bytes | None) -> str | None:
    """Return bytes as text of one character per byte, which JSON can hold."""
    return None if data is None else data.decode("latin-1")


def _stored(declaration: Declaration) -> Spec:
    options = declaration.options
    return {
        "families": {
            name.decode("latin-1"): _options(family)
            for name, family in declaration.families.items()
        },
        "period": declaration.period,
        "guarded": declaration.is_guarded,
        "rows": [_stored_rows(rows) for rows in declaration.rows],
        "indexes": {
            name: {
                "entries": index.entries,
                "splits": [_text(key) for key in index.split_keys],
                "maintained": index.maintained,
                "spec": index.spec,
            }
            for name, index in declaration.indexes.items()
        },
        "table": None if options is None else stored_table_options(options),
        **({_GUARDS_PLAIN_MODELS: True} if declaration.guards_plain_models else {}),
    }


def _options(family: FamilyDescriptor) -> Spec:
    """Return the options of a family that differ from HBase's defaults."""
    usual = asdict(FamilyDescriptor(b""))
    return {
        name: value
        for name, value in asdict(family).items()
        if name != "name" and value != usual[name]
    }


def _stored_rows(rows: RecordedRows) -> Spec:
    return {
        "type": rows.record_type,
        "key": list(rows.key),
        "anchor": _text(rows.anchor),
        "marker": _text(rows.marker),
        "packed": rows.packed_bytes,
        "columns": {
            column.decode("latin-1"): {
                "role": each.role,
                "codec": each.codec,
                "required": each.is_required,
                "names": each.names,
            }
            for column, each in rows.columns.items()
        },
        "models": {
            name: {
                "key": list(model.key),
                "fields": {field: _text(column) for field, column in model.fields.items()},
                "former": {field: _text(column) for field, column in model.former.items()},
                "later keys": list(map(list, model.later_keys)),
                "options": None if model.options is None else stored_model_options(model.options),
            }
            for name, model in rows.models.items()
        },
    }


def _declaration_of(stored: StoredValue) -> Declaration:
    content = stored.members(
        *("families", "period", "guarded", "rows", "indexes", "table"),
        optional=frozenset((_GUARDS_PLAIN_MODELS,)),
    )
    guards_plain_models = content.get(_GUARDS_PLAIN_MODELS)
    families = {latin(name, options): options for name, options in content["families"].each()}
    rows = tuple(map(_rows_of, content["rows"].items()))
    if not rows:
        raise content["rows"].damage()
    return Declaration(
        {name: _family_of(name, options) for name, options in families.items()},
        rows,
        content["period"].typed(str),
        content["guarded"].typed(bool),
        {name: _index_of(index) for name, index in content["indexes"].each()},
        content["table"].optional(table_options_of),
        guards_plain_models is not None and guards_plain_models.typed(bool),
    )


def _index_of(stored: StoredValue) -> RecordedIndex:
    content = stored.members("entries", "splits", "maintained", "spec")
    return RecordedIndex(
        content["entries"].typed(str),
        tuple(key.data() for key in content["splits"].items()),
        content["maintained"].typed(str),
        content["spec"].optional(_spec_of),
    )


def _family_of(name: bytes, stored: StoredValue) -> FamilyDescriptor:
    usual = FamilyDescriptor(name)
    names = {each.name for each in fields(FamilyDescriptor)} - {"name"}
    options = stored.members(optional=frozenset(names))
    values = {
        option: _option(getattr(usual, option), option, value) for option, value in options.items()
    }
    return replace(usual, **values)


def _option(usual: Any, option: str, stored: StoredValue) -> Any:
    """Return the value of a family's option; its type must be the type of the default `usual`."""
    if isinstance(usual, Mapping):
        return {name: value.typed(str) for name, value in stored.each()}
    if usual is None:
        return stored.optional(lambda value: value.typed(int if option == "ttl_s" else str))
    return stored.typed(type(usual))


def _rows_of(stored: StoredValue) -> RecordedRows:
    content = stored.members("type", "key", "anchor", "marker", "packed", "columns", "models")
    columns = {
        latin(name, column): _column_of(column) for name, column in content["columns"].each()
    }
    anchor = content["anchor"].optional(StoredValue.data)
    if anchor is not None and anchor not in columns:
        raise content["anchor"].damage()
    return RecordedRows(
        content["type"].typed(str),
        tuple(map(_part_of, content["key"].items())),
        anchor,
        content["marker"].optional(StoredValue.data),
        columns,
        {name: _model_of(model) for name, model in content["models"].each()},
        content["packed"].typed(int),
    )


def _column_of(stored: StoredValue) -> RecordedColumn:
    content = stored.members("role", "codec", "required", "names")
    return RecordedColumn(
        content["role"].typed(str),
        _codec_of(content["codec"]),
        content["required"].typed(bool),
        content["names"].optional(_codec_of),
    )


def _spec_of(stored: StoredValue) -> Spec:
    return stored.typed(dict)


def _codec_of(stored: StoredValue) -> Spec:
    spec = _spec_of(stored)
    if "codec" not in spec:
        raise stored.damage()
    return spec


def _part_of(stored: StoredValue) -> Spec:
    """Return a part of a row key: it is a key field, or it is derived."""
    spec = _codec_of(stored)
    if ("field" in spec) == ("derived" in spec):
        raise stored.damage()
    return spec


def _model_of(stored: StoredValue) -> RecordedModel:
    content = stored.members("key", "fields", "former", "later keys", "options")
    return RecordedModel(
        _names_of(content["key"]),
        {field: column.data() for field, column in content["fields"].each()},
        {field: column.data() for field, column in content["former"].each()},
        tuple(map(_names_of, content["later keys"].items())),
        content["options"].optional(model_options_of),
    )


def _names_of(stored: StoredValue) -> tuple[str, ...]:
    return tuple(name.typed(str) for name in stored.items())
