"""Writes of one row that depend on what is stored: insert, put-if, delete-if.

Guarded rows are read and changed under their guard, whatever the conditions. A plain row is changed
by HBase's own check of one cell, which needs Thrift2. No conditional write is sent twice: after
`ConnectionLostError` its outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hbase_orm.errors import (
    DuplicateRowError,
    FeatureMissingError,
    HBaseORMError,
    ValidationError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.targets import RowBefore, RowChange
from hbase_orm.ops import CheckAndMutate, Row
from hbase_orm.query import (
    cell_test,
    check_flat,
    compile_check,
    holds_for_absent_row,
    may_be_empty,
)
from hbase_orm.query.cell_tests import CellTest
from hbase_orm.schema import Condition, TableSchema, deferred_names, packed_mutations
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_unguarded
from hbase_orm.session.flush import (
    guarded_change,
    guarded_protocol,
    mutation_of,
)
from hbase_orm.session.gets import read_rows
from hbase_orm.session.period_tables import send
from hbase_orm.session.replacing import newest_ms_of
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import RowWrite, acknowledged
from hbase_orm.session.versions import change_of


class UnmetError(Exception):
    """The row does not fulfil the conditions; never leaves the session."""


def insert_row(write: RowWrite, runtime: Runtime) -> RowWrite:
    """Write a row that must be absent.

    Raises:
        DuplicateRowError: The row exists.
        ValidationError: HBase could not tell the row that is written from an absent one.
        ConnectionLostError: The outcome is unknown.
    """
    if _stands_under_another_salt(write, runtime):
        raise duplicate(write)
    try:
        if write.bound.guarded is not None:
            return acknowledged(write, runtime.run(guarded_protocol(write, runtime)))
        is_new = _insert_plain(write, runtime)
    except DuplicateRowError as error:
        raise duplicate(write) from error
    if not is_new:
        raise duplicate(write)
    return write


def _stands_under_another_salt(write: RowWrite, runtime: Runtime) -> bool:
    """Say whether the row of an object exists under one of the salts that were not drawn for it."""
    bound, obj = write.bound, write.obj
    if obj is None or not bound.schema.layout.is_random:
        return False
    others = [key for key in bound.keys(obj.__dict__) if key != write.key]
    rows = read_rows(bound, others, runtime)
    return any(row is not None and bound.exists(row) for row in rows)


def duplicate(write: RowWrite) -> DuplicateRowError:
    """Return the error of a row that exists."""
    return DuplicateRowError(
        "the row exists",
        model=write.bound.schema.model_name,
        table=write.bound.schema.table,
        row=write.key,
        fix="get it and change it, or replace it",
    )


def _insert_plain(write: RowWrite, runtime: Runtime) -> bool:
    """Write a plain row if it is absent; say whether it was.

    Any cell in the model's families makes a row, and a read finds those. Between the read and the
    write HBase itself guards one column that every insert writes.
    """
    bound = write.bound
    column = checked_column(bound.schema)
    if not write.puts.get(column):
        raise ValidationError(
            "HBase takes an empty cell for an absent one, so this row could be inserted twice",
            model=bound.schema.model_name,
            row=write.key,
            column=column,
            fix="give the field a value, or the model a version column: revision: Version = "
            "version()",
        )
    need_conditions(bound.schema, runtime)
    (row,) = read_rows(bound, [write.key], runtime)
    return row is None and _send(write, CellTest(column, "==", b""), runtime)


def checked_column(schema: TableSchema) -> bytes:
    """Return the column whose absence says that a plain row is absent.

    It is one that every insert writes, and best one whose cell is never empty.
    """
    if schema.marker is not None:
        return schema.marker
    required = [column for column in schema.columns if column.is_required]
    sure = [column for column in required if not may_be_empty(column.codec)]
    return (sure or required)[0].column


def need_conditions(schema: TableSchema, runtime: Runtime) -> None:
    """Refuse a conditional write where no gateway can make one.

    Raises:
        FeatureMissingError: The engine has no Thrift2 gateway.
    """
    if Feature.CHECK_AND_MUTATE not in runtime.features:
        raise FeatureMissingError(
            "a conditional write needs a Thrift2 gateway",
            model=schema.model_name,
            fix="add thrift2=host:9091 to the URL",
        )


def write_if(write: RowWrite, conditions: Sequence[Condition], runtime: Runtime) -> RowWrite | None:
    """Make a write if the row fulfils conditions; return what was written, or None.

    Raises:
        QueryError: The conditions do not fit the model, or HBase cannot decide them.
        ConnectionLostError: The outcome is unknown.
    """
    flat = check_flat(write.bound.schema, conditions)
    if write.bound.guarded is None:
        return write if _plain_if(write, flat, runtime) else None
    runtime.wait_for_counts([write.where])
    change = replace(change_of(replace(write, version=None)), decide=None)

    def decide(before: RowBefore) -> RowChange:
        if not _is_met(write, Row(write.key, dict(before.cells)), flat):
            raise UnmetError
        return change

    families = frozenset(write.bound.schema.family_names)
    asked = replace(change, reads=families, decide=decide)
    try:
        outcome = runtime.run(guarded_change(write.bound, asked, runtime))
    except UnmetError:
        return None
    return acknowledged(write, outcome)


def _plain_if(write: RowWrite, conditions: Sequence[Condition], runtime: Runtime) -> bool:
    test = cell_test(write.bound.schema, conditions)
    need_conditions(write.bound.schema, runtime)
    if not write.is_idle:
        return _send(write, test, runtime)
    every = deferred_names(write.bound.schema)
    (row,) = read_rows(write.bound, [write.key], runtime, every)
    return _is_met(write, row or Row(write.key, {}), conditions)


def _is_met(write: RowWrite, row: Row, conditions: Sequence[Condition]) -> bool:
    """Say whether a row fulfils the conditions; an absent one only that fields are None."""
    bound = write.bound
    if not row.cells or not bound.exists(row):
        is_possible = write.kind in {"put", "insert", "replace"}
        return is_possible and holds_for_absent_row(conditions)
    check = compile_check(bound.schema, conditions)
    every = deferred_names(bound.schema)  # what they compare was read
    return check is None or check(bound.hydrate(row, every).__dict__)


def _send(write: RowWrite, test: CellTest, runtime: Runtime) -> bool:
    bound = write.bound
    check_unguarded(bound, runtime)  # before the row is read
    runtime.wait_for_counts([write.where])
    if runtime.stamps(bound.schema) and not bound.schema.packed_bytes:
        stamp_ms = max(runtime.stamp_ms(), (newest_ms_of(write, runtime) or 0) + 1)
        write = replace(write, timestamp_ms=stamp_ms)
    if write.kind != "delete":
        runtime.wait_for_ties([write.where])
    try:
        applied = send(_request(write, test), bound, runtime)
    except HBaseORMError:
        _note_deletes(write, runtime)
        raise
    if applied:
        _note_deletes(write, runtime)
    return applied


def _note_deletes(write: RowWrite, runtime: Runtime) -> None:
    if write.kind == "delete" or write.clears:
        runtime.note_deletes([write.where])


def _request(write: RowWrite, test: CellTest) -> CheckAndMutate:
    schema, mutation, column = write.bound.schema, mutation_of(write), test.column
    if schema.packed_bytes:
        (mutation,) = packed_mutations(schema, [mutation])
        column += write.key[-schema.packed_bytes :]
    return CheckAndMutate(schema.table, column, test.expected, mutation, test.operator)


def stored_row(
    bound: BoundModel, key: bytes, runtime: Runtime, loaded: frozenset[str] | None = None
) -> Row | None:
    """Return the row as it is stored, or None where the model sees none.

    Args:
        bound: The model.
        key: The row key.
        runtime: Where requests go.
        loaded: The deferred fields that are read; None means all.
    """
    every = deferred_names(bound.schema) if loaded is None else loaded
    (row,) = read_rows(bound, [key], runtime, every)
    return row if row is not None and bound.exists(row) else None
