"""The rules of a move between tables, each replaced by what breaks it; see `broken_rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.guard_cell import GuardCell, guard_of, sealed_guard
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GuardContext,
    GuardedTable,
    RowBefore,
    RowChange,
)
from hbase_orm.index.protocol import guarded_write
from hbase_orm.index.protocol.guards_in_place import replace_in_place
from hbase_orm.index.protocol.requests import read_before
from hbase_orm.index.upkeep.table_pages import get_rows, scan_page
from hbase_orm.moving import (
    adoption,
    counter_seals,
    joint_seals,
    moved_increment,
    moved_write,
    mover,
    new_entries,
    seal,
    virtual_reads,
    virtual_scans,
)
from hbase_orm.moving.counter_seals import counter_seal
from hbase_orm.moving.seal import SealedRow
from hbase_orm.moving.translation import TableMove, new_key_index
from hbase_orm.moving.virtual_reads import Rows
from hbase_orm.moving.virtual_scans import VirtualPage
from hbase_orm.ops import (
    Cell,
    CheckAndMutate,
    GetRows,
    KeyRange,
    MutateRow,
    Protocol,
    Put,
    Row,
    RowMutation,
    ask,
)
from tests.model import moving
from tests.support.broken_rules import Break

ORIGINAL_SEAL: Final = seal.seal_row
ORIGINAL_SEAL_COUNTERS: Final = counter_seals.seal_counters
ORIGINAL_CELL_PUTS: Final = adoption._cell_puts  # replaced below
ORIGINAL_HAND_OVER: Final = adoption.hand_over
ORIGINAL_NEW_TABLE: Final = moved_write.new_table
ORIGINAL_OLD_CHANGE: Final = TableMove.old_change
ORIGINAL_ROWS_OF_OLD: Final = virtual_reads.rows_of_old
ORIGINAL_GUARDED_ROWS: Final = virtual_reads.guarded_rows
ORIGINAL_PAGE_OF_OLD: Final = virtual_scans._page_of_old  # replaced below
ORIGINAL_PAGE_OF_NEW: Final = virtual_scans._page_of_new  # replaced below


def is_sealed(row: Row | None) -> bool:
    guard = None if row is None else guard_of(row.cells.get(GUARD_COLUMN))
    return guard is not None and guard.is_sealed


def seal_without_check(
    table: GuardedTable, key: bytes, before: RowBefore, context: GuardContext, *_: object
) -> Protocol[GuardCell]:
    guard = sealed_guard(
        before.guard,
        timestamp_ms=seal.seal_timestamp(before),
        nonce=context.nonce(),
        epoch=1,
    )
    put = Put(GUARD_COLUMN, guard.encode(), guard.timestamp_ms)
    yield from ask(MutateRow(table.table, RowMutation(key, puts=(put,))))
    return guard


def replace_unread(
    table: str, guards: Mapping[bytes, GuardCell], context: GuardContext
) -> Protocol[set[bytes]]:
    yield from replace_in_place(table, guards, context)
    return set(guards)


def read_instead(
    table: str, guards: Mapping[bytes, GuardCell], context: GuardContext
) -> Protocol[set[bytes]]:
    stored = yield from get_rows(table, list(guards), context, (GUARD_COLUMN,))
    shown = {row.key: guard_of(row.cells.get(GUARD_COLUMN)) for row in stored if row is not None}
    return {key for key, each in guards.items() if (now := shown.get(key)) and is_of(now, each)}


def is_of(now: GuardCell, guard: GuardCell) -> bool:
    return (now.timestamp_ms, now.nonce) == (guard.timestamp_ms, guard.nonce)


def at_the_same_time(guard: GuardCell) -> GuardCell:
    return replace(guard, is_provisional=False)


def adopt_provisionally(
    table: GuardedTable, key: bytes, guard: GuardCell, context: GuardContext
) -> Protocol[GuardCell]:
    del table, key, context
    yield from ()
    return guard


def leave_unsealed(
    table: GuardedTable, key: bytes, before: RowBefore, context: GuardContext, *_: object
) -> Protocol[GuardCell]:
    del table, key, context
    yield from ()
    return sealed_guard(
        before.guard, timestamp_ms=before.newest_seen_ms + 1, nonce=bytes(8), epoch=1
    )


def leave_counters_unsealed(
    table: GuardedTable,
    key: bytes,
    guard: GuardCell,
    cells: Mapping[bytes, Cell],
    context: GuardContext,
) -> Protocol[SealedRow]:
    del table, context
    yield from ()
    return SealedRow(key, guard, cells)


def seal_present_counters_only(
    table: GuardedTable, key: bytes, context: GuardContext
) -> Protocol[dict[bytes, Cell]]:
    (row,) = yield from ask(GetRows(table.table, (key,), tuple(table.counters)))
    present = table.counters & ({} if row is None else row.cells).keys()
    if not present:
        return {}
    return (yield from ORIGINAL_SEAL_COUNTERS(replace(table, counters=present), key, context))


def seal_counters_without_check(
    table: GuardedTable,
    key: bytes,
    cells: Mapping[bytes, Cell | None],
    newest_ms: int,
    context: GuardContext,
    *_: object,
) -> Protocol[bool]:
    newest_ms = max(newest_ms, context.now_ms())
    puts = [Put(column, counter_seal(cell), newest_ms + 1) for column, cell in cells.items()]
    yield from ask(MutateRow(table.table, RowMutation(key, puts=tuple(puts))))
    return True


def leave_row_where_it_is(move: TableMove, new_key: bytes, context: GuardContext) -> Protocol[None]:
    del move, new_key, context
    yield from ()


def seal_existing_rows_only(
    table: GuardedTable, key: bytes, context: GuardContext
) -> Protocol[SealedRow]:
    columns = (*table.families, GUARD_COLUMN)
    before = yield from read_before(table, key, columns, context)
    if before.guard is None:
        guard = yield from leave_unsealed(table, key, before, context)
        return SealedRow(key, guard, before.cells)
    return (yield from ORIGINAL_SEAL(table, key, context))


def early_timestamp(before: RowBefore) -> int:
    del before
    return 1


def ignore_seal(target: GuardedTable, row: bytes, before: RowBefore) -> None:
    del target, row, before


def adopt_without_check(
    move: TableMove,
    sealed: SealedRow,
    new_key: bytes,
    puts: tuple[Put, ...],
    context: GuardContext,
    *,
    is_dead: bool,
) -> Protocol[None]:
    del context
    guard = adoption.adopted_guard(sealed.guard, 1, is_dead=is_dead)
    guard_put = Put(GUARD_COLUMN, guard.encode(), guard.timestamp_ms)
    mutation = RowMutation(new_key, puts=(*puts, guard_put))
    yield from ask(MutateRow(move.new.table, mutation))


def adopt_with_later_timestamps(
    move: TableMove, sealed: SealedRow, row: Row, context: GuardContext
) -> Protocol[tuple[Put, ...]]:
    del move, context
    yield from ()
    cells = row.cells.items()
    return tuple(Put(column, cell.value, sealed.guard.timestamp_ms) for column, cell in cells)


def adopt_counters_later(
    move: TableMove, sealed: SealedRow, row: Row, context: GuardContext
) -> Protocol[tuple[Put, ...]]:
    puts = yield from ORIGINAL_CELL_PUTS(move, sealed, row, context)
    later_ms = sealed.guard.timestamp_ms
    return tuple(
        replace(put, timestamp_ms=later_ms) if put.column in move.new.counters else put
        for put in puts
    )


def adopt_existing_rows_only(
    move: TableMove, new_key: bytes, context: GuardContext
) -> Protocol[None]:
    sealed = yield from seal.seal_row(
        move.old, move.old_key(new_key), replace(context, take_over=None)
    )
    row = move.to_new(sealed.key, sealed.cells)
    if row is not None and row.key == new_key:
        yield from adoption.adopt(move, sealed, row, context)


def adopt_under_any_key(move: TableMove, new_key: bytes, context: GuardContext) -> Protocol[None]:
    sealed = yield from seal.seal_row(
        move.old, move.old_key(new_key), replace(context, take_over=None)
    )
    row = move.to_new(sealed.key, sealed.cells)
    if row is None:
        yield from ORIGINAL_HAND_OVER(move, new_key, context)
    else:
        yield from adoption.adopt(move, sealed, Row(new_key, row.cells), context)


def take_nothing_over(move: TableMove, context: GuardContext) -> GuardContext:
    del move
    return context


def expiring_guards(move: TableMove, phase: Phase, floor_ms: int = 0) -> GuardedTable:
    return replace(ORIGINAL_NEW_TABLE(move, phase, floor_ms), keeps_dead_guards=False)


def no_floor(move: TableMove, phase: Phase, floor_ms: int = 0) -> GuardedTable:
    del floor_ms
    return ORIGINAL_NEW_TABLE(move, phase, 0)


def without_new_keys(move: TableMove) -> GuardedTable:
    indexes = (*move.old.indexes, *map(move._translated, move.new.indexes))
    return replace(move.old, indexes=indexes)


def without_new_table_s_indexes(move: TableMove) -> GuardedTable:
    new_keys = new_key_index(
        move.new_key_table or "", move.key_columns, move
    )  # one rule is left out
    return replace(move.old, indexes=(*move.old.indexes, new_keys))


def change_unchecked(move: TableMove, change: RowChange) -> RowChange:
    return replace(ORIGINAL_OLD_CHANGE(move, change), check=None)


def sealed_rows_gone(
    move: TableMove, keys: Sequence[bytes], wanted: frozenset[bytes], context: GuardContext
) -> Protocol[Rows]:
    rows = yield from ORIGINAL_ROWS_OF_OLD(move, keys, wanted, context)
    sealed = yield from sealed_keys(move, keys, context)
    return {key: None if key in sealed else row for key, row in rows.items()}


def sealed_keys(
    move: TableMove, keys: Sequence[bytes], context: GuardContext
) -> Protocol[set[bytes]]:
    old_keys = [move.old_key(key) for key in keys]
    rows = yield from get_rows(move.old.table, old_keys, context, (GUARD_COLUMN,))
    return {key for key, row in zip(keys, rows, strict=True) if is_sealed(row)}


def old_table_first(
    move: TableMove,
    phase: Phase,
    keys: Sequence[bytes],
    context: GuardContext,
    columns: tuple[bytes, ...] = (),
) -> Protocol[list[Row | None]]:
    """Read the old table first, and the new one only about rows that are sealed by then."""
    del phase
    wanted = move.columns_of(columns)
    rows = yield from ORIGINAL_ROWS_OF_OLD(move, keys, wanted, context)
    sealed = yield from sealed_keys(move, keys, context)
    of_new = yield from virtual_reads.rows_of_new(move, sorted(sealed), wanted, context)
    return [of_new.get(key) if key in sealed else rows[key] for key in keys]


def rows_with_cells_only(move: TableMove, rows: Sequence[Row | None]) -> Rows:
    guarded = ORIGINAL_GUARDED_ROWS(move, rows)
    return {key: row for key, row in guarded.items() if row is not None}


def sealed_rows_skipped(
    move: TableMove,
    key_range: KeyRange,
    wanted: frozenset[bytes],
    context: GuardContext,
    page_rows: int,
    *,
    reverse: bool = False,
) -> Protocol[tuple[Rows, KeyRange]]:
    rows, window = yield from ORIGINAL_PAGE_OF_OLD(
        move, key_range, wanted, context, page_rows, reverse=reverse
    )
    sealed = yield from sealed_keys(move, list(rows), context)
    return {key: row for key, row in rows.items() if key not in sealed}, window


def new_table_first(
    move: TableMove,
    phase: Phase,
    key_range: KeyRange,
    context: GuardContext,
    columns: tuple[bytes, ...] = (),
    *,
    page_rows: int,
    reverse: bool,
) -> Protocol[VirtualPage]:
    """Read the new table first, and trust it about the rows that are sealed by then."""
    del phase
    wanted = move.columns_of(columns)
    of_new, _ = yield from ORIGINAL_PAGE_OF_NEW(
        move, key_range, wanted, context, 99, reverse=reverse
    )
    rows, window = yield from sealed_rows_skipped(
        move, key_range, wanted, context, page_rows, reverse=reverse
    )
    kept = {key: row for key, row in of_new.items() if key in window}
    return virtual_scans._merged(rows | kept, window, key_range, reverse=reverse)


def both_tables_in_turn(
    move: TableMove,
    phase: Phase,
    key_range: KeyRange,
    context: GuardContext,
    columns: tuple[bytes, ...] = (),
    *,
    page_rows: int,
    reverse: bool,
) -> Protocol[VirtualPage]:
    """Read the rest of the one table, then the rest of the other, and do not merge."""
    del phase, reverse
    wanted = move.columns_of(columns)
    of_old, window = yield from ORIGINAL_PAGE_OF_OLD(move, key_range, wanted, context, page_rows)
    of_new, _ = yield from ORIGINAL_PAGE_OF_NEW(move, window, wanted, context, 99)
    rows = [row for rows in (of_old, of_new) for row in rows.values() if row is not None]
    following = None if window.stop == key_range.stop else window.stop
    return VirtualPage(tuple(sorted(rows, key=lambda row: row.key)), following)


def living_rows_only(
    move: TableMove, key_range: KeyRange, page_rows: int, context: GuardContext
) -> Protocol[list[Row]]:
    columns = (*move.old.families, GUARD_COLUMN)
    page = yield from scan_page(move.old.table, columns, key_range, page_rows, context)
    return [row for row in page if len(row.cells) > 1]


def nothing_left(
    move: TableMove, page: Sequence[Row], context: GuardContext
) -> Protocol[list[Row]]:
    del move, context
    yield from ()
    return [row for row in page if not is_sealed(row)]


def seal_that_expires(
    table: GuardedTable, key: bytes, before: RowBefore, context: GuardContext, *_: object
) -> Protocol[GuardCell | None]:
    guard = sealed_guard(
        before.guard,
        timestamp_ms=seal.seal_timestamp(before),
        nonce=context.nonce(),
        epoch=1,
    )
    put = Put(GUARD_COLUMN, guard.encode(), guard.timestamp_ms)
    mutation = RowMutation(key, puts=(put,), ttl_ms=1)
    request = CheckAndMutate(table.table, GUARD_COLUMN, before.guard_bytes, mutation)
    return guard if (yield from ask(request)) else None


SEAL_UNCHECKED: Final = Break("seal by check", seal, "_sealed", seal_without_check)
SEALED_UNREAD: Final = Break(
    "read whether the seal shows", joint_seals, "replace_in_place", replace_unread
)
SEALED_ONCE: Final = Break("put the final seal later", joint_seals, "final_seal", at_the_same_time)
ADOPTED_PROVISIONALLY: Final = Break(
    "put the final seal before the adoption", seal, "_final", adopt_provisionally
)
INDEXED_UNREAD: Final = Break(
    "read whether the row has changed", new_entries, "replace_in_place", replace_unread
)
GUARD_NOT_RENEWED: Final = Break(
    "renew the guard of an indexed row", new_entries, "replace_in_place", read_instead
)
UNSEALED: Final = Break("seal first", seal, "_sealed", leave_unsealed)
ABSENT_UNSEALED: Final = Break("seal absent rows", adoption, "seal_row", seal_existing_rows_only)
SEAL_EARLY: Final = Break("seal later than all", seal, "seal_timestamp", early_timestamp)
SEAL_EXPIRES: Final = Break("seal stays", seal, "_sealed", seal_that_expires)
COUNTERS_UNSEALED: Final = Break("seal counters", seal, "_with_counters", leave_counters_unsealed)
ABSENT_COUNTERS_UNSEALED: Final = Break(
    "seal absent counters", seal, "seal_counters", seal_present_counters_only
)
COUNTERS_UNCHECKED: Final = Break(
    "seal counters by check", counter_seals, "_seal", seal_counters_without_check
)
COUNTED_IN_NEW_ONLY: Final = Break(
    "hand over before an increment", moved_increment, "hand_over", leave_row_where_it_is
)
SEAL_IGNORED: Final = Break("seal is final", guarded_write, "refuse_sealed", ignore_seal)
ADOPTED_UNCHECKED: Final = Break("adopt by check", adoption, "_put_guarded", adopt_without_check)
ADOPTED_LATER: Final = Break("own timestamps", adoption, "_cell_puts", adopt_with_later_timestamps)
COUNTERS_ADOPTED_LATER: Final = Break(
    "own timestamps of counters", adoption, "_cell_puts", adopt_counters_later
)
ABSENT_NOT_ADOPTED: Final = Break("dead guard", adoption, "hand_over", adopt_existing_rows_only)
ADOPTED_UNDER_ANY_KEY: Final = Break("own key", adoption, "hand_over", adopt_under_any_key)
NOT_TAKEN_OVER: Final = Break("hand over first", moved_write, "taking_over", take_nothing_over)
GUARDS_EXPIRE: Final = Break("dead guards stay", moved_write, "new_table", expiring_guards)
NO_FLOOR: Final = Break("floor", moved_write, "new_table", no_floor)
NEW_KEYS_LEFT_OUT: Final = Break("new keys", TableMove, "with_new_indexes", without_new_keys)
INDEXES_LEFT_OUT: Final = Break(
    "new indexes", TableMove, "with_new_indexes", without_new_table_s_indexes
)
OTHER_ROW_OVERWRITTEN: Final = Break(
    "one row an old key", TableMove, "old_change", change_unchecked
)
SEALED_IS_GONE: Final = Break("sealed content", virtual_reads, "rows_of_old", sealed_rows_gone)
OLD_ROW_FIRST: Final = Break("new table first", moving, "virtual_rows", old_table_first)
DEAD_GUARDS_UNREAD: Final = Break(
    "dead guards decide", virtual_reads, "guarded_rows", rows_with_cells_only
)
DEAD_GUARDS_UNSCANNED: Final = Break(
    "dead guards decide", virtual_scans, "guarded_rows", rows_with_cells_only
)
SEALED_SKIPPED: Final = Break("sealed content", virtual_scans, "_page_of_old", sealed_rows_skipped)
NEW_TABLE_FIRST: Final = Break("old table first", moving, "virtual_page", new_table_first)
NOT_MERGED: Final = Break("merged", moving, "virtual_page", both_tables_in_turn)
DEAD_ROWS_NOT_MOVED: Final = Break("dead rows too", mover, "_page", living_rows_only)
SEALED_COUNTS_AS_MOVED: Final = Break("adopted too", mover, "_left", nothing_left)
