"""Rows of a table in state LOADING: plain batches that carry their guards.

While the catalog says LOADING no guarded writer touches the table, so rows that are known to be
new need neither a read nor a check. Everything a load writes has the timestamp and the nonce of
its ticket: written again, it is the same bytes at the same place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import cast

from hbase_orm.errors import ValidationError
from hbase_orm.index.attempt import cells_after, entry_puts, guard_changes, written_values
from hbase_orm.index.flat_entries import EntriesOfFlat, FlatEntries, FlatRow
from hbase_orm.index.guard_cell import GuardCell, next_guard
from hbase_orm.index.targets import (
    ENTRY_COLUMN,
    EntryKind,
    GuardedTable,
    IndexTarget,
    RowChange,
    check_change,
)
from hbase_orm.ops import Put, PutRows, RowMutation

KeyedRow = tuple[FlatRow, tuple[FlatEntries, ...]]
"""A flat row, and its entries in each index."""


@dataclass(frozen=True, slots=True)
class LoadTicket:
    """What fixes the bytes of a load, kept in the catalog while it runs.

    Attributes:
        timestamp_ms: The timestamp of all cells and entries.
        nonce: The nonce of all guards.
        epoch: The catalog's epoch of the table.
    """

    timestamp_ms: int
    nonce: bytes
    epoch: int

    @property
    def guard(self) -> GuardCell:
        """The guard of every loaded row."""
        return next_guard(
            None,
            timestamp_ms=self.timestamp_ms,
            nonce=self.nonce,
            epoch=self.epoch,
            is_dead=False,
        )


@dataclass(frozen=True, slots=True)
class LoadedRow:
    """What loads one row.

    Attributes:
        entries: Puts of index entries by index table. All of them must be acknowledged before
            the row is sent.
        data: The row with its guard.
    """

    entries: Mapping[str, tuple[RowMutation, ...]]
    data: RowMutation


@lru_cache(maxsize=16)
def _guard_puts(ticket: LoadTicket) -> tuple[Put, ...]:
    _, puts = guard_changes(ticket.guard)
    return puts


def guarded_load(target: GuardedTable, change: RowChange, ticket: LoadTicket) -> LoadedRow:
    """Turn a new row into the mutations that load it; nothing of it depends on a clock.

    Raises:
        ValidationError: The change deletes, or touches a column it must not.
    """
    check_change(target, change)
    if change.kind == "delete":
        raise ValidationError("a load deletes no rows", table=target.table, row=change.row)
    t = ticket.timestamp_ms
    cells = cells_after(target, change, {})
    puts = (*(Put(column, value, t) for column, value in cells.items()), *_guard_puts(ticket))
    batches = entry_puts(target.entries(change.row, cells), t)
    entries = {batch.table: batch.mutations for batch in batches}
    return LoadedRow(entries, RowMutation(change.row, puts=puts))


@dataclass(frozen=True, slots=True)
class FlatLoad:
    """What loads flat rows: a table of plain indexes, and the columns of the rows.

    Attributes:
        target: The table.
        ticket: The load.
        columns: What the values of a flat row are put to, `constants` last.
    """

    target: GuardedTable
    ticket: LoadTicket
    columns: tuple[bytes, ...]
    _indexes: tuple[IndexTarget, ...] = field(init=False)
    _quick: tuple[EntriesOfFlat, ...] = field(init=False)
    _proof: int = field(init=False)

    def __post_init__(self) -> None:
        """List the indexes, and the quick ways to their entries, once."""
        target, set_ = self.target, object.__setattr__
        set_(self, "_indexes", target.maintained)
        quick = [index.of_flat(self.columns) for index in target.maintained]
        ways = zip(quick, target.maintained, strict=True)
        set_(self, "_quick", tuple([way or partial(self._plainly, index) for way, index in ways]))
        proof = target.anchor or target.marker or b""
        set_(self, "_proof", 1 + self.columns.index(proof))

    def keyed(self, row: FlatRow) -> KeyedRow:
        """Return a row with its entries in each index; nothing is sent.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: As `GuardedTable.needed_keys` does.
        """
        if row[self._proof] is not None:
            entries = tuple([entries_of(row) for entries_of in self._quick])
            if None not in entries:
                return row, cast("tuple[FlatEntries, ...]", entries)
        return row, tuple([self._plainly(index, row) for index in self._indexes])

    def _plainly(self, index: IndexTarget, row: FlatRow) -> FlatEntries:
        values = zip(self.columns, row[1:], strict=True)
        cells = {column: value for column, value in values if value is not None}
        keys = self.target.needed_keys(index, row[0] or b"", cells)
        return tuple([(key, b"") for key in keys])

    def entries(self, rows: Sequence[KeyedRow]) -> list[PutRows]:
        """Return the puts of index entries; all must be acknowledged before the rows are sent.

        They are in the order in which HBase keeps them, which is less work for it.
        """
        puts = []
        for number, index in enumerate(self._indexes):
            entries = [entry for _, of_row in rows for entry in of_row[number]]
            if entries:
                entries.sort()
                t = self.ticket.timestamp_ms
                puts.append(PutRows(index.table, (ENTRY_COLUMN,), tuple(entries), t))
        return puts

    def data(self, rows: Sequence[KeyedRow]) -> PutRows:
        """Return the put of the rows with their guards."""
        flat = tuple([row for row, _ in rows])
        return PutRows(self.target.table, self.columns, flat, self.ticket.timestamp_ms)


def constants(target: GuardedTable, ticket: LoadTicket) -> tuple[tuple[bytes, bytes], ...]:
    """Return what each loaded row has besides its own columns: marker, version, guard."""
    own = written_values(target, RowChange(b""), {})
    guards = ((put.column, put.value) for put in _guard_puts(ticket))
    return (*own.items(), *guards)


def can_load(target: GuardedTable) -> bool:
    """Say whether the table's rows may be loaded without checks.

    A load claims no unique values and does not verify what covering entries repeat.
    """
    return all(index.entry_kind is EntryKind.PLAIN for index in target.maintained)
