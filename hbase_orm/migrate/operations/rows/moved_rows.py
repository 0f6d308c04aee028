"""What a move does with the pages of the old table: it indexes, moves and checks their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hbase_orm.binding.table_moves.moves_in_progress import with_new_indexes
from hbase_orm.binding.table_moves.recorded_move import MovedModels
from hbase_orm.binding.table_writer import LEASE_RENEWALS
from hbase_orm.errors import (
    CatalogLeaseError,
    CodecError,
    ConflictError,
    CorruptRowError,
    RowKeyError,
    TableNotFoundError,
    ValidationError,
)
from hbase_orm.index.catalog.catalog import CatalogView, read_entry
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GuardContext,
    GuardedTable,
    RowBefore,
)
from hbase_orm.index.protocol.requests import guarded_row
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.index_admin.lease import TableLease
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.refusals import mismatch
from hbase_orm.migrate.operations.rows.row_edits import after_page
from hbase_orm.migrate.operations.rows.row_walk import PageOutcome, RowFailure, failure_text
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.new_entries import index_unchanged_rows
from hbase_orm.moving.translation import RowMoves, data_cells
from hbase_orm.ops import Cell, KeyRange, Protocol

_NO_ANCHOR: Final = "the row lacks the column that shows, while rows move, that a row exists"

_NO_PLACE: Final = "the new table has no place for any cell of the row"

_MISFITS: Final = (CodecError, CorruptRowError, RowKeyError, ValidationError)


def _misfit(moves: RowMoves, key: bytes, cells: Mapping[bytes, Cell]) -> str:
    """Return why an old row that exists cannot be moved; empty if it can."""
    try:
        move = moves.of_row(key)
        new = move.to_new(key, cells)
    except _MISFITS as error:
        return failure_text(error)
    # A row without cells is none: all that it says would be in the new row key.
    return "" if new is None or move.new.exists(new.cells) else _NO_PLACE


@dataclass
class MovedRows:
    """The rows of a move, page by page.

    Attributes:
        source: The old table.
        target: The new table.
        models: The models of both tables.
        new_key_table: The index table of new keys; empty if each row keeps its key.
        note_guard: A function that is called with the newest timestamp of the guards of a page.
    """

    source: MigratedTable
    target: MigratedTable
    models: MovedModels
    new_key_table: str
    note_guard: Callable[[int], None]

    def indexed_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        """Put the entries of a page's rows into the index of new keys and the new indexes.

        Rows that do not fit the new table are left out and reported, before any row moves.
        """
        moves = self.models.declared_move(self.new_key_table)
        columns = (*moves.old.families, GUARD_COLUMN)
        context = self.source.runtime.guard_context
        page = yield from scan_page(name, columns, key_range, rows, context)
        rejected: dict[bytes, str] = {}
        for row in page:
            cells = data_cells(row)
            is_plain = not self.models.old.schema.is_guarded and GUARD_COLUMN not in row.cells
            if moves.old.exists(cells):
                reason = _misfit(moves, row.key, cells)
            else:
                reason = _NO_ANCHOR if is_plain and cells else ""
            if reason:
                rejected[row.key] = reason
        fitting = [row.key for row in page if row.key not in rejected]
        as_read = {row.key: guarded_row(row.cells) for row in page if row.key not in rejected}
        lease = self._lease()
        finished = yield from self._indexed_together(lease, as_read)
        others = [key for key in fitting if key not in finished]
        yield from RowReindexer(lease).reindex(others, rejected, as_read)
        failures = [RowFailure(name, key, why.splitlines()[0]) for key, why in rejected.items()]
        return PageOutcome(len(page), after_page(page), len(fitting), tuple(failures))

    def _indexed_together(
        self, lease: TableLease, rows: Mapping[bytes, RowBefore | None]
    ) -> Protocol[set[bytes]]:
        """Index the rows that nobody changes meanwhile; return their keys.

        Without a lease, or without a table of the new indexes, no row is indexed: whoever indexes
        the rows one by one finds out what has become of the move.
        """
        target, context = yield from lease.permitted()
        entry = self._view.entry(self.source.name)
        if entry is None:  # a pause of a lease just now
            return set()
        own = {index.table for index in self._moves_of(entry).old.indexes}
        added = [index for index in target.indexes if index.table not in own]
        try:
            return (yield from index_unchanged_rows(target, added, rows, context))
        except (CatalogLeaseError, TableNotFoundError):
            lease.forget()
            return set()

    def _lease(self) -> TableLease:
        """Return a lease on the old table with the indexes that its writers maintain."""
        runtime = self.source.runtime
        return TableLease(
            self.source.name, self._written_old_table, self._view, runtime.guard_context
        )

    def _written_old_table(self, entry: CatalogEntry) -> GuardedTable:
        self._check_phase(entry, Phase.INDEXING)
        moves = self._moves_of(entry)
        return with_new_indexes(moves.old, moves)

    def _moves_of(self, entry: CatalogEntry) -> RowMoves:
        return self.models.move(entry, self._new_entry, self.new_key_table)

    @cached_property
    def _new_entry(self) -> CatalogEntry:
        new = self.source.run(read_entry(self.target.name))
        if new is None:
            raise mismatch(self.target.name, "catalog entry", "nothing", "an entry")
        return new

    def _check_phase(self, entry: CatalogEntry, *phases: Phase) -> None:
        if entry.move is None or entry.move.phase not in phases:
            raise ConflictError(
                "another program has changed the move of the table's rows",
                table=self.source.name,
                phase="none" if entry.move is None else entry.move.phase.name,
                fix="look at 'hbase-orm current', then run the upgrade again",
            )

    def moved_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        """Hand over the rows of a page; begin again if a lease ended in the middle."""
        for renewals_left in reversed(range(LEASE_RENEWALS)):
            try:
                return (yield from self._moved_page(name, key_range, rows))
            except CatalogLeaseError:
                if not renewals_left:
                    raise
        raise AssertionError(name)  # the last renewal returned or raised

    def _moved_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        moves, context = yield from self._mover()
        try:
            page = yield from move_page(moves, key_range, context, page_rows=rows)
        except _MISFITS:
            return (yield from self._moved_rows(name, key_range, rows))
        return PageOutcome(page.seen, page.next, page.handed_over)

    def checked_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        """Hand over what programs of the phase before left, and check the rows of a page."""
        moves, context = yield from self._mover()
        page = yield from check_page(moves, key_range, context, page_rows=rows)
        moved = PageOutcome(page.seen, page.next)
        if page.left:
            moved = yield from self.moved_page(name, key_range, rows)
            moves, context = yield from self._mover()
            page = yield from check_page(moves, key_range, context, page_rows=rows)
        self.note_guard(page.newest_ms)
        failures = list(moved.failures)
        known = {failure.row for failure in failures}
        for key in page.left:
            if key not in known:
                failures += yield from self._checked_again(name, key)
        return PageOutcome(page.seen, page.next, moved.changed, tuple(failures))

    def _checked_again(self, name: str, key: bytes) -> Protocol[tuple[RowFailure, ...]]:
        """Hand over and check one row: a program may just have begun to hand it over."""
        one = KeyRange(key, key + b"\x00")
        moved = yield from self.moved_page(name, one, 1)
        moves, context = yield from self._mover()
        page = yield from check_page(moves, one, context, page_rows=1)
        self.note_guard(page.newest_ms)
        if moved.failures or not page.left:
            return moved.failures
        return (RowFailure(name, key, "the new table does not have the row"),)

    def _moved_rows(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        """Hand over the rows of a page one by one; leave those that do not decode or fit."""
        moves, context = yield from self._mover()
        families = (*moves.old.families, GUARD_COLUMN)
        page = yield from scan_page(name, families, key_range, rows, context)
        failures: list[RowFailure] = []
        for row in page:
            one = KeyRange(row.key, row.key + b"\x00")
            try:
                yield from move_page(moves, one, context, page_rows=1)
            except _MISFITS as error:
                failures.append(RowFailure(name, row.key, failure_text(error)))
        done = len(page) - len(failures)
        return PageOutcome(len(page), after_page(page), done, tuple(failures))

    def _mover(self) -> Protocol[tuple[RowMoves, GuardContext]]:
        """Return the move, and a context that permits to write both tables in MOVING."""
        tables = (self.source.name, self.target.name)

        def renew() -> Protocol[None]:
            for table in tables:
                entry = self._view.entry(table)
                # It may be an entry of the phase INDEXING, with an earlier epoch.
                if entry is None or entry.move is None or entry.move.phase is not Phase.MOVING:
                    self._check_phase((yield from self._view.refresh(table)), Phase.MOVING)

        yield from renew()
        old, new = (self._view.entry(table) for table in tables)
        if old is None or new is None:  # a pause of a lease just now
            return (yield from self._mover())
        moves = self.models.move(old, new, self.new_key_table)
        context = self.source.runtime.guard_context

        def permit(table: str) -> int:
            # The tables of all periods are written under one entry.
            return self._view.permit(tables[0] if table == tables[0] else tables[1])

        return moves, replace(context, permit=permit, renew=renew)

    @cached_property
    def _view(self) -> CatalogView:
        return self.source.runtime.catalog.separate_leases()
