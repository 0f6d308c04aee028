"""What every protocol of guarded rows asks: requests that may be repeated, and a row's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.index import attempt as attempts
from hbase_orm.index.guard_cell import guard_of
from hbase_orm.index.targets import (
    CLEARED_COLUMN,
    GUARD_COLUMN,
    GUARD_FAMILY,
    GuardContext,
    GuardedTable,
    RowBefore,
)
from hbase_orm.ops import (
    CellVersion,
    GetRows,
    GetVersions,
    Operation,
    Protocol,
    Sleep,
    ask,
    ask_all,
)

R = TypeVar("R")

MAX_SENDS: Final = 5
"""How often one request that may be repeated is sent."""

FIRST_PAUSE_S: Final = 0.005
LONGEST_PAUSE_S: Final = 0.1


def ask_patiently(operation: Operation[R], context: GuardContext) -> Protocol[R]:
    """Make a request that may be repeated, again after a pause while that can help."""
    for sends in range(1, MAX_SENDS):
        try:
            return (yield from ask(operation))
        except (RetryableError, ConnectionLostError):
            yield from pause(context, sends)
    return (yield from ask(operation))


def ask_all_patiently(
    operations: Sequence[Operation[None]], context: GuardContext
) -> Protocol[None]:
    """Make requests that may be repeated, side by side; return when all were acknowledged."""
    if len(operations) <= 1:
        for operation in operations:
            yield from ask_patiently(operation, context)
        return
    for sends in range(1, MAX_SENDS):
        try:
            yield from ask_all(operations)
        except (RetryableError, ConnectionLostError):
            yield from pause(context, sends)
        else:
            return
    yield from ask_all(operations)


def pause(context: GuardContext, sends: int) -> Protocol[None]:
    """Wait, longer with each try and never twice the same."""
    longest_s = min(FIRST_PAUSE_S * sends, LONGEST_PAUSE_S)
    yield from ask(Sleep(longest_s * (1 + context.jitter()) / 2))


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
    are asked for, since a read of named columns does not show the tombstone of a family.

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
    (found,) = yield from ask_patiently(GetRows(target.table, (row,), columns), context)
    cells = {} if found is None else dict(found.cells)
    stored = cells.pop(GUARD_COLUMN, None)
    guard, guard_bytes = guard_of(stored), b"" if stored is None else stored.value
    if stored is not None and guard is not None:
        told_ms = attempts.told_timestamp(guard, (stored, *cells.values()), ())
        return RowBefore(guard_bytes, guard, cells, told_ms)
    if target.is_lww:
        told_ms = attempts.told_timestamp(None, cells.values(), ())
        cells.pop(CLEARED_COLUMN, None)
        return RowBefore(guard_bytes, None, cells, told_ms)
    versions = yield from _read_raw(target, row, context)
    told_ms = attempts.told_timestamp(None, cells.values(), versions)
    return RowBefore(guard_bytes, None, cells, told_ms)


def _read_raw(
    target: GuardedTable, row: bytes, context: GuardContext
) -> Protocol[tuple[CellVersion, ...]]:
    """Return the newest version of every column of a row, tombstones among them."""
    families = (*target.families, GUARD_FAMILY)
    return (yield from ask_patiently(GetVersions(target.table, row, families, raw=True), context))


def is_unmoved(target: GuardedTable, before: RowBefore, after: RowBefore) -> bool:
    """Say whether a row stood still between two reads of the same columns."""
    if target.is_lww:
        return before.cells == after.cells
    return before.guard_bytes == after.guard_bytes
