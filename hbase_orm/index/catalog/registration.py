"""Registers tables in the catalog and removes them: made, dropped, lost or restored tables.

Tables can be dropped, truncated, copied or restored without this library, and so can the catalog.
What is entered then must not let queries believe entries that nobody has kept:

- An index is readable from the beginning only if its table is empty and there are no rows yet.
- The epoch of an entry is above those of all guards, or the rows could not be written.
- An entry whose epoch is below a guard's is of an earlier time. It cannot know which indexes were
  kept since, so none of them is read until it was built again (`overtake`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

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
from hbase_orm.index.catalog.index_steps import table_of
from hbase_orm.index.entries.guard_cell import guard_of, is_plausible_epoch
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.ops import KeyRange, Protocol, Row, Scan, fetch_once

PAGE_ROWS: Final = 1000
"""Guards read at a time."""


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
        newest_epoch: The newest epoch in the guards of the rows; 0 for none.
        incarnations: Which table of each index was made for it, by the index's name; the first
            where it is not said.

    Raises:
        SchemaError: Other programs write the table with indexes that are not declared here, or
            declared otherwise, or with guards where this one has none, or without.
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

    # Never from READABLE back to NEW: another process may have written the table since.
    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        is_unwritten = is_new and entry is not None and entry.state is TableState.NEW
        if entry is None or entry.state is TableState.DROPPED or is_unwritten:
            state = TableState.NEW if is_new else TableState.READABLE
            return _first_entry(
                entry, CatalogEntry(1, state, None, first, is_lww), newest_epoch=newest_epoch
            )
        refuse_other_protocol(table, entry, is_lww=is_lww)
        refuse_differences(table, entry, indexes)
        if entry.state is TableState.NEW and not has_rows:
            return replace(entry, indexes={**first, **entry.indexes})
        return entry

    return (yield from change_entry(table, edit))


def _first_index(
    table: str, name: str, entries: str, *, is_absent: bool, is_manual: bool, incarnation: int
) -> CatalogIndex:
    if is_absent:
        return CatalogIndex(entries, IndexState.ABSENT, is_manual=is_manual, incarnation=0)
    own_table = table_of(f"{table}_ix_{name}", incarnation) if incarnation > 1 else ""
    return CatalogIndex(entries, IndexState.READABLE, own_table, incarnation)


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


def unregister(table: str) -> Protocol[CatalogEntry | None]:
    """Record that `table` is dropped and keep its epoch; ignore an unknown table."""
    if (yield from read_entry(table)) is None:
        return None

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        epoch = entry.epoch if entry else 1
        return CatalogEntry(epoch, TableState.DROPPED)

    return (yield from change_entry(table, edit))


def forget_lost(table: str, seen: CatalogEntry) -> Protocol[CatalogEntry]:
    """Record that a table is gone although the catalog lists it; return the new entry.

    Args:
        table: The table.
        seen: What the catalog said before the table was searched. Where it says something else
            now, somebody has made the table again, and that stands.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        is_unchanged = entry is None or entry == seen
        return CatalogEntry(seen.epoch, TableState.DROPPED) if is_unchanged else entry or seen

    return (yield from change_entry(table, edit))


def overtake(table: str, newest_epoch: int) -> Protocol[CatalogEntry]:
    """Raise the epoch above a guard's epoch; queries use no index until it is built again.

    Where it is above already, nothing is changed, nor where the guard's epoch is too far above the
    catalog's to be a writer's. Safe to repeat.

    Raises:
        CatalogLeaseError: The catalog does not know the table.
        SchemaError: There is no epoch above.
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
        return replace(there, epoch=epoch, state=TableState.READABLE, indexes=indexes)

    return (yield from change_entry(table, edit))


def _distrusted(index: CatalogIndex) -> CatalogIndex:
    """Return an index that queries cannot use until it is rebuilt; writers still maintain it."""
    if index.state is IndexState.READABLE and not index.is_manual:
        index = replace(index, state=IndexState.WRITE_ONLY)
    return replace(index, build=())


def newest_epoch(
    table: str, *, known_epoch: int | None = None, most_rows: int | None = None
) -> Protocol[int]:
    """Return the newest epoch in the guards of a table's rows; 0 where none has a guard.

    Reads every guard, page by page, unless `most_rows` are enough. An epoch is left out that is too
    far above the catalog's, or, where the catalog knows none, above the one that most rows have.
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
