"""Helpers for protocols that write guarded rows: they read rows, renew leases and join batches."""

from __future__ import annotations

from collections.abc import Iterable

from hbase_orm.index.entries.guard_cell import guard_of
from hbase_orm.index.entries.targets import (
    CLEARED_COLUMN,
    GUARD_COLUMN,
    GUARD_FAMILY,
    GuardContext,
    GuardedTable,
    RowBefore,
)
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.ops import (
    GetRows,
    GetVersions,
    MutateRows,
    Protocol,
    RowMutation,
    StoredVersion,
    ask_with_retry,
)


def permitted_epoch(table: str, context: GuardContext) -> Protocol[int]:
    """Return the epoch with which a table may be written now.

    If the lease has expired and `context` can renew it, it is renewed first.

    Raises:
        CatalogLeaseError: The lease has expired, and `context` cannot renew it.
    """
    if context.renew is not None:
        yield from context.renew()
    return context.permit(table)


def read_before(
    target: GuardedTable,
    row: bytes,
    columns: tuple[bytes, ...],
    context: GuardContext,
    *,
    is_new: bool = False,
) -> Protocol[RowBefore]:
    """Read a row, its guard, and its newest timestamp.

    If the guard does not decode, the result has its bytes, but no decoded guard.

    If the row has no guard although the table has guards, another program may have deleted it. Then
    the row's tombstones are read too, by a raw read of whole families. The row's newest timestamp
    includes them.

    Args:
        target: The table.
        row: The row's key.
        columns: The columns to read, including the column of the guard.
        context: The source of the pauses between attempts.
        is_new: Whether the row probably does not exist. If True, the raw read is sent first. If it
            shows nothing, no other read is sent.
    """
    if is_new and not target.is_lww and not (yield from _read_raw(target, row, context)):
        return RowBefore(b"", None, {}, 0)
    if target.is_lww:
        columns = (*columns, CLEARED_COLUMN)
    (stored_row,) = yield from ask_with_retry(
        GetRows(target.table, (row,), columns), context.retries
    )
    cells = {} if stored_row is None else dict(stored_row.cells)
    stored = cells.pop(GUARD_COLUMN, None)
    guard, guard_bytes = guard_of(stored), b"" if stored is None else stored.value
    if stored is not None and guard is not None:
        newest_seen_ms = attempts.newest_timestamp(guard, (stored, *cells.values()), ())
        return RowBefore(guard_bytes, guard, cells, newest_seen_ms)
    if target.is_lww:
        newest_seen_ms = attempts.newest_timestamp(None, cells.values(), ())
        cells.pop(CLEARED_COLUMN, None)
        return RowBefore(guard_bytes, None, cells, newest_seen_ms)
    versions = yield from _read_raw(target, row, context)
    newest_seen_ms = attempts.newest_timestamp(None, cells.values(), versions)
    return RowBefore(guard_bytes, None, cells, newest_seen_ms)


def _read_raw(
    target: GuardedTable, row: bytes, context: GuardContext
) -> Protocol[tuple[StoredVersion, ...]]:
    """Return the newest version of every column of a row; a tombstone counts as a version."""
    families = (*target.families, GUARD_FAMILY)
    return (
        yield from ask_with_retry(
            GetVersions(target.table, row, families, raw=True), context.retries
        )
    )


def joined(batches: Iterable[MutateRows]) -> tuple[MutateRows, ...]:
    """Return one batch for each table, with the mutations of all `batches`.

    No two of the batches may have the same row.
    """
    by_table: dict[str, list[RowMutation]] = {}
    for batch in batches:
        by_table.setdefault(batch.table, []).extend(batch.mutations)
    return tuple(MutateRows(table, tuple(mutations)) for table, mutations in by_table.items())


def is_unmoved(target: GuardedTable, before: RowBefore, after: RowBefore) -> bool:
    """Return whether a row did not change between two reads of the same columns."""
    if target.is_lww:
        return before.cells == after.cells
    return before.guard_bytes == after.guard_bytes
