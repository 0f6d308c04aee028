"""The tables that a move makes: the new table, or those of the periods, and new keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hbase_orm.binding.table_creation.existing_tables import TableWarnings, described
from hbase_orm.binding.table_creation.model_tables import create, drop_table
from hbase_orm.binding.table_creation.table_descriptors import index_table
from hbase_orm.binding.table_creation.table_records import new_table_id
from hbase_orm.binding.table_moves.recorded_move import MovedModels
from hbase_orm.errors import ConflictError
from hbase_orm.index.catalog.catalog import catalog_descriptor, read_entry
from hbase_orm.index.catalog.registration import register
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.refusals import TargetExistsError
from hbase_orm.migrate.operations.rows.steps import NoCheckpoint
from hbase_orm.migrate.operations.tables import DropTable, refuse_existing
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import CreateTable, ListRegions, Protocol, ask
from hbase_orm.record.closed_tables import closed, closed_why, filled_from, moved_to
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.store import ID_ATTRIBUTE, change_record


@dataclass(frozen=True)
class NewTables:
    """The tables that an online move makes and drops.

    The tables of periods are made when the first row of a period is handed over; before, only
    their record and their common entry in the catalog exist.

    Attributes:
        source: The old table.
        target: The new table, or the tables of all periods.
        models: The models of both.
        declared: The declaration of the new table, as long as rows move to it.
        new_key_table: The index table of new keys; empty if each row keeps its key.
    """

    source: MigratedTable
    target: MigratedTable
    models: MovedModels
    declared: Declaration
    new_key_table: str

    def refuse_existing(self) -> None:
        """Raise an error if a new table exists, unless its rows were moved to the old one.

        Raises:
            TargetExistsError: It exists.
        """
        refuse_existing_tables(self.source, self.target)

    def create(self) -> None:
        """Create the new table and the index of new keys.

        The record is written before the table is created, and contradicts every class until the
        move begins: programs of the new class would take the table for an empty one.
        """
        if was_source(self.source, self.target):
            DropTable(self.target.declared).run(self.source.migration, NoCheckpoint())
        entry = self.source.run(read_entry(self.target.name))
        if entry is None or entry.move is None or not entry.move.is_running:
            self.source.run(self._created_closed())
        if self.new_key_table:
            self.source.run(self._created_new_key_table())

    def _created_closed(self) -> Protocol[None]:
        filled = filled_from(self.source.name)

        def edit(record: TableRecord | None) -> TableRecord:
            return record or TableRecord(new_table_id(), closed(self.declared, filled))

        yield from create_if_missing(CreateTable(catalog_descriptor()))
        record = yield from change_record(self.target.name, edit)
        if self.target.has_periods:
            yield from register(self.target.name, {}, is_new=True)
            return
        warnings = TableWarnings()
        yield from create(self.models.new, record.table_id, warnings)
        warnings.log()

    def _created_new_key_table(self) -> Protocol[None]:
        """Create the index table of new keys with the regions of the new table."""
        splits: tuple[bytes, ...] = ()
        if not self.target.has_periods:
            regions = yield from ask(ListRegions(self.target.name))
            splits = tuple(region.start for region in regions if region.start)
        schema = self.models.old.schema
        table = index_table(schema, self.new_key_table, is_covering=False)
        yield from create_if_missing(CreateTable(table, splits))

    def refuse_foreign(self) -> None:
        """Raise an error for tables of periods that no program of the move has made.

        A program of the new class may have made one before the move began. Call it when no program
        from before the move is left, and none hands rows over yet.

        Raises:
            ConflictError: There is such a table.
        """
        foreign = list(self._foreign()) if self.target.has_periods else []
        if foreign:
            raise ConflictError(
                "tables of periods were made by programs that did not know of the move",
                table=self.target.name,
                tables=foreign[:10],
                fix="drop these tables in the HBase shell if their rows are not needed, and run "
                "the upgrade again; a downgrade gives the move up",
            )

    def _foreign(self) -> Iterator[str]:
        own = self.target.record_id()
        for name in self.target.existing(self.target.after):
            there = self.source.run(described(name))
            if there is not None and there.attributes.get(ID_ATTRIBUTE) != own:
                yield name

    def drop_new_keys(self) -> None:
        """Drop the index of new keys, if there is one."""
        if self.new_key_table:
            self.source.run(drop_table(self.new_key_table))


def refuse_existing_tables(source: MigratedTable, target: MigratedTable) -> None:
    """Raise an error if a new table exists, unless its rows were moved to the old one.

    Raises:
        TargetExistsError: It exists.
    """
    if was_source(source, target):
        return
    if not target.has_periods:
        refuse_existing(target)
        return
    existing = target.existing(target.after)
    if existing:
        raise TargetExistsError(
            "tables of periods to which the rows are to be moved exist already",
            table=target.name,
            tables=existing[:10],
            fix="drop these tables if their rows are not needed, or give the new tables another "
            "name",
        )
    if target.recorded_or_none() is not None:
        raise TargetExistsError(
            "tables of periods to which the rows are to be moved have a record already",
            table=target.name,
            fix="delete the record by engine.drop_tables with the new class, or give the new "
            "tables another name",
        )


def was_source(source: MigratedTable, target: MigratedTable) -> bool:
    """Return whether rows were moved from the new table to the old one before."""
    record = target.recorded_or_none()
    return record is not None and closed_why(record) == moved_to(source.name)


def drop_new_tables(source: MigratedTable, target: MigratedTable) -> None:
    """Drop what a move has made: the new tables, their record, and the index of new keys."""
    DropTable(target.declared).run(target.migration, NoCheckpoint())
    if not source.has_periods:  # rows of tables of periods are only copied, without such an index
        source.run(drop_table(new_keys_name(source)))


def new_keys_name(source: MigratedTable) -> str:
    """Return the name of the index table of new keys of an old table."""
    return f"{source.name}_new_keys"
