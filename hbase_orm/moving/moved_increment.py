"""Increments counters of rows of the new class in every phase of a move."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hbase_orm.errors import ConflictError, ConnectionLostError, RejectedError, RetryableError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.guard_cell import guard_of
from hbase_orm.index.entries.targets import GUARD_COLUMN, GuardContext, with_guard
from hbase_orm.index.upkeep.table_pages import get_rows
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.counter_seals import is_counter_seal
from hbase_orm.moving.translation import TableMove, data_cells
from hbase_orm.ops import Increment, Protocol, ask

R = TypeVar("R")


def _unconfirmed(increment: Increment) -> Protocol[None]:
    del increment
    yield from ()


def moved_increment(
    move: TableMove,
    phase: Phase,
    increment: Increment,
    context: GuardContext,
    confirm: Callable[[Increment], Protocol[None]] = _unconfirmed,
) -> Protocol[dict[bytes, int]]:
    """Increment counters of one row of the new table, where the row is; return the new values.

    Before MOVING this is the old table. HBase refuses the increment there if the row was handed
    over, which shows that others are in MOVING already; then it continues as in MOVING. There a row
    without a guard in the new table is handed over first. The amounts are never sent again after
    an unknown outcome.

    Args:
        move: The tables.
        phase: The phase that this process knows, under its lease.
        increment: The request, in the new layout.
        context: The clocks, random numbers and catalog leases.
        confirm: A function that is called with an increment, in the old layout, after the old table
            has answered it. It raises an error if the lease has ended meanwhile and the amounts may
            be left behind there.

    Raises:
        ConnectionLostError: It is unknown whether the amounts were added.
        RetryableError: A request before the increment was not answered; nothing was added.
        ConflictError: Before MOVING: the new key depends on cells, and the old table has another
            row under the same old key, or none.
        ValidationError: Before MOVING: the old table does not have the counter.
        RejectedError: HBase refuses the increment.
        HBaseORMError: As for `hand_over`.
    """
    if phase < Phase.MOVING:
        values = yield from _in_old(move, phase, increment, context, confirm)
        if values is not None:
            return values
    if phase is not Phase.NEW:
        yield from before_increment(increment, _take_over(move, increment.row, context))
    return (yield from ask(increment))


def _in_old(
    move: TableMove,
    phase: Phase,
    increment: Increment,
    context: GuardContext,
    confirm: Callable[[Increment], Protocol[None]],
) -> Protocol[dict[bytes, int] | None]:
    """Increment the counters of the old row; return None if the row was handed over."""
    in_old = move.old_increment(increment)
    is_there = yield from before_increment(increment, _is_in_old(move, increment.row, context))
    if not is_there and phase >= Phase.PREPARED:
        return None
    try:
        values = yield from ask(in_old)
    except RejectedError:
        if phase < Phase.PREPARED:
            raise
        if not (yield from before_increment(increment, _is_sealed(in_old, context))):
            raise
        return None
    yield from confirm(in_old)
    return {c: values[move.translation.old_counters[c]] for c in increment.amounts}


def before_increment(increment: Increment, steps: Protocol[R]) -> Protocol[R]:
    """Run requests before an increment, which may be repeated.

    Raises:
        RetryableError: A request was not answered; nothing was added.
    """
    try:
        return (yield from steps)
    except ConnectionLostError as error:
        raise RetryableError(
            "nothing was added: a request before the increment was not answered",
            table=increment.table,
            row=increment.row,
            fix="increment again",
        ) from error


def _take_over(move: TableMove, new_key: bytes, context: GuardContext) -> Protocol[None]:
    yield from move.make_new()
    (row,) = yield from get_rows(move.new.table, (new_key,), context, (GUARD_COLUMN,))
    if row is None:
        yield from hand_over(move, new_key, context)


def _is_in_old(move: TableMove, new_key: bytes, context: GuardContext) -> Protocol[bool]:
    """Return whether the row is in the old table; False if it was handed over.

    Nothing is read if each old key has only one new key.

    Raises:
        ConflictError: The old table has another row under the same old key, or none. Without a row
            the counters could belong to any row that will have this old key.
    """
    if not move.key_columns:
        return True
    columns = move.old_columns(frozenset())
    (stored,) = yield from get_rows(move.old.table, (move.old_key(new_key),), context, columns)
    guard = None if stored is None else guard_of(stored.cells.get(GUARD_COLUMN))
    if guard is not None and guard.is_sealed:
        return False
    cells = data_cells(stored)
    if not move.old.exists(cells):
        raise ConflictError(
            "the row does not exist, and the old table could not distinguish its counters from "
            "those of other rows with the same key there",
            table=move.old.table,
            row=new_key,
            fix="insert the row before, or increment it when the move has reached its phase MOVING",
        )
    move.refuse_other_row(new_key, cells)
    return True


def _is_sealed(refused: Increment, context: GuardContext) -> Protocol[bool]:
    """Return whether HBase refused an increment because of a counter seal."""
    columns = with_guard(frozenset(refused.amounts))
    (row,) = yield from get_rows(refused.table, (refused.row,), context, columns)
    cells = {} if row is None else row.cells
    return any(is_counter_seal(cells.get(column)) for column in refused.amounts)
