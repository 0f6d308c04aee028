"""The steps of a move in the catalog: the entries of both tables go from phase to phase.

Each step is safe to repeat. Between two phases the caller waits until no process uses the phase
before. Programs with a version of this library that does not know moves cannot decode these
entries, so they neither read nor write the tables.
"""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.errors import ConflictError
from hbase_orm.index.catalog.catalog import change_entry, known
from hbase_orm.index.catalog.entry import CatalogEntry, IndexState, TableState, next_epoch
from hbase_orm.index.catalog.index_steps import refuse_exclusive_state
from hbase_orm.index.catalog.move_phases import CatalogMove, Phase
from hbase_orm.ops import Protocol


def enter_phase(table: str, move: CatalogMove) -> Protocol[CatalogEntry]:
    """Store that a table's move is in a phase, under a new epoch; return the table's new entry.

    An entry that is in this phase already is not changed.

    Raises:
        ConflictError: The table is in another move, in a later phase, or more than one phase
            before. Or it is being loaded, truncated or used exclusively, or one of its indexes is
            being built or dropped.
        CatalogLeaseError: The catalog has no entry for the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        floor_ms = 0 if there.move is None else there.move.floor_ms
        wanted = replace(move, floor_ms=max(move.floor_ms, floor_ms))
        if there.move == wanted:
            return there
        _refuse_step(table, there, wanted)
        return replace(
            there,
            epoch=next_epoch(there.epoch),
            state=TableState.READABLE,
            is_recorded=True,  # the translation of rows is made from the records
            move=wanted,
        )

    return (yield from change_entry(table, edit))


def give_up(table: str) -> Protocol[CatalogEntry | None]:
    """Store that the move to a new table is being given up, under a new epoch.

    From the next lease on, programs of the new class are refused. Return the table's new entry;
    None if the catalog has none. An entry without a move is not changed.

    Raises:
        ConflictError: Rows may have been sealed already.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry | None:
        if entry is None or entry.move is None or entry.move.is_given_up:
            return entry
        _refuse_sealed(table, entry.move)
        move = replace(entry.move, is_given_up=True)
        return replace(entry, epoch=next_epoch(entry.epoch), move=move)

    return (yield from change_entry(table, edit))


def leave_move(table: str) -> Protocol[CatalogEntry]:
    """Store that a table is in no move any more, under a new epoch; return its new entry.

    The floor of an earlier move that has ended stays.

    Raises:
        ConflictError: Rows may have been sealed already.
        CatalogLeaseError: The catalog has no entry for the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        if there.move is None or (not there.move.is_running and not there.move.is_old):
            return there
        _refuse_sealed(table, there.move)
        floor_ms = there.move.floor_ms
        ended = CatalogMove(Phase.NEW, there.move.other_table, is_old=False, floor_ms=floor_ms)
        move = ended if floor_ms else None
        return replace(there, epoch=next_epoch(there.epoch), move=move)

    return (yield from change_entry(table, edit))


def _refuse_sealed(table: str, move: CatalogMove) -> None:
    if move.phase >= Phase.MOVING:
        raise ConflictError(
            "rows have been handed over, so the move cannot be given up",
            table=table,
            phase=move.phase.name,
            fix="finish the move by the command that began it, an upgrade or a downgrade; the "
            "other one then moves the rows back",
        )


def _refuse_step(table: str, entry: CatalogEntry, move: CatalogMove) -> None:
    now = entry.move
    if now is not None and not now.is_running and now.is_of(move):
        raise ConflictError(
            "the move has ended",
            table=table,
            other_table=now.other_table,
            fix="look at 'hbase-orm current': another program has finished it",
        )
    if now is None or not now.is_running:
        refuse_exclusive_state(table, entry)
        busy = [n for n, index in entry.indexes.items() if index.build or _is_between(index.state)]
        if busy:
            raise ConflictError(
                "indexes of the table are being built or dropped",
                table=table,
                indexes=busy,
                fix="finish that first",
            )
        return
    if not now.is_of(move) or now.is_given_up:
        raise ConflictError(
            "the rows of the table are part of another move, or of one that is being given up",
            table=table,
            other_table=now.other_table,
            fix="finish that move first: 'hbase-orm current' names the command that began it; the "
            "command of the other direction gives it up",
        )
    if move.phase - now.phase != 1:
        raise ConflictError(
            "the move is not in the phase before",
            table=table,
            phase=now.phase.name,
            wanted=move.phase.name,
            fix="another program goes on with the move; look again",
        )


def _is_between(state: IndexState) -> bool:
    return state in {IndexState.WRITE_ONLY, IndexState.DROPPING}
