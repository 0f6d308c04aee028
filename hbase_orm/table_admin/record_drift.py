"""Compares the record of a table with what models declare, and updates it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from hbase_orm.binding.recorded_models import compared
from hbase_orm.binding.table_creation.merged_records import merged
from hbase_orm.binding.table_creation.table_records import refuse_contradictory
from hbase_orm.binding.table_identity import Identity, identity
from hbase_orm.errors import ConflictError, RecordError, RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.registration import require_record
from hbase_orm.ops import FamilyDescriptor, Protocol
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.differences import Difference, Weight
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import change_record, read_record
from hbase_orm.schema import TableSchema, record_types_of
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.declared_tables import DeclaredTable
from hbase_orm.table_admin.option_drift import stale_record_families
from hbase_orm.table_admin.table_check import Drift, TableDifference

_WRITE: Final = (
    "call engine.create_tables, or 'hbase-orm tables create'; if others made the table, run "
    "'hbase-orm tables adopt'"
)
_DECIDE: Final = (
    "if the table is the recorded one, call engine.create_tables, or 'hbase-orm tables create', "
    "which notes its regions; if it was made again with rows that contradict the record, run "
    "'hbase-orm tables adopt' with their model"
)
_DECLARE: Final = (
    "declare what the record says, or move the rows to a table of another name with the new "
    "declaration"
)


@dataclass(frozen=True, slots=True)
class RecordRead:
    """The record of a table as it was read.

    Attributes:
        record: The record; None if it is missing, could not be read, or is that of another table.
        problem: What is wrong with the record; None if nothing is.
        error: The error of a damaged record, or of one of a newer release; else None.
    """

    record: TableRecord | None
    problem: TableDifference | None = None
    error: RecordError | None = None

    def families(self) -> dict[bytes, FamilyDescriptor]:
        """Return the recorded families by name."""
        return {} if self.record is None else dict(self.record.current.families)


def read(declared: DeclaredTable, features: frozenset[Feature]) -> Protocol[RecordRead]:
    """Read the record of a table.

    It is a problem if the record is missing or cannot be read, or if it belongs or may belong to an
    earlier table of this name. For a foreign table nothing is read, and there is no problem.
    """
    table = declared.table
    if declared.is_foreign:
        return RecordRead(None)
    try:
        record = yield from read_record(table)
        if record is not None:
            _refuse_unreadable(record, declared)
    except RecordError as error:
        unreadable = _problem(table, error.text, Drift.CONTRADICTION, error.fix)
        return RecordRead(None, unreadable, error)
    except RejectedError as error:
        fix = "ask for the permission to read the catalog"
        return RecordRead(None, _problem(table, str(error), Drift.UNDECIDED, fix))
    if record is None:
        return RecordRead(None, _problem(table, "", Drift.MISSING, _WRITE))
    which = yield from identity(record, declared.first.tables, features)
    problem = None
    if which is Identity.OTHER:
        actual = "of an earlier table with this name"
        record, problem = None, _problem(table, actual, Drift.MISSING, _WRITE)
    elif which is Identity.UNKNOWN:
        actual = "of this table, or of an earlier one with this name"
        problem = _problem(table, actual, Drift.UNDECIDED, _DECIDE)
    return RecordRead(record, problem)


def _refuse_unreadable(record: TableRecord, declared: DeclaredTable) -> None:
    """Raise the `RecordError` that a comparison of the record with a model raises."""
    for schema in declared.schemas:
        compared(schema, record)


def _problem(table: str, actual: str, drift: Drift, fix: str) -> TableDifference:
    return TableDifference(table, "record", actual, "a record of this table", drift, fix)


def record_differences(
    declared: DeclaredTable, known: RecordRead, reported: Collection[str]
) -> Iterator[TableDifference]:
    """Yield the differences between the record of existing tables and the declaration.

    Args:
        declared: The declared table.
        known: The record as it was read.
        reported: The subjects of differences that were found in the tables: they are not repeated.
    """
    if known.problem is not None:
        yield known.problem
    if known.record is not None:
        recorded = known.record.current.families
        yield from stale_record_families(declared.table, recorded, declared.families, reported)
        yield from _of_rows(declared, known.record)


def _of_rows(declared: DeclaredTable, record: TableRecord) -> Iterator[TableDifference]:
    """Yield the differences of row keys, columns and fields that need something to be done.

    These are contradictions, and differences that an update of the record removes.
    """
    # What an update leaves needs nothing: a required column that old rows lack, for example.
    remaining = set(_compared(declared, updated(record, declared)))
    change = TableChange(declared.table, "record")
    for each in _compared(declared, record):
        is_contradiction = each.weight is Weight.CONTRADICTION
        if is_contradiction or each not in remaining:
            yield TableDifference(
                declared.table,
                f"record: {each.subject}",
                each.recorded,
                each.declared,
                Drift.CONTRADICTION if is_contradiction else Drift.NOTE,
                _DECLARE if is_contradiction else "",
                None if is_contradiction else change,
            )


def _compared(declared: DeclaredTable, record: TableRecord) -> list[Difference]:
    """Return the differences between models and a record, without families and their options.

    These are compared with the table itself. If a model leaves a column out, this is a difference
    only if it is a contradiction, or if the record has the column for this model. Otherwise the
    model is a view with fewer columns.
    """
    families = {family.name: family for family in declared.families}
    current = replace(record.current, families={**record.current.families, **families})
    known = replace(record, current=current)
    differing: list[Difference] = []
    for schema in declared.schemas:
        own = _own_columns(schema, record)
        differing += [
            each
            for each in compared(schema, known)
            if each.declared or each.weight is Weight.CONTRADICTION or each.subject in own
        ]
    return list(dict.fromkeys(differing))


def _own_columns(schema: TableSchema, record: TableRecord) -> set[str]:
    """Return a text such as "column d:n" for each column that the record has for this model."""
    names = {each.model_name for each in (schema, *(record_types_of(schema) or ()))}
    return {
        f"column {column.decode('utf-8', 'backslashreplace')}"
        for rows in record.current.rows
        for name, model in rows.models.items()
        if name in names
        for column in model.fields.values()
    }


def updated(record: TableRecord, declared: DeclaredTable) -> TableRecord:
    """Return a record with the declared families and with the new columns of the models."""
    return replace(record, current=_merged(record.current, declared))


def _merged(recorded: Declaration, declared: DeclaredTable) -> Declaration:
    own = declaration_of(declared.schemas)
    current = replace(merged(recorded, own), options=own.options)
    families = {family.name: family for family in declared.families}
    return replace(current, families={**current.families, **families})


def update_record(declared: DeclaredTable, table_id: str) -> Protocol[None]:
    """Update the record of a table in the catalog with what its models declare.

    Args:
        declared: The declared table.
        table_id: The id of the record; it must not have changed.

    The models are compared with the very record that is changed: another program may have changed
    it since the alteration was planned.

    Raises:
        SchemaDriftError: A model contradicts the record.
        ConflictError: The table was dropped, or created again; or other programs changed the record
            at every attempt.
    """

    def edit(record: TableRecord | None) -> TableRecord:
        if record is None or record.table_id != table_id:
            raise ConflictError(
                "the table was dropped, or created again, while it was altered",
                table=declared.table,
                fix="look at the table, and create it if it is missing",
            )
        refuse_contradictory(declared.schemas, record)
        return updated(record, declared)

    yield from change_record(declared.table, edit)
    yield from require_record(declared.table)
