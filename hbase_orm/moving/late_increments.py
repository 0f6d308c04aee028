"""Finds out whether an increment whose answer came late was made in a row that is handed over.

A program may stand still between its look at the catalog and its request. The row may then have
moved to another table, and nobody looks at the old table any more. HBase refuses the increment of a
row that was handed over, but not that of a row that was never there. So an answer counts only if
the lease was still valid when it arrived; otherwise the program looks again.
"""

from __future__ import annotations

import typing
from typing import Final

from hbase_orm.errors import ConnectionLostError, HBaseORMError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.guard_cell import guard_of
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext, GuardedTable, with_guard
from hbase_orm.index.upkeep.table_pages import get_rows
from hbase_orm.moving.counter_seals import is_counter_seal
from hbase_orm.moving.translation import data_cells
from hbase_orm.ops import Increment, Protocol, Row

MAX_LATE_READS: Final = 6
"""How often a row is read whose guard is sealed and whose counters are not: they soon are."""


class RowsLeaving(typing.Protocol):
    """What the catalog shows about the rows of a table that perhaps leave it."""

    def phase(self) -> Protocol[Phase]:
        """Read the catalog, and return the phase of the new table; OLD if no rows leave."""
        ...

    def hand_over(self, old_key: bytes) -> Protocol[bool]:
        """Hand over a row in MOVING; return False if its new key is unknown without the row."""
        ...


def confirm_late(
    table: GuardedTable, increment: Increment, leaving: RowsLeaving, context: GuardContext
) -> Protocol[None]:
    """Look again after an increment that was answered when the lease had ended.

    Args:
        table: The table that has added the amounts.
        increment: The increment, in the layout of `table`.
        leaving: The catalog, which is read after the answer.
        context: The source of the pauses between attempts.

    Raises:
        ConnectionLostError: The rows of the table have moved to another one, and it is unknown
            whether the amounts were added there.
    """
    cause: HBaseORMError | None = None
    try:
        if (yield from _is_kept(table, increment, leaving, context)):
            return
    except HBaseORMError as error:  # also one that invites to repeat: the increment was made
        cause = error
    raise ConnectionLostError(
        "the rows of the table have moved to another one meanwhile: it is unknown whether the "
        "amounts were added there",
        table=increment.table,
        row=increment.row,
        fix="read the counters, and decide whether to repeat the increment",
    ) from cause


def _is_kept(
    table: GuardedTable, increment: Increment, leaving: RowsLeaving, context: GuardContext
) -> Protocol[bool]:
    """Return whether amounts that a table has added are part of what is handed over.

    - Before MOVING, the rows are in the table, and all of them will be handed over.
    - An existing row is handed over with its counters. If they are sealed, the increment was made
      before: HBase would have refused it later.
    - A row that does not exist is handed over now, and the phase is read again: in NEW programs
      do not wait for that.

    If the result is False, the amounts may be left behind.
    """
    phase = yield from leaving.phase()
    if phase < Phase.MOVING:
        return True
    row = yield from _settled_row(table, increment, context)
    if not _is_settled(row, increment):
        return False
    if table.exists(data_cells(row)):
        return True
    if phase is not Phase.MOVING or not (yield from leaving.hand_over(increment.row)):
        return False
    return (yield from leaving.phase()) is Phase.MOVING


def _settled_row(
    table: GuardedTable, increment: Increment, context: GuardContext
) -> Protocol[Row | None]:
    """Return the row with its guard; wait a little if it is just being sealed."""
    columns = with_guard(table.existence_columns | increment.amounts.keys())
    (row,) = yield from get_rows(table.table, (increment.row,), context, columns)
    for rounds in range(1, MAX_LATE_READS):
        if _is_settled(row, increment):
            break
        yield from context.retries.pause(rounds)
        (row,) = yield from get_rows(table.table, (increment.row,), context, columns)
    return row


def _is_settled(row: Row | None, increment: Increment) -> bool:
    """Return whether a row and its incremented counters are sealed, or the row is not.

    Otherwise a program is sealing them, or the seals have expired and the row moved long ago.
    """
    cells = {} if row is None else row.cells
    guard = guard_of(cells.get(GUARD_COLUMN))
    if guard is None or not guard.is_sealed:
        return True
    return all(is_counter_seal(cells.get(column)) for column in increment.amounts)
