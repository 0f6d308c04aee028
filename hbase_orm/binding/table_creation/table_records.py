"""Writes the records of tables that `create_tables` makes or completes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.recorded_models import compared, drift_error
from hbase_orm.binding.table_creation.existing_tables import KEY_ATTRIBUTE, described
from hbase_orm.binding.table_creation.model_tables import create
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import catalog_descriptor
from hbase_orm.index.catalog.registration import require_record
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import CreateTable, Protocol, TableDescriptor
from hbase_orm.record.declaration import Declaration, RecordedRows, TableRecord
from hbase_orm.record.differences import Weight
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import ID_ATTRIBUTE, ID_BYTES, change_record, read_record
from hbase_orm.schema import TableSchema


def create_recorded(bound: BoundModel, features: frozenset[Feature]) -> Protocol[list[str]]:
    """Create the missing table of a period with the id of the model's record.

    Return the names of the created tables.
    """
    pattern = bound.declared_table
    record = yield from read_record(pattern)
    table_id = new_table_id() if record is None else record.table_id
    made = yield from create(bound, table_id)
    if record is None:
        schema = replace(bound.schema, table=pattern)
        yield from write_record(pattern, [schema], bound.schema.table, features, is_new=True)
    return made


def new_table_id() -> str:
    """Return a random id for a new table."""
    return os.urandom(ID_BYTES).hex()


def distinct_schemas(bounds: Sequence[BoundModel]) -> list[TableSchema]:
    """Return the schemas of models, each once: the tables of periods have the same schema."""
    return list({bound.model: bound.schema for bound in bounds}.values())


def refuse_contradictions(
    table: str, schemas: Sequence[TableSchema], example: str, features: frozenset[Feature]
) -> Protocol[TableRecord | None]:
    """Raise an error for a model that contradicts a table's record; return the record.

    None is returned if the table has no record, or is not the table that the record describes.
    With Thrift1 alone nobody can tell that, so an existing table counts as the recorded one.

    Args:
        table: The table as it is declared: for a table for each period the pattern.
        schemas: The schemas of its models.
        example: The name of an existing table to compare; the table itself, if it has no periods.
        features: The features that the gateway supports.

    Raises:
        SchemaDriftError: A model contradicts the record; nothing was created.
    """
    record = yield from read_record(table)
    if record is None:
        return None
    there = yield from described(example)
    if there is None or _id_of(there, record, features) != record.table_id:
        return None
    for schema in schemas:
        differing = compared(schema, record)
        if any(each.weight is Weight.CONTRADICTION for each in differing):
            raise drift_error(schema, differing)
    return record


def _id_of(there: TableDescriptor, record: TableRecord | None, features: frozenset[Feature]) -> str:
    """Return the id of an existing table; Thrift1, which shows no ids, is told by the record."""
    if record is not None and Feature.SCHEMA not in features:
        return record.table_id
    return there.attributes.get(ID_ATTRIBUTE, "")


def write_record(
    table: str,
    schemas: Sequence[TableSchema],
    example: str,
    features: frozenset[Feature],
    *,
    is_new: bool,
) -> Protocol[None]:
    """Write the record of a new table, or add to the record what the models add to the table.

    An existing table without a record gets one only if this library made it for the same row key.

    Args:
        table: The table as it is declared: for a table for each period the pattern.
        schemas: The schemas of its models.
        example: The name of one of the tables.
        features: The features that the gateway supports.
        is_new: Whether this program has just created the table.
    """
    there = yield from described(example)
    if there is None:
        return
    declared = _within(there, declaration_of(schemas))
    known = there.attributes.get(KEY_ATTRIBUTE)

    def edit(record: TableRecord | None) -> TableRecord:
        table_id = _id_of(there, None if is_new else record, features)
        if record is None or is_new or record.table_id != table_id:
            return TableRecord(table_id, declared)
        return replace(record, current=merged(record.current, declared))

    record = yield from read_record(table)
    if record is None and not is_new and known is None:
        return  # others made the table: `adopt` records what its rows are
    yield from create_if_missing(CreateTable(catalog_descriptor()))
    yield from change_record(table, edit)
    yield from require_record(table)


def _within(there: TableDescriptor, declared: Declaration) -> Declaration:
    """Return a declaration without the families that an existing table lacks.

    Programs read all recorded families, so a family that `create_tables` did not make stays out.
    """
    existing = {family.name for family in there.families}
    families = {name: each for name, each in declared.families.items() if name in existing}
    return replace(declared, families=families)


def merged(recorded: Declaration, declared: Declaration) -> Declaration:
    """Return a recorded declaration with the columns, families and models that are new.

    New columns are not required, because old rows lack them. The anchor stays.
    """
    rows = list(recorded.rows)
    for new in declared.rows:
        place = next((n for n, known in enumerate(rows) if _have_one_key(known, new)), None)
        if place is None:
            rows.append(new)
        else:
            rows[place] = _merged_rows(rows[place], new)
    families = {**declared.families, **recorded.families}
    ordered = {name: families[name] for name in (*recorded.families, *families)}
    return replace(
        recorded,
        families=ordered,
        rows=tuple(rows),
        is_guarded=recorded.is_guarded or declared.is_guarded,
        indexes={**recorded.indexes, **declared.indexes},
    )


def _have_one_key(recorded: RecordedRows, declared: RecordedRows) -> bool:
    return recorded.record_type == declared.record_type and recorded.key == declared.key


def _merged_rows(recorded: RecordedRows, declared: RecordedRows) -> RecordedRows:
    new = {
        column: replace(each, is_required=False)
        for column, each in declared.columns.items()
        if column not in recorded.columns
    }
    kept = {
        column: replace(
            each,
            is_required=each.is_required and declared.columns.get(column, each).is_required,
            codec=declared.columns.get(column, each).codec,
        )
        for column, each in recorded.columns.items()
    }
    models = {**recorded.models, **declared.models}
    return replace(recorded, columns={**kept, **new}, models=models)
