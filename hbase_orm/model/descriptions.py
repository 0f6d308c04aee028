"""What the fields of a model are, as texts: for the `repr` of the class, and for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import formatannotation
from typing import Any, Final

from hbase_orm.errors import SchemaError, cut
from hbase_orm.model.declare.annotations import FIELD_KINDS, annotated_type
from hbase_orm.model.declare.declare import declared
from hbase_orm.model.fields.counters import Counter, Version
from hbase_orm.model.fields.dynamics import Dynamic
from hbase_orm.model.fields.fields import UNSET, Mapped
from hbase_orm.model.printing import cell_text, is_shown, shown
from hbase_orm.notebook import heading, table
from hbase_orm.rowkey.key_text import layout_text
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.schema import IndexSchema, TableSchema, column_field

MOST_ROWS: Final = 50
"""The number of results that are shown in a table of a notebook."""


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """A field of a model, as texts.

    Attributes:
        name: The name.
        type: The type of its annotation.
        column: `family:qualifier`; empty for a field that is only in the row key.
        codec: The name of the codec.
        notes: What else is declared: the row key, the default, indexes.
    """

    name: str
    type: str
    column: str
    codec: str
    notes: tuple[str, ...]


def descriptions(model: Any) -> list[FieldDescription]:
    """Return the description of each field of a model, and of its related objects."""
    schema: TableSchema = model.__schema__
    fields = [_field(model, schema, name, field) for name, field in schema.fields.items()]
    for relation in model.__related__.values():
        target, note = relation.shown_type, relation.note
        fields.append(FieldDescription(relation.name, target, "", "", (note,)))
    return fields


def _field(model: Any, schema: TableSchema, name: str, field: Any) -> FieldDescription:
    dynamic = schema.dynamic_by_name.get(name)
    column = schema.column_by_name.get(name)
    notes = tuple(_notes(schema, name, field))
    if dynamic is not None:
        types = (dynamic.name_codec.python_type, dynamic.codec.python_type)
        of = f"dict[{', '.join(map(formatannotation, types))}]"
        stored = f"{to_string_binary(dynamic.prefix)}..."
        return FieldDescription(name, of, stored, dynamic.codec.name, notes)
    stored = "" if column is None else to_string_binary(column.column)
    codec = schema.codecs[name].name if name in schema.codecs else ""
    return FieldDescription(name, _type_text(model, name), stored, codec, notes)


def _type_text(model: Any, name: str) -> str:
    """Return the annotated type; empty if it no longer resolves."""
    with suppress(SchemaError):
        return formatannotation(annotated_type(model, name))
    return ""


def _notes(schema: TableSchema, name: str, field: Any) -> Iterator[str]:
    if name in schema.layout.names:
        falls = any(part.name == name and part.is_descending for part in schema.layout.parts)
        yield "row key, descending" if falls else "row key"
    for kind, note in _KINDS.items():
        if isinstance(field, kind):
            yield note
    if isinstance(field, Mapped):
        yield from _declared_notes(field)
    for index in schema.indexes:
        if any(column_field(of).name.partition("[")[0] == name for of in index.expressions):
            yield f"unique index {index.name}" if index.unique else f"index {index.name}"
        elif any(column.name == name for column in index.included):
            yield f"copied by index {index.name}"


_KINDS: Final[dict[type, str]] = {
    Counter: "counter",
    Version: "version",
    Dynamic: "dynamic columns",
}


def _declared_notes(field: Mapped[Any]) -> Iterator[str]:
    if field.default_factory is not None:
        yield "default of a function"
    elif field.default is not UNSET:
        yield f"default {shown(field.default)}"
    if field.is_deferred:
        yield "deferred"


def class_text(model: Any) -> str:
    """Return a model in one line: its table, row key, fields and indexes; empty for `Model`."""
    schema: TableSchema | None = vars(model).get("__schema__")
    if schema is None and not declared(model, FIELD_KINDS):
        return ""
    name = f"{model.__module__}.{model.__qualname__}"
    if schema is None:
        parts = [", ".join(("abstract", *_fields_text([*declared(model, FIELD_KINDS)])))]
    else:
        parts = [f"table {schema.table!r}", f"row key {layout_text(schema.row_layout)}"]
        parts += _fields_text([*schema.fields])
        parts += _indexes_text(schema.indexes)
    return f"<model {name}: {cut(', '.join(parts))}>"


def _fields_text(names: Sequence[str]) -> list[str]:
    return [f"fields {', '.join(names)}"] if names else []


def _indexes_text(indexes: Sequence[IndexSchema]) -> list[str]:
    return [f"indexes {', '.join(each.name for each in indexes)}"] if indexes else []


def class_html(model: Any) -> str:
    """Return a model for a notebook: a table of its fields, and its indexes."""
    schema: TableSchema | None = vars(model).get("__schema__")
    if schema is None:
        return heading(model.__name__, class_text(model))
    rows = [
        (each.name, each.type, each.column, each.codec, "; ".join(each.notes))
        for each in descriptions(model)
    ]
    where = f"table {schema.table}, row key {layout_text(schema.row_layout)}"
    shown_indexes = [(each.name, repr(getattr(model, each.name, ""))) for each in schema.indexes]
    return "".join(
        (
            heading(model.__name__, where),
            table(("field", "type", "column", "codec", "notes"), rows),
            table(("index", "declaration"), shown_indexes) if shown_indexes else "",
        )
    )


def object_html(obj: Any) -> str:
    """Return an object for a notebook: a table of its fields and values, long ones cut."""
    values = shown_values(obj)
    return heading(type(obj).__name__) + table(("field", "value"), values.items())


def shown_values(obj: Any) -> dict[str, str]:
    """Return the texts of an object's fields, without those with `repr=False`."""
    if getattr(obj, "__state__", None) is None:
        return {}
    fields: Mapping[str, Any] = obj.__schema__.fields
    values = obj.to_dict().items()
    return {name: cell_text(value) for name, value in values if is_shown(fields[name])}


def results_html(results: Sequence[Any], caption: str) -> str:
    """Return results for a notebook: a table with a row for each of the first `MOST_ROWS`.

    Objects have a column for each field, tuples with names one for each name, and all other
    results one column.
    """
    rows = [_named_texts(each) for each in results[:MOST_ROWS]]
    head = list(dict.fromkeys(name for row in rows for name in row))
    more = f", {len(results) - MOST_ROWS} of them not shown" if len(results) > MOST_ROWS else ""
    cells = [[row.get(name, "") for name in head] for row in rows]
    return heading(caption + more) + (table(head, cells) if head else "")


def _named_texts(result: Any) -> dict[str, str]:
    if hasattr(result, "__state__"):
        return shown_values(result)
    names = getattr(result, "_fields", None)
    if isinstance(result, tuple) and names is not None:
        return dict(zip(names, map(cell_text, result), strict=True))
    return {"value": cell_text(result)}
