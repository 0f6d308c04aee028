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

from collections.abc import Mapping
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


def is_replaceable(before: RowBefore | None) -> bool:
    """Return whether a row that was read has a guard, and nothing in it is later than the guard."""
    if before is None or before.guard is None:
        return False
    return before.guard.timestamp_ms == before.newest_seen_ms


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
    keys = tuple(guards)
    batches = [keys[start : start + BATCH_ROWS] for start in range(0, len(keys), BATCH_ROWS)]
    shown = yield from run_all([_replaced(table, guards, batch, context) for batch in batches])
    return set[bytes]().union(*shown)


def _permitted(put: PutStampedRows, context: GuardContext) -> Protocol[None]:
    yield from permitted_epoch(put.table, context)
    yield from ask(put)


def _replaced(
    table: str, guards: Mapping[bytes, GuardCell], keys: tuple[bytes, ...], context: GuardContext
) -> Protocol[set[bytes]]:
    cells = {key: Cell(guards[key].encode(), guards[key].timestamp_ms) for key in keys}
    rows = tuple((key, cell.value) for key, cell in cells.items())
    stamps = tuple((cell.timestamp_ms,) for cell in cells.values())
    put = PutStampedRows(table, (StampedRows((GUARD_COLUMN,), rows, stamps),))
    yield from retry(partial(_permitted, put, context), context.retries)
    stored = yield from ask_with_retry(GetRows(table, keys, (GUARD_COLUMN,)), context.retries)
    return {
        key
        for key, row in zip(keys, stored, strict=True)
        if row is not None and row.cells.get(GUARD_COLUMN) == cells[key]
    }
