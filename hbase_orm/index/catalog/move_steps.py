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
        if there.move == move:
            return there
        _refuse_step(table, there, move)
        return replace(
            there,
            epoch=next_epoch(there.epoch),
            state=TableState.READABLE,
            is_recorded=True,  # the translation of rows is made from the records
            move=move,
        )

    return (yield from change_entry(table, edit))


def leave_move(table: str) -> Protocol[CatalogEntry]:
    """Store that a table is in no move any more, under a new epoch; return its new entry.

    Raises:
        ConflictError: Rows may have been sealed already.
        CatalogLeaseError: The catalog has no entry for the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        if there.move is None:
            return there
        if there.move.phase >= Phase.MOVING:
            raise ConflictError(
                "rows have been handed over, so the move cannot be given up",
                table=table,
                phase=there.move.phase.name,
                fix="finish the move, then move the rows back by another one",
            )
        return replace(there, epoch=next_epoch(there.epoch), move=None)

    return (yield from change_entry(table, edit))


def _refuse_step(table: str, entry: CatalogEntry, move: CatalogMove) -> None:
    now = entry.move
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
    of_move = (now.other_table, now.is_old, now.new_key_table)
    if of_move != (move.other_table, move.is_old, move.new_key_table):
        raise ConflictError(
            "the rows of the table are part of another move",
            table=table,
            other_table=now.other_table,
            fix="finish that move first",
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
