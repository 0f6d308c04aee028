"""The steps of a truncation of a table with indexes: each step is one change of the catalog.

1. `begin_truncation` sets the state TRUNCATING, in which programs refuse to write the table, and no
   query uses an index. It stores the number of the next table of each index.
2. The truncation waits until no program uses an older catalog entry.
3. The next index tables are created, the table is emptied, and the earlier index tables are
   dropped. A late put of an entry finds no table then.
4. `finish_truncation` sets the state NEW. The indexes are readable immediately, because the table
   has no rows and no entries.

If the program itself uses the table exclusively, the states are those after this use.

A truncation that was interrupted is repeated from its beginning. All steps are safe to repeat.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from hbase_orm.errors import ConflictError
from hbase_orm.index.catalog.catalog import change_entry, known
from hbase_orm.index.catalog.entry import (
    VERSION_COLUMN,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
    next_epoch,
)
from hbase_orm.index.catalog.index_steps import refuse_exclusive_state, table_of
from hbase_orm.index.catalog.refused_writes import refuse_held
from hbase_orm.ops import Protocol


def indexes_with_tables(entry: CatalogEntry) -> list[str]:
    """Return the names of the indexes that writes or queries use, or that are being built."""
    used = {IndexState.WRITE_ONLY, IndexState.READABLE}
    return [
        name
        for name, index in entry.indexes.items()
        if name != VERSION_COLUMN and (index.state in used or index.build)
    ]


def begin_truncation(
    table: str,
    seen: CatalogEntry,
    newest_tables: Mapping[str, int],
    own_holds: Collection[str] = (),
) -> Protocol[CatalogEntry]:
    """Refuse writes and reads by index until `finish_truncation`; return the new entry.

    Builds of indexes are cancelled: after the truncation, their indexes are readable.

    Args:
        table: The table of the rows.
        seen: The entry before, with which the truncation was prepared.
        newest_tables: For each index, the largest number of an index table that exists; 0 if there
            is none. The next table gets a greater number.
        own_holds: The ids of the exclusive uses of this program.

    Raises:
        ConflictError: The table is being loaded. Or the entry has a new epoch since `seen`: another
            program has dropped the table and created it again, or changed an index.
        TableHeldError: Another program uses the table exclusively.
        CatalogLeaseError: The catalog has no entry for the table.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        refuse_held(table, there, own_holds)
        is_begun = there.state_without_hold is TableState.TRUNCATING
        # The truncation itself begins an epoch, and its answer may have been lost.
        if there.epoch != seen.epoch and not (is_begun and there.epoch == seen.epoch + 1):
            raise _changed(table)
        if is_begun:
            return there
        refuse_exclusive_state(table, there)
        begun = {
            name: _begun(there.indexes[name], newest_tables.get(name, 0))
            for name in indexes_with_tables(there)
        }
        return replace(
            there.with_state(TableState.TRUNCATING),
            epoch=next_epoch(there.epoch),
            load=None,
            indexes={**there.indexes, **begun},
        )

    return (yield from change_entry(table, edit))


def _begun(index: CatalogIndex, newest_table: int) -> CatalogIndex:
    incarnation = max(index.incarnation, newest_table) + 1
    return replace(index, state=IndexState.WRITE_ONLY, incarnation=incarnation, build=())


def refuse_other_truncation(
    table: str, entry: CatalogEntry | None, begun: CatalogEntry
) -> CatalogEntry:
    """Return a table's entry; raise an error if it has changed since the truncation began.

    Raises:
        ConflictError: Another program has truncated or dropped the table.
    """
    if entry is None or _without_renewals(entry) != _without_renewals(begun):
        raise _changed(table)
    return entry


def _without_renewals(entry: CatalogEntry) -> CatalogEntry:
    """Return an entry without the number that a program with an exclusive use increases."""
    return entry if entry.hold is None else replace(entry, hold=replace(entry.hold, renewals=0))


def _changed(table: str) -> ConflictError:
    return ConflictError(
        "another program has truncated or dropped the table, or changed an index, at the same time",
        table=table,
        fix="check whether the table has rows; truncate it from one program at a time",
    )


def finish_truncation(table: str, begun: CatalogEntry) -> Protocol[CatalogEntry]:
    """Open an emptied table for writes, and its indexes for queries; return the new entry.

    Args:
        table: The table of the rows.
        begun: The entry that `begin_truncation` has returned.

    Raises:
        ConflictError: Another program has truncated or dropped the table.
    """
    indexes = {
        name: _finished(table, name, begun.indexes[name], begun.epoch)
        for name in indexes_with_tables(begun)
    }
    finished = replace(begun.with_state(TableState.NEW), indexes={**begun.indexes, **indexes})

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        if entry is not None and _without_renewals(entry) == _without_renewals(finished):
            return entry  # the answer to this very request was lost
        there = refuse_other_truncation(table, entry, begun)
        return replace(there.with_state(TableState.NEW), indexes=finished.indexes)

    return (yield from change_entry(table, edit))


def _finished(table: str, name: str, index: CatalogIndex, epoch: int) -> CatalogIndex:
    return replace(
        index,
        state=IndexState.READABLE,
        table=table_of(f"{table}_ix_{name}", index.incarnation),
        epoch=epoch,
        retired="",
    )
