"""The one way a row with index entries is changed, whichever its table's protocol is."""

from __future__ import annotations

from hbase_orm.index.entries.targets import GuardContext, GuardedTable, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History, guarded_write
from hbase_orm.index.protocol.last_writer_wins import lww_write
from hbase_orm.ops import Protocol


def write_row(
    target: GuardedTable,
    change: RowChange,
    context: GuardContext,
    history: History | None = None,
) -> Protocol[WriteOutcome]:
    """Change one row and its entries under its guard, or without guards by timestamps.

    Args:
        target: The table and its indexes, as the catalog permits to write them.
        change: What is done to the row.
        context: Clocks, randomness and the catalog's permission.
        history: What this same write did before a lease ran out, where rows have guards.

    Raises:
        HBaseORMError: As `guarded_write` or `lww_write` does.
    """
    if target.is_lww:
        return lww_write(target, change, context)  # again it puts the same entries, only later
    return guarded_write(target, change, context, history)
