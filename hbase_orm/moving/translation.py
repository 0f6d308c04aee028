"""Translates rows, changes and indexes between the old and the new layout of a table."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    CorruptRowError,
    ValidationError,
)
from hbase_orm.index.entries.guard_cell import guard_of
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GuardedTable,
    IndexTarget,
    RowBefore,
    RowChange,
    with_guard,
)
from hbase_orm.moving.counter_seals import (
    is_counter_seal,
    versions_with_counters,
    with_counters,
)
from hbase_orm.moving.layouts import MovedPeriod, RowTranslation
from hbase_orm.ops import Cell, Increment, KeyRange, Protocol, Row, StoredVersion


class RowMoves(typing.Protocol):
    """The moves of the rows of one old table: to one new table, or to a table for each period."""

    @property
    def old(self) -> GuardedTable:
        """The old table, with its own indexes."""
        ...

    @property
    def new_name(self) -> str:
        """The name of the new table, or the pattern of the names of the tables of all periods."""
        ...

    @property
    def key_columns(self) -> frozenset[bytes]:
        """The old columns on which the new key depends."""
        ...

    def of_row(self, old_key: bytes) -> TableMove:
        """Return the move to the table that gets the row with an old key.

        Raises:
            CorruptRowError, RowKeyError: The key does not show the period of the row.
        """
        ...

    def of_table(self, table: str) -> TableMove:
        """Return the move to a new table."""
        ...

    def with_new_indexes(self) -> GuardedTable:
        """Return the old table with the indexes that its writes maintain from INDEXING on."""
        ...


@dataclass(frozen=True, slots=True)
class TableMove:
    """The two tables of a move, and the translation between their rows.

    Attributes:
        old: The old table, with its own indexes.
        new: The new table, with its own indexes. No unique one is possible, unless the new key
            depends on nothing but the old key.
        translation: The translation of rows.
        new_key_table: The index table of the old table that orders its rows by their new keys; each
            entry's key is a new key. None if each row keeps its key.
        period: The period of the new table. None if it gets the rows of all times.
    """

    old: GuardedTable
    new: GuardedTable
    translation: RowTranslation
    new_key_table: str | None
    period: MovedPeriod | None = None

    def __post_init__(self) -> None:
        """Raise an error for tables that cannot be moved row by row."""
        if self.old.is_lww or self.new.is_lww:
            raise ConfigurationError(
                "only rows with guards can be moved while programs use them",
                table=self.old.table,
                fix="use a gateway with Thrift2",
            )
        if self.new.counters != self.translation.old_counters.keys():
            raise ConfigurationError(
                "a counter of the new table is not a counter of the old one",
                table=self.old.table,
                columns=sorted(self.new.counters - self.translation.old_counters.keys()),
                fix="add the counter to the old table first",
            )
        if self.key_columns and any(index.unique for index in self.new.indexes):
            raise ConfigurationError(
                "rows with unique values cannot be moved if their new key depends on their cells",
                table=self.old.table,
                fix="drop the unique index before the move, and add it afterwards",
            )

    @property
    def new_name(self) -> str:
        """The name of the new table."""
        return self.new.table

    @property
    def key_columns(self) -> frozenset[bytes]:
        """The old columns on which the new key depends."""
        return self.translation.old_columns(frozenset())

    def of_row(self, old_key: bytes) -> TableMove:
        """Return this move, the only one of the old table's rows."""
        del old_key
        return self

    def of_table(self, table: str) -> TableMove:
        """Return this move, the only one of the old table's rows."""
        del table
        return self

    def old_key(self, new_key: bytes) -> bytes:
        """Return the old key of the row that has a new key."""
        return self.translation.old_key(new_key)

    def gets(self, old_key: bytes) -> bool:
        """Return whether the new table gets the row with an old key, if there is such a row."""
        return self.period is None or self.period.prefix_of(old_key) == self.period.prefix

    def make_new(self) -> Protocol[None]:
        """Create the new table if it is that of a period and does not exist; safe to repeat."""
        if self.period is not None:
            yield from self.period.make_table()

    # --- the index of new keys ----------------------------------------------------------------

    def entry_range(self, key_range: KeyRange) -> KeyRange:
        """Return the range of the index of new keys that has the entries of a range of new keys."""
        if self.period is None:
            return key_range
        prefix = self.period.prefix
        last = KeyRange.prefix(prefix).stop if key_range.stop is None else prefix + key_range.stop
        return KeyRange(prefix + key_range.start, last)

    def key_of_entry(self, entry_key: bytes) -> bytes:
        """Return the new key of the row that has an entry in the index of new keys."""
        return entry_key if self.period is None else entry_key[len(self.period.prefix) :]

    def new_key_entries(self, key: bytes, values: Mapping[bytes, bytes]) -> frozenset[bytes]:
        """Return the keys of the entries that an old row has in the index of new keys."""
        row = self.to_new(key, _cells(values))
        if row is None:
            return frozenset()
        return frozenset((row.key if self.period is None else self.period.prefix + row.key,))

    # --- rows ---------------------------------------------------------------------------------

    def to_new(self, key: bytes, cells: Mapping[bytes, Cell], now_ms: int = 0) -> Row | None:
        """Return an old row, or some of its cells, in the new layout; None if it does not exist.

        It does not exist in the new table either if another period's table gets the row. Counter
        seals are shown as the counters that they stand for.

        Args:
            key: The old key.
            cells: The data cells.
            now_ms: The time, if the result is shown or put: expired counters are left out.

        Raises:
            CorruptRowError: The new key does not lead back to the old one.
        """
        if not self.old.exists(cells) or not self.gets(key):
            return None
        if self.old.counters:
            cells = with_counters(self.old, cells, now_ms)
        row = self.translation.to_new(Row(key, dict(cells)))
        if self.old_key(row.key) != key:
            raise CorruptRowError(
                "the old key cannot be computed from the row's new key",
                table=self.old.table,
                row=key,
                new_row=row.key,
                fix="the row's values contradict its key; correct them, or move the table offline",
            )
        return row

    def counters_of_absent(
        self, sealed_key: bytes, cells: Mapping[bytes, Cell], now_ms: int
    ) -> Row | None:
        """Return the counters of an old row that does not exist, in the new layout.

        None if there are none, or if the new key depends on cells, which the row does not have.
        """
        if self.key_columns or not self.old.counters or self.old.exists(cells):
            return None
        sealed = {column: cell for column, cell in cells.items() if column in self.old.counters}
        counters = with_counters(self.old, sealed, now_ms)
        if not counters:
            return None
        row = self.translation.to_new(Row(sealed_key, counters))
        kept = {column: cell for column, cell in row.cells.items() if column in self.new.counters}
        return Row(row.key, kept) if kept else None

    def old_versions(
        self, versions: Sequence[StoredVersion], now_ms: int
    ) -> Sequence[StoredVersion]:
        """Return versions of cells of the old table without its guard and with its counters."""
        data = [each for each in versions if each.column != GUARD_COLUMN]
        return versions_with_counters(self.old, data, now_ms)

    def old_increment(self, increment: Increment) -> Increment:
        """Return the increment of the old row for an increment of the new one.

        Raises:
            ValidationError: A counter is in no record of the tables.
        """
        old_counters = self.translation.old_counters
        for column in increment.amounts.keys() - old_counters.keys():
            raise ValidationError(
                "the old table, where the row still is, does not have the counter",
                table=self.old.table,
                row=increment.row,
                column=column,
                fix="increment it when the move of the rows has reached its phase MOVING",
            )
        amounts = {old_counters[column]: n for column, n in increment.amounts.items()}
        return Increment(self.old.table, self.old_key(increment.row), amounts)

    # --- the old table while it is written ----------------------------------------------------

    def with_new_indexes(self) -> GuardedTable:
        """Return the old table with the indexes that its writes maintain from INDEXING on.

        Besides its own indexes these are the index of new keys and the indexes of the new table.
        """
        indexes = [*self.old.indexes, *map(self._translated, self.new.indexes)]
        if self.new_key_table is not None:
            indexes.append(new_key_index(self.new_key_table, self.key_columns, self))
        return replace(self.old, indexes=tuple(indexes))

    def _translated(self, index: IndexTarget) -> IndexTarget:
        """Return an index of the new table as an index of the old one, in the same index table.

        Entries of a covering index stay unverified, so that readers look up their rows.
        """
        return IndexTarget(
            f"new {index.name}",
            index.table,
            self.translation.old_columns(index.columns),
            partial(self._translated_keys, index),
            unique=index.unique,
            owner_of=self.computed_new_key,
            row_of=self.translation.old_key,
            maintained_by_writes=index.maintained_by_writes,
        )

    def computed_new_key(self, key: bytes) -> bytes:
        """Return a row's new key without its cells, on which it does not depend."""
        return self.translation.to_new(Row(key, {})).key

    def _translated_keys(
        self, index: IndexTarget, key: bytes, values: Mapping[bytes, bytes]
    ) -> frozenset[bytes]:
        row = self.to_new(key, _cells(values))
        return frozenset() if row is None else index.entry_keys(row.key, _values(row))

    def old_change(self, change: RowChange) -> RowChange:
        """Return the change of the old row for a change of the new one.

        Several new keys may share one old key. The old table has place for one of these rows, so
        the change is refused if another one is there.
        """
        translated = self.translation.old_change(change)
        reads = self.translation.old_columns(change.reads) | self.key_columns
        check = partial(self._check_row, change.row) if self.key_columns else None
        decide = (
            None if change.decide is None else partial(self._decide, translated.row, change.decide)
        )
        return replace(translated, reads=reads, check=check, decide=decide)

    def _check_row(self, new_key: bytes, before: RowBefore) -> None:
        self.refuse_other_row(new_key, before.cells)

    def refuse_other_row(self, new_key: bytes, cells: Mapping[bytes, Cell]) -> None:
        """Raise an error if the old row with these cells has another new key.

        Raises:
            ConflictError: It has: the old table has no place for a row with this new key.
        """
        row = self.to_new(self.old_key(new_key), cells)
        if row is not None and row.key != new_key:
            raise ConflictError(
                "another row has the same key in the old table",
                table=self.old.table,
                row=new_key,
                other_row=row.key,
                fix="write this row when the move has reached its phase MOVING",
            )

    def _decide(
        self, key: bytes, decide: Callable[[RowBefore], RowChange], before: RowBefore
    ) -> RowChange:
        row = self.to_new(key, before.cells)
        cells = {} if row is None else row.cells
        return self.translation.old_change(decide(replace(before, cells=cells)))

    # --- columns ------------------------------------------------------------------------------

    def columns_of(self, columns: Iterable[bytes]) -> frozenset[bytes]:
        """Return `columns` of the new table, all if there are none, and those for existence."""
        wanted = frozenset(columns) or frozenset(self.new.families)
        return wanted | self.new.existence_columns

    def new_columns(self, columns: frozenset[bytes]) -> tuple[bytes, ...]:
        """Return what to read of the new table to get `columns`, with the guard."""
        return with_guard(columns)

    def old_columns(self, columns: frozenset[bytes]) -> tuple[bytes, ...]:
        """Return what to read of the old table to get `columns` of the new one, with the guard."""
        return with_guard(self.translation.old_columns(columns) | self.old.existence_columns)


def new_key_index(table: str, key_columns: frozenset[bytes], moves: RowMoves) -> IndexTarget:
    """Return the index of new keys, which orders the rows of an old table by their new keys."""

    def entry_keys(key: bytes, values: Mapping[bytes, bytes]) -> frozenset[bytes]:
        return moves.of_row(key).new_key_entries(key, values)

    return IndexTarget("new keys", table, key_columns, entry_keys)


def is_sealed(old: GuardedTable, row: Row | None) -> bool:
    """Return whether a row of the old table, read with guard and counters, is finally sealed."""
    guard = None if row is None else guard_of(row.cells.get(GUARD_COLUMN))
    if row is None or guard is None or not guard.is_sealed or guard.is_provisional:
        return False
    return all(is_counter_seal(row.cells.get(column)) for column in old.counters)


def data_cells(row: Row | None) -> dict[bytes, Cell]:
    """Return the cells of a row without its guard; empty if there is no row."""
    cells = {} if row is None else row.cells
    return {column: cell for column, cell in cells.items() if column != GUARD_COLUMN}


def _cells(values: Mapping[bytes, bytes]) -> dict[bytes, Cell]:
    return {column: Cell(value, 0) for column, value in values.items()}


def _values(row: Row) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.cells.items()}
