"""Chooses the anchor of rows that are older than their record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import SAMPLED_ROWS
from hbase_orm.errors import SchemaDriftError
from hbase_orm.model.declare.placement import record_type_test
from hbase_orm.ops import Protocol, ResumableScan, Row, Scan
from hbase_orm.record.declaration import NO_TYPE, Declaration, RecordedRows
from hbase_orm.record.snapshots import type_of

MOST_ROWS_READ: Final = 10_000
"""The most rows that are read to find rows of a record type; only their keys and columns are."""

IsOwn = Callable[[bytes], bool]


def with_existing_anchors(
    bounds: Sequence[BoundModel], declared: Declaration, known: Declaration | None
) -> Protocol[Declaration]:
    """Return `declared` with anchors and required columns that the table's rows have.

    At most `SAMPLED_ROWS` rows of each record type are read, among the first `MOST_ROWS_READ` rows
    of the table, without their values. A column that one of them lacks is no longer required. If no
    required column is in all of them, a table with guards is refused, and the declaration of any
    other table is not changed.

    Args:
        bounds: The bound models of the table, or of the tables of one pattern.
        declared: What the models declare together.
        known: The recorded declaration: rows of its record types are not read. None if there is no
            record.

    Raises:
        SchemaDriftError: No required column is in all rows that were read of a record type, and
            the table has guards.
    """
    recorded = set() if known is None else {rows.record_type for rows in known.rows}
    new = [rows for rows in declared.rows if rows.record_type not in recorded]
    if known is None and len(new) > 1 and any(not rows.record_type for rows in new):
        return declared  # rows of one table with several layouts and no types to tell them apart
    tests = _tests_of_types(bounds)
    wanted = [rows for rows in new if rows.anchor is not None and _is_recognizable(rows, tests)]
    if not wanted:
        return declared
    samples = yield from _sampled(bounds[0].schema.table, declared, wanted, tests)
    chosen = {
        rows.record_type: _of_rows(
            bounds[0].schema.table, declared, rows, samples[rows.record_type]
        )
        for rows in wanted
    }
    return replace(
        declared, rows=tuple(chosen.get(rows.record_type, rows) for rows in declared.rows)
    )


def _tests_of_types(bounds: Sequence[BoundModel]) -> dict[str, IsOwn]:
    """Return, for each record type, the function that tests whether a row key has it."""
    tests: dict[str, IsOwn] = {}
    for bound in bounds:
        types = bound.model.__schema__.record_types
        for model in (bound.model,) if types is None else types.models.values():
            test = record_type_test(model)
            if test is not None:
                tests[type_of(model.__schema__)] = test
    return tests


def _is_recognizable(rows: RecordedRows, tests: Mapping[str, IsOwn]) -> bool:
    return rows.record_type == NO_TYPE or rows.record_type in tests


def _sampled(
    table: str, declared: Declaration, wanted: Sequence[RecordedRows], tests: Mapping[str, IsOwn]
) -> Protocol[dict[str, list[Row]]]:
    """Return up to `SAMPLED_ROWS` rows for each record type in `wanted`, without values."""
    samples: dict[str, list[Row]] = {rows.record_type: [] for rows in wanted}
    families = tuple(declared.families)
    scan = ResumableScan(
        Scan(table, columns=families, filter=b"KeyOnlyFilter()", caching_rows=SAMPLED_ROWS)
    )
    read = 0
    while read < MOST_ROWS_READ and any(len(some) < SAMPLED_ROWS for some in samples.values()):
        page = yield from scan.fetch(SAMPLED_ROWS)
        if not page:
            return samples
        read += len(page)
        for name, some in samples.items():
            test = tests.get(name)
            own = page if test is None else [row for row in page if test(row.key)]
            some.extend(own[: SAMPLED_ROWS - len(some)])
    yield from scan.close()
    return samples


def _of_rows(
    table: str, declared: Declaration, kind: RecordedRows, rows: Sequence[Row]
) -> RecordedRows:
    """Return `kind` with an anchor and required columns that all of `rows` have, if it has any."""
    required = [name for name, column in kind.columns.items() if column.is_required]
    kept = [name for name in required if all(name in row.cells for row in rows)]
    if kept == required:
        return kind
    if not kept and declared.is_guarded:
        raise SchemaDriftError(
            "the model would hide rows: none of its required columns is in all rows of the table",
            table=table,
            model=next(iter(kind.models)),
            differences=[f"column {name.decode('utf-8', 'replace')}" for name in required],
            fix="declare a required column that all rows have",
        )
    anchor = kind.anchor if kind.anchor in kept or not kept else kept[0]
    columns = {
        name: replace(column, is_required=column.is_required and (name in kept or not kept))
        for name, column in kind.columns.items()
    }
    return replace(kind, anchor=anchor, columns=columns)
