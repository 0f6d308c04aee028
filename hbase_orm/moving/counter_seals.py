"""Seals of counters: cells by which HBase refuses increments of a row that was handed over.

An increment does not look at the guard of a row, so a sealed guard does not stop it. Therefore each
counter of a sealed row is replaced by a *counter seal*. HBase adds only to cells of 8 bytes: it
refuses an increment of a counter seal, and with it all other amounts of the same request. So a late
increment is either part of the sealed value, or it is refused. The value of a counter seal has
these parts, with big-endian numbers:

- the flag `M` (1 byte)
- whether the row had the counter: 1 or 0 (1 byte)
- the value of the counter (8 bytes)
- the timestamp of its cell (8 bytes)
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from hbase_orm.errors import ConflictError, ConnectionLostError, RetryableError
from hbase_orm.index.entries.targets import GuardContext, GuardedTable, with_guard
from hbase_orm.index.protocol.requests import permitted_epoch, read_raw
from hbase_orm.ops import (
    Cell,
    CheckAndMutate,
    GetRows,
    Protocol,
    Put,
    RowMutation,
    StoredVersion,
    ask,
    ask_with_retry,
)

MAX_COUNTER_ROUNDS: Final = 100
"""The number of attempts to seal counters that other programs increment all the time."""

_FORMAT: Final = struct.Struct(">c?8sQ")
_FLAG: Final = b"M"
_COUNTER_BYTES: Final = 8


def counter_seal(cell: Cell | None) -> bytes:
    """Return the counter seal of a counter, which the row has or has not."""
    if cell is None:
        return _FORMAT.pack(_FLAG, False, bytes(_COUNTER_BYTES), 0)
    return _FORMAT.pack(_FLAG, True, cell.value, cell.timestamp_ms)


def is_counter_seal(cell: Cell | None) -> bool:
    """Return whether the cell of a counter is a counter seal."""
    return cell is not None and len(cell.value) == _FORMAT.size and cell.value[:1] == _FLAG


def _sealed_counter(value: bytes) -> Cell | None:
    _, is_there, data, timestamp_ms = _FORMAT.unpack(value)
    return Cell(data, timestamp_ms) if is_there else None


def with_counters(cells: Mapping[bytes, Cell], counters: Collection[bytes]) -> dict[bytes, Cell]:
    """Return the cells of a row of the old table, with its counters in place of their seals."""
    shown = dict(cells)
    for column in counters:
        if is_counter_seal(cells.get(column)):
            counter = _sealed_counter(shown.pop(column).value)
            if counter is not None:
                shown[column] = counter
    return shown


def versions_with_counters(
    versions: Sequence[StoredVersion], counters: Collection[bytes]
) -> list[StoredVersion]:
    """Return versions of cells of the old table, with its counters in place of their seals.

    Args:
        versions: The versions, newest first in each column, without tombstones.
        counters: The columns of the counters.
    """
    return list(_unsealed(versions, counters)) if counters else list(versions)


def _unsealed(
    versions: Sequence[StoredVersion], counters: Collection[bytes]
) -> Iterator[StoredVersion]:
    shown: set[tuple[bytes, int]] = set()
    for each in versions:
        version: StoredVersion | None = each
        if each.column in counters and is_counter_seal(Cell(each.value, each.timestamp_ms)):
            counter = _sealed_counter(each.value)
            version = None
            if counter is not None:
                version = each._replace(timestamp_ms=counter.timestamp_ms, value=counter.value)
        # The cell that a seal names may be stored beneath it.
        if version is not None and (version.column, version.timestamp_ms) not in shown:
            shown.add((version.column, version.timestamp_ms))
            yield version


def seal_counters(
    table: GuardedTable, key: bytes, context: GuardContext
) -> Protocol[dict[bytes, Cell]]:
    """Seal all counters of a row whose guard is sealed; return those that the row had.

    A counter that the row does not have is sealed too. It is safe to repeat, and several processes
    may do it at once.

    Raises:
        ConflictError: Other programs incremented a counter at every attempt.
        CatalogLeaseError: The lease has expired.
        GatewayError: The row could not be read.
    """
    columns = sorted(table.counters)
    for rounds in range(1, MAX_COUNTER_ROUNDS + 1):
        # With the guard, like all reads of the old table that are not for its programs.
        get = GetRows(table.table, (key,), with_guard(table.counters))
        (row,) = yield from ask_with_retry(get, context.retries)
        cells = {} if row is None else row.cells
        unsealed = [column for column in columns if not is_counter_seal(cells.get(column))]
        if not unsealed:
            kept = {column: cells[column] for column in columns}
            return with_counters(kept, columns)
        if rounds > 1:
            yield from context.retries.pause(rounds)
        yield from _seal(table, key, {column: cells.get(column) for column in unsealed}, context)
    raise ConflictError(
        "other programs incremented a counter of the row at every attempt to seal it",
        table=table.table,
        row=key,
        rounds=MAX_COUNTER_ROUNDS,
        fix="continue the move later",
    )


def _seal(
    table: GuardedTable, key: bytes, cells: Mapping[bytes, Cell | None], context: GuardContext
) -> Protocol[None]:
    """Put the seals of counters that still have these cells, above all that is stored.

    Whether they were put is seen by the next read: there may have been no answer, or a cell that is
    equal and newer.
    """
    stored = yield from read_raw(table, key, context)
    newest_ms = max((version.timestamp_ms for version in stored), default=0)
    for column, cell in cells.items():
        yield from permitted_epoch(table.table, context)
        put = Put(column, counter_seal(cell), newest_ms + 1)
        expected = b"" if cell is None else cell.value
        request = CheckAndMutate(table.table, column, expected, RowMutation(key, puts=(put,)))
        try:
            yield from ask(request)
        except (RetryableError, ConnectionLostError):
            continue
