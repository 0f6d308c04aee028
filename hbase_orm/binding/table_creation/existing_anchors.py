"""Chooses the anchor of rows that are older than their record."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import SAMPLED_ROWS
from hbase_orm.binding.table_identity import MOST_TABLES
from hbase_orm.errors import SchemaDriftError
from hbase_orm.model.declare.placement import record_type_test
from hbase_orm.ops import Protocol, RenewTimeLimit, ResumableScan, Row, Scan, ask
from hbase_orm.record.declaration import NO_TYPE, Declaration, RecordedRows
from hbase_orm.record.snapshots import type_of

logger = logging.getLogger("hbase_orm.session")

MOST_ROWS_READ: Final = 10_000
"""The most rows of a plain table that are read; only their keys and columns are."""

_SHOWN_ROWS: Final = 100_000

IsOwn = Callable[[bytes], bool]


def with_existing_anchors(
    bounds: Sequence[BoundModel],
    names: Sequence[str],
    declared: Declaration,
    known: Declaration | None,
    *,
    is_guarded: bool,
) -> Protocol[Declaration]:
    """Return `declared` with anchors and required columns that the table's rows have.

    A column that rows lack is not recorded as required. The values of rows are not read. All rows
    of a table with guards are read, because a row without the anchor would be hidden; this happens
    once, before the first record of the table is written. Of a plain table at most `SAMPLED_ROWS`
    rows of each kind are, among its first `MOST_ROWS_READ` rows.

    Args:
        bounds: The bound models of the table, or of the tables of one pattern.
        names: The tables that may have rows; of plain tables the first `MOST_TABLES` are read.
        declared: What the models declare together.
        known: What is recorded already: the rows of these record types are not compared. None
            without a record.
        is_guarded: Whether the table has, or gets, guards.

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
    kinds = [_Kind(rows, tests.get(rows.record_type), _required(rows)) for rows in wanted]
    for table in names if is_guarded else names[:MOST_TABLES]:
        yield from _compare(table, declared, kinds, reads_all=is_guarded)
    table = bounds[0].schema.table
    chosen = {each.rows.record_type: _of_kind(table, each, is_guarded=is_guarded) for each in kinds}
    return replace(
        declared, rows=tuple(chosen.get(rows.record_type, rows) for rows in declared.rows)
    )


@dataclass(slots=True)
class _Kind:
    """Rows of one kind, and the required columns that all of them have that were read.

    Attributes:
        rows: The declaration of the rows.
        is_own: A function that tests whether a row key is of this kind; None if all are.
        kept: The required columns that no row lacked.
        compared: The number of rows that were compared.
    """

    rows: RecordedRows
    is_own: IsOwn | None
    kept: list[bytes]
    compared: int = 0

    def compare(self, page: Sequence[Row], most: int | None) -> None:
        """Compare rows of a page: at most `most` rows in all, or all of them."""
        own = [row for row in page if self.is_own is None or self.is_own(row.key)]
        if most is not None:
            own = own[: most - self.compared]
        self.kept = [name for name in self.kept if all(name in row.cells for row in own)]
        self.compared += len(own)


def _required(rows: RecordedRows) -> list[bytes]:
    return [name for name, column in rows.columns.items() if column.is_required]


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


def _compare(
    table: str, declared: Declaration, kinds: Sequence[_Kind], *, reads_all: bool
) -> Protocol[None]:
    """Compare rows of a table with their kinds; stop where nothing is left to decide."""
    scan = ResumableScan(
        Scan(
            table,
            columns=tuple(declared.families),
            filter=b"KeyOnlyFilter()",
            caching_rows=SAMPLED_ROWS,
        )
    )
    read, most = 0, None if reads_all else SAMPLED_ROWS
    while reads_all or read < MOST_ROWS_READ:
        yield from ask(RenewTimeLimit())
        page = yield from scan.fetch(SAMPLED_ROWS)
        if not page:
            return
        read += len(page)
        if read % _SHOWN_ROWS < len(page):
            logger.info("%d rows of %s were read, to find a column that all rows have", read, table)
        for kind in kinds:
            kind.compare(page, most)
        if all(not kind.kept or kind.compared == most for kind in kinds):
            break
    yield from scan.close()


def _of_kind(table: str, kind: _Kind, *, is_guarded: bool) -> RecordedRows:
    """Return the description of rows of one kind, with an anchor that all compared rows have."""
    rows, kept, required = kind.rows, kind.kept, _required(kind.rows)
    if kept == required:
        return rows
    if not kept and is_guarded:
        raise SchemaDriftError(
            "the model would hide rows: none of its required columns is in all rows of the table",
            table=table,
            model=next(iter(rows.models)),
            differences=[f"column {name.decode('utf-8', 'replace')}" for name in required],
            fix="declare a required column that all rows have",
        )
    anchor = rows.anchor if rows.anchor in kept or not kept else kept[0]
    columns = {
        name: replace(column, is_required=column.is_required and (name in kept or not kept))
        for name, column in rows.columns.items()
    }
    return replace(rows, anchor=anchor, columns=columns)
