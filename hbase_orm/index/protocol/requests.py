"""What protocols of guarded rows share: reads of a row's state, lease renewals, joined batches."""

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
    """Return the epoch under which a table may be written now; renew a lease that has ended.

    Raises:
        CatalogLeaseError: The lease has ended, and nobody renews it.
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
    """Read a row, its guard, and the newest timestamp it holds.

    A guard that does not decode counts as none, but for its bytes: a write that takes the row over
    is checked on them.

    Where rows have guards, one without may have been deleted by another program: then only its
    tombstones tell how high the next timestamp must be, and a raw read shows them. Whole families
    are read, since a read of named columns does not show the tombstone of a family.

    Args:
        target: The table.
        row: The row's key.
        columns: What is read of it, the guard's column among them.
        context: For the pauses between tries.
        is_new: Whether the row is expected not to be there: the raw read comes first, and where it
            shows nothing at all there is nothing else to read.
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
    """Return the newest version of every column of a row, tombstones among them."""
    families = (*target.families, GUARD_FAMILY)
    return (
        yield from ask_with_retry(
            GetVersions(target.table, row, families, raw=True), context.retries
        )
    )


def joined(batches: Iterable[MutateRows]) -> tuple[MutateRows, ...]:
    """Return one batch for each table, of batches that have no row in common."""
    by_table: dict[str, tuple[RowMutation, ...]] = {}
    for batch in batches:
        by_table[batch.table] = by_table.get(batch.table, ()) + tuple(batch.mutations)
    return tuple(MutateRows(table, mutations) for table, mutations in by_table.items())


def is_unmoved(target: GuardedTable, before: RowBefore, after: RowBefore) -> bool:
    """Return whether a row did not change between two reads of the same columns."""
    if target.is_lww:
        return before.cells == after.cells
    return before.guard_bytes == after.guard_bytes
