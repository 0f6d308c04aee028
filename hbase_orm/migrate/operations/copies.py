"""Operations that move all rows of a table to other tables: another row key, or other tables.

`RekeyTable`, `SplitTable` and `MergeTables` differ only in what the tables before and after are.
How the rows get from one to the other is decided in one place, `row_mover`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Operation,
)
from hbase_orm.migrate.operations.refusals import mismatch, needs_exclusive
from hbase_orm.migrate.operations.rows.begun_moves import begun_move, is_unfinished
from hbase_orm.migrate.operations.rows.estimates import rows_estimate
from hbase_orm.migrate.operations.rows.exclusive_copy import ExclusiveCopy
from hbase_orm.migrate.operations.rows.online_move import ONLINE, OnlineMove
from hbase_orm.migrate.operations.rows.row_mover import RowMover
from hbase_orm.migrate.operations.rows.steps import phase_of
from hbase_orm.migrate.operations.rows.turned_moves import GivenUpMove, TurnedMove
from hbase_orm.migrate.operations.source_text import call


def row_mover(source: MigratedTable, target: MigratedTable, operation: str, begun: str) -> RowMover:
    """Return what moves the rows of one table to another: the seam for other ways to move rows.

    Exclusively, rows are copied. Otherwise they are handed over one by one while programs use both
    tables. What was begun in one way goes on in the same way. The move back from a table that has
    no rows yet gives the move to it up.

    Args:
        source: The table until now.
        target: The new table.
        operation: The operation, as one line.
        begun: The phase of the checkpoint; empty if nothing was begun.

    Raises:
        NeedsExclusiveUseError: The operation was begun exclusively.
    """
    if is_unfinished(target, source):
        return GivenUpMove(OnlineMove(target, source, operation))
    is_online = begun.startswith(ONLINE) or begun_move(source, target) is not None
    if is_online or not (source.migration.options.exclusive or begun):
        return OnlineMove(source, target, operation)
    if not source.migration.options.exclusive:
        raise needs_exclusive(operation, source.name, "it was begun with --exclusive")
    return ExclusiveCopy(source, target)


@dataclass(frozen=True)
class MovingOperation(CheckedOperation):
    """An operation that moves the rows of `table` to `new_table`; the old table is kept.

    Attributes:
        table: The table until now, or the pattern of its names.
        new_table: The new table, or the pattern of the names of the new tables.
    """

    table: str
    _: KW_ONLY
    new_table: str
    comment: str = ""

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: each row is read and written, and beside other programs twice."""
        table, options = MigratedTable(migration, self.table), migration.options
        # After an interrupted move to the table, its record or the table itself may be missing.
        recorded = table.recorded_or_none()
        names = [] if recorded is None else table.existing(recorded)
        names = [name for name in names if table.run(described(name)) is not None]
        if options.exclusive or not table.lease_s:
            waits_s = 2 * table.lease_s
            return rows_estimate(table, names, requests_per_row=0.02, passes=2, waits_s=waits_s)
        timeout_s = migration.engine.options.timeout_s + options.gateway_timeout_s
        waits_s = 4 * (table.lease_s + timeout_s)
        return rows_estimate(table, names, requests_per_row=6.0, passes=3, waits_s=waits_s)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Make the new table, move the rows, and refuse the old table from then on.

        Raises:
            NeedsExclusiveUseError: Such tables cannot be moved while other programs use them.
            TargetExistsError: The new table existed before the operation was begun.
            RefusedRowsError: Rows do not decode, or two rows get the same row key.
        """
        migration = self._placed(migration)
        source = MigratedTable(migration, self.table)
        target = MigratedTable(migration, self.new_table)
        before, after = bool(source.before.period), bool(target.after.period)
        self.check_periods(source, before=before, after=after)
        operation = self.describe()

        def finish(source: MigratedTable, target: MigratedTable, begun: str) -> RowMover:
            return row_mover(source, target, operation, begun)

        turned = TurnedMove(source, target, finish, operation)
        if not turned.is_done(checkpoint):
            begun, _ = phase_of(checkpoint)
            row_mover(source, target, operation, begun).run(checkpoint)

    def _placed(self, migration: Migration) -> Migration:
        """Return the migration with the declarations of both tables under their own names.

        A revision that was proposed has both under the name that the model has in its table.
        """
        names = (self.table, self.new_table)
        before = next((migration.before[n] for n in names if n in migration.before), None)
        after = next((migration.after[n] for n in reversed(names) if n in migration.after), None)
        return replace(
            migration,
            before={} if before is None else {self.table: before},
            after={} if after is None else {self.new_table: after},
        )

    @abstractmethod
    def check_periods(self, table: MigratedTable, *, before: bool, after: bool) -> None:
        """Raise an error unless the tables before and after are what the operation is for."""

    @property
    @abstractmethod
    def _name(self) -> str:
        """The name of the operation in revision files."""

    def source(self) -> str:
        """Return the Python source."""
        return call(self._name, self.table, comment=self.comment, new_table=self.new_table)


@dataclass(frozen=True)
class RekeyTable(MovingOperation):
    """Move the rows of a table to a table with another row key, or other columns and codecs."""

    @property
    def _name(self) -> str:
        return "RekeyTable"

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"move the rows of {self.table} to {self.new_table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the move back, to the table that the declarations before it name."""
        return RekeyTable(self.new_table, new_table=self.table)

    def check_periods(self, table: MigratedTable, *, before: bool, after: bool) -> None:
        """Raise an error if only one side is a table for each period."""
        if before != after:
            raise mismatch(table.name, "tables", before, "one table, or one for each period")


@dataclass(frozen=True)
class SplitTable(MovingOperation):
    """Move the rows of a table to a table for each period."""

    @property
    def _name(self) -> str:
        return "SplitTable"

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"split {self.table} into {self.new_table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the merge of the tables."""
        return MergeTables(self.new_table, new_table=self.table)

    def check_periods(self, table: MigratedTable, *, before: bool, after: bool) -> None:
        """Raise an error unless one table becomes several."""
        if before or not after:
            raise mismatch(table.name, "tables", after, "one table, and then one for each period")


@dataclass(frozen=True)
class MergeTables(MovingOperation):
    """Move the rows of the tables of all periods to one table."""

    @property
    def _name(self) -> str:
        return "MergeTables"

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"merge {self.table} into {self.new_table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the split of the table."""
        return SplitTable(self.new_table, new_table=self.table)

    def check_periods(self, table: MigratedTable, *, before: bool, after: bool) -> None:
        """Raise an error unless several tables become one."""
        if not before or after:
            raise mismatch(table.name, "tables", before, "one for each period, and then one table")
