"""Registers created, dropped, lost and restored tables in the catalog.

Tables and the catalog itself can be dropped, truncated, copied or restored without this library.
Queries must not use indexes that were not maintained in the meantime. So:

- A new index must be built before queries use it. If the index table is empty and the table has no
  rows yet, no build is needed.
- A new catalog entry has a greater epoch than all guards in the table. Rows with a newer epoch than
  the catalog's could not be written.
- The entry of a dropped table keeps the numbers of its index tables, and the next index tables get
  greater numbers. So a program that was suspended cannot drop an index table of the next table.
  Entries that earlier versions of this library wrote for dropped tables have no numbers: the next
  index table gets the first number whose table does not exist.
- A catalog entry with a smaller epoch than a guard was restored from an earlier time. Later writes
  may not have maintained its indexes. So queries use no index until it is built again (`overtake`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import ConflictError
from hbase_orm.index.catalog.catalog import (
    change_entry,
    known,
    read_entry,
    refuse_differences,
    refuse_other_protocol,
)
from hbase_orm.index.catalog.entry import (
    VERSION_COLUMN,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
    next_epoch,
)
from hbase_orm.index.catalog.entry_details import joined_declaration, same_declaration
from hbase_orm.index.catalog.index_steps import table_of
from hbase_orm.index.catalog.refused_writes import refuse_held
from hbase_orm.index.entries.guard_cell import guard_of, is_plausible_epoch
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.ops import KeyRange, Protocol, Row, Scan, fetch_once

PAGE_ROWS: Final = 1000
"""The number of guards that are read at a time."""


def require_record(table: str) -> Protocol[None]:
    """Change a table's entry so that only programs that can read the table's record decode it.

    Nothing is changed if the catalog has no entry for the table, or only that of a dropped table of
    the same name.
    """
    entry = yield from read_entry(table)
    if entry is not None and not entry.is_unregistered and not entry.is_recorded:
        yield from change_entry(table, lambda now: replace(known(table, now), is_recorded=True))


def register(
    table: str,
    indexes: Mapping[str, str],
    *,
    is_new: bool,
    has_rows: bool = False,
    manual: Collection[str] = (),
    is_lww: bool = False,
    newest_epoch: int = 0,
    incarnations: Mapping[str, int] | None = None,
    own_holds: Collection[str] | None = None,
) -> Protocol[CatalogEntry]:
    """Register a table and its indexes; safe to repeat.

    The indexes of a table without rows are readable immediately. The indexes of a table with rows
    are ABSENT until they are built. Manual indexes are always ABSENT until they are built. If the
    catalog already has an entry for the table, and programs may have written the table, the entry
    only gets the codes that this program adds to the codecs of its indexes.

    Args:
        table: The table of the rows, with its namespace.
        indexes: The declaration texts of the indexes, by name.
        is_new: Whether the caller has just created the table, so that no program has written it.
        has_rows: Whether the table has rows.
        manual: The names of the indexes that only builds write.
        is_lww: Whether this program writes rows without guards.
        newest_epoch: The newest epoch in the guards of the rows; 0 if there is none.
        incarnations: For each index name, the number of the index table that was created (see
            `index_steps.table_of`). The default is 1, the first table.
        own_holds: The ids of the exclusive uses of this program. None changes the entry also while
            another program uses the table exclusively.

    Raises:
        TableHeldError: Another program uses the table exclusively, and the entry would change.
        ConflictError: Another program has created and dropped the table at the same time, and with
            it the index tables that the caller created. Or the table is being truncated, and this
            program would add codes.
        SchemaError: Other programs maintain indexes that this program does not declare, or declares
            differently. Or rows have guards and this program does not write guards, or the reverse.
    """
    first = {
        name: _first_index(
            table,
            name,
            entries,
            is_absent=name in manual or (has_rows and name != VERSION_COLUMN),
            is_manual=name in manual,
            incarnation=(incarnations or {}).get(name, 1),
        )
        for name, entries in indexes.items()
    }

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        registered = register_in(entry)
        if own_holds is not None and registered != entry:
            refuse_held(table, entry, own_holds)  # the use may have begun since the last check
        return registered

    # Never from READABLE back to NEW: another process may have written the table since.
    def register_in(entry: CatalogEntry | None) -> CatalogEntry:
        is_unwritten = is_new and entry is not None and entry.state is TableState.NEW
        if entry is None or entry.is_unregistered or is_unwritten:
            state = TableState.NEW if is_new else TableState.READABLE
            numbers = {} if entry is None else entry.numbers_only()
            if entry is not None and entry.is_unregistered:
                _refuse_dropped_tables(table, first, numbers)
            new = CatalogEntry(1, state, None, {**numbers, **_numbered(first, numbers)}, is_lww)
            if entry is not None and entry.hold is not None:
                hold = replace(entry.hold, before=TableState.READABLE)
                new = replace(new, state=TableState.EXCLUSIVE, hold=hold)
            return _first_entry(entry, new, newest_epoch=newest_epoch)
        refuse_other_protocol(table, entry, is_lww=is_lww)
        refuse_differences(table, entry, indexes)
        there = _with_codes(entry, indexes)
        if there != entry and entry.state_without_hold is TableState.TRUNCATING:
            raise ConflictError(
                "the table is being truncated, so no codes can be added to its indexes now",
                table=table,
                fix="call engine.create_tables again after the truncation",
            )
        if entry.state is TableState.NEW and not has_rows:
            new_indexes = _new_indexes(first, entry)
            _refuse_dropped_tables(table, new_indexes, entry.indexes)
            return replace(there, indexes={**there.indexes, **new_indexes})
        return there

    return (yield from change_entry(table, edit))


def _with_codes(entry: CatalogEntry, declared: Mapping[str, str]) -> CatalogEntry:
    """Return an entry with the codes that a program's indexes have besides those of the catalog.

    An index that was dropped, or never built, stays as it is: its next build begins with the codes
    of the program that builds it.
    """
    indexes = {
        name: replace(index, entries=joined_declaration(index.entries, declared[name]))
        for name, index in entry.indexes.items()
        if index.has_entries and same_declaration(index.entries, declared.get(name))
    }
    return replace(entry, indexes={**entry.indexes, **indexes})


def _first_index(
    table: str, name: str, entries: str, *, is_absent: bool, is_manual: bool, incarnation: int
) -> CatalogIndex:
    if is_absent:
        return CatalogIndex(entries, IndexState.ABSENT, is_manual=is_manual, incarnation=0)
    own_table = table_of(f"{table}_ix_{name}", incarnation) if incarnation > 1 else ""
    return CatalogIndex(entries, IndexState.READABLE, own_table, incarnation)


def _numbered(
    first: Mapping[str, CatalogIndex], numbers: Mapping[str, CatalogIndex]
) -> dict[str, CatalogIndex]:
    """Return the indexes with the numbers of earlier tables in those that have no table yet."""
    return {
        name: replace(index, incarnation=numbers[name].incarnation)
        if index.state is IndexState.ABSENT and name in numbers
        else index
        for name, index in first.items()
    }


def _new_indexes(first: Mapping[str, CatalogIndex], entry: CatalogEntry) -> dict[str, CatalogIndex]:
    """Return the indexes that the entry of a table without rows does not have as readable yet."""
    absent = {n for n, index in entry.indexes.items() if index.state is IndexState.ABSENT}
    return {
        name: index
        for name, index in _numbered(first, entry.indexes).items()
        if name not in entry.indexes or (name in absent and index.state is not IndexState.ABSENT)
    }


def _refuse_dropped_tables(
    table: str, first: Mapping[str, CatalogIndex], numbers: Mapping[str, CatalogIndex]
) -> None:
    """Raise an error if index tables that this program created belong to a dropped table now."""
    for name, index in first.items():
        known = numbers.get(name)
        is_created = index.state is not IndexState.ABSENT
        if known is not None and is_created and index.incarnation <= known.incarnation:
            raise ConflictError(
                "another program has created and dropped the table at the same time",
                table=table,
                index=name,
                number=index.incarnation,
                fix="call engine.create_tables again",
            )


def _first_entry(
    old: CatalogEntry | None, first: CatalogEntry, *, newest_epoch: int
) -> CatalogEntry:
    known_epoch = max(newest_epoch, old.epoch if old else 0)
    if not known_epoch:
        return first
    # An entry like this one is the answer to our own request, repeated: the epoch stays.
    if old is not None and replace(first, epoch=old.epoch) == old:
        return old
    return replace(first, epoch=next_epoch(known_epoch))


def unregister(
    table: str, epoch: int | None = None, newest_tables: Mapping[str, int] | None = None
) -> Protocol[CatalogEntry | None]:
    """Record that `table` was dropped, and keep its epoch; return its new entry.

    The entry also keeps the numbers of the newest index tables. If the catalog has no entry for the
    table, one is written only if there are index tables; else None is returned.

    Args:
        table: The table.
        epoch: The epoch of the dropped table's entry: the entry of a table with another epoch is
            not changed. None changes any entry.
        newest_tables: For each index, the largest number of an index table that exists.

    Raises:
        TableNotFoundError: There are index tables, but there is no catalog.
    """
    newest = newest_tables or {}
    if not newest and (yield from read_entry(table)) is None:
        return None

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        if entry is None:
            return _dropped(1, None, _at_least({}, newest))
        numbers = _at_least(entry.numbers_only(), newest)
        if entry.is_unregistered:
            return replace(entry, indexes=numbers)
        return entry if epoch not in {None, entry.epoch} else _dropped(entry.epoch, entry, numbers)

    return (yield from change_entry(table, edit))


def _at_least(
    numbers: Mapping[str, CatalogIndex], newest: Mapping[str, int]
) -> dict[str, CatalogIndex]:
    none = CatalogIndex("", IndexState.ABSENT, incarnation=0)
    indexes = {name: numbers.get(name, none) for name in (*numbers, *newest)}
    return {
        name: replace(index, incarnation=max(index.incarnation, newest.get(name, 0)))
        for name, index in indexes.items()
    }


def forget_lost(table: str, seen: CatalogEntry) -> Protocol[CatalogEntry]:
    """Record in the catalog that `table` does not exist any more; return its new entry.

    Args:
        table: The table.
        seen: The catalog's entry of the table, read before the caller checked whether the table
            exists. If the entry has changed since then, another program has created the table
            again. Then nothing is changed.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        is_unchanged = entry is None or entry == seen
        lost = _dropped(seen.epoch, entry, seen.numbers_only())
        return lost if is_unchanged else entry or seen

    return (yield from change_entry(table, edit))


def _dropped(
    epoch: int, entry: CatalogEntry | None, indexes: Mapping[str, CatalogIndex]
) -> CatalogEntry:
    """Return the entry of a dropped table; the exclusive use of a program goes on."""
    if entry is None or entry.hold is None:
        return CatalogEntry(epoch, TableState.DROPPED, indexes=indexes)
    held = CatalogEntry(epoch, TableState.EXCLUSIVE, indexes=indexes, hold=entry.hold)
    return held.with_state(TableState.DROPPED)


def overtake(table: str, newest_epoch: int) -> Protocol[CatalogEntry]:
    """Raise the catalog's epoch of `table` above `newest_epoch`, the epoch of a guard.

    Queries then use no index of the table until it is built again. Manual indexes are still used.
    Nothing is changed in two cases:

    - The catalog's epoch is greater already.
    - `newest_epoch` is implausibly much greater than the catalog's epoch. Then the guard is
      damaged.

    Raises:
        CatalogLeaseError: The catalog has no entry for the table.
        SchemaError: There is no greater epoch.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        if there.epoch > newest_epoch or not is_plausible_epoch(newest_epoch, there.epoch):
            return there
        indexes = {
            name: index if name == VERSION_COLUMN else _distrusted(index)
            for name, index in there.indexes.items()
        }
        epoch = next_epoch(newest_epoch)
        is_held = there.hold is not None
        state = TableState.EXCLUSIVE if is_held else TableState.READABLE
        return replace(there, epoch=epoch, state=state, indexes=indexes)

    return (yield from change_entry(table, edit))


def _distrusted(index: CatalogIndex) -> CatalogIndex:
    """Return the entry of `index` to store after the catalog was restored from an earlier time.

    A build in progress is cancelled. READABLE becomes WRITE_ONLY, so that queries do not use the
    index until it is built again. A manual index stays READABLE.
    """
    if index.state is IndexState.READABLE and not index.is_manual:
        index = replace(index, state=IndexState.WRITE_ONLY)
    return replace(index, build=())


def newest_epoch(
    table: str, *, known_epoch: int | None = None, most_rows: int | None = None
) -> Protocol[int]:
    """Return the newest epoch in the guards of a table's rows; 0 if no row has a guard.

    A guard with an epoch much greater than `known_epoch` is damaged, and is ignored.

    Args:
        table: The table of the rows.
        known_epoch: The catalog's epoch. If it is None, the most frequent epoch takes its place.
        most_rows: About how many guards are read at most; None reads all guards.
    """
    counts, seen, start = Counter[int](), 0, KeyRange()
    while most_rows is None or seen < most_rows:
        page = yield from fetch_once(Scan(table, start, (GUARD_COLUMN,), caching_rows=PAGE_ROWS))
        if not page:
            break
        counts.update(_epochs(page))
        seen += len(page)
        start = KeyRange(page[-1].key + b"\x00")
    if known_epoch is None:
        known_epoch = max(sorted(counts), key=counts.__getitem__, default=0)
    return max((each for each in counts if is_plausible_epoch(each, known_epoch)), default=0)


def _epochs(page: Sequence[Row]) -> Iterator[int]:
    for row in page:
        guard = guard_of(row.cells.get(GUARD_COLUMN))
        if guard is not None:  # no write can build on another: it stands in its own way alone
            yield guard.epoch
