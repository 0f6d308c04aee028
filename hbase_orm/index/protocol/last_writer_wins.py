"""Writes rows with index entries without check-and-mutate, by timestamps: the last writer wins.

It is for tables in which every index has one required column and rows are never deleted. The cell
of such a column always exists, and its entry has the same timestamp. The rules:

- An entry and its cell have one timestamp, later than all cells read: `attempt.next_timestamp`.
- A cell is put only after the put of its entry was acknowledged: `entries_then_row`.
- The old entry is deleted up to the timestamp of the old cell that was read: `dead_deletes`.
- The repair deletes an entry only if its row's cell is newer: `is_superseded`.

The timestamp of a cell only increases. So a deleted entry is older than the visible cell, and is
never needed again. No row is missing in the index, whichever process crashes.

Two writers with the same timestamp leave an entry that seems to belong to a write in progress. The
repair then puts the cell again one millisecond later, and deletes the older entry.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hbase_orm.errors import (
    ConnectionLostError,
    GatewayError,
    HBaseORMError,
    RejectedError,
    RetryableError,
    RowNotFoundError,
    SchemaError,
)
from hbase_orm.index.entries.change_checks import check_change
from hbase_orm.index.entries.targets import (
    CLEARED_COLUMN,
    Entry,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowBefore,
    RowChange,
    WriteOutcome,
    with_guard,
)
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol.last_writer_rules import check_kept
from hbase_orm.index.protocol.requests import (
    is_unmoved,
    permitted_epoch,
    read_before,
)
from hbase_orm.ops import (
    Delete,
    GetRows,
    MutateRows,
    Operation,
    Protocol,
    Put,
    RowMutation,
    ask,
    ask_all_with_retry,
    ask_with_retry,
)

logger = logging.getLogger("hbase_orm.index")

Stamped = Mapping[Entry, int]
"""Entries, each with the timestamp of the cell whose value is in the entry's key."""


@dataclass(frozen=True, slots=True)
class StampedWrite:
    """One write of a row, computed before anything is sent.

    Attributes:
        row: The row key.
        timestamp_ms: The timestamp of the puts and deletes.
        new: The new entries of the columns that are put.
        old: The entries that the row had for these columns, each with the timestamp of its cell.
        puts: The cells to put.
        clears: The columns to delete.
    """

    row: bytes
    timestamp_ms: int
    new: frozenset[Entry]
    old: Stamped
    puts: Mapping[bytes, bytes]
    clears: frozenset[bytes] = frozenset()


def lww_write(
    target: GuardedTable, change: RowChange, context: GuardContext
) -> Protocol[WriteOutcome]:
    """Put, update or reindex one row and its entries; return the acknowledged write.

    Of concurrent writes, the one with the latest timestamp is visible, for each column separately.
    All requests have timestamps and may be repeated. An error other than ConnectionLostError means
    that the row was not changed.

    Raises:
        FeatureMissingError: The change cannot be made without a guard; nothing was sent.
        RowNotFoundError: The row does not exist. Only a put of all required and indexed columns
            creates a row.
        SchemaError: The row has a guard: other programs write the table with guards.
        ClockError: The row's timestamps are more than an hour in the clock's future.
        CatalogLeaseError: The lease expired: read the catalog again and repeat the write.
        RetryableError: Not written; the same write may be made again.
        RejectedError: HBase refuses the request; the row was not changed.
        ConnectionLostError: The outcome is unknown; repeating the write is safe.
    """
    check_kept(target, change)
    check_change(target, change)
    columns = target.read_columns(change)
    before = yield from read_before(target, change.row, columns, context)
    context.permit(target.table)
    _refuse_guard(target, change, before)
    _refuse_absent(target, change, before)
    if change.kind == "reindex":
        return (yield from _reindex(target, change.row, before, context))
    now_ms = context.now_ms()
    t = attempts.next_timestamp(now_ms, before.newest_seen_ms)
    attempts.check_clock(target.table, change.row, t, now_ms)
    write = plan_stamped_write(target, change, before, t)
    yield from entries_then_row(target, write, context)
    is_tidy = yield from _tidy(target, write, context)
    after = attempts.cells_after(target, change, before.values)
    return WriteOutcome(t, b"", after, 1, is_tidy)


def _refuse_guard(target: GuardedTable, change: RowChange, before: RowBefore) -> None:
    if before.guard_bytes:
        raise SchemaError(
            "the row has a guard, because a program with a Thrift2 gateway wrote it",
            table=target.table,
            row=change.row,
            fix="give either every program that writes the table a thrift2= address, or no program",
        )


def _refuse_absent(target: GuardedTable, change: RowChange, before: RowBefore) -> None:
    needed = target.existence_columns | target.indexed_columns
    makes_row = change.kind == "put" and needed <= change.puts.keys()
    if not makes_row and not target.exists(before.cells):
        raise RowNotFoundError(
            "the row does not exist",
            table=target.table,
            row=change.row,
            fix="add an object with all its fields",
        )


def plan_stamped_write(
    target: GuardedTable, change: RowChange, before: RowBefore, t: int
) -> StampedWrite:
    """Compute a write of `change` with the timestamp `t`, and the row's old and new entries."""
    after = attempts.cells_after(target, change, before.values)
    written = [index for index in target.maintained if index.columns <= change.puts.keys()]
    new = frozenset(
        index.entry(key)
        for index in written
        for key in target.needed_keys(index, change.row, after)
    )
    old = entries_as_stored(target, written, change.row, before)
    return StampedWrite(change.row, t, new, old, change.puts, change.clears)


def entries_as_stored(
    target: GuardedTable, indexes: Iterable[IndexTarget], row: bytes, before: RowBefore
) -> Stamped:
    """Return the entries of a row in `indexes`, each with the timestamp of its cell.

    A corrupt value has no entry, so that the row can still be overwritten.
    """
    return {
        index.entry(key): before.written_ms(index.columns)
        for index in indexes
        for key in attempts.stored_keys(target, index, row, before.values)
    }


def entries_then_row(
    target: GuardedTable, write: StampedWrite, context: GuardContext
) -> Protocol[None]:
    """Put the entries; after all are acknowledged, change the row.

    Raises:
        RetryableError, RejectedError: The row was not changed.
        ConnectionLostError: It is unknown whether the row was changed.
    """
    try:
        yield from ask_all_with_retry(
            attempts.entry_puts(write.new, write.timestamp_ms), context.retries
        )
    except ConnectionLostError as error:
        raise RetryableError(
            "the row was not written: the connection broke before the change was sent",
            table=target.table,
            row=write.row,
            fix="write it again",
        ) from error
    yield from change_row(target, write, context)


def change_row(target: GuardedTable, write: StampedWrite, context: GuardContext) -> Protocol[None]:
    """Put the row's cells, then clear columns; readers may see the state in between.

    Raises:
        CatalogLeaseError: The lease has run out since the row was read; nothing is sent.
    """
    yield from permitted_epoch(target.table, context)
    for number, request in enumerate(row_requests(target, write)):
        yield from _send(target, write.row, request, context, is_begun=number > 0)


def row_requests(target: GuardedTable, write: StampedWrite) -> list[MutateRows]:
    """Return the requests that change the row: one with the puts, and one with the deletes.

    If columns are cleared, `CLEARED_COLUMN` is put too. Its timestamp shows later writers which
    timestamp they must exceed, because a read over Thrift1 does not show tombstones.
    """
    t = write.timestamp_ms
    puts = [Put(column, value, t) for column, value in write.puts.items()]
    if write.clears:
        puts.append(Put(CLEARED_COLUMN, b"", t))
    deletes = tuple(Delete(column, t) for column in sorted(write.clears))
    mutations = [RowMutation(write.row, puts=tuple(puts))] if puts else []
    mutations += [RowMutation(write.row, deletes=deletes)] if deletes else []
    return [MutateRows(target.table, (mutation,)) for mutation in mutations]


def _send(
    target: GuardedTable,
    row: bytes,
    request: Operation[Any],
    context: GuardContext,
    *,
    is_begun: bool,
) -> Protocol[None]:
    """Send a request until it is acknowledged; `is_begun` if the write had an earlier request."""
    in_doubt = is_begun
    for sends in range(1, context.retries.attempts + 1):
        try:
            yield from ask(request)
        except GatewayError as error:
            if isinstance(error, RejectedError) and not in_doubt:
                raise
            if isinstance(error, RejectedError) or sends == context.retries.attempts:
                raise ConnectionLostError(
                    "the outcome of the write is unknown",
                    table=target.table,
                    row=row,
                    fix="write the row again: repeating the write is safe",
                ) from error
            in_doubt = True
            yield from context.retries.pause(sends)
        else:
            return


def _tidy(target: GuardedTable, write: StampedWrite, context: GuardContext) -> Protocol[bool]:
    """Delete the row's stale entries, or put the deletes off; return False if a delete failed."""
    deletes = dead_deletes(write)
    if context.put_off is not None:
        context.put_off(deletes)
        return True
    try:
        yield from ask_all_with_retry(deletes, context.retries)
    except HBaseORMError as error:
        logger.warning("index entries of row %r of %s are left: %s", write.row, target.table, error)
        return False
    return True


def dead_deletes(write: StampedWrite) -> tuple[MutateRows, ...]:
    """Return the deletes of the write's stale entries, each up to the timestamp of its old cell.

    A delete with a later timestamp could hide the entry of a later write of the same value.
    """
    dead = {entry: t for entry, t in write.old.items() if entry not in write.new}
    return tuple(
        delete
        for entry, t in sorted(dead.items())
        for delete in attempts.dead_entry_deletes((entry,), t)
    )


# --- repair and backfill --------------------------------------------------------------------------


def _reindex(
    target: GuardedTable, row: bytes, before: RowBefore, context: GuardContext
) -> Protocol[WriteOutcome]:
    """Put the row's entries again, with the timestamps of its cells.

    If another program deleted an entry with a later timestamp, its tombstone still hides the entry.
    Such entries are put once more, with a timestamp later than the tombstone's.
    """
    due = {
        index.entry(key): before.written_ms(index.columns)
        for index in target.maintained
        for key in target.needed_keys(index, row, before.values)
    }
    puts = [put for entry, t in sorted(due.items()) for put in attempts.entry_puts((entry,), t)]
    yield from ask_all_with_retry(puts, context.retries)
    hidden: list[Entry] = []
    for entry in sorted(due):
        (stored,) = yield from ask_with_retry(GetRows(entry.table, (entry.key,)), context.retries)
        hidden += [entry] if stored is None else []
    if hidden:
        yield from _put_above_deletes(target, row, before, hidden, context)
    return WriteOutcome(max(due.values(), default=0), b"", before.values, 1, is_tidy=True)


def _put_above_deletes(
    target: GuardedTable,
    row: bytes,
    before: RowBefore,
    hidden: Collection[Entry],
    context: GuardContext,
) -> Protocol[None]:
    """Put entries that tombstones hide, with the current time, unless the row has changed.

    The entries are then newer than their cells. So writes that change the cells do not delete the
    entries; the repair deletes them. The cells are not put with the new timestamp, because they
    could hide a concurrent write with an earlier timestamp.
    """
    read = with_guard(target.existence_columns | target.indexed_columns)
    now = yield from read_before(target, row, read, context)
    if is_unmoved(target, before, now):
        t = attempts.next_timestamp(context.now_ms(), now.newest_seen_ms)
        yield from ask_all_with_retry(attempts.entry_puts(hidden, t), context.retries)


def lifted(
    target: GuardedTable, row: bytes, before: RowBefore, columns: Collection[bytes], t: int
) -> StampedWrite:
    """Return the write that puts the cells in `columns`, and their entries, again at time `t`."""
    puts = {column: before.cells[column].value for column in sorted(columns)}
    return plan_stamped_write(target, RowChange(row, puts), before, t)


def remove_if_dead(
    target: GuardedTable,
    index: IndexTarget,
    entry: Entry,
    row: bytes,
    before: RowBefore,
    *,
    entry_ms: int,
    is_old: bool,
    context: GuardContext,
) -> Protocol[bool]:
    """Delete an entry that the row does not have, if that is safe; return whether it was deleted.

    Args:
        target: The table.
        index: The index.
        entry: The index entry.
        row: The key of the entry's row.
        before: The row that was read.
        entry_ms: The entry's timestamp.
        is_old: Whether the entry is so old that no writer can still choose its timestamp.
        context: The clocks and catalog leases.
    """
    if not is_superseded(before, index, entry_ms):
        is_tie = before.written_ms(index.columns) == entry_ms
        if not (
            is_tie and is_old and (yield from _lift_tie(target, index, row, entry_ms, context))
        ):
            return False  # its write is under way, or was broken off: nobody can tell
    for delete in attempts.dead_entry_deletes((entry,), entry_ms):
        yield from ask_with_retry(delete, context.retries)
    return True


def is_superseded(before: RowBefore, index: IndexTarget, entry_ms: int) -> bool:
    """Return whether the row's cell of `index` is newer than an entry with timestamp `entry_ms`."""
    return before.written_ms(index.columns) > entry_ms


def _lift_tie(
    target: GuardedTable, index: IndexTarget, row: bytes, tie_ms: int, context: GuardContext
) -> Protocol[bool]:
    """Put all cells with timestamp `tie_ms` again, 1 ms later; return whether the entry is stale.

    A late write with the timestamp `tie_ms` then cannot become visible, so its entry is stale.
    """
    columns = with_guard(frozenset(target.families))
    before = yield from read_before(target, row, columns, context)
    tied = {
        column
        for column, cell in before.cells.items()
        if cell.timestamp_ms == tie_ms and column not in target.counters
    }
    if not index.columns <= tied:
        return is_superseded(before, index, tie_ms)
    yield from entries_then_row(target, lifted(target, row, before, tied, tie_ms + 1), context)
    return True
