"""Hands rows over: seals them in the old table and puts them into the new one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from hbase_orm.errors import CorruptRowError
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext
from hbase_orm.index.protocol.requests import permitted_epoch
from hbase_orm.moving.seal import SealedRow, seal_row
from hbase_orm.moving.translation import TableMove
from hbase_orm.ops import (
    CheckAndMutate,
    GetVersions,
    Protocol,
    Put,
    Row,
    RowMutation,
    ask_with_retry,
)

ALL_VERSIONS: Final = (1 << 31) - 1
"""The largest number of versions that HBase can be asked for."""


def hand_over(move: TableMove, new_key: bytes, context: GuardContext) -> Protocol[None]:
    """Give a row of the new table a guard, so that from now on the new table decides about it.

    First the old row is sealed. Then it is put into the new table with its cells and timestamps, if
    it has this new key. If it has not, the new table gets a dead guard: the row does not exist, and
    later writes have timestamps after all that was deleted in the index tables.

    It is safe to repeat, and several processes may do it at once.

    Raises:
        HBaseORMError: As for `seal_row` and `adopt`.
    """
    context = replace(context, take_over=None)
    sealed = yield from seal_row(move.old, move.old_key(new_key), context)
    row = move.to_new(sealed.key, sealed.cells, context.now_ms())
    if row is not None and row.key == new_key:
        yield from adopt(move, sealed, row, context)
    else:
        yield from adopt_absent(move, sealed, new_key, context)


def adopt_absent(
    move: TableMove, sealed: SealedRow, new_key: bytes, context: GuardContext
) -> Protocol[None]:
    """Give a row that does not exist a dead guard, and the counters that it has all the same.

    Raises:
        HBaseORMError: As for `adopt`.
    """
    counters = move.counters_of_absent(sealed.key, sealed.cells, context.now_ms())
    cells = {} if counters is None else counters.cells
    puts = tuple(Put(column, cell.value, cell.timestamp_ms) for column, cell in cells.items())
    yield from _put_guarded(move, sealed, new_key, puts, context, is_dead=True)


def taking_over(move: TableMove, context: GuardContext) -> GuardContext:
    """Return a context with which writes and repairs of the new table hand rows over first."""
    return replace(context, take_over=partial(_take_over, move, context))


def _take_over(move: TableMove, context: GuardContext, table: str, key: bytes) -> Protocol[None]:
    if table == move.new.table:
        yield from hand_over(move, key, context)


def adopt(move: TableMove, sealed: SealedRow, row: Row, context: GuardContext) -> Protocol[None]:
    """Put a sealed row into the new table, unless the new table has a guard for it.

    All that adopt the row put the same cells, because a sealed row does not change. The entries in
    the new table's indexes are there already: writers of the old table maintain them.

    Args:
        move: The tables.
        sealed: The sealed row.
        row: The same row in the new layout.
        context: The clocks, random numbers and catalog leases.

    Raises:
        CorruptRowError: The row would not exist in the new table.
        CatalogLeaseError: The lease has expired.
        GatewayError: The row was not put, or the outcome is unknown; adopt it again.
    """
    if not move.new.exists(row.cells):
        raise CorruptRowError(
            "the row does not have the column that every row of the new table needs",
            table=move.old.table,
            row=sealed.key,
            column=move.new.anchor,
            fix="write the column in the old table, or give it a default in the migration",
        )
    puts = yield from _cell_puts(move, sealed, row, context)
    yield from _put_guarded(move, sealed, row.key, puts, context, is_dead=False)


def _cell_puts(
    move: TableMove, sealed: SealedRow, row: Row, context: GuardContext
) -> Protocol[tuple[Put, ...]]:
    values = {(column, cell.timestamp_ms): cell.value for column, cell in row.cells.items()}
    translate = move.translation.older_versions
    if translate is not None:
        # With the guard, like all reads of the old table that are not for its programs.
        columns = (*move.old.families, GUARD_COLUMN)
        get = GetVersions(move.old.table, sealed.key, columns, ALL_VERSIONS)
        stored = yield from ask_with_retry(get, context.retries)
        versions = translate(move.old_versions(stored, context.now_ms()))
        values |= {(version.column, version.timestamp_ms): version.value for version in versions}
    return tuple(Put(column, value, ms) for (column, ms), value in values.items())


def _put_guarded(
    move: TableMove,
    sealed: SealedRow,
    new_key: bytes,
    puts: tuple[Put, ...],
    context: GuardContext,
    *,
    is_dead: bool,
) -> Protocol[None]:
    """Put cells and a guard if there is no guard; a dead guard stays."""
    yield from move.make_new()
    epoch = yield from permitted_epoch(move.new.table, context)
    guard = adopted_guard(sealed.guard, epoch, is_dead=is_dead)
    guard_put = Put(GUARD_COLUMN, guard.encode(), guard.timestamp_ms)
    mutation = RowMutation(new_key, puts=(*puts, guard_put))
    request = CheckAndMutate(move.new.table, GUARD_COLUMN, b"", mutation)
    yield from ask_with_retry(request, context.retries)  # True or False: there is a guard now


def adopted_guard(seal: GuardCell, epoch: int, *, is_dead: bool) -> GuardCell:
    """Return the first guard of a row in the new table.

    Its timestamp is the seal's, so that all later writes are later than those in the old table. It
    keeps the nonces, so that a writer recognizes a write that it made in the old table.
    """
    return replace(seal, epoch=epoch, is_dead=is_dead, is_sealed=False, is_provisional=False)
