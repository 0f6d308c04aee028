"""The catalog: one cell for each table, which says who may write it; changed by CAS only.

States of a table: `NEW` (just made; nobody has written it), then either `LOADING` (one load writes
it in plain batches that carry guards, everybody else is refused) or at once `READABLE` (guarded
writes). A writer opens a new table by moving it to `READABLE` itself, so that a load and a writer
can never both believe the table theirs. `DROPPED` keeps the epoch of a table that is gone.

Each index has a state of its own. `ABSENT`: nobody writes or reads it. `WRITE_ONLY`: every write
keeps it, while it is built or until it is dropped. `READABLE`: queries use it too. `DROPPING`: as
absent, and its table is about to go. Whoever changes a state waits until no process acts on the one
before, so at any time processes act on two adjacent states at most
(`index.catalog.index_steps`). An index that the catalog does not name is absent.

`CatalogView` is one process's view of it, good for a lease; a writer whose lease has run out is
refused until it refreshes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    RetryableError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.index.catalog.entry import (
    CatalogEntry,
    TableState,
)
from hbase_orm.index.protocol.load import LoadTicket
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

CATALOG_TABLE: Final = "hbase_orm_catalog"
CATALOG_COLUMN: Final = b"d:entry"

LEASE_S: Final = 30.0
"""How long a process may use an entry after reading it; each change of state waits this long."""

CHANGES: Final = RetryPolicy(attempts=10, first_pause_s=0.05, factor=None)
"""For changes of an entry that other processes change at the same time."""


def catalog_descriptor() -> TableDescriptor:
    """Return what the catalog's table is made of."""
    return TableDescriptor(CATALOG_TABLE, (FamilyDescriptor(b"d"),))


def read_entry(table: str) -> Protocol[CatalogEntry | None]:
    """Return the catalog's entry of `table`, or None."""
    stored = yield from _read(table)
    return CatalogEntry.decode(stored) if stored else None


def refuse_other_protocol(
    table: str, entry: CatalogEntry, *, is_lww: bool, **details: object
) -> None:
    """Refuse a program whose writes use guards if the table has none, or the reverse.

    Neither would notice what the other does: entries would be missing. A table keeps what it was
    made for until it is dropped.

    Raises:
        SchemaError: It does.
    """
    if entry.is_lww == is_lww or entry.state is TableState.DROPPED:
        return
    has, fix = (
        ("no guards", "leave thrift2 out of the URL")
        if entry.is_lww
        else ("guards", "add thrift2=host:9091 to the URL")
    )
    raise SchemaError(
        f"the table was created for rows with {has}, but this program writes rows without them",
        **details,
        table=table,
        fix=f"{fix}, or drop the table and create it again: all programs that write it must agree",
    )


def refuse_differences(
    table: str, entry: CatalogEntry, declared: Mapping[str, str], **details: object
) -> None:
    """Refuse a program that maintains other indexes than the catalog: entries would be missing.

    Raises:
        SchemaError: It declares an index that is kept otherwise, or not at all.
    """
    differing = entry.differing(declared)
    if not differing:
        return
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


def begin_loading(table: str, *, now_ms: int, nonce: bytes) -> Protocol[LoadTicket]:
    """Start a load of a new table, or return the ticket of the one that was interrupted.

    The ticket fixes timestamp and nonce of everything the load writes, so a load that is run
    again with the same rows writes the same bytes at the same timestamps and doubles nothing.
    Nothing tells an interrupted load from one that another process is still running: load a table
    from one process at a time, and start again only when the earlier one has ended.

    Raises:
        ConflictError: Guarded writers may be at work on the table: it is not new.
        CatalogLeaseError: The catalog does not know the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        if there.state is TableState.LOADING:
            return there
        if there.state is not TableState.NEW:
            raise ConflictError(
                "only a table without any earlier writes can be loaded without checks",
                table=table,
                state=there.state.value,
                fix="write the rows without load, or drop the table and create it again",
            )
        ticket = LoadTicket(now_ms, nonce, there.epoch)
        return replace(there, state=TableState.LOADING, load=ticket)

    entry = yield from change_entry(table, edit)
    if entry.load is None:
        raise CorruptRowError(
            "the catalog shows the table as LOADING, but names no load", table=table
        )
    return entry.load


def finish_loading(table: str, ticket: LoadTicket) -> Protocol[CatalogEntry]:
    """Open a loaded table for guarded writes. Call it when every batch was acknowledged.

    Raises:
        ConflictError: The catalog does not show this load.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        if there.load != ticket:
            raise ConflictError("the catalog has no record of this load", table=table, load=ticket)
        return replace(there, state=TableState.READABLE)

    return (yield from change_entry(table, edit))


def open_for_writes(table: str) -> Protocol[CatalogEntry]:
    """Return the catalog's entry of `table`; open a new table unless it is being loaded.

    Raises:
        CatalogLeaseError: The catalog does not know the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        is_new = there.state is TableState.NEW
        return replace(there, state=TableState.READABLE) if is_new else there

    return (yield from change_entry(table, edit))


class CatalogView:
    """This process's view of the catalog. Threads may share it."""

    def __init__(self, monotonic_s: Callable[[], float], lease_s: float = LEASE_S) -> None:
        """Start knowing nothing; `monotonic_s` is a clock that never goes back."""
        self._monotonic_s = monotonic_s
        self._lease_s = lease_s
        self._read: dict[str, tuple[float, CatalogEntry]] = {}

    def __repr__(self) -> str:
        """Name the tables known, with state and epoch."""
        known = ", ".join(
            f"{table}: {entry.state.value} epoch {entry.epoch}"
            for table, (_, entry) in sorted(self._read.items())
        )
        return f"CatalogView({known})"

    def refresh(self, table: str) -> Protocol[CatalogEntry]:
        """Read the catalog, opening a new table; the lease counts from before the read."""
        begun_s = self._monotonic_s()
        entry = yield from open_for_writes(table)
        self._read[table] = (begun_s, entry)
        return entry

    def forget(self, table: str) -> None:
        """Forget `table`, which was dropped or made again."""
        self._read.pop(table, None)

    def entry(self, table: str) -> CatalogEntry | None:
        """Return the cached entry of `table`, or None if its lease has expired."""
        begun_s, entry = self._read.get(table, (0.0, None))
        return entry if self._monotonic_s() < begun_s + self._lease_s else None

    def is_fresh(self, table: str) -> bool:
        """Return whether the lease on `table` is valid."""
        return self.entry(table) is not None

    def permit_under(self, epoch: int) -> Callable[[str], int]:
        """Return `permit` for a write that was prepared under this catalog epoch.

        Another thread may refresh the view meanwhile. A write that knows fewer indexes than the
        view does must not carry the view's epoch: its row would pass for one with all entries.
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
            CatalogLeaseError: The lease has run out, or the table is being loaded.
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
            raise CatalogLeaseError(
                "the table is not open for guarded writes",
                table=table,
                state=entry.state.value,
                fix="wait for the load to finish; run an interrupted load again to finish it",
            )
        return entry.epoch


def known(table: str, entry: CatalogEntry | None) -> CatalogEntry:
    """Return the entry of a table, which must be in the catalog.

    Raises:
        CatalogLeaseError: It does not know the table, or says that it was dropped.
    """
    if entry is None or entry.state is TableState.DROPPED:
        raise CatalogLeaseError(
            "the catalog has no entry for the table",
            table=table,
            fix="call engine.create_tables with the model",
        )
    return entry


def _read(table: str) -> Protocol[bytes]:
    """Return the cell of a table; empty where there is none, or no catalog at all."""
    try:
        (row,) = yield from ask(GetRows(CATALOG_TABLE, (table.encode(),), (CATALOG_COLUMN,)))
    except TableNotFoundError:
        return b""
    cell = row.cells.get(CATALOG_COLUMN) if row else None
    return cell.value if cell else b""


def change_entry(
    table: str, edit: Callable[[CatalogEntry | None], CatalogEntry]
) -> Protocol[CatalogEntry]:
    """Replace an entry by the result of `edit`, which must be idempotent.

    That makes every answer good: after a False or a broken connection the cell is read again.
    """
    for tries in range(1, CHANGES.attempts + 1):
        stored = yield from _read(table)
        wanted = edit(CatalogEntry.decode(stored) if stored else None)
        if wanted.encode() == stored:
            return wanted
        if (yield from _swap(table, stored, wanted.encode())):
            return wanted
        yield from CHANGES.pause(tries)
    raise ConflictError(
        "other programs changed the catalog entry at every attempt",
        table=table,
        tries=CHANGES.attempts,
    )


def _swap(table: str, stored: bytes, wanted: bytes) -> Protocol[bool]:
    row = table.encode()
    mutation = RowMutation(row, puts=(Put(CATALOG_COLUMN, wanted),))
    try:
        return (yield from ask(CheckAndMutate(CATALOG_TABLE, CATALOG_COLUMN, stored, mutation)))
    except (RetryableError, ConnectionLostError):
        return False
