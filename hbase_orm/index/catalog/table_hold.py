"""The exclusive use of a table: one program writes it, and all others are refused.

1. `take_hold` changes the table's state to EXCLUSIVE.
2. The program waits for one lease. Then no other program has an older entry in its cache.
3. It works, and calls `renew_hold` several times in each lease.
4. `release_hold` restores the table's state.

A program that was killed leaves its hold. The next program that wants to use the table exclusively
watches the hold for one lease. If it is not renewed, the program replaces it, with a greater epoch:
if the first program was only suspended, its permission to write has then expired, and it is refused
when it reads the catalog again.

A table whose loaders were all killed is taken in the same way: the loaders are watched for one
lease. After the exclusive use the table is open for writes, without the rest of the load's rows.

A truncation of the program itself sets the state TRUNCATING for the time after `release_hold`, and
changes it when it has finished. So a truncation that is interrupted during an exclusive use is
finished by the next one, within another exclusive use or without.

Versions of this library that do not know the state EXCLUSIVE cannot decode the entry. So they do
not write the table either.
"""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.index.catalog.catalog import change_entry, read_entry
from hbase_orm.index.catalog.entry import CatalogEntry, TableHold, TableState, next_epoch
from hbase_orm.index.catalog.index_steps import refuse_exclusive_state
from hbase_orm.index.catalog.refused_writes import held_error
from hbase_orm.ops import Protocol, Sleep, ask
from hbase_orm.ops.waits import OnWait, wait


def take_hold(
    table: str, hold: TableHold, lease_s: float, on_wait: OnWait | None = None
) -> Protocol[CatalogEntry]:
    """Take a table for exclusive use; return its new entry.

    If another program has the table, or programs load it, this function waits for one lease. Then
    it takes the table over, unless one of them has renewed its hold or its part in the load in the
    meantime. In every case, the caller must then wait for one more lease before it relies on the
    exclusive use.

    In memory `lease_s` is 0: no loader can be watched, so the table of a load is not taken.

    `on_wait` is called with the seconds that are left of both waits.

    Raises:
        TableHeldError: Another running program uses the table exclusively.
        ConflictError: The table is being loaded or truncated.
    """
    seen = yield from read_entry(table)
    abandoned = None if seen is None else seen.hold
    if seen is not None and (seen.hold is not None or seen.loaders):
        if on_wait is None:
            yield from ask(Sleep(lease_s))
        else:
            yield from wait(lease_s, on_wait, later_s=lease_s)

    def edit(entry: CatalogEntry | None) -> CatalogEntry:
        if entry is None:
            return CatalogEntry(1, TableState.EXCLUSIVE, hold=replace(hold, before=None))
        if _is_load_abandoned(seen, entry) and lease_s:
            ended = replace(entry, epoch=next_epoch(entry.epoch), loaders=())
            opens_it = replace(hold, before=TableState.READABLE)
            return replace(ended, state=TableState.EXCLUSIVE, hold=opens_it)
        if entry.hold is None:
            refuse_exclusive_state(table, entry)
            held = replace(entry, hold=hold).with_state(entry.state)
            return replace(held, state=TableState.EXCLUSIVE)
        if entry.hold.id == hold.id:
            return entry
        if entry.hold != abandoned:
            raise held_error(table, entry.hold)
        taken = replace(hold, before=entry.hold.before)
        return replace(entry, epoch=next_epoch(entry.epoch), hold=taken)

    return (yield from change_entry(table, edit))


def _is_load_abandoned(seen: CatalogEntry | None, now: CatalogEntry) -> bool:
    """Return whether a table is being loaded, but no loader has renewed its part since `seen`."""
    is_load = seen is not None and seen.state is now.state is TableState.LOADING
    return is_load and seen is not None and seen.loaders == now.loaders


def renew_hold(table: str, hold_id: str) -> Protocol[bool]:
    """Show other programs that the holder runs; return whether it still has the table."""

    def edit(entry: CatalogEntry | None) -> CatalogEntry | None:
        if entry is None or entry.hold is None or entry.hold.id != hold_id:
            return entry
        return replace(entry, hold=replace(entry.hold, renewals=entry.hold.renewals + 1))

    entry = yield from change_entry(table, edit)
    return entry is not None and entry.hold is not None and entry.hold.id == hold_id


def release_hold(table: str, hold_id: str) -> Protocol[bool]:
    """End the exclusive use of a table; return whether the program had the table until now.

    If another program has taken it over, nothing is changed.
    """
    was_held = False

    def edit(entry: CatalogEntry | None) -> CatalogEntry | None:
        nonlocal was_held
        if entry is None or entry.hold is None or entry.hold.id != hold_id:
            return entry
        was_held = True
        if entry.hold.before is None:
            return None
        return replace(entry, state=entry.hold.before, hold=None)

    yield from change_entry(table, edit)
    return was_held
