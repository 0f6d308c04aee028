"""Operations that create and drop tables."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.binding.table_creation.table_removal import delete_last_record, drop_with_indexes
from hbase_orm.index.catalog.catalog import read_cells
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Operation,
    begin,
)
from hbase_orm.migrate.operations.rebuilt import models_of
from hbase_orm.migrate.operations.refusals import TargetExistsError
from hbase_orm.migrate.operations.rows.steps import NoCheckpoint
from hbase_orm.migrate.operations.source_text import call
from hbase_orm.ops import ListTables, Protocol, ask
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import read_record
from hbase_orm.rowkey.periods import UNITS


@dataclass(frozen=True)
class CreateTable(CheckedOperation):
    """Create a table with its indexes and its record, as the declaration after the revision says.

    The tables of a model with a table for each period are created by writes, or by
    `engine.create_tables(M, periods=...)`.

    Attributes:
        table: The table.
    """

    table: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"create table {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the drop of the table."""
        return DropTable(self.table)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: some requests."""
        return Estimate((MigratedTable(migration, self.table).name,), None, 10, None)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Create the table.

        Raises:
            TargetExistsError: The table existed before the operation was begun.
            DeclarationError: The revision lacks what is needed to make the table.
        """
        table = MigratedTable(migration, self.table)
        declaration = table.after
        models = models_of(table, declaration)
        is_begun = checkpoint.interrupted is not None or bool(checkpoint.position)
        if not is_begun:
            refuse_existing(table)
        if migration.options.dry_run or declaration.period:
            return
        if is_begun and table.run(described(table.name)) is None:
            # An interrupted creation, or an interrupted drop, may have left index tables.
            DropTable(self.table).run(migration, NoCheckpoint())
        begin(checkpoint)
        migration.engine.create_tables(*models.values())

    def source(self) -> str:
        """Return the Python source."""
        return call("CreateTable", self.table, comment=self.comment)


def refuse_existing(table: MigratedTable) -> None:
    """Raise an error if a table that an operation makes exists already.

    Raises:
        TargetExistsError: It exists.
    """
    if table.after.period or table.run(described(table.name)) is None:
        return
    record = table.run(read_record(table.name))
    raise TargetExistsError(
        "the table that the revision makes exists already",
        table=table.name,
        has_record=record is not None,
        fix="drop or rename the table; or, if it is what the revision makes, stamp the revision: "
        "'hbase-orm stamp'",
    )


@dataclass(frozen=True)
class DropTable(CheckedOperation):
    """Drop a table with all its rows, its indexes and its record. Dictionaries stay.

    Attributes:
        table: The table.
    """

    table: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"drop table {self.table} with all its rows"

    def reverse(self) -> Operation | Irreversible:
        """Return why there is no way back."""
        return Irreversible("the rows of the table are deleted")

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: some requests."""
        name = MigratedTable(migration, self.table).name
        return Estimate((name,), None, 10, None, f"all rows of {self.table} are deleted")

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Drop the table; a table that does not exist is left out.

        Raises:
            TableHeldError: Another program uses the table exclusively.
            ConflictError: Another program has created or truncated the table since this operation
                began.
        """
        table = MigratedTable(migration, self.table)
        _, stored = table.run(read_cells(table.name))
        record = TableRecord.decode(stored, table.name) if stored else None
        names = table.noted_names() if record is None else table.existing(record.current)
        if migration.options.dry_run:
            return
        begin(checkpoint)
        table.runtime.clean_up.finish()  # its deletes must not reach later tables of the names
        table.run(table.refuse_held(names))
        for name in names:
            # A table whose creation was interrupted may have index tables and nothing else.
            table.run(drop_with_indexes(name, _declared_indexes(table)))
            table.runtime.catalog.forget(name)
        table.run(_delete_record(table.name, stored, record))
        table.runtime.catalog.forget(table.name)

    def source(self) -> str:
        """Return the Python source."""
        return call("DropTable", self.table, comment=self.comment)


def _declared_indexes(table: MigratedTable) -> set[str]:
    """Return the names of the indexes that the revision has for a table, before or after."""
    both = (table.migration.before, table.migration.after)
    declared = [each[table.declared] for each in both if table.declared in each]
    return {index for declaration in declared for index in declaration.indexes}


def _delete_record(name: str, stored: bytes, record: TableRecord | None) -> Protocol[None]:
    unit = None if record is None else UNITS.get(record.current.period)

    def existing() -> Protocol[list[str]]:
        names = yield from ask(ListTables())
        if unit is None:
            return [each for each in names if each == name]
        return [each for each in names if unit.start_of(name, each) is not None]

    return delete_last_record(name, stored, existing, is_only=unit is None)
