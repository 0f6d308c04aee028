"""Writes of one row by its key, without an object: put or clear cells, delete, append."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.binding.table_writer import TableWriter
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
from hbase_orm.index.entries.targets import MARKER_VALUE, RowBefore, RowChange
from hbase_orm.model import Counter, Key, Version
from hbase_orm.model.hints import key_as_keywords
from hbase_orm.ops import Append, Protocol, Row
from hbase_orm.reading.by_key import key_to_change, read_rows
from hbase_orm.schema import Assignment, ColumnSchema, EntryExpr, Expr, stored_column
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import RowWrite, check_entries
from hbase_orm.writing.send import send_writes


def put_cells(
    bound: BoundModel,
    assignments: Iterable[Assignment],
    key: Mapping[str, Any],
    writer: TableWriter,
) -> Protocol[None]:
    """Put and clear cells of the row with these key fields.

    Raises:
        QueryError: There is no assignment, a field is assigned twice, or a field cannot be
            assigned.
        RowNotFoundError: A guarded row does not exist, and some required fields are not assigned.
        HBaseORMError: The row was not written, or its outcome is unknown.
    """
    puts, clears = _assigned(bound, assignments)
    puts |= _stored_key_fields(bound, key)
    required = {column.column for column in bound.schema.columns if column.is_required}
    required |= set() if bound.schema.anchor is None else {bound.schema.anchor.column}
    makes_row = required <= puts.keys()
    if bound.schema.marker is not None:
        puts[bound.schema.marker] = MARKER_VALUE
    row = yield from key_to_change(bound, key)
    check_entries(bound, row, puts)
    if makes_row or bound.guarded is None:
        yield from write_now([RowWrite(bound, None, row, "put", puts, frozenset(clears))], writer)
        return
    change = RowChange(row, puts, frozenset(clears), "update")
    if not bound.guarded.is_lww:
        change = _of_existing(bound, change)
    yield from writer.change(bound, change)


def _of_existing(bound: BoundModel, change: RowChange) -> RowChange:
    """Return `change` with a check: RowNotFoundError is raised if the row does not exist."""

    def decide(before: RowBefore) -> RowChange:
        if not bound.exists(Row(change.row, dict(before.cells))):
            raise absent_row_error(bound, change.row)
        return change

    return replace(change, decide=decide)


def absent_row_error(bound: BoundModel, row: bytes) -> RowNotFoundError:
    """Return the error for a change of a row that does not exist."""
    return RowNotFoundError(
        "the row does not exist",
        model=bound.schema.model_name,
        table=bound.schema.table,
        row=row,
        fix="add an object with all its fields",
    )


def delete_cells(bound: BoundModel, key: Mapping[str, Any], writer: TableWriter) -> Protocol[None]:
    """Delete the row with these key fields; do nothing if it does not exist.

    Raises:
        HBaseORMError: The row was not deleted, or its outcome is unknown.
    """
    refuse_without_guards(bound.schema, bound.guarded, "delete_row")
    yield from bound.keys.look_up_names([key])
    keys = bound.keys.possible(key)
    if len(keys) > 1:  # the salt is random: keep the keys of existing rows
        keys = tuple(row.key for row in (yield from read_rows(bound, keys)) if row is not None)
    yield from write_now([RowWrite(bound, None, row, "delete") for row in keys], writer)


def write_now(writes: list[RowWrite], writer: TableWriter) -> Protocol[None]:
    """Send writes without objects; if some failed, raise the error of the first one."""
    (yield from send_writes(writes, writer, FlushOutcome())).raise_first()


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
            fix=f"write session.put_row({bound.schema.model_name}, "
            f"{_settable(bound)}.to(...), {key_as_keywords(bound.schema.layout.arguments)})",
        )
    return puts, clears


def _settable(bound: BoundModel) -> str:
    plain = (column.name for column in bound.schema.columns)
    return f"{bound.schema.model_name}.{next(plain, 'FIELD')}"


def _cell(bound: BoundModel, assignment: Assignment) -> tuple[bytes, bytes | None]:
    """Return the column and the new bytes of an assignment.

    The bytes are None if the assignment clears the column.

    Raises:
        QueryError: The argument is not an assignment, or its field cannot be assigned.
        ValidationError: The value does not fit.
    """
    if not isinstance(assignment, Assignment):
        raise QueryError(
            "the argument is not an assignment",
            got=repr(assignment),
            fix=f"write {_settable(bound)}.to(value)",
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
    """Return the column of a field that may be assigned without an object.

    Raises:
        QueryError: The field belongs to another model, or is a counter or a version.
        RowKeyError: The field is part of the row key.
    """
    schema = bound.schema
    entry = stored_column(schema, field) if isinstance(field, EntryExpr) else None
    if entry is not None:
        return entry
    if not isinstance(field, Expr) or not schema.has_field(field):
        raise QueryError(
            "the field belongs to another model",
            field=repr(field),
            model=schema.model_name,
            fix=f"use the fields of {schema.model_name}",
        )
    if isinstance(field, Key):
        raise RowKeyError(
            "a key field cannot be assigned, because it is part of the row key",
            model=schema.model_name,
            field=field.name,
            fix="use session.move(obj, ...): HBase cannot rename a row",
        )
    if isinstance(field, (Counter, Version)):
        raise QueryError(
            "a counter or a version column cannot be assigned",
            model=schema.model_name,
            field=field.name,
            fix=f"use session.increment({schema.model_name}, {field!r}.by(...), ...)"
            if isinstance(field, Counter)
            else "leave it out",
        )
    return schema.column_by_name[field.name]


def _stored_key_fields(bound: BoundModel, key: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return the cells of key fields whose values are stored in columns too."""
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

    @property
    def row_id(self) -> tuple[str, bytes]:
        """The table and the row key."""
        return self.bound.schema.table, self.row


def tail_of(
    bound: BoundModel, field: Expr[Any], value: Any, key: Mapping[str, Any]
) -> Protocol[Tail]:
    """Encode a value to append; return it with its row and column.

    Raises:
        QueryError: The column's bytes cannot be concatenated, or the column is indexed.
        ValidationError: The value does not fit.
    """
    column = assignable(bound, field)
    refuse_without_guards(bound.schema, bound.guarded, "append")
    _check_appendable(bound, column)
    _, data = _cell(bound, Assignment(field, value))
    if data is None:
        raise ValidationError(
            "None cannot be appended", model=bound.schema.model_name, field=column.name
        )
    return Tail(bound, column, (yield from key_to_change(bound, key)), data)


def append_tail(tail: Tail, writer: TableWriter) -> Protocol[Any]:
    """Append to a text or bytes column; return the new value.

    Raises:
        RowNotFoundError: A guarded row does not exist.
        CorruptRowError: The column's value does not decode; in a plain row the value was appended
            nevertheless.
        ConnectionLostError: The outcome is unknown.
    """
    if tail.bound.guarded is not None:
        return tail.column.codec.decode((yield from _append_guarded(tail, writer)))
    joined = yield from _append_plain(tail, writer)
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
            fix=f"write the field again by session.put_row or session.update: "
            f"{tail.bound.schema.model_name}.{tail.column.name}.to(...)",
        ) from error


def _check_appendable(bound: BoundModel, column: ColumnSchema) -> None:
    codec: Codec[Any] = column.codec
    is_open = isinstance(codec, (Text, Raw)) and codec.width_bytes is None
    if not is_open or codec.desc or getattr(codec, "separator", None) is not None:
        raise QueryError(
            "append works only on text and bytes fields",
            model=bound.schema.model_name,
            field=column.name,
            codec=codec.name,
            fix="use session.update, or codecs.text() or raw() for the column",
        )
    if not bound.schema.storage.has_own_rows:
        raise QueryError(
            "a packed cell cannot be appended to",
            model=bound.schema.model_name,
            field=column.name,
            fix="get the object, change the field and flush",
        )
    if bound.guarded is not None and column.column in bound.guarded.indexed_columns:
        raise QueryError(
            "an indexed column cannot be appended to, because the new index entry would be missing",
            model=bound.schema.model_name,
            field=column.name,
            fix="use session.update, which moves the index entry",
        )


def _append_plain(tail: Tail, writer: TableWriter) -> Protocol[bytes]:
    yield from writer.clock.wait_out_tombstone_tie([tail.row_id])
    request = Append(*tail.row_id, {tail.column.column: tail.data})
    try:
        return (yield from writer.send(request, tail.bound))[tail.column.column]
    finally:
        writer.clock.note_increment(tail.row_id)


def _append_guarded(tail: Tail, writer: TableWriter) -> Protocol[bytes]:
    """Append under the guard: read the row, and write it unless another writer changed it."""
    column = tail.column.column

    def decide(before: RowBefore) -> RowChange:
        if not tail.bound.exists(Row(tail.row, dict(before.cells))):
            raise absent_row_error(tail.bound, tail.row)
        stored = before.cells.get(column)
        joined = tail.data if stored is None else stored.value + tail.data
        _decoded(tail, joined, "nothing was appended: the stored bytes do not decode")
        return RowChange(tail.row, {column: joined}, kind="update")

    decided = RowChange(tail.row, kind="update", reads=frozenset((column,)), decide=decide)
    return (yield from writer.change(tail.bound, decided)).cells[column]
