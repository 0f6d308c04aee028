"""Loads rows into a table in state LOADING, in plain batches that include the guards.

While the catalog shows LOADING, no guarded writer writes the table. So new rows are written without
a read and without a check. Everything that a load writes has the timestamp and the nonce of its
ticket. So a repeated load writes the same cells again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from operator import itemgetter
from typing import cast

from hbase_orm.errors import GatewayError, ValidationError
from hbase_orm.index.entries.change_checks import check_change
from hbase_orm.index.entries.compiled import FlatRow, KeysOfFlat
from hbase_orm.index.entries.guard_cell import GuardCell, next_guard
from hbase_orm.index.entries.targets import (
    ENTRY_COLUMN,
    EntryKind,
    GuardedTable,
    IndexTarget,
    RowChange,
)
from hbase_orm.index.protocol.attempt import (
    cells_after,
    entry_puts,
    guard_changes,
    verified_entries,
    written_values,
)
from hbase_orm.index.protocol.covering import UNVERIFIED, covering_column, covering_row
from hbase_orm.index.protocol.requests import joined
from hbase_orm.ops import (
    MutateRows,
    Operation,
    Protocol,
    Put,
    PutRows,
    RowMutation,
    ask,
    ask_all,
)

KeyedRow = tuple[FlatRow, tuple[tuple[bytes, ...], ...]]
"""A flat row, and the keys of its entries in each index."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadTicket:
    """The timestamp, nonce and epoch of everything that a load writes; the catalog stores them.

    Attributes:
        timestamp_ms: The timestamp of all cells and entries.
        nonce: The nonce of all guards.
        epoch: The epoch of all guards, from the table's catalog entry.
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
    """The mutations that load one row.

    Attributes:
        entries: The puts of index entries by index table. All must be acknowledged before the row
            is sent.
        data: The put of the row with its guard.
        verified: The puts that verify entries of covering indexes, by index table. They are sent
            after the row was acknowledged.
    """

    entries: Mapping[str, tuple[RowMutation, ...]]
    data: RowMutation
    verified: Mapping[str, tuple[RowMutation, ...]]


@lru_cache(maxsize=16)
def _guard_puts(ticket: LoadTicket) -> tuple[Put, ...]:
    _, puts = guard_changes(ticket.guard)
    return puts


def guarded_load(target: GuardedTable, change: RowChange, ticket: LoadTicket) -> LoadedRow:
    """Return the mutations that load a new row; their timestamps are the ticket's.

    Raises:
        ValidationError: The change deletes the row, writes a column that is not allowed, or has a
            value that does not fit an index.
        RowKeyError: An entry's key is longer than HBase stores.
    """
    check_change(target, change)
    if change.kind == "delete":
        raise ValidationError("a load cannot delete rows", table=target.table, row=change.row)
    t = ticket.timestamp_ms
    cells = cells_after(target, change, {})
    puts = (*(Put(column, value, t) for column, value in cells.items()), *_guard_puts(ticket))
    entries = target.entries(change.row, cells)
    return LoadedRow(
        _by_table(entry_puts(entries, t)),
        RowMutation(change.row, puts=puts),
        _by_table(verified_entries(target, entries, cells, t)),
    )


def _by_table(batches: Iterable[MutateRows]) -> Mapping[str, tuple[RowMutation, ...]]:
    return {batch.table: batch.mutations for batch in batches}


def load_rows(table: str, rows: Sequence[LoadedRow]) -> Protocol[None]:
    """Load rows: first the entries, then the rows, then verify the covering entries."""
    entries = _joined(row.entries for row in rows)
    data = MutateRows(table, tuple(row.data for row in rows))
    yield from load_in_order(entries, data, _joined(row.verified for row in rows))


def _joined(puts: Iterable[Mapping[str, tuple[RowMutation, ...]]]) -> tuple[MutateRows, ...]:
    return joined(MutateRows(table, rows) for row in puts for table, rows in row.items())


def load_in_order(
    entries: Sequence[Operation[None]],
    data: Operation[None],
    verified: Sequence[Operation[None]],
) -> Protocol[None]:
    """Send the requests of a batch in order: entries, then rows, then verifications of entries.

    Everything has the load's timestamp, so requests without an answer may be repeated. A failed
    verification raises no error: the entries stay unverified, and queries look up their rows.
    """
    if entries:
        yield from ask_all(entries)
    yield from ask(data)
    if not verified:
        return
    try:
        yield from ask_all(verified)
    except GatewayError as error:
        logger.warning("index entries of a load are left unverified: %s", error)


@dataclass(frozen=True, slots=True)
class FlatLoad:
    """Loads flat rows into a table with simple indexes.

    Attributes:
        target: The write target of the table.
        ticket: The ticket of the load.
        columns: The columns of the values in a flat row; the columns of `constants` are the last.
    """

    target: GuardedTable
    ticket: LoadTicket
    columns: tuple[bytes, ...]
    _indexes: tuple[IndexTarget, ...] = field(init=False)
    _quick: tuple[KeysOfFlat, ...] = field(init=False)
    _proof: int = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the functions that compute the entries of flat rows."""
        target, set_ = self.target, object.__setattr__
        set_(self, "_indexes", target.maintained)
        quick = [index.keys_of_flat(self.columns) for index in target.maintained]
        ways = zip(quick, target.maintained, strict=True)
        set_(self, "_quick", tuple([way or partial(self._plainly, index) for way, index in ways]))
        set_(self, "_proof", self._place(target.anchor or target.marker or b""))

    def _place(self, column: bytes) -> int:
        return 1 + self.columns.index(column)

    def keyed(self, row: FlatRow) -> KeyedRow:
        """Return a row with the keys of its entries; nothing is sent.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: As for `GuardedTable.needed_keys`.
        """
        if row[self._proof] is not None:
            keys = tuple([keys_of(row) for keys_of in self._quick])
            if None not in keys:
                return row, cast("tuple[tuple[bytes, ...], ...]", keys)
        return row, tuple([self._plainly(index, row) for index in self._indexes])

    def _plainly(self, index: IndexTarget, row: FlatRow) -> tuple[bytes, ...]:
        values = zip(self.columns, row[1:], strict=True)
        cells = {column: value for column, value in values if value is not None}
        return tuple(self.target.needed_keys(index, row[0] or b"", cells))

    def load(self, rows: Sequence[KeyedRow]) -> Protocol[None]:
        """Load rows: first the entries, then the rows, then verify the covering entries."""
        yield from load_in_order(self.entries(rows), self.data(rows), self.verified(rows))

    def entries(self, rows: Sequence[KeyedRow]) -> list[PutRows]:
        """Return the puts of index entries; all must be acknowledged before the rows are sent.

        The puts are sorted by key, which is faster for HBase.
        """
        puts = []
        for number, index in enumerate(self._indexes):
            flag = UNVERIFIED if index.included else b""
            entries = [(key, flag) for _, keys in rows for key in keys[number]]
            if entries:
                puts.append(self._puts(index.table, (ENTRY_COLUMN,), sorted(entries)))
        return puts

    def data(self, rows: Sequence[KeyedRow]) -> PutRows:
        """Return the put of the rows with their guards."""
        return self._puts(self.target.table, self.columns, [row for row, _ in rows])

    def verified(self, rows: Sequence[KeyedRow]) -> list[PutRows]:
        """Return the puts that verify covering entries; send them after the rows."""
        puts = []
        for number, index in enumerate(self._indexes):
            if not index.included:
                continue
            columns = (ENTRY_COLUMN, *map(covering_column, index.included))
            places = [self._place(column) for column in index.included]
            entries = [
                (key, *covering_row([row[place] for place in places]))
                for row, keys in rows
                for key in keys[number]
            ]
            if entries:
                puts.append(self._puts(index.table, columns, sorted(entries, key=itemgetter(0))))
        return puts

    def _puts(self, table: str, columns: tuple[bytes, ...], rows: Sequence[FlatRow]) -> PutRows:
        return PutRows(table, columns, tuple(rows), self.ticket.timestamp_ms)


def constants(target: GuardedTable, ticket: LoadTicket) -> tuple[tuple[bytes, bytes], ...]:
    """Return the cells that are equal in all loaded rows: marker, version and guard."""
    own = written_values(target, RowChange(b""), {})
    guards = ((put.column, put.value) for put in _guard_puts(ticket))
    return (*own.items(), *guards)


def can_load(target: GuardedTable) -> bool:
    """Return whether rows may be loaded without checks.

    Rows of a table with unique indexes may not.
    """
    return all(index.entry_kind is not EntryKind.CLAIM for index in target.maintained)
