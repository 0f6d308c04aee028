"""Changes what the stored cells of a column mean, in place and exclusively.

While it runs, rows of both kinds exist. So no other program may use the column:

1. Beside other programs, all rows are checked; what does not fit is refused before any change.
2. The table is taken for exclusive use: no other program writes it. All rows are checked again,
   because others may have written since.
3. The record gets a declaration that neither the old class nor the new one agrees with. After a
   lease no program reads the column.
4. Each row is changed by one atomic request. A row that was changed shows it.
5. The record gets the new declaration, and the table is released.

A run after a crash continues with the step that the record shows. A change that was interrupted
in step 4 can be undone: the rows that show the change are changed back, and the record gets the old
declaration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
)
from hbase_orm.migrate.operations.refusals import RecordMismatchError, RefusedRowsError
from hbase_orm.migrate.operations.rows.estimates import rows_estimate
from hbase_orm.migrate.operations.rows.row_edits import MISFITS, after_page, deleted_marks
from hbase_orm.migrate.operations.rows.row_kinds import mark_column, refuse_indexed, refuse_special
from hbase_orm.migrate.operations.rows.row_marks import MarksOfRun, RowMark, new_nonce
from hbase_orm.migrate.operations.rows.row_walk import (
    PageOutcome,
    RowFailure,
    RowSample,
    RowWalk,
    WalkPosition,
    failure_text,
)
from hbase_orm.migrate.operations.rows.steps import (
    NoCheckpoint,
    PhaseCheckpoint,
    phase_in,
    phase_of,
)
from hbase_orm.ops import (
    GetVersionsOfRows,
    KeyRange,
    MutateRow,
    Protocol,
    Row,
    RowMutation,
    StoredVersion,
    ask_with_retry,
    run_all,
)
from hbase_orm.record.declaration import Declaration

_CHECK: Final = "check"
_CHANGE: Final = "change"
_CLEAN: Final = "clean"
_ALL_VERSIONS: Final = 1_000_000
_REPAIR: Final = "change or delete these rows with the class of now, and run the operation again"
_REPAIR_RAW: Final = (
    "no class may use the table now: change or delete these cells with engine.raw() and run the "
    "operation again, or go back with 'hbase-orm downgrade -1'"
)


@dataclass(frozen=True, slots=True)
class CellColumns:
    """The columns that an operation in place reads and writes.

    Attributes:
        read: The column whose cells are changed.
        others: Columns whose cells and tombstones decide too.
    """

    read: bytes
    others: tuple[bytes, ...] = field(default=())


@dataclass(frozen=True)
class InPlaceOperation(CheckedOperation):
    """An operation that changes all cells of one column, exclusively.

    Attributes:
        table: The table.
    """

    table: str

    @property
    @abstractmethod
    def changed_column(self) -> str:
        """The column, as `family:qualifier`."""

    @property
    @abstractmethod
    def columns(self) -> CellColumns:
        """The columns that are read."""

    @property
    @abstractmethod
    def needs_marks(self) -> bool:
        """Whether a changed row looks like an unchanged one, so that it must be marked."""

    @abstractmethod
    def is_done(self, declaration: Declaration) -> bool:
        """Return whether the record has the declaration after the operation."""

    @abstractmethod
    def is_changing(self, declaration: Declaration) -> bool:
        """Return whether the record shows that the operation was begun."""

    @abstractmethod
    def is_undoing(self, declaration: Declaration) -> bool:
        """Return whether the record shows that the reverse operation was begun."""

    @abstractmethod
    def nonce_of(self, declaration: Declaration) -> str:
        """Return the nonce of the marks that the record has; empty if it has none."""

    @abstractmethod
    def check_record(self, table: str, declaration: Declaration) -> None:
        """Raise an error if the record is not what it must be before the operation.

        Raises:
            RecordMismatchError: It is not.
        """

    @abstractmethod
    def begun(self, declaration: Declaration, nonce: str) -> Declaration:
        """Return the declaration during the operation, with the nonce of its marks."""

    @abstractmethod
    def ended(self, declaration: Declaration) -> Declaration:
        """Return the declaration after the operation."""

    @abstractmethod
    def mutation(
        self, row: bytes, versions: Sequence[StoredVersion], mark: RowMark | None
    ) -> RowMutation | None:
        """Return the change of a row; None if it has nothing to change.

        Args:
            row: The row key.
            versions: The cells and tombstones of the columns, as a raw read returns them.
            mark: The mark of rows that are done, or None.

        Raises:
            ValueError: A value does not fit; see `row_edits.MISFITS`.
        """

    @abstractmethod
    def sample(self, table: str, row: bytes, versions: Sequence[StoredVersion]) -> RowSample:
        """Return a row before and after its change."""

    # --- running ----------------------------------------------------------------------------------

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: the rows are checked twice, then changed one by one."""
        table = MigratedTable(migration, self.table)
        names = table.existing(table.recorded())
        reverse = self.reverse()
        lost = reverse.reason if isinstance(reverse, Irreversible) else ""
        return rows_estimate(
            table,
            names,
            requests_per_row=1.05,
            passes=4 if self.needs_marks else 3,
            irreversible=lost,
            waits_s=2 * table.lease_s,
        )

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Change all rows and the record; continue where an earlier run stopped.

        In a dry run the rows are only checked.

        Raises:
            NeedsExclusiveUseError: The options do not promise that nobody else writes the table.
            RefusedRowsError: Rows have values that do not fit; nothing was changed.
            RecordMismatchError: The record is not what the revision says.
            TableHeldError: Another program uses the table exclusively.
        """
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        tables = table.existing(recorded)
        table.needs_thrift2("cells are changed with their timestamps, a row at a time")
        is_begun = self._is_begun(recorded)
        if migration.options.dry_run:
            if not is_begun:
                self._check(table, recorded, tables, NoCheckpoint())
            return
        marks = self._begun_marks(recorded, checkpoint)
        if marks is not None and not is_begun:  # of a run that has changed the record
            self._clean(table, recorded, marks, NoCheckpoint())
        if self.is_done(recorded):
            return
        table.require_exclusive(self.describe(), "rows of both kinds exist while it runs")
        if not is_begun:
            self._check(table, recorded, tables, PhaseCheckpoint(checkpoint, _CHECK, {}))
            marks = MarksOfRun(new_nonce())
        elif marks is None:
            marks = self._known_marks(table)
        with table.exclusively(self.describe()):
            tables = table.existing(recorded)
            if not is_begun:  # other programs may have written since the rows were checked
                self._check(table, table.recorded(), tables, NoCheckpoint())
            saved = PhaseCheckpoint(checkpoint, _CHANGE, marks.encode())
            if not (is_begun and saved.position):
                saved.save({})  # the mark is known before a row has it
            self._change(table, recorded, tables, marks, saved)
            saved = PhaseCheckpoint(checkpoint, _CLEAN, marks.encode())
            self._clean(table, recorded, marks, saved)

    def _change(
        self,
        table: MigratedTable,
        recorded: Declaration,
        tables: Sequence[str],
        marks: MarksOfRun,
        saved: Checkpoint,
    ) -> None:
        """Change the record and all rows."""
        table.change(partial(self._begun, nonce=marks.nonce))
        table.wait_for_readers()
        change = partial(self._changed_page, table, self._mark(table, recorded, marks))
        position = RowWalk(table, self.describe(), change, saved).run(tables)
        self._refuse(table, position, saved, _REPAIR_RAW)
        table.change(self._ended)

    def _is_begun(self, declaration: Declaration) -> bool:
        return self.is_changing(declaration) or self.is_undoing(declaration)

    def _begun_marks(self, recorded: Declaration, checkpoint: Checkpoint) -> MarksOfRun | None:
        """Return the marks of an interrupted run in either direction; None if none is known."""
        marks = MarksOfRun.decode(phase_of(checkpoint)[1])
        if marks is None and checkpoint.interrupted is not None:
            marks = MarksOfRun.decode(phase_in(checkpoint.interrupted)[1])
        nonce = self.nonce_of(recorded) or (marks.nonce if marks is not None else "")
        return MarksOfRun(nonce, self.is_undoing(recorded)) if nonce else None

    def _known_marks(self, table: MigratedTable) -> MarksOfRun:
        """Return marks of a begun operation that has none; raise an error if it needs them."""
        if self.needs_marks:
            raise RecordMismatchError(
                "the operation was begun, and nobody knows any more which rows it has changed",
                table=table.name,
                operation=self.describe(),
                fix="restore a snapshot of the table from before the operation",
            )
        return MarksOfRun(new_nonce())

    def _begun(self, declaration: Declaration, nonce: str) -> Declaration:
        is_left = self._is_begun(declaration) or self.is_done(declaration)
        return declaration if is_left else self.begun(declaration, nonce)

    def _ended(self, declaration: Declaration) -> Declaration:
        return self.ended(declaration) if self._is_begun(declaration) else declaration

    def _mark(
        self, table: MigratedTable, recorded: Declaration, marks: MarksOfRun
    ) -> RowMark | None:
        if not self.needs_marks:
            return None
        column = mark_column(table.name, recorded, marks.nonce, self.columns.read)
        return RowMark(column, marks.undoes)

    def _check(
        self,
        table: MigratedTable,
        recorded: Declaration,
        tables: Sequence[str],
        checkpoint: Checkpoint,
    ) -> None:
        """Check the record and all rows; nothing is changed."""
        self.check_record(table.name, recorded)
        refuse_special(table.name, recorded, self.changed_column, self.describe())
        refuse_indexed(table.name, recorded, self.changed_column, self.describe())
        check = partial(self._checked_page, table)
        position = RowWalk(table, f"check: {self.describe()}", check, checkpoint).run(tables)
        self._refuse(table, position, checkpoint, _REPAIR)

    def _refuse(
        self, table: MigratedTable, position: WalkPosition, checkpoint: Checkpoint, fix: str
    ) -> None:
        """Raise an error if rows do not fit; the next run looks at all rows again.

        Raises:
            RefusedRowsError: Some do not.
        """
        if not position.failed:
            return
        checkpoint.save({})
        named = [f"{each.table} {each.row!r}: {each.reason}" for each in position.failures[:10]]
        raise RefusedRowsError(
            "rows have values that do not fit",
            operation=self.describe(),
            table=table.name,
            rows=position.failed,
            first=named,
            fix=fix,
        )

    def _clean(
        self, table: MigratedTable, recorded: Declaration, marks: MarksOfRun, saved: Checkpoint
    ) -> None:
        """Delete all marks, if rows are marked."""
        mark = self._mark(table, recorded, marks)
        if mark is not None:
            clean = partial(deleted_marks, table, mark.column)
            RowWalk(table, "delete the marks", clean, saved).run(table.existing(recorded))

    # --- rows -------------------------------------------------------------------------------------

    def _checked_page(
        self, table: MigratedTable, name: str, key_range: KeyRange, rows: int
    ) -> Protocol[PageOutcome]:
        page, versions = yield from self._versions(table, None, name, key_range, rows)
        samples: list[RowSample] = []
        failures: list[RowFailure] = []
        for row in page:
            try:
                mutation = self.mutation(row.key, versions[row.key], None)
            except MISFITS as error:
                failures.append(RowFailure(name, row.key, failure_text(error)))
            else:
                samples += [self.sample(name, row.key, versions[row.key])] if mutation else []
        return PageOutcome(
            len(page), after_page(page), len(samples), tuple(failures), tuple(samples)
        )

    def _changed_page(
        self, table: MigratedTable, mark: RowMark | None, name: str, key_range: KeyRange, rows: int
    ) -> Protocol[PageOutcome]:
        yield from table.refuse_held([name])
        column = None if mark is None else mark.column
        page, versions = yield from self._versions(table, column, name, key_range, rows)
        requests: list[MutateRow] = []
        failures: list[RowFailure] = []
        for row in page:
            try:
                mutation = self.mutation(row.key, versions[row.key], mark)
            except MISFITS as error:
                failures.append(RowFailure(name, row.key, failure_text(error)))
            else:
                requests += [] if mutation is None else [MutateRow(name, mutation)]
        retries = table.runtime.guard_context.retries
        yield from run_all([ask_with_retry(request, retries) for request in requests])
        return PageOutcome(len(page), after_page(page), len(requests), tuple(failures))

    def _versions(
        self,
        table: MigratedTable,
        mark: bytes | None,
        name: str,
        key_range: KeyRange,
        rows: int,
    ) -> Protocol[tuple[list[Row], dict[bytes, tuple[StoredVersion, ...]]]]:
        """Return the rows of a page that have the column, and all versions of its columns."""
        context = table.runtime.guard_context
        columns = self.columns
        page = yield from scan_page(name, (columns.read,), key_range, rows, context)
        if not page:
            return page, {}
        keys = tuple(row.key for row in page)
        # A read that shows tombstones reads whole families.
        wanted = (columns.read, *columns.others, *(() if mark is None else (mark,)))
        families = tuple(dict.fromkeys(column.partition(b":")[0] for column in wanted))
        request = GetVersionsOfRows(name, keys, families, _ALL_VERSIONS, raw=True)
        answers = yield from ask_with_retry(request, context.retries)
        return page, dict(zip(keys, answers, strict=True))
