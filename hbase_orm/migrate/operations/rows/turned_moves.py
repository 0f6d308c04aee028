"""Moves of rows whose run in the other direction was interrupted: an upgrade, or a downgrade.

Which of the two tables has the rows is in their records and in the catalog, never in a checkpoint
alone. The interrupted move is finished if it has closed its old table for good, and given up if it
has not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Checkpoint
from hbase_orm.migrate.operations.rows.begun_moves import is_unfinished
from hbase_orm.migrate.operations.rows.online_move import OnlineMove
from hbase_orm.migrate.operations.rows.row_mover import Movers, RowMover
from hbase_orm.migrate.operations.rows.steps import GIVE_UP, PHASE, phase_in, phase_of
from hbase_orm.record.closed_tables import closed_why, moved_to


@dataclass(frozen=True)
class GivenUpMove:
    """The end of a move in which no row was handed over."""

    move: OnlineMove

    def run(self, checkpoint: Checkpoint) -> None:
        """Drop what the move has made.

        Raises:
            ConflictError: Rows have been handed over; nothing was saved.
        """
        self.move.refuse_new()
        checkpoint.save({PHASE: GIVE_UP})
        self.move.give_up()


@dataclass
class InterruptedRun:
    """The checkpoint of a run in the other direction, which is finished first."""

    position: Mapping[str, str]
    interrupted: None = None

    def save(self, position: Mapping[str, str]) -> None:
        """Keep a position in memory: after a crash, the run is finished from its old position."""
        self.position = dict(position)


@dataclass(frozen=True)
class TurnedMove:
    """A move of rows, and what is left of an interrupted move in the other direction.

    Attributes:
        source: The table until now.
        target: The new table.
        finish: Returns what finishes a move between two tables, in the phase that it had.
        operation: The operation, as one line.
    """

    source: MigratedTable
    target: MigratedTable
    finish: Movers
    operation: str

    def is_done(self, checkpoint: Checkpoint) -> bool:
        """End the interrupted run in the other direction; return whether nothing else is to do.

        Raises:
            ConflictError: It has handed rows over, so it must be finished by its own command.
        """
        if phase_of(checkpoint)[0] == GIVE_UP:
            self._given_up(self.target, self.source).run(checkpoint)
            return True
        if self._is_given_up():
            self._given_up(self.source, self.target).run(InterruptedRun({}))
            checkpoint.save({})
            return False
        if not checkpoint.interrupted:  # it has changed nothing, or there is none
            return checkpoint.interrupted is not None
        phase, _ = phase_in(checkpoint.interrupted)
        if phase == GIVE_UP:  # of this move, before the other run was interrupted
            self._given_up(self.source, self.target).run(InterruptedRun({}))
            return False
        if self._why_closed(self.target) == moved_to(self.source.name):
            source, target = self._other_way()
            self.finish(source, target, phase).run(InterruptedRun(checkpoint.interrupted))
            return False
        if self._is_unfinished():
            self._given_up(self.target, self.source).run(checkpoint)
        return True

    def _is_unfinished(self) -> bool:
        if is_unfinished(self.target, self.source):
            return True
        # The creation of the table was interrupted before it was closed, or had a record.
        return self._why_closed(self.target) == "" and not self._why_closed(self.source)

    def _given_up(self, source: MigratedTable, target: MigratedTable) -> RowMover:
        return GivenUpMove(OnlineMove(source, target, self.operation))

    def _is_given_up(self) -> bool:
        """Return whether a run in the other direction has begun to give this move up."""
        entry = self.target.run(read_entry(self.target.name))
        move = None if entry is None else entry.move
        is_own = move is not None and not move.is_old and move.other_table == self.source.name
        return is_own and move is not None and move.is_given_up

    @staticmethod
    def _why_closed(table: MigratedTable) -> str | None:
        """Return why a table is closed, empty if it is open; None if it has no record."""
        record = table.recorded_or_none()
        return None if record is None else closed_why(record)

    def _other_way(self) -> tuple[MigratedTable, MigratedTable]:
        """Return the tables of the move in the other direction, with what that makes of them."""
        own = self.source.migration
        migration = replace(
            own,
            before={self.target.declared: self.target.after},
            after={self.source.declared: self.source.before},
        )
        source = MigratedTable(migration, self.target.declared)
        return source, MigratedTable(migration, self.source.declared)
