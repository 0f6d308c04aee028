"""Helpers for protocols that write guarded rows: they read rows, renew leases and join batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hbase_orm.errors import CorruptRowError, RowMovedError
from hbase_orm.index.entries.guard_cell import guard_of
from hbase_orm.index.entries.targets import (
    CLEARED_COLUMN,
    GUARD_COLUMN,
    GUARD_FAMILY,
    GuardContext,
    GuardedTable,
    RowBefore,
    RowChange,
)
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.ops import (
    Cell,
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

    If the guard does not decode, the result has its bytes, but no decoded guard. If there is no
    guard, and `context` takes over rows from another table, the row is taken over and read again.

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
    is_new = is_new and not target.is_lww and context.take_over is None
    if is_new and not (yield from read_raw(target, row, context)):
        return RowBefore(b"", None, {}, target.floor_ms)
    if target.is_lww:
        columns = (*columns, CLEARED_COLUMN)
    cells = yield from _read_cells(target, row, columns, context)
    if context.take_over is not None and GUARD_COLUMN not in cells:
        yield from context.take_over(target.table, row)
        cells = yield from _read_cells(target, row, columns, context)
    guarded = guarded_row(cells)
    if guarded is not None:
        return guarded
    stored = cells.pop(GUARD_COLUMN, None)
    guard_bytes = b"" if stored is None else stored.value
    if target.is_lww:
        newest_seen_ms = attempts.newest_timestamp(None, cells.values(), ())
        cells.pop(CLEARED_COLUMN, None)
        return RowBefore(guard_bytes, None, cells, newest_seen_ms)
    versions = yield from read_raw(target, row, context)
    newest_seen_ms = attempts.newest_timestamp(None, cells.values(), versions)
    return RowBefore(guard_bytes, None, cells, max(newest_seen_ms, target.floor_ms))


def guarded_row(cells: Mapping[bytes, Cell]) -> RowBefore | None:
    """Return a row that was read with its guard; None if there is no guard that decodes.

    Without such a guard the row's tombstones must be read too, as `read_before` does.
    """
    stored = cells.get(GUARD_COLUMN)
    guard = guard_of(stored)
    if stored is None or guard is None:
        return None
    data = {column: cell for column, cell in cells.items() if column != GUARD_COLUMN}
    newest_seen_ms = attempts.newest_timestamp(guard, (stored, *data.values()), ())
    return RowBefore(stored.value, guard, data, newest_seen_ms)


def _read_cells(
    target: GuardedTable, row: bytes, columns: tuple[bytes, ...], context: GuardContext
) -> Protocol[dict[bytes, Cell]]:
    get = GetRows(target.table, (row,), columns)
    (stored,) = yield from ask_with_retry(get, context.retries)
    return {} if stored is None else dict(stored.cells)


def refuse_sealed(target: GuardedTable, row: bytes, before: RowBefore) -> None:
    """Raise an error if a row was handed over to another table.

    Raises:
        RowMovedError: The row is sealed: it may not be written in this table.
    """
    if before.is_sealed:
        raise RowMovedError(
            "the row was moved to another table",
            table=target.table,
            row=row,
            fix="read the catalog again; if the program's classes are older than the move, deploy "
            "the new ones",
        )


def refuse_corrupt_guard(target: GuardedTable, change: RowChange, before: RowBefore) -> None:
    """Raise an error for a guard that does not decode, unless the change may replace it.

    A reindex, replace or delete may replace it.

    Raises:
        CorruptRowError: The row's guard does not decode.
    """
    if before.has_corrupt_guard and change.kind not in {"reindex", "replace", "delete"}:
        raise CorruptRowError(
            "the guard of the row does not decode",
            table=target.table,
            row=change.row,
            column=GUARD_COLUMN,
            value=before.guard_bytes,
            fix="another program wrote it; engine.verify_index(M, index, repair=True), "
            "session.replace or session.delete_row give the row a new guard",
        )


def read_raw(
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
