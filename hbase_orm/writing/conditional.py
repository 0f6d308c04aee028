"""Writes of one row that depend on the stored row: insert, put-if, delete-if.

Guarded rows are read and changed under their guard, which allows all conditions. A plain row is
changed by HBase's own check of one cell, which needs Thrift2. A conditional write is never sent
twice: after `ConnectionLostError` its outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.binding.write_clock import WriteClock
from hbase_orm.errors import (
    DuplicateRowError,
    FeatureMissingError,
    HBaseORMError,
    SchemaDriftError,
    ValidationError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.entries.targets import RowBefore, RowChange
from hbase_orm.ops import CheckAndMutate, Protocol, Row
from hbase_orm.query import (
    cell_test,
    check_flat,
    compile_match,
    holds_for_absent_row,
    may_be_empty,
)
from hbase_orm.query.planning.cell_tests import CellTest
from hbase_orm.reading.by_key import read_rows
from hbase_orm.schema import Condition, TableSchema, deferred_names
from hbase_orm.writing.replace import newest_ms_of
from hbase_orm.writing.row_write import RowWrite, acknowledged, change_of
from hbase_orm.writing.send import guarded_write, mutation_of


class UnmetError(Exception):
    """The row does not fulfil the conditions; this error is caught inside the library."""


def insert_row(write: RowWrite, writer: TableWriter) -> Protocol[RowWrite]:
    """Write a row that must not exist yet; return the write that was acknowledged.

    Raises:
        DuplicateRowError: The row exists already.
        ValidationError: The cell of `checked_column` would be empty; HBase's check treats an empty
            cell like an absent one.
        SchemaDriftError: Inserts of the table's other models would not see the row.
        ConnectionLostError: The outcome is unknown.
    """
    if (yield from _exists_under_another_salt(write)):
        raise duplicate_error(write)
    try:
        if write.bound.guarded is not None:
            return acknowledged(write, (yield from guarded_write(write, writer)))
        is_new = yield from _insert_plain(write, writer)
    except DuplicateRowError as error:
        raise duplicate_error(write) from error
    if not is_new:
        raise duplicate_error(write)
    return write


def _exists_under_another_salt(write: RowWrite) -> Protocol[bool]:
    """Return whether the object's row exists under a row key with another random salt."""
    bound, obj = write.bound, write.obj
    others = () if obj is None else bound.keys.others_of(obj, write.key)
    rows = (yield from read_rows(bound, others)) if others else ()
    return any(row is not None and bound.exists(row) for row in rows)


def duplicate_error(write: RowWrite) -> DuplicateRowError:
    """Return the error for an insert of a row that exists already."""
    return DuplicateRowError(
        "the row exists already",
        model=write.bound.schema.model_name,
        table=write.bound.schema.table,
        row=write.key,
        fix="get it and change it, or replace it",
    )


def _insert_plain(write: RowWrite, writer: TableWriter) -> Protocol[bool]:
    """Write a plain row if it does not exist; return whether it was written.

    First the row is read: it must have no cell in the model's families. Then it is written by a
    check-and-mutate on a column that every insert writes, so that a concurrent insert is detected.
    """
    bound = write.bound
    _refuse_unrecorded_view(bound.schema)
    column = checked_column(bound.schema)
    if not write.puts.get(column):
        raise ValidationError(
            "HBase's check treats an empty cell like an absent cell, so this row could be "
            "inserted twice",
            model=bound.schema.model_name,
            row=write.key,
            column=column,
            fix="give the field a value that is not empty, or add a version column to the "
            "model: revision: Version = version()",
        )
    need_conditions(bound.schema, writer)
    (row,) = yield from read_rows(bound, [write.key])
    if row is not None:
        return False
    return (yield from _send(write, CellTest(column, "==", b""), writer))


def _refuse_unrecorded_view(schema: TableSchema) -> None:
    """Raise an error if inserts of other models would not see the row of this insert.

    Raises:
        SchemaDriftError: The record does not name the model, which leaves out the anchor.
    """
    if schema.existence is not None and not schema.existence.is_recorded:
        raise SchemaDriftError(
            "inserts of the table's other models would not see this row: this model leaves out "
            "the column that their rows have, and the table's record does not name this model",
            model=schema.model_name,
            table=schema.table,
            fix="call engine.create_tables with this model, which records it, and insert a lease "
            "later",
        )


def checked_column(schema: TableSchema) -> bytes:
    """Return the column that must be absent in HBase's check when a plain row is inserted.

    Every insert writes this column. If possible, it is a column whose cell is never empty.
    """
    if schema.marker is not None:
        return schema.marker
    shared = schema.in_every_row  # all programs write it
    if schema.existence is not None and shared and not may_be_empty(shared[0].codec):
        return shared[0].column
    required = schema.written_by_all or [c for c in schema.columns if c.is_required]
    sure = [column for column in required if not may_be_empty(column.codec)]
    return (sure or required)[0].column


def need_conditions(schema: TableSchema, writer: TableWriter) -> None:
    """Raise an error if no gateway supports conditional writes.

    Raises:
        FeatureMissingError: The engine has no Thrift2 gateway.
    """
    if Feature.CHECK_AND_MUTATE not in writer.features:
        raise FeatureMissingError(
            "a conditional write needs a Thrift2 gateway",
            model=schema.model_name,
            fix="add thrift2=host:9091 to the URL",
        )


def write_if(
    write: RowWrite, conditions: Sequence[Condition], writer: TableWriter
) -> Protocol[RowWrite | None]:
    """Make a write if the row fulfils the conditions; return the acknowledged write.

    The result is None if the row does not fulfil them.

    Raises:
        QueryError: The conditions do not fit the model, or HBase cannot check them.
        ConnectionLostError: The outcome is unknown.
    """
    flat = check_flat(write.bound.schema, conditions)
    if write.bound.guarded is None:
        return write if (yield from _plain_if(write, flat, writer)) else None
    yield from writer.clock.wait_out_counter_skew([write.row_id])
    change = replace(change_of(replace(write, version=None)), decide=None)

    def decide(before: RowBefore) -> RowChange:
        if not _is_met(write, Row(write.key, dict(before.cells)), flat):
            raise UnmetError
        return change

    families = frozenset(write.bound.schema.family_names)
    checked = replace(change, reads=families, decide=decide)
    names = yield from write.bound.load_names([Row(write.key, {})])
    try:
        outcome = yield from writer.change(write.bound, checked)
    except UnmetError:
        return None
    finally:
        del names  # held until here, for the objects that are compared
    return acknowledged(write, outcome)


def _plain_if(
    write: RowWrite, conditions: Sequence[Condition], writer: TableWriter
) -> Protocol[bool]:
    test = cell_test(write.bound.schema, conditions)
    need_conditions(write.bound.schema, writer)
    if not write.is_idle:
        return (yield from _send(write, test, writer))
    every = deferred_names(write.bound.schema)
    (read,) = yield from read_rows(write.bound, [write.key], every)
    row = read or Row(write.key, {})
    names = yield from write.bound.load_names([row])
    is_met = _is_met(write, row, conditions)
    del names  # held until here, for the object that is compared
    return is_met


def _is_met(write: RowWrite, row: Row, conditions: Sequence[Condition]) -> bool:
    """Return whether a row fulfils the conditions; a `row` without cells does not exist."""
    bound = write.bound
    if not row.cells or not bound.exists(row):
        is_possible = write.kind in {"put", "insert", "replace"}
        return is_possible and holds_for_absent_row(conditions)
    check = compile_match(bound.schema, conditions)
    every = deferred_names(bound.schema)  # all deferred fields were read
    return check is None or check(bound.hydrate(row, every).__dict__)


def _send(write: RowWrite, test: CellTest, writer: TableWriter) -> Protocol[bool]:
    bound, clock = write.bound, writer.clock
    yield from writer.check(bound)  # before the row is read
    yield from clock.wait_out_counter_skew([write.row_id])
    if clock.stamps(bound.schema) and bound.schema.storage.has_own_rows:
        stamp_ms = yield from clock.stamp()
        newest_ms = yield from newest_ms_of(write)
        stamp_ms = max(stamp_ms, (newest_ms or 0) + 1)
        write = replace(write, timestamp_ms=stamp_ms)
    if write.kind != "delete":
        yield from clock.wait_out_tombstone_tie([write.row_id])
    try:
        applied = yield from writer.send(_request(write, test), bound)
    except HBaseORMError:
        _note_deletes(write, clock)
        raise
    if applied:
        _note_deletes(write, clock)
    return applied


def _note_deletes(write: RowWrite, clock: WriteClock) -> None:
    if write.kind == "delete" or write.clears:
        clock.note_deletes([write.row_id])


def _request(write: RowWrite, test: CellTest) -> CheckAndMutate:
    schema, storage = write.bound.schema, write.bound.schema.storage
    (mutation,) = storage.mutations([mutation_of(write)])
    column = storage.column_of(write.key, test.column)
    return CheckAndMutate(schema.table, column, test.expected, mutation, test.operator)


def stored_row(
    bound: BoundModel, key: bytes, loaded: frozenset[str] | None = None
) -> Protocol[Row | None]:
    """Return the stored row; None if the model has no row with this key.

    Args:
        bound: The model.
        key: The row key.
        loaded: The deferred fields that are read; None means all.
    """
    every = deferred_names(bound.schema) if loaded is None else loaded
    (row,) = yield from read_rows(bound, [key], every)
    return row if row is not None and bound.exists(row) else None
