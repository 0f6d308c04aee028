"""Compares a model with the record of its table before the first use.

The record of a table describes its rows:

- A model that agrees with the record, or differs harmlessly, is used with the record's anchor and
  families.
- A model that contradicts the record is refused before a row is read or written. With
  `on_drift=warn` it may be used as it is declared.
- If the table has no record, the model is used as it is declared.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.binding.bound_model import COMPARED, BoundModel, Checked
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.binding.protocol import written_table
from hbase_orm.binding.table_identity import Identity, identity
from hbase_orm.errors import (
    ConnectionLostError,
    RecordError,
    RejectedError,
    RetryableError,
    SchemaDriftError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.declaration_text import declaration_texts
from hbase_orm.ops import Protocol
from hbase_orm.record.closed_tables import closed_why, how_to_go_on
from hbase_orm.record.declaration import Declaration, RecordedRows, TableRecord
from hbase_orm.record.differences import Difference, Weight, differences, family_differences
from hbase_orm.record.recorded_schema import recorded_names, recorded_schema
from hbase_orm.record.snapshots import declaration_of, rows_of
from hbase_orm.record.specifications import equal_codec
from hbase_orm.record.unreadable_specs import refuse_unreadable
from hbase_orm.schema import TableSchema, record_types_of

logger = logging.getLogger("hbase_orm.session")


def usable_model(
    bound: BoundModel, catalog: CatalogCache, features: frozenset[Feature]
) -> Protocol[BoundModel]:
    """Compare a model with the record of its table; return the model to use.

    The record is read once per table and lease. If it has other families than the model, or
    contradicts the model, the table is described too. For a foreign table nothing is read.

    If HBase refuses to read the catalog, a warning is logged once. Then the result of the last
    comparison is used, or else the model as it is declared.

    Raises:
        SchemaDriftError: The model contradicts the record; no row was read.
        RecordError: The record is damaged, or a newer version of the library wrote it.
        GatewayError: The catalog could not be read.
    """
    if bound.schema.is_foreign:
        return bound
    table = bound.declared_table
    if not bound.tables.is_only:
        catalog.note_periods(table, bound.tables.has)
    try:
        stored = yield from catalog.record(table)
    except ConnectionLostError as error:
        raise RetryableError(
            "nothing was sent to the table: the catalog could not be read",
            model=bound.schema.model_name,
            table=table,
            reason=str(error),
            fix="try again",
        ) from error
    except RejectedError as error:
        if catalog.is_new_refusal(table):
            logger.warning(
                "models of table %s are used without a comparison with its record, which this "
                "program cannot read: %s",
                table,
                error,
            )
        return _used(bound, bound.as_catalogued.get(COMPARED) or _noted(bound, Checked(b"", bound)))
    known = bound.as_catalogued.get(COMPARED)
    if known is None or known.record != stored:
        known = _noted(bound, (yield from _compared(bound, stored, catalog, features)))
    return _used(bound, known)


def _noted(bound: BoundModel, checked: Checked) -> Checked:
    bound.as_catalogued[COMPARED] = checked
    if checked.model is not None:
        checked.model.as_catalogued[COMPARED] = checked
    return checked


def _used(bound: BoundModel, checked: Checked) -> BoundModel:
    if checked.model is None:
        raise drift_error(bound.schema, checked.differing, is_certain=checked.is_certain)
    return checked.model


def _compared(
    bound: BoundModel, stored: bytes, catalog: CatalogCache, features: frozenset[Feature]
) -> Protocol[Checked]:
    if not stored:
        return Checked(stored, bound)
    table, model = bound.declared_table, bound.schema.model_name

    def warn(text: str, *details: object) -> None:
        if catalog.is_new_warning(table, model, stored):  # once for the tables of all periods
            logger.warning(text, *details)

    try:
        record = TableRecord.decode(stored, table)
        differing = tuple(compared(bound.schema, record))
    except RecordError as error:
        if not bound.warns_of_drift:
            raise
        warn("model %s is used as it is declared: %s", model, error)
        return Checked(stored, bound)
    if any(each.weight in _REFUSED for each in differing):
        kind = yield from identity(record, bound.tables, features)
        if kind is Identity.OTHER:
            warn(
                "table %s was made or truncated by other means since its record was written: model "
                "%s is used although it contradicts the record; write the record again with "
                "'hbase-orm tables adopt'",
                table,
                model,
            )
            return Checked(stored, bound)
        if not bound.warns_of_drift:
            return Checked(stored, None, differing, is_certain=kind is not Identity.UNKNOWN)
        warn("on_drift=warn: %s", drift_error(replace(bound.schema, table=table), differing))
        return Checked(stored, bound, differing)
    options = "; ".join(str(each) for each in differing if each.weight is Weight.OPTION)
    _warn_of_options(options, table, model, warn)
    return Checked(stored, _as_recorded(bound, record, features, differing), differing)


def compared(schema: TableSchema, record: TableRecord) -> list[Difference]:
    """Return the differences between a model and a record.

    For the base of record types, these are the differences of all its record types.

    Raises:
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    current, own = record.current, declaration_of([schema])
    why = closed_why(current)
    if why:
        return [Difference(Weight.CONTRADICTION, _CLOSED, why, "open")]
    differing: list[Difference] = []
    for each in record_types_of(schema) or (schema,):
        declared = rows_of(each)
        rows = current.rows_of(declared)
        differing += _of_other_type(declared, current)
        if rows is not None:
            refuse_unreadable(rows, declared, schema.table)
            differing += differences(rows, declared, current, own)
        elif not declared.record_type or not any(known.record_type for known in current.rows):
            differing.append(_of_record_types(declared.record_type, current))
        else:  # a new record type: its families are the table's all the same
            differing += family_differences(current.families, own.families)
    return list(dict.fromkeys(differing))


def _of_other_type(declared: RecordedRows, recorded: Declaration) -> Iterator[Difference]:
    """Yield a contradiction if the record has a model of this name with another record type."""
    (name,) = declared.models
    types = [rows.record_type for rows in recorded.rows if name in rows.models]
    if types and declared.record_type and declared.record_type not in types:
        yield Difference(
            Weight.CONTRADICTION,
            f"record type of model {name}",
            ", ".join(types),
            declared.record_type,
        )


def _of_record_types(declared: str, recorded: Declaration) -> Difference:
    """Return the contradiction that only the record or only the model has record types."""
    types = ", ".join(filter(None, (rows.record_type for rows in recorded.rows)))
    return Difference(Weight.CONTRADICTION, "record types", types, declared)


def _as_recorded(
    bound: BoundModel,
    record: TableRecord,
    features: frozenset[Feature],
    differing: Sequence[Difference],
) -> BoundModel:
    schema = recorded_schema(bound.schema, record.current)
    differs = any(each.weight is Weight.HARMLESS for each in differing)
    differs = differs and not _is_recorded(bound.schema, record.current)
    guards_plain = record.current.guards_plain_models
    guarded = written_table(schema, features, guards_plain_models=guards_plain)
    indexes = declaration_texts(bound.schema, recorded_names(bound.schema, record.current))
    return replace(bound, schema=schema, guarded=guarded, indexes=indexes, repairs=not differs)


def _is_recorded(schema: TableSchema, recorded: Declaration) -> bool:
    """Return whether the record has this model with the same fields and codecs.

    This is so after `create_tables`. The model may still differ from the rows: old rows may lack
    columns that it requires, and other models of the table may have columns that it lacks.
    """
    for each in record_types_of(schema) or (schema,):
        declared = rows_of(each)
        rows = recorded.rows_of(declared)
        ((name, own),) = declared.models.items()
        known = None if rows is None else rows.models.get(name)
        if rows is None or known is None or own.fields != known.fields:
            return False
        both = rows.columns.keys() & declared.columns.keys()
        if not all(equal_codec(rows.columns[c].codec, declared.columns[c].codec) for c in both):
            return False  # entries of codes that the model lacks look stale to it
    return True


def _warn_of_options(options: str, table: str, model: str, warn: Callable[..., None]) -> None:
    if options:
        warn(
            "table %s has other options than model %s declares: %s; apply them with "
            "'hbase-orm tables alter'",
            table,
            model,
            options,
        )


def drift_error(
    schema: TableSchema, differing: Sequence[Difference], *, is_certain: bool = True
) -> SchemaDriftError:
    """Return the error for a model that contradicts the record of its table.

    Args:
        schema: The schema of the model.
        differing: The differences.
        is_certain: Whether the table is certainly the one that the record describes.
    """
    contradictions = [each for each in differing if each.weight in _REFUSED]
    is_new_family = all(each.weight is Weight.NO_FAMILY for each in contradictions)
    fix = _HOW_TO_ADD_FAMILY if is_new_family else _HOW_TO_AGREE
    why = next((each.recorded for each in contradictions if each.subject == _CLOSED), "")
    fix = how_to_go_on(why) if why else fix
    return SchemaDriftError(
        "the model contradicts the record of its table: it would misread or hide rows",
        model=schema.model_name,
        table=schema.table,
        differences=[str(each) for each in contradictions],
        fix=fix if is_certain else f"{fix}; {_IF_MADE_AGAIN}",
    )


_CLOSED: Final = "table"
"""The subject of the only difference from the record of a closed table."""

_REFUSED: Final = frozenset({Weight.CONTRADICTION, Weight.NO_FAMILY})
_HOW_TO_AGREE: Final = (
    "declare what the record says, or move the rows to a table of another name with the new "
    "declaration"
)
_HOW_TO_ADD_FAMILY: Final = (
    "run 'hbase-orm tables alter', which adds the family to the table and to its record: programs "
    "that do not know it leave its cells behind when they delete a row"
)
_IF_MADE_AGAIN: Final = (
    "or, if the table was made again by other means, which programs without Thrift2 cannot "
    "detect, run 'hbase-orm tables adopt'"
)
