"""The moves of the rows of one table to a table for each period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from hbase_orm.binding.bound_model import PERIODS_KEPT, BoundModel
from hbase_orm.binding.table_moves.moved_keys import MovedKeys
from hbase_orm.binding.table_moves.row_translation import unchecked_translation
from hbase_orm.codecs.times import EPOCH
from hbase_orm.errors import RowKeyError
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.moving.layouts import MovedPeriod
from hbase_orm.moving.translation import TableMove, new_key_index
from hbase_orm.ops import KeyRange, Protocol, Row, longest_row_key_bytes

MakeTable = Callable[[BoundModel], Protocol[None]]
"""Creates the table of a bound model, which is that of a period, if it does not exist."""

PREFIX_BYTES: Final = 5
"""Enough for the seconds from the year 1 to the year 9999, in which datetimes are."""

_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)


def prefix_of_start(start: datetime) -> bytes:
    """Return the bytes in front of the new keys of a period; they are in the order of time."""
    return ((start - _FIRST) // _SECOND).to_bytes(PREFIX_BYTES, "big")


def start_of_entry(entry_key: bytes) -> datetime:
    """Return the start of the period of the row that has an entry in the index of new keys."""
    return _FIRST + _SECOND * int.from_bytes(entry_key[:PREFIX_BYTES], "big")


def rest_after_period(entry_key: bytes) -> KeyRange:
    """Return the range of the entries of all periods after that of an entry."""
    return KeyRange(KeyRange.prefix(entry_key[:PREFIX_BYTES]).stop or b"")


class PeriodMoves:
    """The moves of the rows of one old table to a table for each period. Threads may share it.

    The period follows from the old key alone, so each old row belongs to one new table.

    Attributes:
        old: The old table, with its own indexes.
        new_name: The pattern of the names of the tables of all periods.
        key_columns: The old columns on which the new key depends.
        new_key_table: The index table of the old table that orders its rows by their periods, and
            within a period by their new keys.
    """

    def __init__(
        self,
        models: tuple[BoundModel, BoundModel],
        tables: tuple[GuardedTable, GuardedTable],
        new_key_table: str,
        make_table: MakeTable,
    ) -> None:
        """Prepare the moves; nothing is sent.

        Args:
            models: The bound models of the old table and of the tables of all periods.
            tables: The old table, and the tables of all periods under their common name.
            new_key_table: The index table of new keys.
            make_table: A function that creates the table of a period.

        Raises:
            ConfigurationError: The tables cannot be moved row by row.
        """
        (self._old_model, self._new_model), (self.old, self._new) = models, tables
        self.new_name = self._new_model.declared_table
        self._keys = MovedKeys(*models)
        self.key_columns = self._keys.columns
        self.new_key_table = new_key_table
        self._make_table = make_table
        self._longest_bytes = longest_row_key_bytes(new_key_table) - PREFIX_BYTES
        self._known: dict[datetime, TableMove] = {}
        self.at(self._start_of_any())

    def _start_of_any(self) -> datetime:
        period = self._new_model.schema.layout.table_period
        assert period is not None
        return period.unit.start(EPOCH)

    def at(self, start: datetime) -> TableMove:
        """Return the move to the table of the period that begins at `start`."""
        known = self._known.get(start)
        if known is None:
            if len(self._known) >= PERIODS_KEPT:
                self._known.clear()
            known = self._known[start] = self._made(start)
        return known

    def _made(self, start: datetime) -> TableMove:
        placed = self._new_model.with_table_at(start)
        translation = unchecked_translation(self._old_model, placed)
        translation = replace(
            translation,
            old_key=partial(self._old_key, start, translation.old_key),
            to_new=partial(_storable, translation.to_new, self._longest_bytes),
        )
        prefix = prefix_of_start(start)
        period = MovedPeriod(prefix, self._prefix_of, partial(self._make_table, placed))
        new = replace(self._new, table=placed.schema.table)
        return TableMove(self.old, new, translation, self.new_key_table, period)

    def _old_key(self, start: datetime, old_key: Callable[[bytes], bytes], key: bytes) -> bytes:
        of_old = old_key(key)
        if self.start_of(of_old) != start:
            raise RowKeyError(
                "the row key has a time of another period than its table",
                model=self._new_model.schema.model_name,
                table=self._new_model.with_table_at(start).schema.table,
                row=key,
                fix="read and write the row by its fields, which name the table",
            )
        return of_old

    def start_of(self, old_key: bytes) -> datetime:
        """Return the start of the period of the row with an old key.

        Raises:
            CorruptRowError: The key does not decode.
            RowKeyError: The time does not fit the new table.
        """
        start = self._new_model.tables.start_of(self._keys.values_of_old(old_key))
        assert start is not None
        return start

    def _prefix_of(self, old_key: bytes) -> bytes:
        return prefix_of_start(self.start_of(old_key))

    def of_row(self, old_key: bytes) -> TableMove:
        """Return the move to the table of the row's period.

        Raises:
            CorruptRowError, RowKeyError: As for `start_of`.
        """
        return self.at(self.start_of(old_key))

    def of_table(self, table: str) -> TableMove:
        """Return the move to the table of a period.

        Raises:
            ConfigurationError: `table` is not the table of a period.
        """
        start = self._new_model.tables.start_of_table(table)
        assert start is not None
        return self.at(start)

    def with_new_indexes(self) -> GuardedTable:
        """Return the old table with its own indexes and the index of new keys."""
        new_keys = new_key_index(self.new_key_table, self.key_columns, self)
        return replace(self.old, indexes=(*self.old.indexes, new_keys))


def _storable(to_new: Callable[[Row], Row], longest_bytes: int, row: Row) -> Row:
    """Return an old row in the new layout; refuse keys that are too long behind a period."""
    moved = to_new(row)
    if len(moved.key) > longest_bytes:
        raise RowKeyError(
            "the row key is too long for the index that orders the rows of all periods",
            row=row.key,
            size_bytes=len(moved.key),
            limit_bytes=longest_bytes,
            fix="shorten the key, or run the migration exclusively",
        )
    return moved
