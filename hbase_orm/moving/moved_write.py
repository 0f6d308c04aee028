"""Writes rows of the new class in every phase of a move."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hbase_orm.errors import ConnectionLostError, RowMovedError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GuardContext, GuardedTable, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History, guarded_write
from hbase_orm.moving.adoption import taking_over
from hbase_orm.moving.translation import TableMove
from hbase_orm.ops import Cell, Protocol


@dataclass(slots=True)
class MovedHistory:
    """The state of one write across its attempts in both tables, and across leases and phases."""

    in_old: History = field(default_factory=History)
    in_new: History = field(default_factory=History)


def moved_write(
    move: TableMove,
    phase: Phase,
    change: RowChange,
    context: GuardContext,
    *,
    floor_ms: int = 0,
    history: MovedHistory | None = None,
) -> Protocol[WriteOutcome]:
    """Change one row of the new class, in the table where the row is.

    Before MOVING this is the old table. A sealed row there shows that others are in MOVING already;
    then the write continues as in MOVING. In MOVING a row without a guard in the new table is
    handed over first.

    Args:
        move: The tables.
        phase: The phase that this process knows, under its lease.
        change: The change, in the new layout.
        context: The clocks, random numbers and catalog leases; its permission must end with the
            lease for `phase`.
        floor_ms: The greatest timestamp of the old table's guards, as `mover` has found it. Needed
            in NEW, where the old table is not read any more.
        history: The state of the same write before a lease expired.

    Raises:
        RowMovedError: The row is sealed, although the phase does not permit that.
        ConflictError: The old table has another row under the same old key.
        HBaseORMError: As for `guarded_write`.
    """
    history = history or MovedHistory()
    if phase < Phase.MOVING:
        try:
            return (yield from _write_in_old(move, phase, change, context, history))
        except RowMovedError:
            if phase < Phase.PREPARED:
                raise
    _refuse_in_doubt(move, change, history)
    yield from move.make_new()
    target = new_table(move, phase, floor_ms)
    own = context if phase is Phase.NEW else taking_over(move, context)
    return (yield from guarded_write(target, change, own, history.in_new))


def _write_in_old(
    move: TableMove,
    phase: Phase,
    change: RowChange,
    context: GuardContext,
    history: MovedHistory,
) -> Protocol[WriteOutcome]:
    target, translated = old_table(move, phase), move.old_change(change)
    outcome = yield from guarded_write(target, translated, context, history.in_old)
    cells = {c: Cell(value, outcome.timestamp_ms) for c, value in outcome.cells.items()}
    row = move.to_new(translated.row, cells)
    values = {} if row is None else {c: cell.value for c, cell in row.cells.items()}
    return replace(outcome, cells=values)


def old_table(move: TableMove, phase: Phase) -> GuardedTable:
    """Return the old table as it is written in a phase before MOVING.

    Programs of the old class write it with the same indexes.
    """
    return move.old if phase < Phase.INDEXING else move.with_new_indexes()


def new_table(move: TableMove, phase: Phase, floor_ms: int = 0) -> GuardedTable:
    """Return the new table as it is written in a phase.

    In MOVING the guards of deleted rows do not expire: without its guard, a deleted row would be
    looked for in the old table. In NEW `floor_ms` stands for the seals, which are not read.
    """
    if phase is Phase.NEW:
        return replace(move.new, floor_ms=floor_ms)
    return replace(move.new, keeps_dead_guards=True)


def _refuse_in_doubt(move: TableMove, change: RowChange, history: MovedHistory) -> None:
    """Raise an error if a write that cannot be repeated may have changed the old table.

    Raises:
        ConnectionLostError: The outcome of an attempt in the old table is unknown.
    """
    if change.is_relative and history.in_old.in_doubt:
        raise ConnectionLostError(
            "the outcome of the write is unknown",
            table=move.old.table,
            row=change.row,
            nonces=tuple(history.in_old.in_doubt),
            fix="read the row again, and decide whether to repeat the write",
        )
