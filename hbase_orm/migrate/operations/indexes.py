"""Operations on indexes: they are built and dropped while programs use the table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass
from functools import partial

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import CatalogIndex, IndexState
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.index_admin.build import BuildProgress
from hbase_orm.index_admin.drop import drop_tables, stop_using
from hbase_orm.migrate.operations import record_edits as edits
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Operation,
    Progress,
    begin,
)
from hbase_orm.migrate.operations.rebuilt import models_of
from hbase_orm.migrate.operations.refusals import mismatch
from hbase_orm.migrate.operations.rows.estimates import rows_estimate
from hbase_orm.migrate.operations.source_text import call
from hbase_orm.model import Model
from hbase_orm.record.declaration import Declaration, RecordedIndex


@dataclass(frozen=True)
class AddIndex(CheckedOperation):
    """Build an index, as in the declaration after the revision, while programs use the table.

    A plain table gets guards. As soon as the build begins, programs whose class does not declare
    the index may not write the table.

    Attributes:
        table: The table.
        index: The name of the index.
    """

    table: str
    index: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"add index {self.index} to {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the drop of the index."""
        return DropIndex(self.table, self.index)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: each row is reindexed, then all rows are compared."""
        table = MigratedTable(migration, self.table)
        options, engine = migration.options, migration.engine
        waits_s = table.lease_s
        if not options.exclusive and waits_s:
            waits_s += engine.options.timeout_s + options.gateway_timeout_s
        names = table.existing(table.recorded())
        return rows_estimate(table, names, requests_per_row=1.1, passes=2, waits_s=waits_s)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Build the index; the catalog keeps the progress. An interrupted drop is finished first.

        Raises:
            RecordMismatchError: The record has another index of this name.
            DeclarationError: The record lacks what is needed to compute the entries.
        """
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        _refuse_other(table, recorded.indexes.get(self.index), self._wanted(table), self.index)
        declaration = edits.with_index_of(recorded, table.after, self.index)
        models = models_of(table, declaration)
        model = next(each for each in models.values() if _declares(each, self.index))
        if migration.options.dry_run:
            return
        engine, options = migration.engine, migration.options
        if checkpoint.interrupted is not None or checkpoint.position:
            DropIndex(self.table, self.index).finish(table)
        begin(checkpoint, was_there=self.index in recorded.indexes)
        there = table.run(described(table.name))
        if there is not None and GUARD_FAMILY not in {each.name for each in there.families}:
            engine.add_guard_family(model)
        engine.create_tables(model)
        engine.build_index(
            model,
            self.index,
            exclusive=options.exclusive,
            rows_per_second=options.rows_per_second,
            gateway_timeout_s=options.gateway_timeout_s,
            on_progress=partial(self._report, migration),
        )

    def _wanted(self, table: MigratedTable) -> RecordedIndex:
        wanted = table.after.indexes.get(self.index)
        if wanted is None:
            raise mismatch(table.name, f"index {self.index} after the revision", "nothing", "one")
        return wanted

    def _report(self, migration: Migration, progress: BuildProgress) -> None:
        step = f"{self.describe()}: {progress.phase}"
        migration.report(Progress(step, progress.rows, progress.fraction, None))

    def source(self) -> str:
        """Return the Python source."""
        return call("AddIndex", self.table, self.index, comment=self.comment)


def _declares(model: type[Model], index: str) -> bool:
    return any(each.name == index for each in model.__schema__.indexes)


def entries_text(index: RecordedIndex) -> str:
    """Return the text that describes how entries are computed, without the name of their table."""
    return index.entries.partition(": ")[2]


def _refuse_other(
    table: MigratedTable, known: RecordedIndex | None, wanted: RecordedIndex, index: str
) -> None:
    if known is not None and entries_text(known) != entries_text(wanted):
        raise mismatch(table.name, f"index {index}", known.entries, wanted.entries)


@dataclass(frozen=True)
class DropIndex(CheckedOperation):
    """Drop an index with its tables, while programs use the table.

    Attributes:
        table: The table.
        index: The name of the index.
    """

    table: str
    index: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"drop index {self.index} of {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the build of the index."""
        return AddIndex(self.table, self.index)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: the drop waits for readers and for writers."""
        table = MigratedTable(migration, self.table)
        wait_s = self._wait_s(table)
        return Estimate((table.name,), None, 10, 2 * wait_s, waits_s=2 * wait_s)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Stop the use of the index, drop its tables, and remove it from the record.

        Raises:
            ConflictError: Another program builds the index at the same time.
            TableHeldError: Another program uses the table exclusively.
            RecordMismatchError: Neither the record nor the catalog has the index.
        """
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        known = self._known(table, recorded)
        was_there = self.index in {*recorded.indexes, *self._before(table)}
        if not was_there and not any(known.values()):
            raise mismatch(table.name, f"index {self.index}", "nothing", "an index")
        if migration.options.dry_run:
            return
        begin(checkpoint)
        for name, index in known.items():
            if index is not None:
                self._drop(table, name, index)
        table.change(partial(edits.without_index, index=self.index))

    def finish(self, table: MigratedTable) -> None:
        """Finish the drop where an interrupted run has begun it; the record stays as it is.

        Raises:
            TableHeldError: Another program uses the table exclusively.
        """
        for name, index in self._known(table, table.recorded()).items():
            if index is not None and index.state is IndexState.DROPPING:
                self._drop(table, name, index)

    def _known(self, table: MigratedTable, recorded: Declaration) -> dict[str, CatalogIndex | None]:
        """Return what the catalog has of the index, for each existing table."""
        return {name: self._catalogued(table, name) for name in table.existing(recorded)}

    def _before(self, table: MigratedTable) -> Collection[str]:
        before = table.migration.before.get(table.declared)
        return () if before is None else before.indexes.keys()

    def _catalogued(self, table: MigratedTable, name: str) -> CatalogIndex | None:
        entry = table.run(read_entry(name))
        return None if entry is None else entry.known_indexes.get(self.index)

    def _drop(self, table: MigratedTable, name: str, known: CatalogIndex) -> None:
        table.run(table.refuse_held([name]))
        forget = table.runtime.catalog.forget
        if known.state is not IndexState.ABSENT or known.build:
            table.run(
                stop_using(
                    name,
                    self.index,
                    known,
                    is_lww=None,
                    wait_s=self._wait_s(table),
                    on_change=forget,
                    on_wait=partial(self._report_wait, migration=table.migration),
                )
            )
        table.runtime.clean_up.finish()
        table.run(drop_tables(name, self.index))
        forget(name)

    def _report_wait(self, left_s: float, *, migration: Migration) -> None:
        migration.report(Progress(self.describe(), 0, None, left_s))

    def _wait_s(self, table: MigratedTable) -> float:
        return table.lease_s and table.lease_s + table.migration.engine.options.timeout_s

    def source(self) -> str:
        """Return the Python source."""
        return call("DropIndex", self.table, self.index, comment=self.comment)
