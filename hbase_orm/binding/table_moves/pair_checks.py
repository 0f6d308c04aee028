"""Refuses pairs of models between which rows cannot be moved while programs use them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.moved_keys import fields_from_cells, has_same_key
from hbase_orm.errors import ConfigurationError
from hbase_orm.schema import ColumnSchema, TableSchema

_EXCLUSIVELY: Final = "run the migration exclusively, while no other program uses the table"
_BY_PROGRAM: Final = "copy the objects with a program: session.stream, and bulk"


def check_pair(old: BoundModel, new: BoundModel) -> None:
    """Raise an error if rows cannot be translated between two models.

    Raises:
        ConfigurationError: The rows cannot be moved online; the error shows what to do instead.
    """
    for bound in (old, new):
        for reason, fix in _obstacles(bound):
            raise _refused(bound.schema, reason, fix)
    if not old.tables.is_only:
        reason = "the rows are in a table for each period"
        raise _refused(old.schema, reason, _EXCLUSIVELY)
    _check_period(old.schema, new.schema)
    _check_keys(old.schema, new.schema)
    _check_counters(old.schema, new.schema)
    _check_new_columns(old.schema, new.schema)
    _check_old_columns(old.schema, new.schema)
    _check_existence(old.schema, new.schema)


def _refused(schema: TableSchema, reason: str, fix: str, **details: Any) -> ConfigurationError:
    return ConfigurationError(
        "the rows cannot be moved while programs use them",
        model=schema.model_name,
        table=schema.table,
        **details,
        reason=reason,
        fix=fix,
    )


def _obstacles(bound: BoundModel) -> Iterator[tuple[str, str]]:
    """Yield why a model's rows cannot be moved at all, each with what to do instead."""
    schema, layout = bound.schema, bound.schema.layout
    if layout.is_random:
        yield "the row key has a random salt, so that it cannot be computed", _BY_PROGRAM
    if schema.packed_bytes:
        yield "each object is stored as a cell, and not as a row", _BY_PROGRAM
    if bound.kinds is not None or bound.is_own is not None:
        yield "the table has rows of several record types", _EXCLUSIVELY
    if bound.keys.names is not None:
        yield "the row key has numbers of names, which have to be looked up", _EXCLUSIVELY
    if bound.guarded is not None and bound.guarded.is_lww:
        yield "the rows have no guards", "configure a gateway with Thrift2: thrift2=host:port"
    if schema.lacks_anchor:
        yield (
            "the model leaves out the column that shows that a row exists",
            "declare the column in the model",
        )


def _check_period(old: TableSchema, new: TableSchema) -> None:
    """Refuse a new table for each period if the old row key does not show the period of a row."""
    period = new.layout.table_period
    if period is not None and period.field not in old.layout.decoded:
        raise _refused(
            new,
            "the field that decides the period of a row is not in the old row key",
            _EXCLUSIVELY,
            field=period.field,
        )


def _check_keys(old: TableSchema, new: TableSchema) -> None:
    if has_same_key(old, new):
        return
    for name in old.layout.arguments:
        if name not in new.layout.decoded:
            raise _refused(
                new,
                "the old row key cannot be computed from the new one, which lacks the field",
                f"put the field in the new row key; or {_EXCLUSIVELY}",
                field=name,
            )
    columns = {column.name for column in old.columns}
    for name in fields_from_cells(old, new):
        if name not in columns:
            raise _refused(
                old,
                "the new row key has a field that the old rows do not have",
                "add the field to the old table and write it in each row, before the move",
                field=name,
            )


def _check_new_columns(old: TableSchema, new: TableSchema) -> None:
    """Refuse columns of the new model for which old rows have no place."""
    stored = {column.name for column in old.columns}
    places = stored | set(old.layout.decoded)
    missing = [each for each in new.columns if each.name not in places]
    if new.version is not None and not _is_version(old, new.version.name):
        missing.append(new.version)
    if old.version is not None and old.version.name in {each.name for each in new.columns}:
        raise _refused(
            new,
            "the old model counts the writes of a row in the column, and the new one does not",
            "declare the field as version() in the new model too, or give it another name",
            field=old.version.name,
        )
    dynamics = [each.name for each in new.dynamics if each.name not in old.dynamic_by_name]
    for name in (*(each.name for each in missing), *dynamics):
        raise _refused(
            old,
            "the old table has no place for a column of the new one, and is written until the "
            "phase MOVING",
            "add the column to the old table first, and move the rows then",
            field=name,
        )


def _check_counters(old: TableSchema, new: TableSchema) -> None:
    """Refuse a field that is a counter in only one of the models."""
    before, after = ({each.name for each in side.counters} for side in (old, new))
    for name in sorted((after - before) | ((before - after) & new.column_by_name.keys())):
        raise _refused(
            new if name in after else old,
            "the field is a counter in only one of the models",
            "declare it as counter() in both; add a new counter to the old table first",
            field=name,
        )


def _is_version(schema: TableSchema, name: str) -> bool:
    return schema.version is not None and schema.version.name == name


def _check_old_columns(old: TableSchema, new: TableSchema) -> None:
    """Refuse to drop columns without which a row cannot exist in the old table."""
    for column in old.columns:
        if column.is_required and not _has_value(column, new):
            raise _refused(
                old,
                "each row of the old table needs the column, and the new model does not have it",
                "let the old model allow None for the field first, or keep the field in the new "
                "model until the move has ended",
                field=column.name,
                column=column.column,
            )


def _has_value(column: ColumnSchema, new: TableSchema) -> bool:
    return column.name in new.layout.decoded or column.name in {c.name for c in new.columns}


def _check_existence(old: TableSchema, new: TableSchema) -> None:
    """Refuse a new anchor that old rows may lack: the rows would be hidden."""
    stored = None if new.anchor is None else old.column_by_name.get(new.anchor.name)
    if stored is not None and stored.nullable:
        raise _refused(
            old,
            "old rows may lack the column that shows that a row exists in the new table",
            "write the field in each row and declare it without None in the old model, before the "
            "move",
            field=stored.name,
            column=stored.column,
        )
