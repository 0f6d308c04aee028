"""One attempt of a guarded write, computed before anything is sent, by pure functions.

The input is the row that was read (`RowBefore`) and its change. The output is an `Attempt`: a
timestamp, a row mutation with the new guard, and the row's entries before and after.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from hbase_orm.errors import CatalogLeaseError, ClockError, CorruptRowError
from hbase_orm.index.entries.guard_cell import GuardCell, is_plausible_epoch, next_guard
from hbase_orm.index.entries.targets import (
    ENTRY_COLUMN,
    ENTRY_FAMILY,
    GUARD_COLUMN,
    MARKER_VALUE,
    VERSION_BYTES,
    Entry,
    EntryKind,
    GuardedTable,
    IndexTarget,
    RowBefore,
    RowChange,
    family_of,
)
from hbase_orm.index.entries.unknown_members import UnknownValueError
from hbase_orm.index.protocol.covering import UNVERIFIED, verified_entry
from hbase_orm.ops import Cell, Delete, MutateRows, Put, RowMutation, StoredVersion

logger = logging.getLogger("hbase_orm.index")

DEAD_GUARD_TTL_MS: Final = 7 * 24 * 3600 * 1000
"""How long the guard of a deleted row lives: far longer than any request can be under way."""

MAX_VERSION: Final = (1 << 63) - 1

CLOCK_WARN_MS: Final = 60_000
CLOCK_REFUSE_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: entries, row mutation and the row's state afterwards.

    Attributes:
        before: The row that was read; the check-and-mutate succeeds only if the guard is unchanged.
        timestamp_ms: The timestamp of all new cells.
        guard: The new guard; its nonce identifies the attempt.
        old_entries: The entries that the row has before the attempt.
        new_entries: The entries that the row has if the attempt succeeds.
        mutation: All changes of the data row, including the guard.
        cells: The known cells of the row if the attempt succeeds.
        rewrites_all_entries: Whether all of `new_entries` are put, because some of `old_entries`
            may be missing. True in a reindex, and if the row's guard is missing or has an older
            epoch.
    """

    row: bytes
    before: RowBefore
    timestamp_ms: int
    guard: GuardCell
    old_entries: frozenset[Entry]
    new_entries: frozenset[Entry]
    mutation: RowMutation
    cells: Mapping[bytes, bytes]
    rewrites_all_entries: bool = False


def newest_timestamp(
    guard: GuardCell | None, cells: Iterable[Cell], versions: Iterable[StoredVersion]
) -> int:
    """Return the newest timestamp of `guard`, `cells` and `versions`; 0 if all are empty."""
    seen_ms = [0 if guard is None else guard.timestamp_ms]
    seen_ms += [cell.timestamp_ms for cell in cells]
    seen_ms += [version.timestamp_ms for version in versions]
    return max(seen_ms)


def next_timestamp(now_ms: int, newest_seen_ms: int) -> int:
    """Return the timestamp of a write: `now_ms`, or `newest_seen_ms` + 1 if that is later."""
    return max(now_ms, newest_seen_ms + 1)


def check_clock(table: str, row: bytes, timestamp_ms: int, now_ms: int) -> None:
    """Log a warning if the timestamp of a write is more than a minute later than `now_ms`.

    Raises:
        ClockError: The timestamp is more than an hour later; nothing was written.
    """
    lead_ms = timestamp_ms - now_ms
    if lead_ms > CLOCK_REFUSE_MS:
        raise ClockError(
            "the row's timestamps are too far in the future of this machine's clock",
            table=table,
            row=row,
            ahead_ms=lead_ms,
            limit_ms=CLOCK_REFUSE_MS,
            fix="correct the clocks; delete a row that was written with a wrong clock in the "
            "HBase shell",
        )
    if lead_ms > CLOCK_WARN_MS:
        logger.warning("row %r of %s is %d ms ahead of this clock", row, table, lead_ms)


def with_plausible_guard(before: RowBefore, epoch: int) -> RowBefore:
    """Return `before`, without its decoded guard if the guard's epoch is implausible.

    An epoch much greater than `epoch`, the catalog's, is damaged.
    """
    guard = before.guard
    if guard is None or is_plausible_epoch(guard.epoch, epoch):
        return before
    return replace(before, guard=None)


def check_epoch(table: str, before: RowBefore, epoch: int) -> None:
    """Raise an error if the row's guard has a newer epoch than this process's catalog entry.

    Raises:
        CatalogLeaseError: This process has an outdated catalog entry.
    """
    if before.guard is not None and before.guard.epoch > epoch:
        raise CatalogLeaseError(
            "the row was written under a newer catalog epoch",
            table=table,
            row_epoch=before.guard.epoch,
            own_epoch=epoch,
            fix="read the catalog again and repeat the write; if that does not help, the "
            "catalog was restored from a time before the rows: call engine.create_tables "
            "with the model, and build its indexes again",
        )


def plan_attempt(
    target: GuardedTable,
    change: RowChange,
    before: RowBefore,
    *,
    timestamp_ms: int,
    nonce: bytes,
    epoch: int,
) -> Attempt:
    """Compute one attempt of `change` on the row that was read."""
    is_delete = change.kind == "delete"
    guard = next_guard(
        before.guard, timestamp_ms=timestamp_ms, nonce=nonce, epoch=epoch, is_dead=is_delete
    )
    cells = {} if is_delete else cells_after(target, change, before.values)
    make = _MUTATIONS.get(change.kind, put_mutation)
    return Attempt(
        row=change.row,
        before=before,
        timestamp_ms=timestamp_ms,
        guard=guard,
        old_entries=_old_entries(target, change.row, before),
        new_entries=target.entries(change.row, cells),
        mutation=make(target, change, before, guard),
        cells=cells,
        rewrites_all_entries=change.kind == "reindex"
        or before.guard is None
        or before.guard.epoch < epoch,
    )


def _old_entries(target: GuardedTable, row: bytes, before: RowBefore) -> frozenset[Entry]:
    """Return the entries that the row has before the attempt, without those of corrupt values."""
    values = before.values
    return frozenset(
        index.entry(key)
        for index in target.maintained
        for key in stored_keys(target, index, row, values)
    )


def stored_keys(
    target: GuardedTable, index: IndexTarget, row: bytes, values: Mapping[bytes, bytes]
) -> frozenset[bytes]:
    """Return the keys of a row's entries in one index.

    For a corrupt value, log a warning and return an empty set; but raise its error if a newer
    program may have put a verified entry under a key that is unknown here.
    """
    try:
        return target.entry_keys(index, row, values)
    except CorruptRowError as error:
        if index.included and isinstance(error, UnknownValueError):
            raise
        logger.warning("old index entries of row %r of %s are left: %s", row, target.table, error)
        return frozenset()


def cells_after(
    target: GuardedTable, change: RowChange, values: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the values that the row has after `change`, which is not a delete."""
    if change.kind == "reindex":
        return dict(values)
    written = written_values(target, change, values)
    if change.kind == "replace":
        return written
    after = {**values, **written}
    return {column: value for column, value in after.items() if column not in change.clears}


def written_values(
    target: GuardedTable, change: RowChange, values: Mapping[bytes, bytes]
) -> dict[bytes, bytes]:
    """Return the values that `change` writes, and those of the marker and the version column."""
    own = {} if target.marker is None else {target.marker: MARKER_VALUE}
    if target.version is not None:
        own[target.version] = _next_version(values.get(target.version, b""))
    return {**own, **change.puts}


def _next_version(stored: bytes) -> bytes:
    """Return the version that follows `stored`, or 1 if `stored` is empty or does not decode."""
    count = int.from_bytes(stored, "big", signed=True) if len(stored) == VERSION_BYTES else 0
    return (count + 1 if 0 <= count < MAX_VERSION else 1).to_bytes(VERSION_BYTES, "big")


def renewed_values(
    target: GuardedTable, change: RowChange, before: RowBefore
) -> dict[bytes, bytes]:
    """Return the unchanged cells that a write puts again; empty unless a data family has a TTL."""
    if not target.expires:
        return {}
    lasting = target.existence_columns | target.indexed_columns
    renewed = {column: value for column, value in before.values.items() if column in lasting}
    return {column: value for column, value in renewed.items() if column not in change.clears}


def put_mutation(
    target: GuardedTable, change: RowChange, before: RowBefore, guard: GuardCell
) -> RowMutation:
    """Return the row mutation of a write of the kind put, update or insert."""
    t = guard.timestamp_ms
    written = written_values(target, change, before.values)
    values = {**renewed_values(target, change, before), **written}
    guard_deletes, guard_puts = guard_changes(guard)
    return RowMutation(
        change.row,
        puts=(*(Put(column, value, t) for column, value in values.items()), *guard_puts),
        deletes=(*(Delete(column, t) for column in sorted(change.clears)), *guard_deletes),
    )


def delete_mutation(
    target: GuardedTable, change: RowChange, before: RowBefore, guard: GuardCell
) -> RowMutation:
    """Return the row mutation of a delete: it deletes all cells, and puts a dead guard.

    Cells are deleted up to one millisecond before the guard's timestamp. Deletes of counters have
    the server's time instead, so that later increments are kept; see `_family_deletes`.
    """
    guard_deletes, guard_puts = guard_changes(guard)
    return RowMutation(
        change.row,
        puts=guard_puts,
        deletes=(*_row_deletes(target, before, guard), *guard_deletes),
        ttl_ms=DEAD_GUARD_TTL_MS if guard.is_dead and not target.keeps_dead_guards else None,
    )


def replace_mutation(
    target: GuardedTable, change: RowChange, before: RowBefore, guard: GuardCell
) -> RowMutation:
    """Return the row mutation of a replace: it deletes all cells, and puts values and a guard."""
    written = written_values(target, change, before.values)
    guard_deletes, guard_puts = guard_changes(guard)
    puts = (Put(column, value, guard.timestamp_ms) for column, value in written.items())
    return RowMutation(
        change.row,
        puts=(*puts, *guard_puts),
        deletes=(*_row_deletes(target, before, guard), *guard_deletes),
    )


def reindex_mutation(
    _target: GuardedTable, change: RowChange, _before: RowBefore, guard: GuardCell
) -> RowMutation:
    """Return the row mutation of a reindex: only the guard, so that no cell's TTL starts again."""
    guard_deletes, guard_puts = guard_changes(guard)
    return RowMutation(change.row, guard_puts, guard_deletes)


_MUTATIONS: Final = MappingProxyType(
    {"delete": delete_mutation, "replace": replace_mutation, "reindex": reindex_mutation}
)


def _row_deletes(target: GuardedTable, before: RowBefore, guard: GuardCell) -> list[Delete]:
    cells, up_to_ms = before.cells, guard.timestamp_ms - 1
    return [d for f in target.families for d in _family_deletes(target, f, cells, up_to_ms)]


def _family_deletes(
    target: GuardedTable, family: bytes, cells: Mapping[bytes, Cell], up_to_ms: int
) -> list[Delete]:
    counters = sorted(c for c in target.counters if family_of(c) == family)
    if not counters:
        return [Delete(family, up_to_ms)]
    known = target.columns | frozenset(cells) | frozenset(filter(None, (target.marker,)))
    plain = sorted(c for c in known - target.counters if family_of(c) == family)
    # While rows move, a counter may have the time of the old table's server, which may be later.
    read = [c for c in counters if c in cells] if target.keeps_dead_guards else []
    deletes = [Delete(c, up_to_ms) for c in plain] + [Delete(c, None) for c in counters]
    return deletes + [Delete(c, cells[c].timestamp_ms) for c in read]


def guard_changes(guard: GuardCell) -> tuple[tuple[Delete, ...], tuple[Put, ...]]:
    """Return the deletes and puts in the guard's column (R4: the guard outlives its row).

    A dead guard expires. So all older guards are deleted with its put; none becomes visible then.
    """
    put = Put(GUARD_COLUMN, guard.encode(), guard.timestamp_ms)
    if guard.is_dead:
        return (Delete(GUARD_COLUMN, guard.timestamp_ms - 1),), (put,)
    return (), (put,)


_PUT_VALUES: Final = {EntryKind.PLAIN: b"", EntryKind.COVERING: UNVERIFIED}
"""What is put into an entry before its row changes, by the kind of the entry."""

_DEAD_COLUMNS: Final = {EntryKind.PLAIN: ENTRY_COLUMN, EntryKind.COVERING: ENTRY_FAMILY}
"""What is deleted of a stale entry, by its kind."""


def entry_puts(entries: Iterable[Entry], timestamp_ms: int) -> tuple[MutateRows, ...]:
    """Return the puts of index entries, one batch for each index table; claims are left out.

    Entries of a covering index are put unverified, because the row does not have the values yet.
    """
    return by_table(
        (entry, RowMutation(entry.key, puts=(Put(ENTRY_COLUMN, value, timestamp_ms),)))
        for entry in sorted(entries)
        if (value := _PUT_VALUES.get(entry.kind)) is not None
    )


def dead_entry_deletes(entries: Iterable[Entry], timestamp_ms: int) -> tuple[MutateRows, ...]:
    """Return the deletes of stale entries; they delete no cells after `timestamp_ms` (R6)."""
    return by_table(
        (entry, RowMutation(entry.key, deletes=(Delete(dead, timestamp_ms),)))
        for entry in sorted(entries)
        if (dead := _DEAD_COLUMNS.get(entry.kind)) is not None
    )


def by_table(mutations: Iterable[tuple[Entry, RowMutation]]) -> tuple[MutateRows, ...]:
    """Return the mutations of entries, in one batch for each index table."""
    grouped: dict[str, list[RowMutation]] = {}
    for entry, mutation in mutations:
        grouped.setdefault(entry.table, []).append(mutation)
    return tuple(MutateRows(table, tuple(rows)) for table, rows in grouped.items())


def entries_to_put(target: GuardedTable, attempt: Attempt) -> frozenset[Entry]:
    """Return the entries that an attempt puts before it changes the row, including claims.

    Normally these are the entries that the row does not have yet. There are two exceptions:

    - If entries may be missing or have a TTL, all new entries and old covering entries are put.
    - If an old covering entry becomes stale, or a copied value changes, the entry is put as
      unverified. So no verified entry contradicts the new row.
    """
    new, old = attempt.new_entries, attempt.old_entries
    if target.expires or attempt.rewrites_all_entries:
        return new | frozenset(e for e in old if e.kind is EntryKind.COVERING)
    if not any(entry.kind is EntryKind.COVERING for entry in new | old):
        return new - old
    outdated = frozenset(
        entry
        for entry in old
        if entry.kind is EntryKind.COVERING
        and (entry not in new or changes_covering(target.index_of(entry), attempt))
    )
    return (new - old) | outdated


def changes_covering(index: IndexTarget, attempt: Attempt) -> bool:
    """Return whether an attempt changes included columns of a covering index."""
    before = attempt.before.values
    return any(before.get(c) != attempt.cells.get(c) for c in index.included)


def verified_entries(
    target: GuardedTable, entries: Iterable[Entry], cells: Mapping[bytes, bytes], timestamp_ms: int
) -> tuple[MutateRows, ...]:
    """Return the puts that copy a row's cells into its covering entries."""
    return by_table(
        (entry, verified_entry(target.index_of(entry).included, entry.key, cells, timestamp_ms))
        for entry in sorted(entries)
        if entry.kind is EntryKind.COVERING
    )
