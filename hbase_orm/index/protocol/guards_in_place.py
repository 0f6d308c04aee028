"""Replaces the guards of many rows together, without a check-and-mutate for each row.

A guard is replaced *in place*: the new guard is put with the timestamp of the old one. Among the
puts of one column HBase shows the one with the latest timestamp, and of equal timestamps the one
that arrived last. Every write of a row gives its guard a later timestamp. So what is put shows only
if no write has replaced the guard since it was read; another read tells. As soon as it shows, all
writes fail that compare with the guard that was read before.

Who replaces guards in place must put what does no harm if it arrives late. All that replace a guard
in the same place must put the same bytes, or expect that the others' puts arrive afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext, RowBefore
from hbase_orm.index.protocol.requests import permitted_epoch
from hbase_orm.ops import (
    Cell,
    GetRows,
    Protocol,
    PutStampedRows,
    StampedRows,
    ask,
    ask_with_retry,
    retry,
    run_all,
)

BATCH_ROWS: Final = 500
"""The largest number of rows of one put."""


def replaceable_guard(before: RowBefore | None) -> GuardCell | None:
    """Return the guard of a row that was read, unless something in the row is later."""
    if before is None or before.guard is None:
        return None
    return before.guard if before.guard.timestamp_ms == before.newest_seen_ms else None


def puts_of_cells(
    table: str, column: bytes, cells: Mapping[bytes, Cell]
) -> Iterator[PutStampedRows]:
    """Yield the requests that put one cell of a column into each of many rows, given by row key."""
    every = list(cells.items())
    for start in range(0, len(every), BATCH_ROWS):
        batch = every[start : start + BATCH_ROWS]
        rows = tuple([(key, cell.value) for key, cell in batch])
        stamps = tuple([(cell.timestamp_ms,) for _, cell in batch])
        yield PutStampedRows(table, (StampedRows((column,), rows, stamps),))


def replace_in_place(
    table: str, guards: Mapping[bytes, GuardCell], context: GuardContext
) -> Protocol[set[bytes]]:
    """Put guards with their own timestamps; return the keys of the rows that show theirs now.

    The lease is checked before each request that puts some of them, and renewed if `context` can.

    Args:
        table: The table.
        guards: The new guards, by row key. Each has the timestamp of the guard that was read.
        context: The catalog leases, and the pauses between attempts.

    Raises:
        CatalogLeaseError: The lease has expired.
        GatewayError: Some puts were not acknowledged; any of the guards may show.
    """
    cells = {key: Cell(each.encode(), each.timestamp_ms) for key, each in guards.items()}
    puts = puts_of_cells(table, GUARD_COLUMN, cells)
    shown = yield from run_all([_replaced(put, cells, context) for put in puts])
    return set[bytes]().union(*shown)


def _permitted(put: PutStampedRows, context: GuardContext) -> Protocol[None]:
    yield from permitted_epoch(put.table, context)
    yield from ask(put)


def _replaced(
    put: PutStampedRows, cells: Mapping[bytes, Cell], context: GuardContext
) -> Protocol[set[bytes]]:
    yield from retry(partial(_permitted, put, context), context.retries)
    keys = tuple([row[0] for group in put.groups for row in group.rows])
    get = GetRows(put.table, keys, (GUARD_COLUMN,))
    stored = yield from ask_with_retry(get, context.retries)
    return {
        key
        for key, row in zip(keys, stored, strict=True)
        if row is not None and row.cells.get(GUARD_COLUMN) == cells[key]
    }
