"""The catalog: one cell a model's table that says who may write it how, changed by CAS only.

States of a table: `NEW` (just made; nobody has written it), then either `LOADING` (one load writes
it in plain batches that carry guards, everybody else is refused) or at once `READABLE` (guarded
writes). A writer opens a new table by moving it to `READABLE` itself, so that a load and a writer
can never both believe the table theirs. `DROPPED` keeps the epoch of a table that is gone.

Each index has a state of its own. `ABSENT`: nobody writes or reads it. `WRITE_ONLY`: every write
keeps it, while it is built or until it is dropped. `READABLE`: queries use it too. `DROPPING`: as
absent, and its table is about to go. Whoever changes a state waits until no process acts on the one
before, so at any time processes act on two adjacent states at most (`index.build`). An index that
the catalog does not name is absent.

`CatalogView` is one process's view of it, good for a lease; a writer whose lease has run out is
refused until it refreshes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Final

from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    RetryableError,
    SchemaError,
)
from hbase_orm.index.catalog_entry import (
    VERSION_COLUMN,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
    next_epoch,
)
from hbase_orm.index.loading import LoadTicket
from hbase_orm.ops import (
    CheckAndMutate,
    FamilyDescriptor,
    GetRows,
    Protocol,
    Put,
    RowMutation,
    Sleep,
    TableDescriptor,
    ask,
)

CATALOG_TABLE: Final = "hbase_orm_catalog"
CATALOG_COLUMN: Final = b"d:entry"

LEASE_S: Final = 30.0
"""How long a process may act on what it read; every change of state has to wait this long."""

MAX_TRIES: Final = 10
PAUSE_S: Final = 0.05


def catalog_descriptor() -> TableDescriptor:
    """Return what the catalog's table is made of."""
    return TableDescriptor(CATALOG_TABLE, (FamilyDescriptor(b"d"),))


def read_entry(table: str) -> Protocol[CatalogEntry | None]:
    """Return what the catalog says of `table`, or None."""
    stored = yield from _read(table)
    return CatalogEntry.decode(stored) if stored else None


def register(
    table: str,
    indexes: Mapping[str, str],
    *,
    is_new: bool,
    has_rows: bool = False,
    manual: Collection[str] = (),
    is_lww: bool = False,
) -> Protocol[CatalogEntry]:
    """Enter a table and its indexes; safe to repeat.

    Indexes of a table that has rows, and such as builds alone write, are absent until they are
    built. Of a table that is known, and that somebody may have written, nothing is changed.

    Args:
        table: The table of the rows, as the gateway names it.
        indexes: What each index's entries are, in words, by the index's name.
        is_new: Whether the caller itself has just created the table, and with it is sure that
            nobody has written it.
        has_rows: Whether the table has rows.
        manual: The indexes that builds alone write.
        is_lww: Whether this program writes rows without guards.

    Raises:
        SchemaError: Other programs write the table with indexes that are not declared here, or
            declared otherwise, or with guards where this one has none, or without.
    """
    first = _first_indexes(indexes, manual, has_rows=has_rows)

    # Never from READABLE back to NEW: somebody may have found the table and written it since.
    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        is_unwritten = is_new and entry is not None and entry.state is TableState.NEW
        if entry is None or entry.state is TableState.DROPPED or is_unwritten:
            return _first_entry(entry, first, is_new=is_new, is_lww=is_lww)
        if is_new and (dict(entry.indexes), entry.is_lww) != (first, is_lww):
            # What the catalog knows was dropped.
            return CatalogEntry(next_epoch(entry.epoch), TableState.READABLE, None, first, is_lww)
        refuse_other_protocol(table, entry, is_lww=is_lww)
        refuse_differences(table, entry, indexes)
        if entry.state is TableState.NEW and not has_rows:
            return replace(entry, indexes={**first, **entry.indexes})
        return entry

    return (yield from change_entry(table, edit))


def refuse_other_protocol(
    table: str, entry: CatalogEntry, *, is_lww: bool, **details: object
) -> None:
    """Refuse a program that writes rows without guards where others have them, or with.

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
        f"the table was made for rows with {has}, which this program does not write",
        **details,
        table=table,
        fix=f"{fix}, or drop the table and create it anew: all programs that write it must agree",
    )


def refuse_differences(
    table: str, entry: CatalogEntry, declared: Mapping[str, str], **details: object
) -> None:
    """Refuse a program that would not keep the indexes as others do: entries would be missing.

    Raises:
        SchemaError: It declares an index that is kept otherwise, or not at all.
    """
    differing = entry.differing(declared)
    if not differing:
        return
    raise SchemaError(
        "the model's indexes are not those that the catalog knows for its table",
        **details,
        table=table,
        differing=differing,
        declared=dict(declared),
        catalog=entry.described,
        fix="declare the same indexes in every program that uses the table; one that no program "
        "needs is dropped by 'hbase-orm index drop', and a changed one dropped and built again",
    )


def _first_indexes(
    indexes: Mapping[str, str], manual: Collection[str], *, has_rows: bool
) -> dict[str, CatalogIndex]:
    return {
        name: CatalogIndex(
            entries,
            IndexState.ABSENT
            if name in manual or (has_rows and name != VERSION_COLUMN)
            else IndexState.READABLE,
            is_manual=name in manual,
            incarnation=0 if name in manual or has_rows else 1,
        )
        for name, entries in indexes.items()
    }


def _first_entry(
    old: CatalogEntry | None,
    indexes: Mapping[str, CatalogIndex],
    *,
    is_new: bool,
    is_lww: bool,
) -> CatalogEntry:
    state = TableState.NEW if is_new else TableState.READABLE
    if old is None:
        return CatalogEntry(1, state, None, indexes, is_lww)
    first = CatalogEntry(old.epoch, state, None, indexes, is_lww)
    # An entry like this one is the answer to our own request, repeated: the epoch stays.
    return first if first == old else replace(first, epoch=next_epoch(old.epoch))


def unregister(table: str) -> Protocol[CatalogEntry | None]:
    """Note that `table` is dropped; its epoch is kept. A table unknown is left alone."""
    if (yield from read_entry(table)) is None:
        return None

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        epoch = entry.epoch if entry else 1
        return CatalogEntry(epoch, TableState.DROPPED)

    return (yield from change_entry(table, edit))


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
        known = _known(table, entry)
        if known.state is TableState.LOADING:
            return known
        if known.state is not TableState.NEW:
            raise ConflictError(
                "only a table that nobody has written can be loaded without checks",
                table=table,
                state=known.state.value,
                fix="write it by guarded writes, or drop and create it",
            )
        ticket = LoadTicket(now_ms, nonce, known.epoch)
        return replace(known, state=TableState.LOADING, load=ticket)

    entry = yield from change_entry(table, edit)
    if entry.load is None:
        raise CorruptRowError("a table in LOADING has no load", table=table)
    return entry.load


def finish_loading(table: str, ticket: LoadTicket) -> Protocol[CatalogEntry]:
    """Open a loaded table for guarded writes. Call it when every batch was acknowledged.

    Raises:
        ConflictError: The catalog does not show this load.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        known = _known(table, entry)
        if known.load != ticket:
            raise ConflictError("the catalog does not show this load", table=table, load=ticket)
        return replace(known, state=TableState.READABLE)

    return (yield from change_entry(table, edit))


def open_for_writes(table: str) -> Protocol[CatalogEntry]:
    """Return what the catalog says of `table`; a new table becomes readable, unless it loads.

    Raises:
        CatalogLeaseError: The catalog does not know the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        known = _known(table, entry)
        is_new = known.state is TableState.NEW
        return replace(known, state=TableState.READABLE) if is_new else known

    return (yield from change_entry(table, edit))


class CatalogView:
    """What this process last read of the catalog. Threads may share it."""

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
        asked_s = self._monotonic_s()
        entry = yield from open_for_writes(table)
        self._read[table] = (asked_s, entry)
        return entry

    def forget(self, table: str) -> None:
        """Know nothing of `table` any more: it was dropped, or made anew."""
        self._read.pop(table, None)

    def entry(self, table: str) -> CatalogEntry | None:
        """Return what is known of `table`, or None once the lease on it has run out."""
        asked_s, entry = self._read.get(table, (0.0, None))
        return entry if self._monotonic_s() < asked_s + self._lease_s else None

    def is_fresh(self, table: str) -> bool:
        """Say whether the lease on `table` still runs."""
        return self.entry(table) is not None

    def permit_under(self, epoch: int) -> Callable[[str], int]:
        """Return `permit` for a write that was prepared by what the catalog said at this epoch.

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
                "this process's view of the catalog is too old to write guarded rows",
                table=table,
                lease_s=self._lease_s,
                fix="refresh the view and write again",
            )
        if entry.state is not TableState.READABLE:
            raise CatalogLeaseError(
                "the table is not open for guarded writes",
                table=table,
                state=entry.state.value,
                fix="wait for the load to finish; an interrupted one is finished by running it "
                "again",
            )
        return entry.epoch


def _known(table: str, entry: CatalogEntry | None) -> CatalogEntry:
    if entry is None:
        raise CatalogLeaseError(
            "the catalog does not know the table",
            table=table,
            fix="call engine.create_tables with the model",
        )
    return entry


def _read(table: str) -> Protocol[bytes]:
    (row,) = yield from ask(GetRows(CATALOG_TABLE, (table.encode(),), (CATALOG_COLUMN,)))
    cell = row.cells.get(CATALOG_COLUMN) if row else None
    return cell.value if cell else b""


def change_entry(
    table: str, edit: Callable[[CatalogEntry | None], CatalogEntry]
) -> Protocol[CatalogEntry]:
    """Replace an entry by what `edit` makes of it; `edit` of its own result changes nothing.

    That makes every answer good: after a False or a broken connection the cell is read again.
    """
    for tries in range(1, MAX_TRIES + 1):
        stored = yield from _read(table)
        wanted = edit(CatalogEntry.decode(stored) if stored else None)
        if wanted.encode() == stored:
            return wanted
        if (yield from _swap(table, stored, wanted.encode())):
            return wanted
        yield from ask(Sleep(PAUSE_S * tries))
    raise ConflictError("the catalog entry changed at every try", table=table, tries=MAX_TRIES)


def _swap(table: str, stored: bytes, wanted: bytes) -> Protocol[bool]:
    row = table.encode()
    mutation = RowMutation(row, puts=(Put(CATALOG_COLUMN, wanted),))
    try:
        return (yield from ask(CheckAndMutate(CATALOG_TABLE, CATALOG_COLUMN, stored, mutation)))
    except (RetryableError, ConnectionLostError):
        return False
