"""Creates tables with the id of their record, and writes the records of new and changed tables."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.recorded_models import compared, drift_error
from hbase_orm.binding.table_creation.existing_anchors import with_existing_anchors
from hbase_orm.binding.table_creation.existing_tables import KEY_ATTRIBUTE, TableWarnings, described
from hbase_orm.binding.table_creation.merged_records import merged
from hbase_orm.binding.table_creation.model_tables import create
from hbase_orm.binding.table_creation.rows_without_anchor import refuse_rows_without_anchor
from hbase_orm.binding.table_creation.shared_tables import Creation
from hbase_orm.binding.table_identity import Identity, identity, newest_region_ms
from hbase_orm.errors import RecordError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import catalog_descriptor
from hbase_orm.index.catalog.declaration_text import declaration_texts, key_text
from hbase_orm.index.catalog.registration import require_record
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import CreateTable, ModifyTable, Protocol, TableDescriptor, ask
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.differences import Difference, Weight
from hbase_orm.record.recorded_schema import recorded_names
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import ID_ATTRIBUTE, ID_BYTES, decide_record, read_record
from hbase_orm.schema import TableSchema


def create_recorded(bound: BoundModel, features: frozenset[Feature]) -> Protocol[list[str]]:
    """Create the missing table of a period with the id of the model's record.

    Return the names of the created tables.

    Raises:
        SchemaDriftError: The model contradicts the record. Nothing was created, unless another
            program wrote the record only then.
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    if bound.schema.is_foreign:
        return (yield from create(bound, new_table_id(), TableWarnings()))
    # The model may have been compared with the record before another program wrote it.
    record = yield from refuse_contradictions([bound], features)
    table_id = new_table_id() if record is None else record.table_id
    made = yield from create(bound, table_id, TableWarnings())
    # Another program may have written the record since, or dropped the last table that had it.
    if record is None or (yield from read_record(bound.declared_table)) != record:
        yield from write_record([bound], made, features, table_id)
    return made


def new_table_id() -> str:
    """Return a random id for a new table."""
    return os.urandom(ID_BYTES).hex()


def distinct_schemas(bounds: Sequence[BoundModel]) -> list[TableSchema]:
    """Return the schema of each model once: a model may be bound to the tables of many periods."""
    return list({bound.model: bound.schema for bound in bounds}.values())


def record_to_follow(
    bounds: Sequence[BoundModel], features: frozenset[Feature]
) -> Protocol[TableRecord]:
    """Return the record of a table; if it has none, return a new record for these models.

    Args:
        bounds: The bound models of one table, or of the tables of one pattern.
        features: The features that the gateway supports.

    Raises:
        SchemaDriftError: A model contradicts the record; nothing was created.
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    known = yield from refuse_contradictions(bounds, features)
    return known or TableRecord(new_table_id(), declaration_of(distinct_schemas(bounds)))


def create_described(
    creation: Creation,
    record: TableRecord | None,
    warnings: TableWarnings,
    own_holds: Collection[str],
) -> Protocol[list[str]]:
    """Create a model's missing tables; return the names of the created tables.

    The catalog describes indexes by the recorded names of fields, which may differ from the names
    in the model.

    Args:
        creation: The creation.
        record: The record of the tables; None for a foreign table, which has none.
        warnings: Gets what could lose data in an existing table.
        own_holds: The ids of the exclusive uses of this program.

    Raises:
        TableHeldError: Another program has begun to use the table exclusively.
    """
    bound = creation.bound
    names = {} if record is None else recorded_names(bound.schema, record.current)
    if names:
        bound = replace(bound, indexes=declaration_texts(bound.schema, names))
    table_id = new_table_id() if record is None else record.table_id
    return (yield from create(bound, table_id, warnings, creation.families, own_holds))


def refuse_contradictions(
    bounds: Sequence[BoundModel], features: frozenset[Feature]
) -> Protocol[TableRecord | None]:
    """Raise an error if a model contradicts the record of its table; return the record.

    Return None if the table does not exist, has no record, or certainly is another table than the
    one that the record describes.

    Args:
        bounds: The bound models of one table, or of the tables of one pattern.
        features: The features that the gateway supports.

    Raises:
        SchemaDriftError: A model contradicts the record; nothing was created.
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    pattern, tables = bounds[0].declared_table, bounds[0].tables
    record = yield from read_record(pattern)
    if record is None:
        return None
    kind = yield from identity(record, tables, features)
    if kind in {Identity.OTHER, Identity.MISSING}:
        return None
    there = yield from described(bounds[0].schema.table)
    existing = None if there is None else frozenset(family.name for family in there.families)
    schemas = distinct_schemas(bounds)
    refuse_contradictory(schemas, record, existing, is_certain=kind is Identity.SAME)
    yield from refuse_rows_without_anchor(bounds, record.current)
    return record


def refuse_contradictory(
    schemas: Iterable[TableSchema],
    record: TableRecord,
    families: frozenset[bytes] | None = None,
    *,
    is_certain: bool = True,
) -> None:
    """Raise an error if a model contradicts a record.

    Args:
        schemas: The schemas of models of one table.
        record: The record.
        families: The families that the table has; None if it does not exist, or has them all.
        is_certain: Whether the record is certainly that of the table.

    Raises:
        SchemaDriftError: A model contradicts the record. Or a model writes guards, but the table
            was plain and a recorded model leaves out the anchor: rows may lack the anchor.
    """
    existing = {f"family {name.decode()}" for name in families or ()}
    for schema in schemas:
        differing = [*compared(schema, record), *_of_guards(schema, record.current)]
        if any(
            each.weight is Weight.CONTRADICTION
            or (families is not None and each.weight is Weight.NO_FAMILY)
            for each in differing
            if each.subject not in existing
        ):
            raise drift_error(schema, differing, is_certain=is_certain)


def _of_guards(schema: TableSchema, recorded: Declaration) -> Iterator[Difference]:
    """Yield a contradiction if rows may lack the anchor that guarded rows must have."""
    if recorded.is_guarded or not schema.is_guarded:
        return
    for rows in recorded.rows:
        for name, model in rows.models.items():
            if rows.anchor is not None and rows.anchor not in model.names.values():
                column = rows.anchor.decode("utf-8", "backslashreplace")
                yield Difference(
                    Weight.CONTRADICTION,
                    f"column {column}, which shows that a row exists",
                    f"left out by the recorded model {name}",
                    "in every row of a table with guards",
                )


def write_record(
    bounds: Sequence[BoundModel], made: Sequence[str], features: frozenset[Feature], table_id: str
) -> Protocol[None]:
    """Write the record of new tables, or add what is new in the models to an existing record.

    An existing table without a record gets one only if this library made it for the same row key.
    The models are compared with the very record that is changed: another program may have written
    it since the tables were created.

    Args:
        bounds: The bound models of one table, or of the tables of one pattern.
        made: The tables that this program has just created.
        features: The features that the gateway supports.
        table_id: The id that these tables got.

    Raises:
        SchemaDriftError: A model contradicts the record.
        ConflictError: Other programs changed the record at every attempt.
    """
    table = bounds[0].declared_table

    def decide(known: TableRecord | None) -> Protocol[TableRecord | None]:
        return _next_record(bounds, made, features, known)

    record = yield from decide_record(table, decide)
    if record is None:
        return
    if record.table_id not in {"", table_id}:
        new = dict.fromkeys(each.schema.table for each in bounds if each.schema.table in made)
        yield from give_id(new, record.table_id)
    yield from require_record(table)


def _next_record(
    bounds: Sequence[BoundModel],
    made: Sequence[str],
    features: frozenset[Feature],
    known: TableRecord | None,
) -> Protocol[TableRecord | None]:
    """Return the record that tables get after `known`; None if they get none."""
    example = bounds[0].schema.table
    there = yield from described(example)
    if there is None:
        return None
    declared = _within(there, declaration_of(distinct_schemas(bounds)))
    existing = yield from bounds[0].tables.existing()
    is_new, is_known = set(existing) <= set(made), False
    if known is not None:
        kind = yield from identity(known, bounds[0].tables, features)
        # Regions of different times are undecided: those of a new table are no older record's.
        is_known = kind is Identity.SAME or (kind is Identity.UNKNOWN and not is_new)
        if is_known:
            schemas, families = distinct_schemas(bounds), frozenset(declared.families)
            refuse_contradictory(schemas, known, families, is_certain=kind is Identity.SAME)
    keys = {key_text(bound.schema) for bound in bounds}
    if not is_new and not is_known and there.attributes.get(KEY_ATTRIBUTE) not in keys:
        return None  # others made the table, or for another key: `adopt` records what its rows are
    recorded = known.current if known is not None and is_known else None
    # Also a new table may have rows already, of a program that writes no records.
    names = [name for name in existing if name not in made] or [example]
    is_guarded = declared.is_guarded or GUARD_FAMILY in {each.name for each in there.families}
    declared = yield from with_existing_anchors(
        bounds, names, declared, recorded, is_guarded=is_guarded
    )
    regions_ms = yield from newest_region_ms(example)
    if known is not None and is_known:
        youngest_ms = max(known.regions_ms, regions_ms)
        return replace(known, current=merged(known.current, declared), regions_ms=youngest_ms)
    yield from create_if_missing(CreateTable(catalog_descriptor()))
    return TableRecord(there.attributes.get(ID_ATTRIBUTE, ""), declared, regions_ms=regions_ms)


def give_id(names: Iterable[str], table_id: str) -> Protocol[None]:
    """Give tables the id of their record, which another program has written first."""
    for name in names:
        there = yield from described(name)
        if there is not None and there.attributes.get(ID_ATTRIBUTE) != table_id:
            yield from ask(ModifyTable(name, {"attributes": {ID_ATTRIBUTE: table_id}}))


def _within(there: TableDescriptor, declared: Declaration) -> Declaration:
    """Return a declaration without the families that an existing table lacks.

    Programs read all recorded families, so a missing family must not be recorded.
    """
    existing = {family.name for family in there.families}
    families = {name: each for name, each in declared.families.items() if name in existing}
    return replace(declared, families=families)


def note_new_regions(pattern: str, table: str) -> Protocol[None]:
    """Write the time of a table's new regions into its record, for example after a truncation.

    A program without Thrift2 uses this time to distinguish the table from a later table of the same
    name. A record that cannot be decoded is not changed.

    Args:
        pattern: The declared name of the table; with a table for each period, the pattern.
        table: The name of the table.
    """
    try:
        record = yield from read_record(pattern)
    except RecordError:
        return
    regions_ms = yield from newest_region_ms(table)
    if record is None or regions_ms <= record.regions_ms:
        return

    def decide(known: TableRecord | None) -> Protocol[TableRecord | None]:
        yield from ()
        if known is None or known.table_id != record.table_id:
            return None  # the table was dropped meanwhile, and may have been created again
        return replace(known, regions_ms=max(known.regions_ms, regions_ms))

    yield from decide_record(pattern, decide)
