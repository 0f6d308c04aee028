"""Operations that give columns new values in all rows, beside the programs that write them."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Final

from hbase_orm.gateway.base import Feature
from hbase_orm.migrate.operations.columns import delete_cells
from hbase_orm.migrate.operations.migrated_table import THRIFT2, MigratedTable
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Operation,
)
from hbase_orm.migrate.operations.refusals import unsupported
from hbase_orm.migrate.operations.rows.estimates import rows_estimate
from hbase_orm.migrate.operations.rows.recorded_models import RecordedModels
from hbase_orm.migrate.operations.rows.row_edits import Decide, RowEdit, RowEditor, deleted_marks
from hbase_orm.migrate.operations.rows.row_kinds import (
    column_name,
    existence,
    existence_columns,
    mark_column,
    recorded_column,
    refuse_special,
)
from hbase_orm.migrate.operations.rows.row_marks import MarksOfRun, RowMark, new_nonce
from hbase_orm.migrate.operations.rows.row_walk import RowWalk, WalkPosition
from hbase_orm.migrate.operations.rows.steps import (
    NoCheckpoint,
    PhaseCheckpoint,
    phase_in,
    phase_of,
)
from hbase_orm.migrate.operations.source_text import call
from hbase_orm.ops import Row
from hbase_orm.record.declaration import Declaration

logger = logging.getLogger("hbase_orm.migrate")

_CLEAN: Final = "clean"
_ROWS: Final = "rows"
_CLEAN_BEFORE: Final = "clean before"
"""The phase in which the marks of a finished run in the other direction are deleted."""


@dataclass(frozen=True)
class RowsOperation(CheckedOperation):
    """An operation that changes rows one by one, each at most once.

    Attributes:
        table: The table.
    """

    table: str

    @abstractmethod
    def decide(self, table: MigratedTable, declaration: Declaration) -> Decide:
        """Return the function that decides the change of a row.

        Raises:
            MigrationError: The operation does not fit the table.
        """

    @abstractmethod
    def columns(self, declaration: Declaration) -> tuple[bytes, ...]:
        """Return the columns or families that the function needs, besides the anchor."""

    @property
    def is_repeatable(self) -> bool:
        """Whether the function may see a row again after it has changed it."""
        return False

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: each changed row costs a few requests."""
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        reverse = self.reverse()
        lost = reverse.reason if isinstance(reverse, Irreversible) else ""
        per_row = 5.0 if recorded.is_guarded else 2.0
        passes = 1 if self.is_repeatable else 2
        names = table.existing(recorded)
        return rows_estimate(
            table, names, requests_per_row=per_row, passes=passes, irreversible=lost
        )

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Change the rows, then delete the marks; continue where an earlier run stopped.

        Rows that do not decode, or for which the function raises ValueError or the like, are left
        as they are and listed in the progress (`RowsProgress.failures`). In a dry run nothing is
        written, and the progress has samples of rows before and after.

        Raises:
            MigrationError: The operation does not fit the table, or there is no Thrift2 gateway.
        """
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        decide = self.decide(table, recorded)
        if migration.options.dry_run:
            checkpoint = NoCheckpoint()
        if self.is_repeatable:
            self._walk(table, recorded, decide, checkpoint, None)
            return
        table.needs_thrift2("each row is marked in the request that changes it")
        phase, marks = _begun(checkpoint)
        if marks is None:
            return
        if phase == _CLEAN_BEFORE:
            self._clean(table, recorded, marks, PhaseCheckpoint(checkpoint, phase, marks.encode()))
            phase, marks = "", MarksOfRun(new_nonce())
        if phase != _CLEAN:
            self._walk(table, recorded, decide, checkpoint, marks)
        if not migration.options.dry_run:
            saved = PhaseCheckpoint(checkpoint, _CLEAN, marks.encode())
            self._clean(table, recorded, marks, saved)

    def _walk(
        self,
        table: MigratedTable,
        recorded: Declaration,
        decide: Decide,
        checkpoint: Checkpoint,
        marks: MarksOfRun | None,
    ) -> None:
        """Change the rows that are not done."""
        columns = self.columns(recorded)
        mark = None
        if marks is not None:
            mark = RowMark(self._mark(table, recorded, marks), marks.undoes)
        editor = RowEditor(
            table,
            tuple(dict.fromkeys((*existence_columns(recorded), *columns))),
            decide,
            existence(recorded),
            mark,
            RecordedModels(table, recorded).of_row if recorded.is_guarded else None,
        )
        saved = PhaseCheckpoint(checkpoint, _ROWS, {} if marks is None else marks.encode())
        position = RowWalk(table, self.describe(), editor.page, saved).run(table.existing(recorded))
        report_failures(self.describe(), position)

    def _clean(
        self, table: MigratedTable, recorded: Declaration, marks: MarksOfRun, saved: Checkpoint
    ) -> None:
        """Delete all marks."""
        clean = partial(deleted_marks, table, self._mark(table, recorded, marks))
        RowWalk(table, "delete the marks", clean, saved).run(table.existing(recorded))

    def _mark(self, table: MigratedTable, recorded: Declaration, marks: MarksOfRun) -> bytes:
        return mark_column(table.name, recorded, marks.nonce, self.columns(recorded)[0])


def _begun(checkpoint: Checkpoint) -> tuple[str, MarksOfRun | None]:
    """Return the phase at which a run begins, and its marks.

    If a run in the other direction was interrupted, its marks show which rows it has changed. If it
    had changed all of them, its marks are only deleted. Without marks it has changed none, so there
    is nothing to undo: then the marks are None.
    """
    phase, kept = phase_of(checkpoint)
    marks = MarksOfRun.decode(kept)
    if marks is not None:
        return phase, marks
    if checkpoint.interrupted is None:
        return "", MarksOfRun(new_nonce())
    other_phase, other_kept = phase_in(checkpoint.interrupted)
    marks = MarksOfRun.decode(other_kept)
    if marks is None:
        return "", None
    if other_phase == _ROWS:
        return "", marks.turned()
    return (_CLEAN_BEFORE if other_phase == _CLEAN else _CLEAN), marks


def report_failures(step: str, position: WalkPosition) -> None:
    """Log the rows that were left as they are."""
    for each in position.failures:
        logger.warning("%s: row %r of %s is left: %s", step, each.row, each.table, each.reason)
    if position.failed > len(position.failures):
        more = position.failed - len(position.failures)
        logger.warning("%s: %d more rows are left", step, more)


@dataclass(frozen=True)
class BackfillColumn(RowsOperation):
    """Give a column one value in all rows that lack it; rows that have it are not changed.

    Attributes:
        column: The column, as `family:qualifier`.
        value: The stored bytes of the value, such as `codecs.text().encode("C")`.
        is_new_column: Whether the same revision adds the column, so that its downgrade may delete
            all values of it.
    """

    column: str
    _: KW_ONLY
    value: bytes
    is_new_column: bool = False

    @property
    def is_repeatable(self) -> bool:
        """True: a row that has the column is not changed."""
        return True

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"backfill column {self.column} of {self.table} with {self.value!r}"

    def reverse(self) -> Operation | Irreversible:
        """Return the deletion of the column's cells if the revision adds the column."""
        if self.is_new_column:
            return ClearColumn(self.table, self.column)
        return Irreversible("nobody knows any more which rows lacked the column")

    def columns(self, declaration: Declaration) -> tuple[bytes, ...]:  # noqa: ARG002  # one column
        """Return the column."""
        return (column_name(self.column),)

    def decide(self, table: MigratedTable, declaration: Declaration) -> Decide:
        """Return the function that fills the column if the row lacks it."""
        column = column_name(self.column)
        refuse_special(table.name, declaration, self.column, self.describe())
        recorded_column(table.name, declaration, self.column)
        if Feature.ATOMIC_ROW not in table.features and None in {
            r.anchor for r in declaration.rows
        }:
            raise unsupported(
                "without Thrift2 a new cell could show a row that is deleted at the same time",
                THRIFT2,
                table=table.name,
                column=self.column,
            )
        edit = RowEdit({column: self.value})
        return lambda _, row: None if column in row.cells else edit

    def source(self) -> str:
        """Return the Python source."""
        new: dict[str, Any] = {"is_new_column": True} if self.is_new_column else {}
        return call("BackfillColumn", self.table, self.column, value=self.value, **new)


@dataclass(frozen=True)
class ClearColumn(CheckedOperation):
    """Delete all cells of a column; the record keeps the column.

    Attributes:
        table: The table.
        column: The column, as `family:qualifier`.
    """

    table: str
    column: str

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"delete the values of column {self.column} of {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return why there is no way back."""
        return Irreversible("the values of the column are deleted")

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: the rows that have the column are read, and deleted in batches."""
        table = MigratedTable(migration, self.table)
        names = table.existing(table.recorded())
        lost = f"the values of {self.column} in {self.table} are deleted"
        return rows_estimate(table, names, requests_per_row=0.01, irreversible=lost)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Delete the cells that exist now."""
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        refuse_special(table.name, recorded, self.column, self.describe())
        if any(rows.anchor == column_name(self.column) for rows in recorded.rows):
            raise unsupported(
                "the column shows which rows exist: without it the rows would be gone",
                "delete the rows",
                table=table.name,
                column=self.column,
            )
        if not migration.options.dry_run:
            delete_cells(table, column_name(self.column), table.existing(recorded), checkpoint)

    def source(self) -> str:
        """Return the Python source."""
        return call("ClearColumn", self.table, self.column)


@dataclass(frozen=True)
class TransformColumn(RowsOperation):
    """Change the stored bytes of a column in all rows by a function.

    Each row is changed at most once. A row that a program writes afterwards keeps what that program
    wrote: programs that run meanwhile should write values that the function leaves as they are.

    Attributes:
        column: The column, as `family:qualifier`.
        forward: A function from the stored bytes to the new ones; None deletes the cell. ValueError
            and the like leave the row as it is.
        backward: The function that undoes `forward`; None if nothing does.
    """

    column: str
    _: KW_ONLY
    forward: Callable[[bytes], bytes | None]
    backward: Callable[[bytes], bytes | None] | None = None

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"transform column {self.column} of {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the transformation by `backward`."""
        if self.backward is None:
            return Irreversible("the revision gives no function backward")
        return TransformColumn(
            self.table, self.column, forward=self.backward, backward=self.forward
        )

    def columns(self, declaration: Declaration) -> tuple[bytes, ...]:  # noqa: ARG002  # one column
        """Return the column."""
        return (column_name(self.column),)

    def decide(self, table: MigratedTable, declaration: Declaration) -> Decide:
        """Return the function that transforms the cell of a row."""
        column = column_name(self.column)
        refuse_special(table.name, declaration, self.column, self.describe())
        known = recorded_column(table.name, declaration, self.column)

        def decide(_: str, row: Row) -> RowEdit | None:
            cell = row.cells.get(column)
            if cell is None:
                return None
            value = self.forward(cell.value)
            if value is None and known.is_required:
                message = "the function returned None for a column that every row must have"
                raise ValueError(message)
            return (
                RowEdit(clears=frozenset({column})) if value is None else RowEdit({column: value})
            )

        return decide

    def source(self) -> str:
        """Return the Python source."""
        functions: dict[str, Any] = {"forward": self.forward, "backward": self.backward}
        return call("TransformColumn", self.table, self.column, **functions)
