"""Deferred fields: whether an object has their values, and which fields may be deferred."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hbase_orm.errors import NotLoadedError, QueryError, SchemaError, ValidationError
from hbase_orm.model.fields.related import Relation
from hbase_orm.model.fields.related_lists import ListRelation
from hbase_orm.model.state import InstanceState, row_key_of
from hbase_orm.schema import NO_FIELDS, ColumnSchema, Expr, TableSchema


def is_loaded(obj: Any, name: str) -> bool:
    """Return whether a deferred field of an object was read or set."""
    return name in obj.__dict__ or name in obj.__state__.deferred


def not_loaded(obj: Any, name: str) -> NotLoadedError:
    """Return the error for a deferred field that was not read with the object."""
    model = type(obj).__name__
    return NotLoadedError(
        "the field is deferred, and the object was read without it",
        model=model,
        field=name,
        row=row_key_of(obj),
        fix=_reading(obj, name),
    )


def _reading(obj: Any, name: str) -> str:
    """Return the `fix` of an error, which says how to read a deferred field of an object.

    An object without a row cannot be refreshed, so the value must be selected. An object that was
    read as of a time in the past has no row, for example.
    """
    field = f"{type(obj).__name__}.{name}"
    if row_key_of(obj) is None:
        return f"read the value with select({field}); a past value with the same .as_of(time)"
    return f"read it with session.refresh(obj, {field}), or only its values with select({field})"


def unloaded(obj: Any) -> list[str]:
    """Return the deferred fields of an object that were neither read nor set."""
    fields = [column.name for column in obj.__schema__.deferred]
    return [name for name in fields if not is_loaded(obj, name)]


def refuse_unloaded(obj: Any) -> None:
    """Refuse to write a whole row from an object that was read without deferred fields.

    Raises:
        ValidationError: Deferred fields are missing; the error names them.
    """
    lacking = unloaded(obj)
    if lacking:
        raise _lacking(
            obj, lacking, "the object was read without deferred fields, which its row would lose"
        )


def refuse_partial(obj: Any) -> None:
    """Refuse to put an object if its row could lack deferred fields after the put.

    An object that belongs to a row may lack deferred fields that are not required, because the row
    keeps their cells. An object without a row must have all deferred fields.

    Raises:
        ValidationError: Deferred fields are missing; the error names them.
    """
    schema = type(obj).__schema__
    if not schema.deferred:
        return
    if row_key_of(obj) is None:
        refuse_unloaded(obj)
        return
    required = {column.name for column in schema.deferred if column.is_required}
    lacking = [name for name in unloaded(obj) if name in required]
    if lacking:
        raise _lacking(
            obj,
            lacking,
            "the object was read without deferred fields that every row is written with",
        )


def _lacking(obj: Any, fields: list[str], text: str) -> ValidationError:
    """Return the error `text` for an object that lacks these deferred fields, with its fix."""
    model, row = type(obj).__name__, row_key_of(obj)
    named = ", ".join(f"{model}.{name}" for name in fields)
    fix = f"session.refresh(obj, {named}) first, or set them"
    if row is None:
        fix = f"set them: read the values with select({named}), past values with .as_of(time)"
    return ValidationError(text, model=model, fields=fields, row=row, fix=fix)


def deferred_among(schema: TableSchema, fields: Iterable[Any]) -> frozenset[str]:
    """Return the names of the deferred fields among `fields`.

    Raises:
        QueryError: One of the fields is not a field of the model.
    """
    names = set[str]()
    for field in fields:
        if not isinstance(field, Expr) or not schema.has_field(field):
            raise QueryError(
                "the field belongs to another model",
                model=schema.model_name,
                field=repr(field),
                fix=f"use the fields of {schema.model_name}",
            )
        names.add(field.name)
    return frozenset(column.name for column in schema.deferred if column.name in names)


def set_unread(obj: Any) -> frozenset[str]:
    """Return the names of the deferred fields that were set, but whose cells are unknown.

    Such a cell was neither read nor written since the object was loaded.
    """
    deferred, values = obj.__schema__.deferred, obj.__dict__
    if not deferred:
        return NO_FIELDS
    names = frozenset(column.name for column in deferred if column.name in values)
    state: InstanceState = obj.__state__
    return names - state.deferred


def cleared(obj: Any) -> list[bytes]:
    """Return the columns of the fields in `set_unread` whose new value is None."""
    own, values = set_unread(obj), obj.__dict__
    return [
        column.column
        for column in obj.__schema__.deferred
        if column.name in own and values[column.name] is None
    ]


def note_written(obj: Any) -> None:
    """After a write, mark the deferred fields whose values the object has as loaded."""
    deferred, values = obj.__schema__.deferred, obj.__dict__
    if deferred:
        names = frozenset(column.name for column in deferred if column.name in values)
        obj.__state__.deferred |= names


def check_deferred(
    cls: type, schema: TableSchema, related: Mapping[str, Relation | ListRelation]
) -> None:
    """Refuse deferred fields that every read or write of a row needs.

    Args:
        cls: The model.
        schema: The model's schema, with indexes and dynamic columns.
        related: The related fields of the model.

    Raises:
        SchemaError: A field cannot be deferred; the error names the field and the reason.
    """
    by_index = {
        column.column: index.name
        for index in schema.indexes
        for column in (*index.columns, *index.included)
    }
    finding = {name for relation in related.values() for name in relation.own_fields}
    for column in schema.deferred:
        _check_separable(cls, schema, column)
        if column.column in by_index:
            raise SchemaError(
                "a field that an index uses or includes cannot be deferred: index entries are "
                "checked against its value at every read",
                model=cls.__name__,
                field=column.name,
                index=by_index[column.column],
                fix="leave deferred= out, or leave the field out of the index",
            )
        if column.name in finding:
            raise SchemaError(
                "a field that is part of a related row's key cannot be deferred",
                model=cls.__name__,
                field=column.name,
                fix="leave deferred= out",
            )


def _check_separable(cls: type, schema: TableSchema, column: ColumnSchema) -> None:
    """Refuse a deferred column that is always read together with other columns."""
    if not schema.storage.has_own_rows:
        raise SchemaError(
            "the object is stored in a single cell, so this field cannot be deferred",
            model=cls.__name__,
            field=column.name,
            fix="leave deferred= out",
        )
    family = column.column.partition(b":")[0]
    for dynamic in schema.dynamics:
        if dynamic.prefix.partition(b":")[0] == family:
            raise SchemaError(
                "a column in the family of dynamic columns cannot be deferred: a get reads "
                "that whole family",
                model=cls.__name__,
                field=column.name,
                family=family.decode(),
                dynamic=dynamic.name,
                fix="declare the deferred column in another family",
            )
