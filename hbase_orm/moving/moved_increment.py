"""Increments counters of rows of the new class in every phase of a move."""

from __future__ import annotations

from hbase_orm.errors import ConflictError, RejectedError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext, with_guard
from hbase_orm.index.upkeep.table_pages import get_rows
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.counter_seals import is_counter_seal
from hbase_orm.moving.translation import TableMove, data_cells
from hbase_orm.ops import Increment, Protocol, ask


def moved_increment(
    move: TableMove, phase: Phase, increment: Increment, context: GuardContext
) -> Protocol[dict[bytes, int]]:
    """Increment counters of one row of the new table, where the row is; return the new values.

    Before MOVING this is the old table. HBase refuses the increment there if the row was handed
    over, which shows that others are in MOVING already; then it continues as in MOVING. There a row
    without a guard in the new table is handed over first. The amounts are never sent again after
    an unknown outcome.

    Args:
        move: The tables.
        phase: The phase that this process knows, under its lease.
        increment: The request, in the new layout.
        context: The clocks, random numbers and catalog leases.

    Raises:
        ConnectionLostError: It is unknown whether the amounts were added.
        ConflictError: Before MOVING: the old table has another row under the same old key.
        RejectedError: HBase refuses the increment.
        HBaseORMError: As for `hand_over`.
    """
    if phase < Phase.MOVING:
        in_old = move.old_increment(increment)
        yield from _refuse_other_row(move, increment.row, context)
        try:
            values = yield from ask(in_old)
        except RejectedError:
            if phase < Phase.PREPARED or not (yield from _is_sealed(in_old, context)):
                raise
        else:
            return {c: values[move.translation.old_counters[c]] for c in increment.amounts}
    if phase is not Phase.NEW:
        (row,) = yield from get_rows(move.new.table, (increment.row,), context, (GUARD_COLUMN,))
        if row is None:
            yield from hand_over(move, increment.row, context)
    return (yield from ask(increment))


def _refuse_other_row(move: TableMove, new_key: bytes, context: GuardContext) -> Protocol[None]:
    """Raise an error if the old table has another row under the row's old key.

    Raises:
        ConflictError: It has.
    """
    if not move.key_columns:
        return
    columns = move.old_columns(frozenset())
    (stored,) = yield from get_rows(move.old.table, (move.old_key(new_key),), context, columns)
    row = None if stored is None else move.to_new(stored.key, data_cells(stored))
    if row is not None and row.key != new_key:
        raise ConflictError(
            "another row has the same key in the old table",
            table=move.old.table,
            row=new_key,
            other_row=row.key,
            fix="increment the counters of this row when the move has reached its phase MOVING",
        )


def _is_sealed(refused: Increment, context: GuardContext) -> Protocol[bool]:
    """Return whether HBase refused an increment because of a counter seal."""
    columns = with_guard(frozenset(refused.amounts))
    (row,) = yield from get_rows(refused.table, (refused.row,), context, columns)
    cells = {} if row is None else row.cells
    return any(is_counter_seal(cells.get(column)) for column in refused.amounts)
