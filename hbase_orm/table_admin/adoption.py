"""Writes records for tables that other programs made, after a sample of their rows was decoded.

An adoption first gives the table the id of its record, and then writes the record. If it is
interrupted between these steps, the next adoption uses the same id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.recorded_models import compared, drift_error
from hbase_orm.binding.table_creation.existing_anchors import with_existing_anchors
from hbase_orm.binding.table_creation.existing_tables import described, refuse_numbers
from hbase_orm.binding.table_creation.table_records import give_id, new_table_id
from hbase_orm.binding.table_identity import (
    Identity,
    SeenTable,
    identity,
    is_same_table,
    newest_region_ms,
    seen_table,
)
from hbase_orm.errors import (
    ConflictError,
    RecordError,
    SchemaDriftError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import catalog_descriptor, read_cells
from hbase_orm.index.catalog.registration import require_record
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import (
    CreateTable,
    FamilyDescriptor,
    ModifyTable,
    Protocol,
    RenewTimeLimit,
    TableDescriptor,
    ask,
)
from hbase_orm.record.declaration import Declaration, RecordedRows, TableRecord
from hbase_orm.record.differences import Weight
from hbase_orm.record.snapshots import declaration_of, rows_of
from hbase_orm.record.store import (
    ID_ATTRIBUTE,
    changed_record,
    read_record,
    replace_record,
    take_back_record,
)
from hbase_orm.schema import TableSchema, record_types_of
from hbase_orm.table_admin.sampling import Sample, kind_of, sample_tables

_KEEP: Final = (
    "declare what the record says, or move the rows to a table of another name with the new "
    "declaration"
)

Reason = Literal["no record", "a record of another table", "a damaged record", "recorded already"]


@dataclass(frozen=True, slots=True)
class Adoption:
    """The record that an adoption writes, and what the sample has shown.

    Attributes:
        table: The declared name of the table; with a table for each period, the pattern of names.
        models: The names of the models.
        reason: Why a record is needed; "recorded already" if nothing is written.
        tables: The names of the existing tables.
        sampled: The number of sampled rows.
        undeclared: The columns that no model declares, each with the number of sampled rows that
            have it.
        lacking: The columns that a model requires, each with the number of the model's sampled rows
            that lack the column. In the record these columns are not required.
        record: The record; None if nothing is written.
        has_id: Whether the tables get the id of the record. Thrift1 cannot set an id. Without an id
            a later table of the same name may not be distinguished from this one.
    """

    table: str
    models: tuple[str, ...]
    reason: Reason
    tables: tuple[str, ...]
    sampled: int = 0
    undeclared: Mapping[bytes, int] = field(default_factory=dict[bytes, int])
    lacking: Mapping[bytes, int] = field(default_factory=dict[bytes, int])
    record: TableRecord | None = None
    has_id: bool = True


@dataclass(frozen=True, slots=True)
class AdoptionPlan:
    """An adoption with what is needed to write it.

    Attributes:
        adoption: The adoption, as it is shown to users.
        stored: The bytes of the present record; empty if there is none.
        without_id: The existing tables that do not have the id of the new record.
        seen: The existing tables as they were before their rows were sampled, by name.
    """

    adoption: Adoption
    stored: bytes = b""
    without_id: tuple[str, ...] = ()
    seen: Mapping[str, SeenTable] = field(default_factory=dict[str, SeenTable])


def plan_adoption(
    pattern: str, bounds: Sequence[BoundModel], rows: int, features: frozenset[Feature]
) -> Protocol[AdoptionPlan]:
    """Sample a table, and return the adoption that would be written; nothing is changed.

    Args:
        pattern: The declared name of the table; with a table for each period, the pattern of names.
        bounds: The models of the table, as they are declared.
        rows: About how many rows are read.
        features: The features that the gateway supports.

    Raises:
        TableNotFoundError: The table does not exist.
        SchemaError: A family is missing, a model is declared as foreign, or the table belongs to a
            dictionary or to sequences.
        SchemaDriftError: Rows do not decode as the models declare, or the table has a record that
            contradicts a model.
        RecordError: A newer version of the library wrote the record.
    """
    for bound in bounds:
        _refuse_foreign(bound)
    # Before the tables: if one is made again meanwhile, the record is not the one that was read.
    _, stored = yield from read_cells(pattern)
    live = yield from _live(pattern, bounds)
    for descriptor in live.values():
        for bound in bounds:
            _refuse_other_families(bound, descriptor)
    models = tuple(bound.schema.model_name for bound in bounds)
    ids = {name: each.attributes.get(ID_ATTRIBUTE, "") for name, each in live.items()}
    reason = yield from _reason(stored, bounds, ids, features)
    if reason == "recorded already":
        return AdoptionPlan(Adoption(pattern, models, reason, tuple(live)))
    seen: dict[str, SeenTable] = {}
    for name in live:
        yield from ask(RenewTimeLimit())
        there = yield from seen_table(name)
        seen |= {} if there is None else {name: there}
    placed = [[_in_table(bound, name) for bound in bounds] for name in live]
    sample = yield from sample_tables(placed, rows)
    if sample.undecodable:
        raise _undecodable(pattern, models, sample)
    can_set_id = Feature.SCHEMA in features
    known = next(filter(None, ids.values()), "")
    table_id = (known or new_table_id()) if can_set_id else ""
    schemas = [bound.schema for bound in bounds]
    declared = _declaration(schemas, next(iter(live.values())), sample)
    has_guards = any(GUARD_FAMILY in {f.name for f in each.families} for each in live.values())
    if has_guards or declared.is_guarded:  # a row without the anchor would be hidden
        names = list(live)
        declared = yield from with_existing_anchors(bounds, names, declared, None, is_guarded=True)
    regions_ms = yield from newest_region_ms(next(iter(live)))
    record = TableRecord(table_id, declared, regions_ms=regions_ms)
    adoption = Adoption(
        pattern,
        models,
        reason,
        tuple(live),
        sample.rows,
        dict(sorted(sample.undeclared.items())),
        dict(sorted(sum(sample.lacking.values(), Counter[bytes]()).items())),
        record,
        can_set_id,
    )
    without_id = [name for name, each in ids.items() if can_set_id and each != table_id]
    return AdoptionPlan(adoption, stored, tuple(without_id), seen)


def adopt(plan: AdoptionPlan) -> Protocol[None]:
    """Write the record of an adoption.

    Raises:
        ConflictError: Another program has written the record in the meantime. Or it has dropped the
            table, or made it again, since its rows were sampled: then the record is taken back.
    """
    record = plan.adoption.record
    if record is None:
        return
    _, stored = yield from read_cells(plan.adoption.table)
    if plan.without_id and stored != plan.stored:  # before the id of a recorded table is replaced
        raise changed_record(plan.adoption.table)
    for name in plan.without_id:
        yield from ask(RenewTimeLimit())
        yield from ask(ModifyTable(name, {"attributes": {ID_ATTRIBUTE: record.table_id}}))
    yield from ask(RenewTimeLimit())
    yield from create_if_missing(CreateTable(catalog_descriptor()))
    try:
        yield from replace_record(plan.adoption.table, plan.stored, record)
    except ConflictError:
        yield from _return_ids(plan)
        raise
    if not (yield from _has_sampled_tables(plan, record)):
        yield from take_back_record(plan.adoption.table, record, plan.stored)
        raise ConflictError(
            "another program has dropped the table, or made it again, while it was adopted",
            table=plan.adoption.table,
            fix="adopt the present table again, if there is one",
        )
    yield from require_record(plan.adoption.table)


def _has_sampled_tables(plan: AdoptionPlan, record: TableRecord) -> Protocol[bool]:
    """Return whether the tables are those that were sampled; of periods, some may be missing."""
    remaining = False
    for name, seen in plan.seen.items():
        yield from ask(RenewTimeLimit())
        now = yield from seen_table(name)
        if now is None:
            continue
        wanted_id = record.table_id if plan.adoption.has_id else seen.table_id
        if not is_same_table(now, replace(seen, table_id=wanted_id)):
            return False
        remaining = True
    return remaining


def _return_ids(plan: AdoptionPlan) -> Protocol[None]:
    """Give tables the id of the record that another program has written in the meantime."""
    try:
        record = yield from read_record(plan.adoption.table)
    except RecordError:
        return
    if record is not None and record.table_id:
        yield from give_id(plan.without_id, record.table_id)


def _live(pattern: str, bounds: Sequence[BoundModel]) -> Protocol[dict[str, TableDescriptor]]:
    """Return the descriptors of the models' existing tables, by name.

    Raises:
        TableNotFoundError: None of the tables exists; the error names `pattern`.
    """
    live: dict[str, TableDescriptor] = {}
    for name in (yield from bounds[0].tables.existing()):
        yield from ask(RenewTimeLimit())
        descriptor = yield from described(name)
        if descriptor is not None:
            live[name] = descriptor
    if not live:
        raise TableNotFoundError(
            "the table does not exist",
            model=bounds[0].schema.model_name,
            table=pattern,
            fix="create it: engine.create_tables, or 'hbase-orm tables create'",
        )
    return live


def _refuse_foreign(bound: BoundModel) -> None:
    if bound.schema.is_foreign:
        raise SchemaError(
            "a foreign table has no record",
            model=bound.schema.model_name,
            table=bound.declared_table,
            fix="leave foreign=True out of the model's Table(...) to adopt the table",
        )


def _in_table(bound: BoundModel, name: str) -> BoundModel:
    start = bound.tables.start_of_table(name)
    return bound if start is None else bound.with_table_at(start)


def _refuse_other_families(bound: BoundModel, live: TableDescriptor) -> None:
    schema = bound.schema
    refuse_numbers(schema, live)
    families = {family.name for family in live.families}
    where = {"model": schema.model_name, "table": live.name}
    missing = [name.decode() for name in schema.family_names if name not in families]
    if missing:
        raise SchemaError(
            "the table lacks families that the model declares",
            **where,
            missing=missing,
            fix="add them: engine.alter_tables, or 'hbase-orm tables alter'; or correct the model",
        )
    is_lww = bound.guarded is not None and bound.guarded.is_lww
    if schema.is_guarded and not is_lww and GUARD_FAMILY not in families:
        raise SchemaError(
            "the table has no family for the guards of rows, which the model's indexes or its "
            "version column need",
            **where,
            fix="call engine.add_guard_family(model), or run 'hbase-orm tables alter'; both "
            "work online",
        )


def _reason(
    stored: bytes,
    bounds: Sequence[BoundModel],
    ids: Mapping[str, str],
    features: frozenset[Feature],
) -> Protocol[Reason]:
    """Return why a record is needed; "recorded already" if none is.

    Raises:
        SchemaDriftError: The record of the table contradicts a model.
        RecordError: A newer version of the library wrote the record.
    """
    if not stored:
        return "no record"
    try:
        record = TableRecord.decode(stored, bounds[0].declared_table)
        differing = [compared(bound.schema, record) for bound in bounds]
    except RecordError as error:
        if "own_version" in error.details:
            raise
        return "a damaged record"
    if Feature.SCHEMA in features and set(ids.values()) != {record.table_id}:
        return "a record of another table"
    kind = yield from identity(record, bounds[0].tables, features)
    if kind is Identity.OTHER:
        return "a record of another table"
    for bound, own in zip(bounds, differing, strict=True):
        if any(each.weight is Weight.CONTRADICTION for each in own):
            if kind is Identity.UNKNOWN:
                return "a record of another table"  # the rows of the sample decide
            drift = drift_error(bound.schema, own)
            raise SchemaDriftError(drift.text, fix=_KEEP, **drift.details)
    return "recorded already"


def _undecodable(pattern: str, models: Sequence[str], sample: Sample) -> SchemaDriftError:
    return SchemaDriftError(
        "rows of the table do not decode as the model declares",
        model=", ".join(models),
        table=pattern,
        undecodable=sample.undecodable,
        sampled=sample.rows,
        differences=list(sample.reasons),
        fix="declare the row key and the codecs that the rows have; if the table has several kinds "
        "of rows, give all their models",
    )


def _declaration(
    schemas: Sequence[TableSchema], live: TableDescriptor, sample: Sample
) -> Declaration:
    """Return what models declare, changed where the table and the sampled rows differ.

    The families have the options of the table, but not the settings that no model declares: those
    are of other programs, and an alteration keeps them. Columns that rows lack are not required,
    and none of them is the anchor, because that would hide the rows.
    """
    declared = declaration_of(schemas)
    families = {
        family.name: _with_declared_settings(family, declared.families[family.name])
        for family in live.families
        if family.name in declared.families
    }
    kinds = list(_kinds(schemas))
    rows = [_seen(each, kinds, sample) for each in declared.rows]
    return replace(declared, families=families, rows=tuple(rows))


def _with_declared_settings(live: FamilyDescriptor, declared: FamilyDescriptor) -> FamilyDescriptor:
    return replace(
        live,
        configuration={n: v for n, v in live.configuration.items() if n in declared.configuration},
        attributes={n: v for n, v in live.attributes.items() if n in declared.attributes},
    )


def _kinds(schemas: Sequence[TableSchema]) -> Iterator[TableSchema]:
    for schema in schemas:
        yield from record_types_of(schema) or (schema,)


def _seen(rows: RecordedRows, kinds: Sequence[TableSchema], sample: Sample) -> RecordedRows:
    first = next(each for each in kinds if each.model_name in rows.models and _is_of(each, rows))
    lacking = sample.lacking.get(kind_of(first), Counter())
    if not lacking:
        return rows
    columns = {
        name: replace(column, is_required=column.is_required and not lacking[name])
        for name, column in rows.columns.items()
    }
    plain = (each.column for each in first.columns if not each.deferred)
    anchor = next((column for column in plain if columns[column].is_required), None)
    marker = None if anchor is not None else rows.marker or first.default_marker
    return replace(rows, columns=columns, anchor=anchor, marker=marker)


def _is_of(schema: TableSchema, rows: RecordedRows) -> bool:
    own = rows_of(schema)
    return own.record_type == rows.record_type and own.key == rows.key
