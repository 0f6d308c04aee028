"""Caches the catalog's entries of tables for the length of a lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from hbase_orm.errors import (
    AccessDeniedError,
    ConnectionLostError,
    RejectedError,
    RetryableError,
)
from hbase_orm.index.catalog.catalog import CatalogView, read_cells
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.catalog.refused_writes import is_held, refuse_held
from hbase_orm.ops import Protocol, RetryPolicy

_WAITS: Final = RetryPolicy(attempts=9, first_pause_s=0.001, factor=2.0, longest_pause_s=0.1)
"""How long a thread waits for another one that reads the same entry: about a third of a second."""


class ReadEntry(NamedTuple):
    """The result of one read of a table's row in the catalog.

    Attributes:
        at_s: The time of the monotonic clock before the request.
        entry: The catalog's entry of the table; None if there is none.
        record: The bytes of the table's record; empty if there is none.
        refusal: The error if HBase refused the read; else None.
    """

    at_s: float
    entry: CatalogEntry | None
    record: bytes = b""
    refusal: RejectedError | None = None


class CatalogCache:
    """The cache of the catalog in this process. Threads may share it.

    Attributes:
        leases: The leases that permit guarded writes.
        lease_s: The time for which a catalog entry may be used after it was read, in seconds.
        monotonic_s: The clock of leases.
        own_holds: The ids of the exclusive uses of this process.
        has_moves: Whether an entry was read of a table whose rows are moved, or were.
    """

    def __init__(self, monotonic_s: Callable[[], float], lease_s: float) -> None:
        """Start with an empty cache."""
        self.own_holds: set[str] = set()
        self.lease_s = lease_s
        self.monotonic_s = monotonic_s
        self.leases = self.separate_leases()
        self._entries: dict[str, ReadEntry] = {}
        self._last_reads: dict[str, ReadEntry] = {}
        self.has_moves = False
        self._reading: dict[str, object] = {}
        self._patterns: dict[str, Callable[[str], bool]] = {}
        self._declared: dict[str, str] = {}
        self._reported: set[str] = set()
        self._warned: set[tuple[str, str, bytes]] = set()

    def separate_leases(self) -> CatalogView:
        """Return leases of their own, for work that reads the catalog at its own times."""
        return CatalogView(self.monotonic_s, self.lease_s, self.own_holds)

    def fresh(self, table: str) -> ReadEntry | None:
        """Return the last read of a table's entry and record; None if `lease_s` is over."""
        read = self._entries.get(table)
        return read if read is not None and self.monotonic_s() < read.at_s + self.lease_s else None

    def last_read(self, table: str) -> ReadEntry | None:
        """Return the last read of a table's entry and record, however old, even if forgotten.

        None if this process has never read them.
        """
        return self._last_reads.get(table)

    def note_periods(self, pattern: str, has_table: Callable[[str], bool]) -> None:
        """Note the tables of a pattern: the catalog has one entry of the moves of their rows.

        Args:
            pattern: The pattern of the names of the tables.
            has_table: A function that tests whether a table is that of a period of the pattern.
        """
        if pattern not in self._patterns:
            self._patterns[pattern] = has_table
            self._declared = {}

    def declared(self, table: str) -> str:
        """Return the name under which the catalog has the moves of a table's rows.

        This is the name of the table, or the pattern if it is the table of a period.
        """
        if not self._patterns:
            return table
        known = self._declared.get(table)
        if known is None:
            patterns = (name for name, has_table in self._patterns.items() if has_table(table))
            known = self._declared[table] = next(patterns, table)
        return known

    def is_current(self, table: str) -> bool:
        """Return whether the lease on a table's entry is valid, or no entry was ever read.

        For the table of a period this is the entry of the tables of all periods.
        """
        table = self.declared(table)
        if self.fresh(table) is not None:
            return True
        return table not in self._last_reads

    def is_unchanged(self, table: str, entry: CatalogEntry | None) -> bool:
        """Return whether the lease is valid, and its entry is equal to one that was read before."""
        read = self._last_reads.get(self.declared(table))
        return self.is_current(table) and entry == (None if read is None else read.entry)

    def entry(self, table: str) -> Protocol[CatalogEntry | None]:
        """Return the catalog's entry of a table, at most `lease_s` old; None if there is none.

        This method never changes the catalog. In contrast, `renew_lease` changes the entry of a
        new table, so that guarded writes are permitted.

        Raises:
            RejectedError: HBase refuses to read the catalog. A lack of permission is not checked
                again within the lease.
        """
        read = yield from self._read(table)
        if read.refusal is not None and not isinstance(read.refusal, AccessDeniedError):
            self._entries.pop(table, None)
            read = yield from self._read(table)
        if read.refusal is not None:
            raise _copied(read.refusal)
        return read.entry

    def record(self, table: str) -> Protocol[bytes]:
        """Return the bytes of a table's record, at most `lease_s` old; empty without one.

        Raises:
            RejectedError: HBase refuses to read the catalog. The catalog is not read again within
                the lease.
        """
        read = yield from self._read(table)
        if read.refusal is not None:
            raise _copied(read.refusal)
        return read.record

    def is_new_refusal(self, table: str) -> bool:
        """Return whether this is the first call for a table since its last successful read."""
        is_new = table not in self._reported
        self._reported.add(table)
        return is_new

    def is_new_warning(self, table: str, model: str, record: bytes) -> bool:
        """Return whether a model is to be warned for the first time about this record of a table.

        Args:
            table: The table as it is declared: the tables of all periods have one record.
            model: The name of the model.
            record: The bytes of the record.
        """
        warning = (table, model, record)
        is_new = warning not in self._warned
        self._warned.add(warning)
        return is_new

    def _read(self, table: str) -> Protocol[ReadEntry]:
        """Return the cached entry and record of a table, or read them.

        Usually one thread reads them, and other threads wait. If that thread takes too long, they
        read them too.
        """
        own = object()
        for tries in range(1, _WAITS.attempts + 1):
            read = self.fresh(table)
            if read is not None:
                return read
            if self._reading.setdefault(table, own) is own:
                break
            yield from _WAITS.pause(tries)
        try:
            return (yield from self._read_now(table))
        finally:
            if self._reading.get(table) is own:  # not the mark of a thread that takes too long
                del self._reading[table]

    def _read_now(self, table: str) -> Protocol[ReadEntry]:
        at_s = self.monotonic_s()
        try:
            entry, record = yield from read_cells(table)
        except RejectedError as error:
            read = ReadEntry(at_s, None, refusal=_copied(error))
        else:
            decoded = CatalogEntry.decode(entry) if entry else None
            read = ReadEntry(at_s, decoded, record)
            self._reported.discard(table)
            self.has_moves |= decoded is not None and decoded.move is not None
        self._entries[table] = self._last_reads[table] = read
        return read

    def refuse_held(self, table: str) -> Protocol[None]:
        """Raise an error if another program uses the table exclusively.

        If the cached entry shows such a use, the entry is read again, because the use may have
        ended.

        Raises:
            TableHeldError: Another program uses the table exclusively.
        """
        read = self.fresh(table)
        if read is not None and is_held(read.entry, self.own_holds):
            self.forget(table)
        refuse_held(table, (yield from self.entry(table)), self.own_holds)

    def leased(self, table: str, row: bytes) -> Protocol[CatalogEntry]:
        """Return a table's entry under a valid lease; renew the lease if it is over.

        Raises:
            RetryableError, CatalogLeaseError: As for `renew_lease`.
        """
        return self.leases.entry(table) or (yield from self.renew_lease(table, row))

    def renew_lease(self, table: str, row: bytes) -> Protocol[CatalogEntry]:
        """Read a table's entry for guarded writes, start a new lease, and return the entry.

        Args:
            table: The data table. The entry of a new table is changed to permit guarded writes.
            row: The row that is written next, for error messages.

        Raises:
            RetryableError: The catalog could not be read; the row was not written.
            CatalogLeaseError: The catalog has no entry for the table.
        """
        read = self.fresh(table)
        entry = None if read is None else self.leases.begin(table, read.at_s, read.entry)
        if entry is not None:
            return entry
        try:
            return (yield from self.leases.refresh(table))
        except ConnectionLostError as error:
            raise RetryableError(
                "the row was not written: the catalog could not be read",
                table=table,
                row=row,
                fix="write it again",
            ) from error

    def forget(self, table: str) -> None:
        """Drop a table's entry from the cache, because the table was dropped or created again."""
        self.leases.forget(table)
        self._entries.pop(table, None)


def _copied(error: RejectedError) -> RejectedError:
    """Return a copy of an error without its traceback, because several threads may raise it."""
    return type(error)(error.text, fix=error.fix, **error.details)
