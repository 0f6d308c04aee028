"""Writes of one row by its key alone: what assignments put and clear, what a tail appends to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.text import Raw, Text
from hbase_orm.errors import (
    CodecError,
    CorruptRowError,
    QueryError,
    RowKeyError,
    RowNotFoundError,
    ValidationError,
)
from hbase_orm.index.targets import MARKER_VALUE, RowBefore, RowChange
from hbase_orm.model import Counter, Key, Version
from hbase_orm.ops import Append, Row
from hbase_orm.schema import Assignment, ColumnSchema, EntryExpr, Expr, stored_column
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.flush import emit, guarded_change
from hbase_orm.session.gets import key_to_change, read_rows
from hbase_orm.session.period_tables import send
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import RowWrite, check_entries
from hbase_orm.session.without_guards import refuse_without_guards


def put_cells(
    bound: BoundModel, assignments: Iterable[Assignment], key: Mapping[str, Any], runtime: Runtime
) -> None:
    """Put and clear cells of the row with these key fields, at once.

    Raises:
        QueryError: There is nothing to write, a field stands twice or is none that can be set.
        RowNotFoundError: A row under a guard does not exist, and the assignments make none.
        HBaseORMError: The row was not written, or its outcome is unknown.
    """
    puts, clears = _assigned(bound, assignments)
    puts |= _stored_key_fields(bound, key)
    required = {column.column for column in bound.schema.columns if column.is_required}
    makes_row = required <= puts.keys()
    if bound.schema.marker is not None:
        puts[bound.schema.marker] = MARKER_VALUE
    row = key_to_change(bound, key, runtime)
    check_entries(bound, row, puts)
    if makes_row or bound.guarded is None:
        write_now([RowWrite(bound, None, row, "put", puts, frozenset(clears))], runtime)
    else:
        change = RowChange(row, puts, frozenset(clears), "update")
        if not bound.guarded.is_lww:
            change = _of_existing(bound, change)
        runtime.run(guarded_change(bound, change, runtime))


def _of_existing(bound: BoundModel, change: RowChange) -> RowChange:
    """Return a change of a row that must exist."""

    def decide(before: RowBefore) -> RowChange:
        if not bound.exists(Row(change.row, dict(before.cells))):
            raise absent(bound, change.row)
        return change

    return replace(change, decide=decide)


def absent(bound: BoundModel, row: bytes) -> RowNotFoundError:
    """Return the error of a row that does not exist."""
    return RowNotFoundError(
        "there is no such row",
        model=bound.schema.model_name,
        table=bound.schema.table,
        row=row,
        fix="add an object with all its fields",
    )


def delete_cells(bound: BoundModel, key: Mapping[str, Any], runtime: Runtime) -> None:
    """Delete the row with these key fields, at once; one that does not exist is no error.

    Raises:
        HBaseORMError: The row was not deleted, or its outcome is unknown.
    """
    refuse_without_guards(bound.schema, bound.guarded, "delete_row")
    bound.look_up_names([key])
    keys = bound.keys(key)
    if len(keys) > 1:  # under a random salt: where it is
        keys = tuple(row.key for row in read_rows(bound, keys, runtime) if row is not None)
    write_now([RowWrite(bound, None, row, "delete") for row in keys], runtime)


def write_now(writes: list[RowWrite], runtime: Runtime) -> None:
    """Send writes by key alone; raise the error of the first that failed."""
    outcome = emit(writes, runtime)
    for _, error in (*outcome.not_written, *outcome.unknown):
        raise error


def _assigned(
    bound: BoundModel, assignments: Iterable[Assignment]
) -> tuple[dict[bytes, bytes], set[bytes]]:
    puts: dict[bytes, bytes] = {}
    clears: set[bytes] = set()
    for assignment in assignments:
        column, data = _cell(bound, assignment)
        if column in puts or column in clears:
            raise QueryError("a field is assigned twice", field=repr(assignment.field))
        if data is None:
            clears.add(column)
        else:
            puts[column] = data
    if not puts and not clears:
        raise QueryError(
            "there is nothing to write",
            model=bound.schema.model_name,
            fix="write session.put_row(M, M.unit.to(...), ...)",
        )
    return puts, clears


def _cell(bound: BoundModel, assignment: Assignment) -> tuple[bytes, bytes | None]:
    """Return the column of an assignment and its bytes; None clears it.

    Raises:
        QueryError: It is no assignment, or of a field that cannot be assigned.
        ValidationError: The value does not fit.
    """
    if not isinstance(assignment, Assignment):
        raise QueryError(
            "this is no assignment", got=repr(assignment), fix="write M.unit.to(value)"
        )
    column = assignable(bound, assignment.field)
    check = bound.model.__checkers__.get(column.name)
    value = assignment.value if check is None else check(assignment.value)  # an entry has none
    if value is None:
        return column.column, None
    try:
        return column.column, column.codec.encode(value)
    except CodecError as error:
        raise ValidationError(
            error.text,
            fix=error.fix,
            model=bound.schema.model_name,
            field=column.name,
            **error.details,
        ) from None


def assignable(bound: BoundModel, field: Expr[Any]) -> ColumnSchema:
    """Return the column of a field that may be set without an object.

    Raises:
        QueryError: The field is none of the model's, a counter or a version.
        RowKeyError: It is part of the row key.
    """
    schema = bound.schema
    entry = stored_column(schema, field) if isinstance(field, EntryExpr) else None
    if entry is not None:
        return entry
    if not isinstance(field, Expr) or not schema.has_field(field):
        raise QueryError(
            "the field is not one of the model",
            field=repr(field),
            model=schema.model_name,
            fix=f"use the fields of {schema.model_name}",
        )
    if isinstance(field, Key):
        raise RowKeyError(
            "a key field cannot be set: it names the row",
            model=schema.model_name,
            field=field.name,
            fix="use session.move(obj, ...): HBase cannot rename a row",
        )
    if isinstance(field, (Counter, Version)):
        raise QueryError(
            "counters are incremented, and a version counts by itself",
            model=schema.model_name,
            field=field.name,
            fix=f"use session.increment(M, M.{field.name}.by(...), ...)"
            if isinstance(field, Counter)
            else "leave it out",
        )
    return schema.column_by_name[field.name]


def _stored_key_fields(bound: BoundModel, key: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return the cells of key fields that are stored in columns as well."""
    schema = bound.schema
    stored = [column for column in schema.columns if isinstance(schema.fields[column.name], Key)]
    return {each.column: each.codec.encode(key[each.name]) for each in stored if each.name in key}


# --- append ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tail:
    """Bytes to append to one column of a row."""

    bound: BoundModel
    column: ColumnSchema
    row: bytes
    data: bytes


def append_tail(
    bound: BoundModel, field: Expr[Any], value: Any, key: Mapping[str, Any], runtime: Runtime
) -> Any:
    """Append to a text or bytes column, at once; return the new value.

    Raises:
        QueryError: The column's bytes cannot be concatenated, or an index is made of them.
        ValidationError: The value does not fit.
        RowNotFoundError: A row under a guard does not exist.
        CorruptRowError: What the column holds does not decode; of a plain model the value was
            appended all the same.
        ConnectionLostError: The outcome is unknown.
    """
    column = assignable(bound, field)
    refuse_without_guards(bound.schema, bound.guarded, "append")
    _check_appendable(bound, column)
    _, data = _cell(bound, Assignment(field, value))
    if data is None:
        raise ValidationError(
            "None cannot be appended", model=bound.schema.model_name, field=column.name
        )
    tail = Tail(bound, column, key_to_change(bound, key, runtime), data)
    if bound.guarded is not None:
        return column.codec.decode(_append(tail, runtime))
    joined = _append_plain(tail, runtime)
    return _decoded(tail, joined, "the value was appended to bytes that do not decode")


def _decoded(tail: Tail, data: bytes, text: str) -> Any:
    try:
        return tail.column.codec.decode(data)
    except CodecError as error:
        raise CorruptRowError(
            text,
            model=tail.bound.schema.model_name,
            table=tail.bound.schema.table,
            row=tail.row,
            field=tail.column.name,
            fix="write the field anew: session.put_row(M, M.field.to(...), ...)",
        ) from error


def _check_appendable(bound: BoundModel, column: ColumnSchema) -> None:
    codec: Codec[Any] = column.codec
    is_open = isinstance(codec, (Text, Raw)) and codec.width_bytes is None
    if not is_open or codec.desc or getattr(codec, "separator", None) is not None:
        raise QueryError(
            "only text and bytes can be appended to",
            model=bound.schema.model_name,
            field=column.name,
            codec=codec.name,
            fix="use session.update, or codecs.text() or raw() for the column",
        )
    if bound.schema.packed_bytes:
        raise QueryError(
            "a packed cell cannot be appended to",
            model=bound.schema.model_name,
            field=column.name,
            fix="get the object, change it and flush",
        )
    if bound.guarded is not None and column.column in bound.guarded.indexed_columns:
        raise QueryError(
            "an indexed column cannot be appended to: its entry would be missing",
            model=bound.schema.model_name,
            field=column.name,
            fix="use session.update, which moves the index entry",
        )


def _append_plain(tail: Tail, runtime: Runtime) -> bytes:
    schema = tail.bound.schema
    where = schema.table, tail.row
    runtime.wait_for_ties([where])
    request = Append(*where, {tail.column.column: tail.data})
    try:
        return send(request, tail.bound, runtime)[tail.column.column]
    finally:
        runtime.note_counted(where)


def _append(tail: Tail, runtime: Runtime) -> bytes:
    """Append under the guard: the row is read, and written if nobody else did since."""
    column = tail.column.column

    def decide(before: RowBefore) -> RowChange:
        if not tail.bound.exists(Row(tail.row, dict(before.cells))):
            raise absent(tail.bound, tail.row)
        stored = before.cells.get(column)
        joined = tail.data if stored is None else stored.value + tail.data
        _decoded(tail, joined, "nothing was appended: the stored bytes do not decode")
        return RowChange(tail.row, {column: joined}, kind="update")

    asked = RowChange(tail.row, kind="update", reads=frozenset((column,)), decide=decide)
    where = tail.bound.schema.table, tail.row
    change = guarded_change(tail.bound, asked, runtime)
    outcome = runtime.alone(where, lambda: runtime.run(change))
    return outcome.cells[column]
