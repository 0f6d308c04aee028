"""Finds the periods whose tables a statement reads, also while their rows are in the old table."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.dictionaries import Numbers
from hbase_orm.binding.table_moves.moves_in_progress import TableMoves
from hbase_orm.binding.table_moves.period_moves import (
    PeriodMoves,
    rest_after_period,
    start_of_entry,
)
from hbase_orm.errors import CatalogLeaseError, HBaseORMError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import ENTRY_FAMILY, GuardContext, with_guard
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS, scan_page
from hbase_orm.moving.moved_requests import MAX_READS
from hbase_orm.moving.translation import data_cells
from hbase_orm.ops import KeyRange, Protocol
from hbase_orm.query import Select

LookUps = tuple[Numbers, list[datetime] | None]
"""What `BoundModel.look_ups` returns."""


def look_ups_in_moves(
    bound: BoundModel, stmt: Select[Any], moves: TableMoves, context: GuardContext
) -> Protocol[LookUps]:
    """Look up what the planner needs, as `BoundModel.look_ups` does.

    While rows of an old table move to a table for each period, the periods of the old rows are
    included. Like all reads of such rows, the result counts only under the lease for its phase.

    Args:
        bound: The bound model.
        stmt: The statement.
        moves: The moves that this process knows.
        context: The source of the pauses between attempts.

    Raises:
        CatalogLeaseError: The move went on at each attempt.
        SchemaDriftError: The move to the tables was given up.
    """
    table, leases = bound.declared_table, moves.leases
    for _ in range(MAX_READS):
        running = None if bound.tables.is_only else (yield from moves.running(table))
        numbers, starts = yield from bound.look_ups(stmt)
        if starts is None or bound.tables.is_only:
            return numbers, starts
        if running is None:
            if leases.is_current(table) or (yield from moves.running(table)) is None:
                return numbers, starts
            continue
        of_old, phase = running
        assert isinstance(of_old, PeriodMoves)
        try:
            old_starts = yield from _starts_of_old_rows(of_old, phase, context)
        except HBaseORMError:
            if leases.is_current(table):
                raise
            continue
        if leases.is_current(table):
            return numbers, sorted(old_starts.union(starts))
    raise CatalogLeaseError(
        "the lease of the catalog ended at every attempt to find the periods that have rows",
        table=table,
        attempts=MAX_READS,
        fix="read again, on a machine that does not stop programs for longer than the lease",
    )


def _starts_of_old_rows(
    moves: PeriodMoves, phase: Phase, context: GuardContext
) -> Protocol[set[datetime]]:
    """Return the starts of the periods of the old table's rows, handed over or not.

    Before PREPARED the index of new keys may lack rows, so the whole old table is read.
    """
    if phase < Phase.PREPARED:
        return (yield from _starts_of_rows(moves, context))
    starts: set[datetime] = set()
    rest = KeyRange()
    columns = (ENTRY_FAMILY,)
    while first := (yield from scan_page(moves.new_key_table, columns, rest, 1, context)):
        starts.add(start_of_entry(first[0].key))
        rest = rest_after_period(first[0].key)
    return starts


def _starts_of_rows(moves: PeriodMoves, context: GuardContext) -> Protocol[set[datetime]]:
    columns = with_guard(moves.old.existence_columns)
    starts: set[datetime] = set()
    rest = KeyRange()
    while page := (yield from scan_page(moves.old.table, columns, rest, PAGE_ROWS, context)):
        existing = (row.key for row in page if moves.old.exists(data_cells(row)))
        starts |= {moves.start_of(key) for key in existing}
        rest = KeyRange(page[-1].key + b"\x00")
    return starts
