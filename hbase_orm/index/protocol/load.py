"""Loads rows into a table in state LOADING, in plain batches that include the guards.

While the catalog shows LOADING, no guarded writer writes the table. So new rows are written without
a read and without a check. Everything that a load writes has the timestamp and the nonce of its
ticket. So a repeated load writes the same cells again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from operator import itemgetter

from hbase_orm.errors import CatalogLeaseError, GatewayError, ValidationError
from hbase_orm.index.entries.change_checks import check_change
from hbase_orm.index.entries.compiled import FlatKeys, FlatRow
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

KeyedRow = tuple[FlatRow, tuple[Sequence[bytes], ...]]
"""A flat row, and the keys of its entries in those indexes that `FlatLoad` checks row by row."""

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


def _always() -> None:
    """Permit every request."""


def load_rows(
    table: str, rows: Sequence[LoadedRow], permit: Callable[[], None] = _always
) -> Protocol[None]:
    """Load rows: first the entries, then the rows, then verify the covering entries.

    `permit` is called before each request, and raises CatalogLeaseError if it may not be sent.
    """
    entries = _joined(row.entries for row in rows)
    data = MutateRows(table, tuple(row.data for row in rows))
    verified = _joined(row.verified for row in rows)
    yield from load_in_order(entries, data, verified, permit)


def _joined(puts: Iterable[Mapping[str, tuple[RowMutation, ...]]]) -> tuple[MutateRows, ...]:
    return joined(MutateRows(table, rows) for row in puts for table, rows in row.items())


def load_in_order(
    entries: Sequence[Operation[None]],
    data: Operation[None],
    verified: Sequence[Operation[None]],
    permit: Callable[[], None],
) -> Protocol[None]:
    """Send the requests of a batch in order: entries, then rows, then verifications of entries.

    `permit` is called before each of them, and raises CatalogLeaseError if it may not be sent.

    Everything has the load's timestamp, so requests without an answer may be repeated. A failed
    verification raises no error: the entries stay unverified, and queries look up their rows.
    """
    if entries:
        permit()
        yield from ask_all(entries)
    permit()
    yield from ask(data)
    if not verified:
        return
    try:
        permit()
        yield from ask_all(verified)
    except (GatewayError, CatalogLeaseError) as error:
        logger.warning("index entries of a load are left unverified: %s", error)


@dataclass(frozen=True, slots=True)
class FlatLoad:
    """Loads flat rows into a table with simple indexes.

    The entries of most indexes are made when a batch is sent, for all its rows at once. If values
    might not fit an index, the entries of each row are made when the row is added, so that an error
    names this row only. So are covering entries, which are sent again with copies of their row.

    Attributes:
        target: The write target of the table.
        ticket: The ticket of the load.
        columns: The columns of the values in a flat row; the columns of `constants` are the last.
    """

    target: GuardedTable
    ticket: LoadTicket
    columns: tuple[bytes, ...]
    _by_batch: tuple[tuple[IndexTarget, FlatKeys], ...] = field(init=False)
    _by_row: tuple[tuple[IndexTarget, FlatKeys | None], ...] = field(init=False)
    _proof: int = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the functions that compute the entries of flat rows."""
        target, set_ = self.target, object.__setattr__
        by_batch: list[tuple[IndexTarget, FlatKeys]] = []
        by_row: list[tuple[IndexTarget, FlatKeys | None]] = []
        for index in target.maintained:
            keys = index.keys_of_flat(self.columns)
            if keys is not None and keys.fits_all and not index.included:
                by_batch.append((index, keys))
            else:
                by_row.append((index, keys))
        set_(self, "_by_batch", tuple(by_batch))
        set_(self, "_by_row", tuple(by_row))
        set_(self, "_proof", self._place(target.anchor or target.marker or b""))

    def _place(self, column: bytes) -> int:
        return 1 + self.columns.index(column)

    def keyed(self, row: FlatRow) -> KeyedRow:
        """Return a row with the keys of its entries that must be checked; nothing is sent.

        Raises:
            ValidationError, RowKeyError, CorruptRowError: As for `GuardedTable.needed_keys`.
        """
        if not self._by_row:
            return row, ()
        return row, tuple([self._keys(index, keys, row) for index, keys in self._by_row])

    def _keys(self, index: IndexTarget, keys: FlatKeys | None, row: FlatRow) -> Sequence[bytes]:
        made = None
        if keys is not None and row[self._proof] is not None:
            made = keys.of((row,))
        return self._plainly(index, row) if made is None else made

    def _plainly(self, index: IndexTarget, row: FlatRow) -> Sequence[bytes]:
        values = zip(self.columns, row[1:], strict=True)
        cells = {column: value for column, value in values if value is not None}
        return tuple(self.target.needed_keys(index, row[0] or b"", cells))

    def load(
        self, rows: Sequence[KeyedRow], permit: Callable[[], None] = _always
    ) -> Protocol[None]:
        """Load rows as `load_rows` does."""
        puts = self.entries(rows), self.data(rows), self.verified(rows)
        yield from load_in_order(*puts, permit)

    def entries(self, rows: Sequence[KeyedRow]) -> list[PutRows]:
        """Return the puts of index entries; all must be acknowledged before the rows are sent.

        The puts are sorted by key, which is faster for HBase.
        """
        flat = [row for row, _ in rows if row[self._proof] is not None]
        entries = [(index, self._keys_of_all(index, keys, flat)) for index, keys in self._by_batch]
        for number, (index, _) in enumerate(self._by_row):
            entries.append((index, [key for _, keys in rows for key in keys[number]]))
        return [self._entry_puts(index, keys) for index, keys in entries if keys]

    def _keys_of_all(
        self, index: IndexTarget, keys: FlatKeys, rows: Sequence[FlatRow]
    ) -> Sequence[bytes]:
        made = keys.of(rows)
        if made is None:
            return [key for row in rows for key in self._plainly(index, row)]
        return made

    def _entry_puts(self, index: IndexTarget, keys: Sequence[bytes]) -> PutRows:
        flag = UNVERIFIED if index.included else b""
        rows = tuple(zip(sorted(keys), repeat(flag)))
        return self._puts(index.table, (ENTRY_COLUMN,), rows)

    def data(self, rows: Sequence[KeyedRow]) -> PutRows:
        """Return the put of the rows with their guards."""
        return self._puts(self.target.table, self.columns, [row for row, _ in rows])

    def verified(self, rows: Sequence[KeyedRow]) -> list[PutRows]:
        """Return the puts that verify covering entries; send them after the rows."""
        puts = []
        for number, (index, _) in enumerate(self._by_row):
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
