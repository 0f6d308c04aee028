"""Caches the catalog's entries of tables for the length of a lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.index.catalog.catalog import CatalogView, read_entry
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.ops import Protocol


class ReadEntry(NamedTuple):
    """The catalog's entry of a table, None if it has none, and when it was read."""

    at_s: float
    entry: CatalogEntry | None


class CatalogCache:
    """This process's cache of the catalog. Threads may share it.

    Attributes:
        leases: What permits guarded writes.
        lease_s: How long what was read may be acted on, seconds.
        monotonic_s: The clock of leases.
    """

    def __init__(self, monotonic_s: Callable[[], float], lease_s: float) -> None:
        """Start with nothing read."""
        self.leases = CatalogView(monotonic_s, lease_s)
        self.lease_s = lease_s
        self.monotonic_s = monotonic_s
        self._entries: dict[str, ReadEntry] = {}

    def fresh(self, table: str) -> ReadEntry | None:
        """Return a table's entry if it was read less than a lease ago, else None."""
        read = self._entries.get(table)
        return read if read is not None and self.monotonic_s() < read.at_s + self.lease_s else None

    def entry(self, table: str) -> Protocol[CatalogEntry | None]:
        """Return the catalog's entry of a table, not older than a lease; opens no table."""
        read = self.fresh(table)
        if read is None:
            at_s = self.monotonic_s()
            read = self._entries[table] = ReadEntry(at_s, (yield from read_entry(table)))
        return read.entry

    def renew_lease(self, table: str, row: bytes) -> Protocol[CatalogEntry]:
        """Read a table's entry for guarded writes and return it, under a lease from now on.

        Args:
            table: The data table; a new one is opened for writes.
            row: The row that is written next, for errors.

        Raises:
            RetryableError: The catalog could not be read; the row was not written.
        """
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
        """Read a table's entry again before the next use: it was dropped, or made again."""
        self.leases.forget(table)
        self._entries.pop(table, None)
