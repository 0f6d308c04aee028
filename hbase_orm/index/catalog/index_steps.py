"""The steps of an index's life: each step is one change of the catalog, and safe to repeat.

A build:

1. `begin_build` stores the number of a new index table and the ranges of row keys to process.
2. The new table is created.
3. `start_writing` sets the state WRITE_ONLY and a new epoch.
4. Every row is reindexed under this epoch, which puts the row's entries. After that, a program that
   does not maintain the index cannot write the row. `checkpoint` stores the progress.
5. When no process uses an older state any more, every row is compared with its entries
   (`index.upkeep.build_pages`). Rows that lack entries are reindexed. This is repeated until no row
   lacks an entry.
6. `finish_build` sets READABLE.

A drop:

1. `stop_reading` sets WRITE_ONLY; the drop waits until no reader uses the index.
2. `stop_writing` sets DROPPING; the drop waits until no writer maintains the index.
3. The tables are dropped.
4. `finish_drop` sets ABSENT.

Queries use the old table of a manual index until `finish_build` replaces it.

Builders need no lock. Several builders repeat the same work. A step that does not fit the catalog's
state is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import ConflictError, SchemaError
from hbase_orm.index.catalog.catalog import change_entry, known, refuse_other_protocol
from hbase_orm.index.catalog.differences import refuse_other_row_key
from hbase_orm.index.catalog.entry import (
    HOW_TO_FINISH,
    BuildRange,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
    next_epoch,
)
from hbase_orm.index.catalog.entry_details import joined_declaration, same_declaration
from hbase_orm.index.catalog.refused_writes import refuse_moving
from hbase_orm.ops import Protocol, RegionRange

MOST_RANGES: Final = 256
"""The largest number of ranges of a build; the table's catalog cell stores the progress of each."""


def table_of(declared: str, incarnation: int) -> str:
    """Return the name of the index table with the number `incarnation`.

    The first table of an index has the name `declared`. The name of a later table is `declared`, a
    dot and the number. The names are unique, because names of indexes have no dot.
    """
    return declared if incarnation <= 1 else f"{declared}.{incarnation}"


def incarnation_of(declared: str, table: str) -> int:
    """Return the number of the index table `table`, which is 1 or more.

    The result is 0 if `table` is not a table of the index. `declared` is the name of the index's
    first table.

    Examples:
        >>> incarnation_of("t_ix_by_v", "t_ix_by_v.12")
        12
    """
    number = table.removeprefix(declared).removeprefix(".")
    is_one = table == declared or (table == f"{declared}.{number}" and number.isdecimal())
    return int(number or 1) if is_one else 0


def ranges_of(regions: Sequence[RegionRange]) -> tuple[BuildRange, ...]:
    """Return the ranges of a build: one for each of the table's `regions`.

    If there are more than `MOST_RANGES` regions, a range has several neighbouring regions.
    """
    step = -(-len(regions) // MOST_RANGES) or 1
    groups = [regions[at : at + step] for at in range(0, len(regions), step)]
    return tuple(
        BuildRange(group[0].start, group[-1].stop or b"", group[0].start) for group in groups
    )


Change = Callable[[CatalogEntry, CatalogIndex], CatalogEntry]


def begin_build(
    table: str,
    name: str,
    entries: str,
    ranges: tuple[BuildRange, ...],
    *,
    is_manual: bool,
    is_lww: bool,
    newest_table: int = 0,
) -> Protocol[CatalogEntry]:
    """Record the beginning of a build in the catalog; return the table's catalog entry.

    If the catalog has an unfinished build of the index, that build is kept instead.

    Args:
        table: The table of the rows.
        name: The index.
        entries: The declaration text of the index's entries.
        ranges: The ranges of row keys to process.
        is_manual: Whether only builds write the index.
        is_lww: Whether this program writes rows without guards.
        newest_table: The largest number of an index table that exists; 0 if there is none. The
            build gets a greater number.

    Raises:
        ConflictError: The table is being loaded or truncated. Or the index is being dropped, or
            is readable and not manual.
        SchemaError: The index exists with another declaration. Or the model's row key differs from
            the key of the table's rows. Or rows have guards and this program does not write guards,
            or the reverse.
        CatalogLeaseError: The catalog has no entry for the table.
    """

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        refuse_other_protocol(table, entry, is_lww=is_lww)
        if index.state is IndexState.DROPPING:
            raise ConflictError(
                "the index is being dropped",
                table=table,
                index=name,
                fix="wait until it is dropped, or finish dropping it: 'hbase-orm index drop'",
            )
        is_other = not same_declaration(index.entries, entries)
        if is_other and (index.is_kept or index.build):
            refuse_other_row_key(
                [name], {name: entries}, {name: index.entries}, table=table, index=name
            )
            raise SchemaError(
                "the index exists with another declaration",
                table=table,
                index=name,
                declared=entries,
                catalog=index.entries,
                fix="drop it first: engine.drop_index, 'hbase-orm index drop'",
            )
        if index.build:
            return entry
        if index.state is IndexState.READABLE and not is_manual:
            raise ConflictError(
                "the index is still in use by readers",
                table=table,
                index=name,
                fix="make the index unreadable first",
            )
        is_joined = index.has_entries and not is_other
        begun = replace(
            index,
            entries=joined_declaration(index.entries, entries) if is_joined else entries,
            incarnation=max(index.incarnation, newest_table) + 1,
            is_manual=is_manual,
            build=ranges,
        )
        return with_index(entry, name, begun)

    absent = CatalogIndex(entries, IndexState.ABSENT, incarnation=0, is_manual=is_manual)
    return (yield from _change_index(table, name, change, absent))


def start_writing(table: str, name: str, declared: str, incarnation: int) -> Protocol[CatalogEntry]:
    """Set the state WRITE_ONLY and a new epoch, so that every writer maintains the new index table.

    The table with the number `incarnation` must exist.

    Raises:
        ConflictError: This build was cancelled.
    """

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        new_table = table_of(declared, incarnation)
        if is_built(index, incarnation):
            return entry
        _refuse_other_build(table, name, index, incarnation)
        if index.state is IndexState.WRITE_ONLY and index.table == new_table:
            return entry
        retired = "" if index.state is IndexState.ABSENT else index.table or declared
        epoch = next_epoch(entry.epoch)
        begun = replace(
            index, state=IndexState.WRITE_ONLY, table=new_table, retired=retired, epoch=epoch
        )
        return replace(with_index(entry, name, begun), epoch=epoch)

    return (yield from _change_index(table, name, change))


def checkpoint(
    table: str, name: str, incarnation: int, done: Iterable[BuildRange]
) -> Protocol[CatalogEntry]:
    """Record the progress of a build.

    If another builder has recorded more progress in the same range, that progress is kept.

    Args:
        table: The table of the rows.
        name: The index.
        incarnation: The number of the index table that is being built.
        done: Ranges of the build that were processed further.

    Raises:
        ConflictError: This build was cancelled.
    """
    by_start = {each.start: each for each in done}

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        if is_built(index, incarnation):
            return entry
        _refuse_other_build(table, name, index, incarnation)
        build = tuple(_farther(each, by_start.get(each.start, each)) for each in index.build)
        return with_index(entry, name, replace(index, build=build))

    return (yield from _change_index(table, name, change))


def finish_build(table: str, name: str, declared: str, incarnation: int) -> Protocol[CatalogEntry]:
    """Make a built index readable; safe to repeat.

    Raises:
        ConflictError: This build was cancelled or is not finished.
    """

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        if is_built(index, incarnation):
            return entry
        _refuse_other_build(table, name, index, incarnation)
        if any(each.next is not None for each in index.build):
            raise ConflictError("the build of the index is not finished", table=table, index=name)
        old = index.table if index.state is IndexState.READABLE else ""
        finished = replace(
            index,
            state=IndexState.READABLE,
            table=table_of(declared, incarnation),
            build=(),
            retired=old or index.retired,
        )
        return with_index(entry, name, finished)

    return (yield from _change_index(table, name, change))


def forget_retired(table: str, name: str, dropped: str) -> Protocol[CatalogEntry]:
    """Record that the old table of an index is dropped."""

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        if index.retired != dropped:
            return entry
        return with_index(entry, name, replace(index, retired=""))

    return (yield from _change_index(table, name, change))


def stop_reading(
    table: str, name: str, *, is_lww: bool | None, seen: str = ""
) -> Protocol[CatalogEntry]:
    """Stop queries from using an index, and cancel its build, if there is one.

    If writers maintain the index, they go on maintaining it.

    Args:
        table: The table of the rows.
        name: The index.
        is_lww: Whether this program writes rows without guards; None if its model has no index.
        seen: The index table that was looked at; nothing is changed if the index has another one
            now. Empty for any table.

    Raises:
        SchemaError: Rows have guards and this program does not write guards, or the reverse.
    """

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        if is_lww is not None:
            refuse_other_protocol(table, entry, is_lww=is_lww)
        if seen and not entry.keeps(name, f"{table}_ix_{name}", seen):
            return entry
        if index.state is IndexState.READABLE:
            index = replace(index, state=IndexState.WRITE_ONLY)
        return with_index(entry, name, replace(index, build=()))

    return (yield from _change_index(table, name, change))


def stop_writing(table: str, name: str) -> Protocol[CatalogEntry]:
    """Stop writers from maintaining an index that no query uses.

    Raises:
        ConflictError: Another program builds the index, or made it readable.
    """

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        if index.state is IndexState.READABLE or index.build:
            raise ConflictError(
                "another program is building the index, or built it during the drop",
                table=table,
                index=name,
                fix="stop that build if it still runs, then drop the index again",
            )
        if index.state is IndexState.DROPPING:
            return entry
        dropping = replace(index, state=IndexState.DROPPING)
        return replace(with_index(entry, name, dropping), epoch=next_epoch(entry.epoch))

    return (yield from _change_index(table, name, change))


def finish_drop(table: str, name: str) -> Protocol[CatalogEntry]:
    """Record that the tables of an index were dropped.

    The catalog keeps the number of the newest index table, so that a later build does not use the
    same table name again.
    """

    def change(entry: CatalogEntry, index: CatalogIndex) -> CatalogEntry:
        if index.state is not IndexState.DROPPING:
            return entry
        absent = replace(index, state=IndexState.ABSENT, table="", retired="")
        return with_index(entry, name, absent)

    return (yield from _change_index(table, name, change))


def is_built(index: CatalogIndex, incarnation: int) -> bool:
    """Return whether some process has finished the build of the index table `incarnation`."""
    is_idle = index.state is IndexState.READABLE and not index.build
    return is_idle and index.incarnation == incarnation


def with_index(entry: CatalogEntry, name: str, index: CatalogIndex) -> CatalogEntry:
    """Return a catalog entry with one of its indexes replaced."""
    return replace(entry, indexes={**entry.indexes, name: index})


def _change_index(
    table: str, name: str, change: Change, absent: CatalogIndex | None = None
) -> Protocol[CatalogEntry]:
    """Change the catalog's entry of one index; return the new catalog entry of `table`.

    If the state of `table` is NEW, it becomes READABLE.

    Args:
        table: The table of the rows.
        name: The index.
        change: A function that gets the catalog entries of the table and of the index, and returns
            the table's new entry.
        absent: The entry that `change` gets if the catalog does not have the index. If `absent` is
            None, an error is raised instead.
    """

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        there = known(table, entry)
        refuse_exclusive_state(table, there)
        index = there.indexes.get(name, absent)
        if index is None:
            raise ConflictError("the catalog has no entry for the index", table=table, index=name)
        is_new = there.state is TableState.NEW
        return change(replace(there, state=TableState.READABLE) if is_new else there, index)

    return (yield from change_entry(table, edit))


def refuse_exclusive_state(table: str, entry: CatalogEntry) -> None:
    """Raise an error if some process is loading or truncating a table, or moving its rows.

    Raises:
        ConflictError: The table has the state LOADING or TRUNCATING, or gets it when its exclusive
            use ends. Or its rows are being moved.
    """
    refuse_moving(table, entry)
    state = entry.state_without_hold
    if state is not None and state in HOW_TO_FINISH:
        doing = "loaded" if state is TableState.LOADING else "truncated"
        raise ConflictError(f"the table is being {doing}", table=table, fix=HOW_TO_FINISH[state])


def _refuse_other_build(table: str, name: str, index: CatalogIndex, incarnation: int) -> None:
    if not index.build or index.incarnation != incarnation:
        raise ConflictError(
            "this build of the index was cancelled: another program dropped the index or "
            "started a new build",
            table=table,
            index=name,
            state=index.state.value,
        )


def _farther(one: BuildRange, other: BuildRange) -> BuildRange:
    if one.next is None or other.next is None:
        return one if one.next is None else other
    return max(one, other, key=lambda each: each.next or b"")
