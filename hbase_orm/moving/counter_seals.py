"""Seals of counters: cells by which HBase refuses increments of a row that was handed over.

An increment does not look at the guard of a row, so a sealed guard does not stop it. Therefore each
counter of a sealed row is replaced by a *counter seal*. HBase adds only to cells of 8 bytes: it
refuses an increment of a counter seal, and with it all other amounts of the same request. So a late
increment is either part of the sealed value, or it is refused. The value of a counter seal has
these parts, with big-endian numbers:

- the flag `M` (1 byte)
- whether the row had the counter: 1 or 0 (1 byte)
- the timestamp of its cell (8 bytes)
- the bytes of its cell: 8, unless another program put something else there; none without a counter

So a counter seal has 18 bytes, or 10 in place of an absent counter, and never 8.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hbase_orm.errors import ConflictError
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
    ask_with_retry,
)
from hbase_orm.ops.conditional_changes import ConditionalChanges

MAX_COUNTER_ROUNDS: Final = 100
"""The number of attempts to seal counters that other programs increment all the time."""

_HEAD: Final = struct.Struct(">c?Q")
_FLAG: Final = b"M"
_ABSENT: Final = _HEAD.pack(_FLAG, False, 0)
_PRESENT: Final = _FLAG + b"\x01"
_MS_PER_SECOND: Final = 1000


def counter_seal(cell: Cell | None) -> bytes:
    """Return the counter seal of a counter, which the row has or has not."""
    if cell is None:
        return _ABSENT
    return _HEAD.pack(_FLAG, True, cell.timestamp_ms) + cell.value


def is_counter_seal(cell: Cell | None) -> bool:
    """Return whether the cell of a counter is a counter seal."""
    if cell is None or cell.value == _ABSENT:
        return cell is not None
    return len(cell.value) >= _HEAD.size and cell.value.startswith(_PRESENT)


def _sealed_counter(value: bytes) -> Cell | None:
    _, is_there, timestamp_ms = _HEAD.unpack_from(value)
    return Cell(value[_HEAD.size :], timestamp_ms) if is_there else None


def with_counters(
    table: GuardedTable, cells: Mapping[bytes, Cell], now_ms: int
) -> dict[bytes, Cell]:
    """Return the cells of a row of the old table, with its counters in place of their seals.

    Counters that have expired are left out: HBase does not return expired cells either.

    Args:
        table: The old table.
        cells: The data cells.
        now_ms: The time, in milliseconds since 1970.
    """
    shown = dict(cells)
    for column in table.counters:
        if is_counter_seal(cells.get(column)):
            counter = _sealed_counter(shown.pop(column).value)
            if counter is not None and not _is_expired(table, column, counter, now_ms):
                shown[column] = counter
    return shown


def _is_expired(table: GuardedTable, column: bytes, counter: Cell, now_ms: int) -> bool:
    ttl_s = table.counter_ttls_s.get(column)
    return ttl_s is not None and counter.timestamp_ms + ttl_s * _MS_PER_SECOND < now_ms


def versions_with_counters(
    table: GuardedTable, versions: Sequence[StoredVersion], now_ms: int
) -> list[StoredVersion]:
    """Return versions of cells of the old table, with its counters in place of their seals.

    Args:
        table: The old table.
        versions: The versions, newest first in each column, without tombstones.
        now_ms: The time, in milliseconds since 1970; expired counters are left out.
    """
    return list(_unsealed(table, versions, now_ms)) if table.counters else list(versions)


def _unsealed(
    table: GuardedTable, versions: Sequence[StoredVersion], now_ms: int
) -> Iterator[StoredVersion]:
    shown: set[tuple[bytes, int]] = set()
    for each in versions:
        version: StoredVersion | None = each
        if each.column in table.counters and is_counter_seal(Cell(each.value, each.timestamp_ms)):
            counter = _sealed_counter(each.value)
            version = None
            if counter is not None and not _is_expired(table, each.column, counter, now_ms):
                version = each._replace(timestamp_ms=counter.timestamp_ms, value=counter.value)
        # The cell that a seal names may be stored beneath it.
        if version is not None and (version.column, version.timestamp_ms) not in shown:
            shown.add((version.column, version.timestamp_ms))
            yield version


def seal_counters(
    table: GuardedTable, key: bytes, context: GuardContext
) -> Protocol[dict[bytes, Cell]]:
    """Seal all counters of a row whose guard is sealed; return those that the row has.

    A counter that the row does not have is sealed too. Expired ones are not returned. It is safe to
    repeat, and several processes may do it at once.

    Raises:
        ConflictError: Other programs incremented a counter at every attempt.
        CatalogLeaseError: The lease has expired.
        GatewayError: The row could not be read, or the answers to the changes were lost.
    """
    columns = sorted(table.counters)
    newest_ms: int | None = None
    is_busy = False
    changes = ConditionalChanges()
    for rounds in range(1, MAX_COUNTER_ROUNDS + 1):
        if is_busy:
            yield from context.retries.pause(rounds)
        # With the guard, like all reads of the old table that are not for its programs.
        get = GetRows(table.table, (key,), with_guard(table.counters))
        (row,) = yield from ask_with_retry(get, context.retries)
        cells = {} if row is None else row.cells
        unsealed = {c: cells.get(c) for c in columns if not is_counter_seal(cells.get(c))}
        if not unsealed:
            sealed = {column: cells[column] for column in columns}
            return with_counters(table, sealed, context.now_ms())
        if newest_ms is None:
            # Once: with the guard sealed, only increments change the row, and the get shows them.
            stored = yield from read_raw(table, key, context)
            newest_ms = max((version.timestamp_ms for version in stored), default=0)
        is_busy = not (yield from _seal(table, key, unsealed, newest_ms, context, changes))
    raise changes.error(
        ConflictError(
            "other programs incremented a counter of the row at every attempt to seal it",
            table=table.table,
            row=key,
            rounds=MAX_COUNTER_ROUNDS,
            fix="continue the move later",
        )
    )


def _seal(  # noqa: PLR0917  # one step of the loop, and all it depends on
    table: GuardedTable,
    key: bytes,
    cells: Mapping[bytes, Cell | None],
    newest_ms: int,
    context: GuardContext,
    changes: ConditionalChanges,
) -> Protocol[bool]:
    """Put the seals of counters that still have these cells; return whether all were acknowledged.

    Whether they are in the row is seen by the next read: a cell may be equal and newer.
    """
    # As new as now: in a family with a TTL the seal of an old row would be expired when it is put.
    newest_ms = max(newest_ms, context.now_ms(), *(c.timestamp_ms for c in cells.values() if c))
    is_acknowledged = True
    for column, cell in cells.items():
        yield from permitted_epoch(table.table, context)
        put = Put(column, counter_seal(cell), newest_ms + 1)
        expected = b"" if cell is None else cell.value
        request = CheckAndMutate(table.table, column, expected, RowMutation(key, puts=(put,)))
        is_acknowledged &= yield from changes.ask(request)
    return is_acknowledged
