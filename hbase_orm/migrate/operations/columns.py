"""Operations on columns that change only the record, and the deletion of a column's cells."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.migrate.operations import record_edits as edits
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
from hbase_orm.migrate.operations.record_updates import updated
from hbase_orm.migrate.operations.refusals import mismatch, unsupported
from hbase_orm.migrate.operations.rows.estimates import rows_estimate
from hbase_orm.migrate.operations.rows.row_edits import after_page
from hbase_orm.migrate.operations.rows.row_kinds import column_name, recorded_column, refuse_indexed
from hbase_orm.migrate.operations.rows.row_walk import PageOutcome, RowWalk
from hbase_orm.migrate.operations.source_text import call
from hbase_orm.ops import Delete, KeyRange, MutateRows, Protocol, RowMutation, ask_with_retry
from hbase_orm.record.declaration import Declaration, RecordedColumn
from hbase_orm.record.spec_notation import codec_text
from hbase_orm.record.specifications import same_codec


@dataclass(frozen=True)
class AddColumn(CheckedOperation):
    """Add a column to the record, as in the declaration after the revision; no row is changed.

    Attributes:
        table: The table.
        column: The column, as `family:qualifier`; of dynamic columns the prefix.
    """

    table: str
    column: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"add column {self.column} to {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the deletion of the column with its cells."""
        return DropColumn(self.table, self.column)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: only the record is changed."""
        return Estimate((MigratedTable(migration, self.table).name,), None, 2, None)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Add the column to the record.

        Raises:
            RecordMismatchError: The record has the column with another codec.
        """
        table = MigratedTable(migration, self.table)
        name = column_name(self.column)
        wanted = recorded_column(table.name, table.after, self.column)
        known = edits.column_of(table.recorded(), name)
        if known is not None and not same_codec(known.codec, wanted.codec):
            raise mismatch(
                table.name,
                f"column {self.column}",
                codec_text(known.codec),
                f"no such column, or {codec_text(wanted.codec)}",
            )
        if not migration.options.dry_run:
            begin(checkpoint, was_there=known is not None)
            table.change(partial(edits.with_columns_of, after=table.after, column=name))

    def source(self) -> str:
        """Return the Python source."""
        return call("AddColumn", self.table, self.column, comment=self.comment)


@dataclass(frozen=True)
class DropColumn(CheckedOperation):
    """Remove a column from the record, and delete its cells beside the programs that write rows.

    Cells that programs with an older class write later stay behind, without a declaration.

    Attributes:
        table: The table.
        column: The column, as `family:qualifier`.
        keep_cells: Whether the cells stay. Then the operation can be undone.
    """

    table: str
    column: str
    _: KW_ONLY
    keep_cells: bool = False
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        kept = ", keep its cells" if self.keep_cells else " with its cells"
        return f"drop column {self.column} of {self.table}{kept}"

    def reverse(self) -> Operation | Irreversible:
        """Return AddColumn if the cells are kept; else why there is no way back."""
        if self.keep_cells:
            return AddColumn(self.table, self.column)
        return Irreversible("the values of the column are deleted")

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: the rows that have the column are read, and deleted in batches."""
        table = MigratedTable(migration, self.table)
        if self.keep_cells:
            return Estimate((table.name,), None, 2, None)
        names = table.existing(table.recorded())
        lost = f"the values of {self.column} in {self.table} are deleted"
        return rows_estimate(table, names, requests_per_row=0.01, irreversible=lost)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Remove the column from the record, then delete its cells.

        Raises:
            UnsupportedOperationError: The column shows which rows exist, or an index uses it.
        """
        table = MigratedTable(migration, self.table)
        name = column_name(self.column)
        recorded = table.recorded()
        self._refuse(table, recorded)
        tables = table.existing(recorded)
        if migration.options.dry_run:
            return
        begin(checkpoint)
        # The record first: programs that start now do not write the column again.
        table.change(partial(edits.without_column, column=name))
        if not self.keep_cells:
            delete_cells(table, name, tables, checkpoint)

    def _refuse(self, table: MigratedTable, recorded: Declaration) -> None:
        known = edits.column_of(recorded, column_name(self.column))
        if known is not None and (known.role == "version" or not self._can_delete(known)):
            raise unsupported(
                f"the column is a {known.role} column",
                "keep its cells: DropColumn(..., keep_cells=True); a version column stays",
                table=table.name,
                column=self.column,
            )
        if any(rows.anchor == column_name(self.column) for rows in recorded.rows):
            raise unsupported(
                "the column shows which rows exist: without it the rows would be gone",
                "delete the rows, or move them to another table with RekeyTable",
                table=table.name,
                column=self.column,
            )
        refuse_indexed(table.name, recorded, self.column, self.describe())

    def _can_delete(self, known: RecordedColumn) -> bool:
        return self.keep_cells or known.role != "dynamic"

    def source(self) -> str:
        """Return the Python source."""
        kept: dict[str, Any] = {"keep_cells": True} if self.keep_cells else {}
        return call("DropColumn", self.table, self.column, comment=self.comment, **kept)


def delete_cells(
    table: MigratedTable, column: bytes, tables: list[str], checkpoint: Checkpoint
) -> None:
    """Delete the cells of a column that exist now; what is written later stays."""

    def page(name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        yield from table.refuse_held([name])
        context = table.runtime.guard_context
        page = yield from scan_page(name, (column,), key_range, rows, context)
        deletes = tuple(
            RowMutation(
                row.key,
                deletes=tuple(Delete(c, cell.timestamp_ms) for c, cell in row.cells.items()),
            )
            for row in page
        )
        if deletes:
            yield from ask_with_retry(MutateRows(name, deletes), context.retries)
        return PageOutcome(len(page), after_page(page), len(page))

    RowWalk(table, f"delete column {column.decode()}", page, checkpoint).run(tables)


@dataclass(frozen=True)
class RenameColumn(CheckedOperation):
    """Give a field another name in the record; its column and all cells stay as they are.

    Programs with either name of the field may run side by side.

    Attributes:
        table: The table.
        old: The name of the field until now.
        new: Its new name.
    """

    table: str
    old: str
    new: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"rename field {self.old} of {self.table} to {self.new}"

    def reverse(self) -> Operation | Irreversible:
        """Return the renaming back."""
        return RenameColumn(self.table, self.new, self.old)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: only the record is changed."""
        return Estimate((MigratedTable(migration, self.table).name,), None, 2, None)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Rename the field in the record.

        Raises:
            RecordMismatchError: No model of the record has the field.
        """
        table = MigratedTable(migration, self.table)
        recorded = table.recorded()
        if not any((*edits.fields_named(recorded, self.old),)) and not any(
            (*edits.fields_named(recorded, self.new),)
        ):
            raise mismatch(table.name, f"field {self.old}", "nothing", "a field of a model")
        if not migration.options.dry_run:
            begin(checkpoint)
            table.change(partial(edits.with_renamed_field, old=self.old, new=self.new))

    def source(self) -> str:
        """Return the Python source."""
        return call("RenameColumn", self.table, self.old, self.new, comment=self.comment)


@dataclass(frozen=True)
class UpdateRecord(CheckedOperation):
    """Add to the record what the declaration after the revision has more; no row is changed.

    These are new codes of a codec, columns that may be None or not any more, further models of the
    table, and the like: programs with the old class and with the new one may run side by side.
    Columns, qualifiers, codecs, names of fields, families and indexes stay as they are: the
    operations that change them may stand before or after it.

    Attributes:
        table: The table.
    """

    table: str
    _: KW_ONLY
    comment: str = ""

    def describe(self) -> str:
        """Return the operation as one line."""
        return f"update the record of {self.table}"

    def reverse(self) -> Operation | Irreversible:
        """Return the same operation: what the record has more does no harm."""
        return UpdateRecord(self.table)

    def estimate(self, migration: Migration) -> Estimate:
        """Return the estimate: only the record is changed."""
        return Estimate((MigratedTable(migration, self.table).name,), None, 2, None)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Update the record."""
        table = MigratedTable(migration, self.table)
        if not migration.options.dry_run:
            begin(checkpoint)
            table.change(partial(updated, after=table.after))

    def source(self) -> str:
        """Return the Python source."""
        return call("UpdateRecord", self.table, comment=self.comment)
