"""Caches the catalog's entries of tables for the length of a lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.index.catalog.catalog import CatalogView, read_cells
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.catalog.refused_writes import is_held, refuse_held
from hbase_orm.ops import Protocol


class ReadEntry(NamedTuple):
    """The catalog's entry of a table, or None, its record, and the time when they were read.

    Attributes:
        at_s: The time of the monotonic clock before the request.
        entry: The entry, or None.
        record: The bytes of the table's record; empty without one.
    """

    at_s: float
    entry: CatalogEntry | None
    record: bytes = b""


class CatalogCache:
    """The cache of the catalog in this process. Threads may share it.

    Attributes:
        leases: The leases that permit guarded writes.
        lease_s: The time for which a catalog entry may be used after it was read, in seconds.
        monotonic_s: The clock of leases.
        own_holds: The ids of the exclusive uses of this process.
    """

    def __init__(self, monotonic_s: Callable[[], float], lease_s: float) -> None:
        """Start with an empty cache."""
        self.own_holds: set[str] = set()
        self.leases = CatalogView(monotonic_s, lease_s, self.own_holds)
        self.lease_s = lease_s
        self.monotonic_s = monotonic_s
        self._entries: dict[str, ReadEntry] = {}

    def fresh(self, table: str) -> ReadEntry | None:
        """Return a table's entry if it was read less than `lease_s` ago, else None."""
        read = self._entries.get(table)
        return read if read is not None and self.monotonic_s() < read.at_s + self.lease_s else None

    def entry(self, table: str) -> Protocol[CatalogEntry | None]:
        """Return the catalog's entry of a table, at most `lease_s` old; None if there is none.

        This method never changes the catalog. In contrast, `renew_lease` changes the entry of a
        new table, so that guarded writes are permitted.
        """
        return (yield from self._read(table)).entry

    def record(self, table: str) -> Protocol[bytes]:
        """Return the bytes of a table's record, at most `lease_s` old; empty without one."""
        return (yield from self._read(table)).record

    def _read(self, table: str) -> Protocol[ReadEntry]:
        read = self.fresh(table)
        if read is None:
            at_s = self.monotonic_s()
            entry, record = yield from read_cells(table)
            decoded = CatalogEntry.decode(entry) if entry else None
            read = self._entries[table] = ReadEntry(at_s, decoded, record)
        return read

    def refuse_held(self, table: str) -> Protocol[None]:
        """Raise an error if another program uses the table exclusively.

        An entry that says so is read again, because that program may have finished.

        Raises:
            TableHeldError: It uses the table.
        """
        read = self.fresh(table)
        if read is not None and is_held(read.entry, self.own_holds):
            self.forget(table)
        refuse_held(table, (yield from self.entry(table)), self.own_holds)

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
