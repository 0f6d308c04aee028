"""The function that changes a row and its index entries, with or without guards."""

from __future__ import annotations

from hbase_orm.index.entries.targets import (
    GuardContext,
    GuardedTable,
    RowBefore,
    RowChange,
    WriteOutcome,
)
from hbase_orm.index.protocol.guarded_write import History, guarded_write
from hbase_orm.index.protocol.last_writer_wins import lww_write
from hbase_orm.ops import Protocol


def write_row(
    target: GuardedTable,
    change: RowChange,
    context: GuardContext,
    history: History | None = None,
    *,
    as_read: RowBefore | None = None,
) -> Protocol[WriteOutcome]:
    """Change one row and its entries.

    Rows with guards are written by `guarded_write`, rows without guards by `lww_write`.

    Args:
        target: The table with the indexes that the catalog makes writers maintain.
        change: The change of the row.
        context: The clocks, random numbers and catalog leases.
        history: The state of the same write before a lease expired, if rows have guards.
        as_read: The row as it was read before, if rows have guards; see `guarded_write`.

    Raises:
        HBaseORMError: As for `guarded_write` or `lww_write`.
    """
    if target.is_lww:
        return lww_write(target, change, context)  # again it puts the same entries, only later
    return guarded_write(target, change, context, history, as_read=as_read)
