"""The catalog: for each table one cell with the states of the table and of its indexes.

The cell is changed only by check-and-mutate.

A table has one of these states:

- `NEW`: the table was created, and not written yet.
- `LOADING`: one load writes it in plain batches that include guards. Other writers are refused.
  Several programs may take part in the load (`index.catalog.loading`).
- `READABLE`: all programs may write it. The first writer changes a new table to this state, so a
  load and a writer never use it at the same time.
- `TRUNCATING`: the table is being emptied. Writers are refused, and queries use no index.
- `EXCLUSIVE`: one program uses it, all others may read it (`index.catalog.table_hold`).
- `DROPPED`: the table was dropped. Its entry only keeps the epoch.

An index has one of these states:

- `ABSENT`: no program writes or reads the index. An index that is not in the catalog has this state
  too.
- `WRITE_ONLY`: every write maintains the index, during a build or a drop.
- `READABLE`: queries use the index. Every write maintains it, unless the index is manual.
- `DROPPING`: no program writes or reads the index, and its table is being dropped.

A program that changes the state of an index waits until no process uses the previous state. So at
any time processes use at most two adjacent states (`index.catalog.index_steps`).

`CatalogView` is a process's cache of the catalog. An entry in the cache is valid for `LEASE_S`
seconds, its lease. After that, writes are refused until the entry is read again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.index.catalog.differences import refuse_other_row_key
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.lease import LEASE_S
from hbase_orm.index.catalog.refused_writes import refuse_guarded_writes
from hbase_orm.ops import (
    CheckAndMutate,
    FamilyDescriptor,
    GetRows,
    Protocol,
    Put,
    RetryPolicy,
    RowMutation,
    TableDescriptor,
    ask,
)
from hbase_orm.ops.conditional_changes import ConditionalChanges

E = TypeVar("E", bound=CatalogEntry | None)

CATALOG_TABLE: Final = "hbase_orm_catalog"
CATALOG_COLUMN: Final = b"d:entry"

RECORD_COLUMN: Final = b"d:record"
"""The record of the table: the declaration that its rows follow; see `hbase_orm.record`."""


CHANGES: Final = RetryPolicy(attempts=10, first_pause_s=0.05, factor=None)
"""The retry policy for changes of an entry that other processes change at the same time."""


def catalog_descriptor() -> TableDescriptor:
    """Return the descriptor of the catalog's table."""
    return TableDescriptor(CATALOG_TABLE, (FamilyDescriptor(b"d"),))


def read_entry(table: str) -> Protocol[CatalogEntry | None]:
    """Return the catalog's entry of `table`; None if there is no entry or no catalog table."""
    stored = yield from _read(table)
    return CatalogEntry.decode(stored) if stored else None


def refuse_other_protocol(
    table: str, entry: CatalogEntry, *, is_lww: bool, **details: object
) -> None:
    """Raise an error if the program uses guards and the table does not, or the reverse.

    If one program wrote a table with guards and another one without guards, entries could be
    missing. Whether a table uses guards does not change until the table is dropped.

    Raises:
        SchemaError: Only one of the program and the table uses guards.
    """
    if entry.is_lww == is_lww or entry.is_unregistered:
        return
    text, fix = (
        (
            "the table was created for rows without guards, but this program writes rows with them",
            "leave thrift2 out of the URL",
        )
        if entry.is_lww
        else (
            "the table was created for rows with guards, but this program writes rows without them",
            "add thrift2=host:9091 to the URL",
        )
    )
    raise SchemaError(
        text,
        **details,
        table=table,
        fix=f"{fix}, or drop the table and create it again: all programs that write it must agree",
    )


def refuse_differences(
    table: str, entry: CatalogEntry, declared: Mapping[str, str], **details: object
) -> None:
    """Raise an error if the indexes of a program differ from the indexes in the catalog.

    Writes of such a program would leave out entries.

    Raises:
        SchemaError: The program declares a maintained index differently, or does not declare it; or
            its row key differs from the key of the table's rows.
    """
    differing = entry.differing(declared)
    if not differing:
        return
    refuse_other_row_key(differing, declared, entry.declarations, **details, table=table)
    raise SchemaError(
        "the model's indexes differ from those that the catalog has for its table",
        **details,
        table=table,
        differing=differing,
        declared=dict(declared),
        catalog=entry.declarations,
        fix="declare the same indexes in every program that uses the table; drop an index that "
        "no program needs with 'hbase-orm index drop'; drop a changed index and build it "
        "again",
    )


def open_for_writes(table: str) -> Protocol[CatalogEntry]:
    """Return the catalog's entry of `table`; if its state is NEW, first change it to READABLE.

    Every other state is kept, e.g. LOADING while the table is being loaded.

    Raises:
        CatalogLeaseError: The catalog has no entry for the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        is_new = there.state is TableState.NEW
        return replace(there, state=TableState.READABLE) if is_new else there

    return (yield from change_entry(table, edit))


class CatalogView:
    """This process's cache of the catalog. Threads may share it."""

    def __init__(
        self,
        monotonic_s: Callable[[], float],
        lease_s: float = LEASE_S,
        own_holds: Collection[str] = (),
    ) -> None:
        """Start with an empty cache.

        `monotonic_s` is a monotonic clock, `own_holds` has the ids of this process's `TableHold`s.
        """
        self._monotonic_s = monotonic_s
        self._lease_s = lease_s
        self._own_holds = own_holds
        self._read: dict[str, tuple[float, CatalogEntry]] = {}

    def __repr__(self) -> str:
        """Return the cached tables with their state and epoch."""
        known = ", ".join(
            f"{table}: {entry.state.value} epoch {entry.epoch}"
            for table, (_, entry) in sorted(self._read.items())
        )
        return f"CatalogView({known})"

    def refresh(self, table: str) -> Protocol[CatalogEntry]:
        """Read the entry of `table` by `open_for_writes`, cache it and return it.

        The lease of the entry begins before the read.
        """
        begun_s = self._monotonic_s()
        entry = yield from open_for_writes(table)
        self._read[table] = (begun_s, entry)
        return entry

    def begin(
        self, table: str, read_at_s: float, entry: CatalogEntry | None
    ) -> CatalogEntry | None:
        """Begin a lease with an entry that was read for another purpose, and return the entry.

        Args:
            table: The table.
            read_at_s: The time before the entry was read; the lease begins then.
            entry: The entry, or None.

        Returns:
            The entry; None if its state does not permit guarded writes. Then call `refresh`, which
            opens a new table for writes.
        """
        if entry is None or entry.state is not TableState.READABLE:
            return None
        self._read[table] = (read_at_s, entry)
        return entry

    def forget(self, table: str) -> None:
        """Remove the entry of `table` from the cache, so that the catalog is read again."""
        self._read.pop(table, None)

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the cached entry of `table`; None if it is not cached or its lease has expired."""
        begun_s, entry = self._read.get(table, (0.0, None))
        return entry if self._monotonic_s() < begun_s + self._lease_s else None

    def is_fresh(self, table: str) -> bool:
        """Return whether the lease on `table` is valid."""
        return self.entry(table) is not None

    def permit_under(self, epoch: int) -> Callable[[str], int]:
        """Return a function like `permit` that also raises an error if the catalog has changed.

        Use it for a write that was prepared for the indexes of `epoch`. Another thread may refresh
        this view before the write is sent, and the catalog may then have new indexes. The write
        makes no entries in them, so it must not be sent with the newer epoch. The error is a
        CatalogLeaseError.
        """

        def permit(table: str) -> int:
            now = self.permit(table)
            if now != epoch:
                raise CatalogLeaseError(
                    "the catalog has changed since the write began",
                    table=table,
                    epoch=now,
                    own_epoch=epoch,
                    fix="write again",
                )
            return now

        return permit

    def permit(self, table: str) -> int:
        """Return the epoch under which guarded rows of `table` may be written now.

        Raises:
            CatalogLeaseError: The lease has expired. Or the table is being loaded or truncated, or
                was dropped.
            TableHeldError: Another program uses the table exclusively.
        """
        entry = self.entry(table)
        if entry is None:
            raise CatalogLeaseError(
                "this process last read the catalog too long ago to write guarded rows",
                table=table,
                lease_s=self._lease_s,
                fix="read the catalog again and repeat the write",
            )
        if entry.state is not TableState.READABLE:
            refuse_guarded_writes(table, entry, self._own_holds)
        return entry.epoch


def known(table: str, entry: CatalogEntry | None) -> CatalogEntry:
    """Return `entry`, the catalog's entry of `table`; raise an error if the table is unknown.

    Raises:
        CatalogLeaseError: The catalog has no entry for the table, or marks it as dropped.
    """
    if entry is None or entry.is_unregistered:
        raise CatalogLeaseError(
            "the catalog has no entry for the table",
            table=table,
            fix="call engine.create_tables with the model",
        )
    return entry


def _read(table: str) -> Protocol[bytes]:
    """Return the value of the catalog's cell for `table`.

    The value is empty if the catalog has no such cell, or if there is no catalog table.
    """
    entry, _ = yield from read_cells(table)
    return entry


def read_cells(table: str) -> Protocol[tuple[bytes, bytes]]:
    """Return the catalog's two cells of a table: its entry and its record.

    A missing cell is returned as empty bytes. Without a catalog table, both are empty.
    """
    columns = (CATALOG_COLUMN, RECORD_COLUMN)
    try:
        (row,) = yield from ask(GetRows(CATALOG_TABLE, (table.encode(),), columns))
    except TableNotFoundError:
        return b"", b""
    cells = [None if row is None else row.cells.get(column) for column in columns]
    entry, record = [b"" if cell is None else cell.value for cell in cells]
    return entry, record


def change_entry(table: str, edit: Callable[[CatalogEntry | None], E]) -> Protocol[E]:
    """Replace the catalog's entry of `table` by the result of `edit`; return the new entry.

    `edit` gets the stored entry, or None if there is none; if it returns None, the cell becomes
    empty. It must be idempotent: after a conflict or a broken connection, the entry is read again
    and `edit` is called again.

    Raises:
        ConflictError: Other programs changed the entry at every attempt.
        GatewayError: The answers to the changes were lost.
    """
    changes = ConditionalChanges()
    for tries in range(1, CHANGES.attempts + 1):
        stored = yield from _read(table)
        wanted = edit(CatalogEntry.decode(stored) if stored else None)
        # Not a delete: its tombstone could hide an entry that is put in the same millisecond.
        encoded = b"" if wanted is None else wanted.encode()
        if encoded == stored or (yield from changes.ask(_swap(table, stored, encoded))):
            return wanted
        yield from CHANGES.pause(tries)
    raise changes.error(
        ConflictError(
            "other programs changed the catalog entry at every attempt",
            table=table,
            tries=CHANGES.attempts,
        )
    )


def _swap(table: str, stored: bytes, wanted: bytes) -> CheckAndMutate:
    mutation = RowMutation(table.encode(), puts=(Put(CATALOG_COLUMN, wanted),))
    return CheckAndMutate(CATALOG_TABLE, CATALOG_COLUMN, stored, mutation)
