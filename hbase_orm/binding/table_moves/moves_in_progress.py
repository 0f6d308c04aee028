"""The moves of tables that this process knows by the catalog, and writes of tables in a move."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.binding.maintained_indexes import kept_indexes
from hbase_orm.binding.table_creation.period_tables import make_period_of_move
from hbase_orm.binding.table_moves.fitting_changes import fitting_change
from hbase_orm.binding.table_moves.recorded_move import MovedModels, Moves, moved_models
from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    DeclarationError,
    RecordError,
    RejectedError,
    SchemaDriftError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.move_phases import CatalogMove, Phase
from hbase_orm.index.entries.targets import GuardContext, GuardedTable, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History
from hbase_orm.index.protocol.row_change import write_row
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.late_increments import confirm_late
from hbase_orm.moving.moved_increment import before_increment, moved_increment
from hbase_orm.moving.moved_requests import CurrentMove
from hbase_orm.moving.moved_write import MovedHistory, moved_write
from hbase_orm.moving.translation import RowMoves
from hbase_orm.ops import Increment, Protocol, ask
from hbase_orm.record.declaration import TableRecord


@dataclass(frozen=True, slots=True)
class _KnownModels:
    """The models of a move, and the bytes of the records that they were made from."""

    records: tuple[bytes, bytes]
    models: MovedModels


@dataclass(frozen=True, slots=True)
class _KnownMove:
    """The last description of a move, and the very objects that it was made from."""

    entries: tuple[CatalogEntry, CatalogEntry]
    models: MovedModels
    move: Moves

    def is_of(self, entries: tuple[CatalogEntry, CatalogEntry], models: MovedModels) -> bool:
        (old, new), (own_old, own_new) = entries, self.entries
        return old is own_old and new is own_new and models is self.models


class TableMoves:
    """The moves of tables, as the catalog's cache shows them. Threads may share it.

    Attributes:
        leases: The cache of the catalog.
    """

    def __init__(self, catalog: CatalogCache, features: frozenset[Feature]) -> None:
        """Start without known moves; nothing is sent."""
        self.leases = catalog
        self._catalog = catalog
        self._features = features
        self._models: dict[tuple[str, str], _KnownModels] = {}
        self._moves: dict[tuple[str, str], _KnownMove] = {}
        self._made: set[str] = set()

    # --- reads ------------------------------------------------------------------------------------

    def of(self, table: str) -> Protocol[CurrentMove | None]:
        """Return the move that brings rows to a table; None if there is none.

        The catalog's entry is read again if its lease is over. Nothing is read for a table whose
        entry this process has never read, such as an index table.

        Raises:
            SchemaDriftError: The table's rows are leaving it, so it must not be read any more.
        """
        declared = self._catalog.declared(table)
        running = yield from self.running(declared)
        if running is None:
            return None
        return CurrentMove(running[0].of_table(table), running[1])

    def running(self, declared: str) -> Protocol[tuple[Moves, Phase] | None]:
        """Return the moves that bring rows to a table or to the tables of a pattern, or None.

        Raises:
            SchemaDriftError: As for `of`.
        """
        read = self._catalog.last_read(declared)
        if read is None:
            return None
        try:
            entry = yield from self._catalog.entry(declared)
        except RejectedError:
            entry = read.entry
        move = None if entry is None else entry.move
        if entry is None or move is None:
            return None
        refuse_moved(declared, move)
        if move.is_old or not move.is_running:
            return None
        return (yield from self.description(declared, entry)), move.phase

    # --- writes -----------------------------------------------------------------------------------

    def change(
        self,
        bound: BoundModel,
        entry: CatalogEntry,
        change: RowChange,
        context: GuardContext,
        history: History,
    ) -> Protocol[WriteOutcome]:
        """Change a row of a table in a move, where the row is.

        Args:
            bound: The bound model that is written.
            entry: The catalog's entry of its table, which has a move.
            change: The change of the row.
            context: The clocks, random numbers, and the permission under `entry`.
            history: The state of the same write before a lease expired.

        Raises:
            SchemaDriftError: The rows leave this table: the program needs the class of the other.
            CatalogLeaseError: A lease has expired; forget both tables, and repeat the write.
            HBaseORMError: As for `moved_write` and `guarded_write`.
        """
        table, move = bound.declared_table, entry.move
        if move is None or bound.guarded is None:
            raise AssertionError(bound)
        own = kept_indexes(bound, entry)  # refuses a model with other indexes
        refuse_moved(table, move)
        if move.is_old:
            if move.phase is Phase.INDEXING:
                moves = yield from self.description(table, entry)
                own = with_new_indexes(own, moves)
                change = fitting_change(change, moves)
            return (yield from write_row(own, change, context, history))
        if not move.is_running:
            if not bound.tables.is_only:
                context = _as_of(context, table)
                if bound.tables.are_made_by_writes:
                    yield from make_period_of_move(bound, self._features, self._made)
            return (yield from write_row(own, change, context, history))
        table_move = (yield from self.description(table, entry)).of_table(own.table)
        old_entry = yield from self._catalog.leased(move.other_table, change.row)
        moved = MovedHistory(history.in_old_table(), history)
        permitted = self.for_both(context, table, old_entry, move.other_table)
        return (
            yield from moved_write(
                table_move, move.phase, change, permitted, floor_ms=move.floor_ms, history=moved
            )
        )

    def increment(
        self, bound: BoundModel, entry: CatalogEntry, increment: Increment, context: GuardContext
    ) -> Protocol[dict[bytes, int]]:
        """Increment counters of a row of a table in a move, where the row is.

        Args:
            bound: The bound model that is written.
            entry: The catalog's entry of its table.
            increment: The request for its table.
            context: The clocks, random numbers, and the permission under `entry`.

        Raises:
            SchemaDriftError: The rows leave this table: the program needs the class of the other.
            CatalogLeaseError: A lease has expired, and nothing was added; repeat the increment.
            HBaseORMError: As for `moved_increment`.
        """
        table, move = bound.declared_table, entry.move
        if move is not None:
            refuse_moved(table, move)
        if move is None or move.is_old or not move.is_running:
            return (yield from ask(increment))
        moves = yield from before_increment(increment, self.description(table, entry))
        table_move = moves.of_table(increment.table)
        old_entry = yield from self._catalog.leased(move.other_table, increment.row)
        permitted = self.for_both(context, table, old_entry, move.other_table)

        def confirm(in_old: Increment) -> Protocol[None]:
            if not self._catalog.is_unchanged(table, entry):
                yield from self.confirm(table_move.old, in_old, old_entry, context)

        phase = move.phase
        return (yield from moved_increment(table_move, phase, increment, permitted, confirm))

    def confirm(
        self,
        table: GuardedTable,
        increment: Increment,
        entry: CatalogEntry | None,
        context: GuardContext,
    ) -> Protocol[None]:
        """Look again after an increment that was answered when the lease had ended.

        Args:
            table: The table that has added the amounts.
            increment: The increment, in the layout of this table.
            entry: The catalog's entry of this table before the request.
            context: The clocks and random numbers.

        Raises:
            ConnectionLostError: The rows of the table have moved to another one, and it is unknown
                whether the amounts were added there.
        """
        leaving = _LeavingRows(self, self._catalog.declared(increment.table), entry, context)
        yield from confirm_late(table, increment, leaving, context)

    def forget(self, table: str) -> None:
        """Forget the catalog's entries of a table, and of the other table of its move."""
        table = self._catalog.declared(table)
        read = self._catalog.last_read(table)
        move = None if read is None or read.entry is None else read.entry.move
        self._catalog.forget(table)
        if move is not None:
            self._catalog.forget(move.other_table)

    def for_both(
        self, context: GuardContext, new: str, old_entry: CatalogEntry, old: str
    ) -> GuardContext:
        """Return a context whose permission for the old table ends with that for the new one."""
        under_old, under_new = self._catalog.leases.permit_under(old_entry.epoch), context.permit

        def permit(table: str) -> int:
            epoch = under_new(new)
            return under_old(old) if table == old else epoch

        return replace(context, permit=permit)

    # --- the description of a move ----------------------------------------------------------------

    def description(self, table: str, entry: CatalogEntry) -> Protocol[Moves]:
        """Return the moves that the entry of one of the tables names.

        It is made again only if one of the entries or records was read again.
        """
        move = entry.move
        assert move is not None
        other = yield from self._catalog.entry(move.other_table)
        # The old table may not have entered the first phase yet, or left the move already.
        is_first = other is not None and other.move is None and not move.is_old
        if other is None or not (is_first or _is_other_side(other.move, table, move)):
            raise self._contradiction(table, move)
        tables = (table, move.other_table) if move.is_old else (move.other_table, table)
        entries = (entry, other) if move.is_old else (other, entry)
        try:
            models = yield from self._models_of(tables)
        except (RecordError, DeclarationError) as error:
            # Also the record of the new table, until the move begins: it was read too early.
            raise self._contradiction(table, move) from error
        known = self._moves.get(tables)
        if known is None or not known.is_of(entries, models):
            made = models.move(*entries, move.new_key_table)
            known = self._moves[tables] = _KnownMove(entries, models, made)
        return known.move

    def _contradiction(self, table: str, move: CatalogMove) -> CatalogLeaseError:
        """Return the error for entries or records of two moments; the next attempt reads again."""
        self.forget(table)
        return CatalogLeaseError(
            "the catalog's entries of the two tables of a move contradict each other",
            table=table,
            other_table=move.other_table,
            fix="try again; if that does not help, run the migration again",
        )

    def _models_of(self, tables: tuple[str, str]) -> Protocol[MovedModels]:
        old_table, new_table = tables
        stored = (
            (yield from self._catalog.record(old_table)),
            (yield from self._catalog.record(new_table)),
        )
        known = self._models.get(tables)
        if known is None or known.records != stored:
            old, new = (_decoded(each, table) for each, table in zip(stored, tables, strict=True))
            models = moved_models(old.current, new.current, tables, self._catalog, self._features)
            known = self._models[tables] = _KnownModels(stored, models)
        return known.models


@dataclass(slots=True)
class _LeavingRows:
    """What the catalog shows about the rows that leave a table.

    Attributes:
        moves: The moves that this process knows.
        table: The table.
        before: Its entry before the increment; None if there was none.
        context: The clocks and random numbers.
    """

    moves: TableMoves
    table: str
    before: CatalogEntry | None
    context: GuardContext

    def phase(self) -> Protocol[Phase]:
        """Read the catalog again, and return the phase of the new table; OLD if no rows leave."""
        catalog = self.moves.leases
        catalog.forget(self.table)
        entry = yield from catalog.entry(self.table)
        if entry is None or entry.state is TableState.DROPPED:
            return Phase.OLD if self.before is None else Phase.NEW
        move = entry.move
        if move is None or not move.is_old:
            return Phase.OLD
        if move.phase < Phase.MOVING:
            return move.phase
        catalog.forget(move.other_table)
        other = yield from catalog.entry(move.other_table)
        new = None if other is None else other.move
        # The new table enters each phase first. It may have left the move already.
        is_new = new is not None and _is_other_side(new, self.table, move)
        return new.phase if new is not None and is_new else Phase.NEW

    def hand_over(self, old_key: bytes) -> Protocol[bool]:
        """Hand over a row in MOVING; return False if its new key is unknown without the row."""
        catalog = self.moves.leases
        old_entry = yield from catalog.leased(self.table, old_key)
        moves = yield from self.moves.description(self.table, old_entry)
        if moves.key_columns:
            return False
        move = moves.of_row(old_key)
        assert old_entry.move is not None
        new = old_entry.move.other_table
        new_entry = yield from catalog.leased(new, old_key)
        permit = catalog.leases.permit_under(new_entry.epoch)
        own = replace(self.context, permit=permit)
        permitted = self.moves.for_both(own, new, old_entry, self.table)
        yield from hand_over(move, move.computed_new_key(old_key), permitted)
        return True


def _as_of(context: GuardContext, declared: str) -> GuardContext:
    """Return a context in which the tables of all periods are written under one entry."""
    permit = context.permit
    return replace(context, permit=lambda _: permit(declared))


def _is_other_side(other: CatalogMove | None, table: str, move: CatalogMove) -> bool:
    return other is not None and other.other_table == table and other.is_old is not move.is_old


def _decoded(stored: bytes, table: str) -> TableRecord:
    if not stored:
        raise ConflictError(
            "the rows of the table are being moved, but it has no record",
            table=table,
            fix="write its record again: 'hbase-orm tables adopt'",
        )
    return TableRecord.decode(stored, table)


def refuse_moved(table: str, move: CatalogMove) -> None:
    """Raise an error if the rows of a table may be in the other table of its move.

    Raises:
        SchemaDriftError: They may.
    """
    if move.is_old and move.phase >= Phase.PREPARED:
        raise SchemaDriftError(
            "the rows of the table are handed over to another table",
            table=table,
            other_table=move.other_table,
            phase=move.phase.name,
            fix=f"use the model whose table is {move.other_table}",
        )
    if move.is_given_up:
        raise SchemaDriftError(
            "the move of rows to the table was given up",
            table=table,
            other_table=move.other_table,
            fix=f"use the model whose table is {move.other_table}",
        )


def with_new_indexes(own: GuardedTable, moves: RowMoves) -> GuardedTable:
    """Return the old table with the indexes that its writers maintain from INDEXING on."""
    known = {index.table for index in own.indexes}
    added = [index for index in moves.with_new_indexes().indexes if index.table not in known]
    return replace(own, indexes=(*own.indexes, *added))
