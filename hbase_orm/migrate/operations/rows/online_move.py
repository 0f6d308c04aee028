"""Moves the rows of a table to a new one while programs use both; see `hbase_orm.moving`.

1. The new table and the index of new keys are created. If the old rows have no guards, the phase
   GUARDED begins: after a wait, all programs write guards.
2. The phase INDEXING begins: every write of the old table maintains the new indexes. After a wait,
   all rows are indexed.
3. The phase PREPARED begins, and after a wait MOVING: all rows are handed over, one by one.
4. After a wait, all rows are checked. The phase NEW begins: the old table is not used any more.
5. The old table is closed, and the index of new keys is dropped.

Rows of plain models have guards only as long as they move: at the end, programs write the new table
without guards.

The catalog's entries of the two tables have the phase. A run after a crash continues with it. The
old table keeps its rows until it is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from hbase_orm.binding.table_creation.model_tables import add_guard_family
from hbase_orm.binding.table_creation.rows_without_anchor import anchors_of, rows_without_anchor
from hbase_orm.binding.table_moves.recorded_move import MovedModels, moved_models
from hbase_orm.errors import ConfigurationError, DeclarationError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.catalog.move_phases import CatalogMove, Phase
from hbase_orm.index.catalog.move_steps import enter_phase, give_up, leave_move
from hbase_orm.index.catalog.registration import register
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Checkpoint, Progress
from hbase_orm.migrate.operations.rebuilt import named_declaration
from hbase_orm.migrate.operations.refusals import RefusedRowsError, mismatch, needs_exclusive
from hbase_orm.migrate.operations.rows.moved_rows import MovedRows
from hbase_orm.migrate.operations.rows.new_tables import (
    NewTables,
    drop_new_tables,
    new_keys_name,
)
from hbase_orm.migrate.operations.rows.row_walk import PageWork, RowWalk
from hbase_orm.migrate.operations.rows.steps import PhaseCheckpoint, phase_of
from hbase_orm.ops.waits import wait
from hbase_orm.record.closed_tables import (
    being_moved_to,
    closed,
    closed_why,
    moved_to,
    reopened,
)
from hbase_orm.record.declaration import Declaration

ONLINE: Final = "online "
"""How the names of all steps of an online move begin."""

_CREATE: Final = f"{ONLINE}create"
_INDEX: Final = f"{ONLINE}index"
_MOVE: Final = f"{ONLINE}move"
_CHECK: Final = f"{ONLINE}check"
_CLOSE: Final = f"{ONLINE}close"
_STEPS: Final = ("", _CREATE, _INDEX, _MOVE, _CHECK, _CLOSE)
_FLOOR: Final = "newest guard of the old table"
_ROWS: Final = "rows of the old table"


@dataclass
class OnlineMove:
    """The move of all rows of one table to another, while programs use both.

    Attributes:
        source: The table until now.
        target: The new table.
        operation: The operation, as one line.
    """

    source: MigratedTable
    target: MigratedTable
    operation: str
    _kept: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, checkpoint: Checkpoint) -> None:
        """Move the rows; continue where an earlier run stopped.

        Raises:
            NeedsExclusiveUseError: Such tables are moved only while nobody else uses them.
            TargetExistsError: The new table existed before the move was begun.
            RefusedRowsError: Rows do not decode or do not fit the new table.
            MigrationStoppedError: The options say to stop before a phase.
            ConflictError: One of the tables is being loaded, truncated, built or used exclusively.
        """
        self.source.needs_thrift2("rows are handed over by changes of their guards")
        begun, kept = phase_of(checkpoint)
        self._kept.update(kept)
        self._refuse_other_tables()
        if not begun:
            self._new_tables.refuse_existing()
        if self.source.migration.options.dry_run:
            return
        if not begun:
            self._refuse_rows_without_anchor()
        place = _STEPS.index(begun)
        if place <= _STEPS.index(_CREATE):
            PhaseCheckpoint(checkpoint, _CREATE, self._kept).save({})
            self._new_tables.create()
            self._guard_old_rows()
            self._stop_before(Phase.INDEXING)
            self._enter(self.target, Phase.INDEXING)
            self.target.change(reopened)
            self._enter(self.source, Phase.INDEXING)
            self._wait("wait until all programs write the new indexes")
        if place <= _STEPS.index(_INDEX):
            self._walk(_INDEX, "index rows", self._rows.indexed_page, checkpoint)
        if place <= _STEPS.index(_MOVE):
            self._new_tables.refuse_foreign()
            self._enter(self.target, Phase.PREPARED)
            self._stop_before(Phase.PREPARED)
            self._enter(self.source, Phase.PREPARED)
            self._wait("wait until all programs of the old class have stopped")
            self._stop_before(Phase.MOVING)
            self._enter(self.target, Phase.MOVING)
            self._enter(self.source, Phase.MOVING)
            self._walk(_MOVE, "move rows", self._rows.moved_page, checkpoint)
        if place <= _STEPS.index(_CHECK):
            self._stop_before(Phase.NEW)
            if begun != _CHECK:
                self._wait("wait until all programs hand rows over")
            self._walk(_CHECK, "check rows", self._rows.checked_page, checkpoint)
        PhaseCheckpoint(checkpoint, _CLOSE, self._kept).save({})
        floor_ms = int(self._kept.get(_FLOOR, "0"))
        self._enter(self.target, Phase.NEW, floor_ms)
        self._enter(self.source, Phase.NEW)
        self.source.change(partial(closed, why=self._moved))
        self._wait("wait until no program reads the old table")
        self._new_tables.drop_new_keys()
        if not edits.needs_guards(self.target.after):
            self.target.change(edits.without_guards)

    def give_up(self) -> None:
        """End a move in which no row was handed over, and drop the new table.

        Programs of the new class are refused first: they would miss what programs of the old class
        write when these do not maintain the new indexes any more.

        Raises:
            ConflictError: Rows have been handed over.
        """
        old = self.source.name
        if self.refuse_new():
            self._wait("wait until no program uses the new table")
        entry = self._entry_of(self.source)
        if entry is not None and self._is_own(entry.move):
            self.source.run(leave_move(old))
            self.source.runtime.writer.moves.forget(old)
            self._wait("wait until no program writes the new indexes")
        recorded = self.source.recorded()
        if recorded.guards_plain_models:
            self.source.change(edits.without_guards)
        if closed_why(recorded) == being_moved_to(self.target.name):  # by an exclusive copy
            self.source.change(reopened)
        drop_new_tables(self.source, self.target)

    def refuse_new(self) -> bool:
        """Refuse programs of the new class; return whether they may have used the new table.

        Raises:
            ConflictError: Rows have been handed over.
        """
        new = self.target.name
        if (entry := self._entry_of(self.target)) is None or entry.move is None:
            return False
        self.source.run(give_up(new))
        self.source.runtime.writer.moves.forget(new)
        return True

    def _is_own(self, move: CatalogMove | None) -> bool:
        """Return whether a move of the old table is this one, and has not ended."""
        is_old = move is not None and move.is_old and move.is_running
        return is_old and move is not None and move.other_table == self.target.name

    # --- the tables -------------------------------------------------------------------------------

    @cached_property
    def _models(self) -> MovedModels:
        """The models of both tables, by the declarations of their rows.

        Raises:
            NeedsExclusiveUseError: Rows of such tables cannot be moved while programs use them.
        """
        runtime = self.source.runtime
        old = edits.with_guards(self._recorded())
        new = self._declared_new
        names = (self.source.name, self.target.name)
        try:
            return moved_models(old, new, names, runtime.catalog, runtime.features)
        except (ConfigurationError, DeclarationError) as error:
            raise needs_exclusive(self.operation, self.source.name, str(error)) from error

    @cached_property
    def _new_tables(self) -> NewTables:
        models, declared = self._models, self._declared_new
        return NewTables(self.source, self.target, models, declared, self._new_key_table)

    @property
    def _declared_new(self) -> Declaration:
        """The declaration of the new table, as long as rows move to it."""
        return edits.with_guards(named_declaration(self.target, self.target.after))

    def _recorded(self) -> Declaration:
        recorded = self.source.recorded()
        why = closed_why(recorded)
        if why and why != self._moved:
            raise mismatch(self.source.name, "row key", why, "an open table")
        return reopened(recorded)

    @property
    def _moved(self) -> str:
        return moved_to(self.target.name)

    @property
    def _new_key_table(self) -> str:
        """The index table of new keys; empty if each row keeps its key."""
        return "" if self._models.keeps_keys else new_keys_name(self.source)

    def _refuse_other_tables(self) -> None:
        """Raise an error for tables that cannot be moved while programs use them."""
        self._refuse_rows_of_counters()
        try:
            self._models.declared_move(self._new_key_table)
        except ConfigurationError as error:
            raise needs_exclusive(self.operation, self.source.name, str(error)) from error

    def _guard_old_rows(self) -> None:
        """Make all programs write guards, if the models of the old table do not need any.

        The record makes programs of this version write guards. The entry of the phase refuses
        programs of earlier versions, which do not know that.
        """
        if edits.needs_guards(self._recorded()):
            return
        self.source.run(add_guard_family(self._models.old))
        self.source.run(register(self.source.name, {}, is_new=False, has_rows=True))
        self.source.change(edits.with_guards)
        self._enter(self.source, Phase.GUARDED)
        self._wait("wait until all programs write guards")

    def _refuse_rows_of_counters(self) -> None:
        """Refuse plain models whose rows may have counters only: with a guard these do not exist.

        Raises:
            NeedsExclusiveUseError: The model has a counter, and no required column.
        """
        recorded = self._recorded()
        columns = (column for rows in recorded.rows for column in rows.columns.values())
        has_counter = any(column.role == "counter" for column in columns)
        if has_counter and not edits.needs_guards(recorded) and not anchors_of(recorded):
            reason = "rows may consist of counters only, and such rows have no guards"
            raise needs_exclusive(self.operation, self.source.name, reason)

    def _refuse_rows_without_anchor(self) -> None:
        """Raise an error for rows that would not exist if they had guards."""
        recorded = self._recorded()
        if recorded.is_guarded:
            return
        rows = self.source.run(rows_without_anchor(self.source.name, recorded))
        if rows:
            raise RefusedRowsError(
                "rows lack the column that shows, while rows move, that a row exists",
                table=self.source.name,
                columns=anchors_of(recorded),
                first=rows,
                fix="write the column into these rows, or delete them, and run the upgrade again",
            )

    # --- phases -----------------------------------------------------------------------------------

    def _entry_of(self, table: MigratedTable) -> CatalogEntry | None:
        return self.source.run(read_entry(table.name))

    def _enter(self, table: MigratedTable, phase: Phase, floor_ms: int = 0) -> None:
        """Enter a phase with one of the tables, unless it is in the phase or a later one."""
        self._report(f"enter the phase {phase.name}")
        is_old = table is self.source
        other = self.target if is_old else self.source
        move = CatalogMove(phase, other.name, is_old, self._new_key_table, floor_ms)
        entry = self._entry_of(table)
        now = None if entry is None else entry.move
        if now is not None and now.is_of(move) and not now.is_given_up and now.phase >= phase:
            return
        self.source.run(enter_phase(table.name, move))
        self.source.runtime.writer.moves.forget(table.name)

    def _stop_before(self, phase: Phase) -> None:
        if (self.source.migration.options.stop_before or "").upper() == phase.name:
            raise MigrationStoppedError(
                "the move has stopped, as the options say",
                operation=self.operation,
                phase=phase.name,
                fix="run the upgrade again without --stop-before to go on",
            )

    def _wait(self, step: str) -> None:
        """Wait until no process uses the phase before, and none of its requests can arrive."""
        if not self.source.lease_s:
            return
        engine, options = self.source.migration.engine, self.source.migration.options
        seconds = self.source.lease_s + engine.options.timeout_s + options.gateway_timeout_s
        self.source.run(wait(seconds, partial(self._report, step)))

    def _report(self, step: str, left_s: float | None = None) -> None:
        self.source.migration.report(Progress(step, 0, None, left_s))

    # --- rows -------------------------------------------------------------------------------------

    @cached_property
    def _rows(self) -> MovedRows:
        return MovedRows(
            self.source, self.target, self._models, self._new_key_table, self._note_guard
        )

    def _note_guard(self, newest_ms: int) -> None:
        """Keep the newest timestamp of the old table's guards for the checkpoints."""
        self._kept[_FLOOR] = str(max(newest_ms, int(self._kept.get(_FLOOR, "0"))))

    def _walk(self, name: str, step: str, work: PageWork, checkpoint: Checkpoint) -> None:
        """Walk over the rows of the old table in a step of this move."""
        of_step = PhaseCheckpoint(checkpoint, name, self._kept)
        known = int(self._kept.get(_ROWS, "0"))
        walk = RowWalk(self.source, step, work, of_step, expected_rows=known)
        position = walk.run([self.source.name])
        self._kept[_ROWS] = str(position.rows)
        if position.failed:
            of_step.save({})  # the next run looks at all rows again
            named = [f"{each.row!r}: {each.reason}" for each in position.failures[:10]]
            raise RefusedRowsError(
                "rows of the old table do not decode or do not fit the new one",
                table=self.source.name,
                rows=position.failed,
                first=named,
                fix="change or delete these rows, and run the upgrade again; before rows are "
                "moved, a downgrade gives the move up",
            )
