"""The guarded write's rules, each replaced by what breaks it.

Tests put these in the place of the library's functions, and must then find damage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final

from hbase_orm.errors import GatewayError
from hbase_orm.index.catalog.catalog import CatalogView, change_entry
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import LoaderWatch
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARD_COLUMN, Entry, GuardContext, GuardedTable
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol import claims
from hbase_orm.index.protocol import fence as fencing
from hbase_orm.index.protocol import guarded_write as guard
from hbase_orm.index.protocol import load as loading
from hbase_orm.index.protocol.attempt import Attempt
from hbase_orm.index.protocol.load import LoadTicket
from hbase_orm.index.upkeep import build_pages as late
from hbase_orm.index.upkeep.build_pages import LatePage
from hbase_orm.index_admin import catch_up
from hbase_orm.ops import (
    CheckAndMutate,
    Delete,
    MutateRow,
    MutateRows,
    Operation,
    Protocol,
    RowMutation,
    ask,
)
from tests.model import builds, systems
from tests.support.replays import V1

ORIGINAL_GUARD_CHANGES: Final = attempts.guard_changes
ORIGINAL_LOAD: Final = loading.load_in_order
ORIGINAL_SETTLE: Final = guard.settle
ORIGINAL_CLAIM_VALUE: Final = claims.claim_value
ORIGINAL_RELEASE: Final = claims.release
ORIGINAL_DEAD_ENTRY_DELETES: Final = attempts.dead_entry_deletes


def row_then_entries(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    answer = yield from guard.change_row(target, attempt, context, history)
    yield from guard.put_entries(attempts.entries_to_put(target, attempt), attempt, context)
    return answer


def put_entries_and_hope(
    entries: frozenset[Entry], attempt: Attempt, context: GuardContext
) -> Protocol[None]:
    del context
    for put in attempts.entry_puts(entries, attempt.timestamp_ms):
        try:
            yield from ask(put)
        except GatewayError:
            continue


def guard_then_data(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    del context
    history.sent[attempt.guard.nonce] = attempt
    whole = guard.check_on_guard(target, attempt)
    puts = whole.mutation.puts
    guard_puts = tuple(put for put in puts if put.column == GUARD_COLUMN)
    alone = replace(whole, mutation=RowMutation(attempt.row, puts=guard_puts))
    won = yield from ask(alone)
    if won:
        data = tuple(put for put in puts if put.column != GUARD_COLUMN)
        yield from ask(MutateRow(target.table, RowMutation(attempt.row, puts=data)))
    return won


def change_unchecked(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    del context, history
    yield from ask(MutateRow(target.table, attempt.mutation))
    return True


def check_on_value(target: GuardedTable, attempt: Attempt) -> CheckAndMutate:
    value = attempt.before.values.get(V1, b"")
    return CheckAndMutate(target.table, V1, value, attempt.mutation)


def guard_dies_with_row(cell: GuardCell) -> tuple[tuple[Delete, ...], tuple[Any, ...]]:
    if cell.is_dead:
        return (Delete(GUARD_COLUMN, cell.timestamp_ms),), ()
    return ORIGINAL_GUARD_CHANGES(cell)


def settle_and_clean_up(
    target: GuardedTable,
    attempt: Attempt,
    columns: tuple[bytes, ...],
    context: GuardContext,
    history: guard.History,
) -> Protocol[Any]:
    own = attempt.new_entries - attempt.old_entries
    for delete in attempts.dead_entry_deletes(own, attempt.timestamp_ms):
        yield from ask(delete)
    return (yield from ORIGINAL_SETTLE(target, attempt, columns, context, history))


def delete_at_server_now(entries: frozenset[Entry], timestamp_ms: int) -> tuple[MutateRows, ...]:
    return tuple(
        replace(batch, mutations=tuple(map(_without_timestamp, batch.mutations)))
        for batch in ORIGINAL_DEAD_ENTRY_DELETES(entries, timestamp_ms)
    )


def _without_timestamp(mutation: RowMutation) -> RowMutation:
    return replace(mutation, deletes=tuple(Delete(d.column) for d in mutation.deletes))


def told_without_tombstones(*_: object) -> int:
    return 0


def clock_alone(now_ms: int, newest_seen_ms: int) -> int:
    del newest_seen_ms
    return now_ms


def no_fence(*_: object) -> Protocol[bool]:
    yield from ()
    return True


def verify_before_the_change(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    new = attempt.new_entries
    early = attempts.verified_entries(target, new, attempt.cells, attempt.timestamp_ms)
    for put in early:
        yield from ask(put)
    return (yield from guard.change_row(target, attempt, context, history))


def put_new_entries_alone(_: GuardedTable, attempt: Attempt) -> frozenset[Entry]:
    return attempt.new_entries - attempt.old_entries


def no_owner_fence(*_: object) -> Protocol[bool]:
    yield from ()
    return True


def keep_own_claim(
    target: GuardedTable, attempt: Attempt, entry: Entry, context: GuardContext
) -> Protocol[None]:
    stored = yield from claims.read_claim(entry, context)
    if stored.claim is None or stored.claim.owner != attempt.row:
        yield from ORIGINAL_CLAIM_VALUE(target, attempt, entry, context)


def own_timestamp(attempt: Attempt, owner: bytes, replaced: claims.Claim | None) -> int:
    del owner, replaced
    return attempt.timestamp_ms


def release_any(
    target: GuardedTable,
    entries: Iterable[Entry],
    row: bytes,
    up_to_ms: int,
    context: GuardContext,
) -> Protocol[None]:
    del up_to_ms
    yield from ORIGINAL_RELEASE(target, entries, row, 2**62, context)


def delete_claim(entry: Entry, stored: claims.StoredClaim, nonce: bytes) -> RowMutation:
    del nonce
    delete = Delete(claims.CLAIM_COLUMN, stored.timestamp_ms)
    return RowMutation(entry.key, deletes=(delete,))


def permit_always(*_: object) -> int:
    return 1


def rows_of_a_load_first(
    entries: Sequence[Operation[None]],
    data: Operation[None],
    verified: Sequence[Operation[None]],
    permit: Callable[[], None],
) -> Protocol[None]:
    yield from ORIGINAL_LOAD((), data, (*entries, *verified), permit)


def verify_before_a_row_is_loaded(
    entries: Sequence[Operation[None]],
    data: Operation[None],
    verified: Sequence[Operation[None]],
    permit: Callable[[], None],
) -> Protocol[None]:
    yield from ORIGINAL_LOAD((*entries, *verified), data, (), permit)


def open_at_once(table: str, ticket: LoadTicket, watch: LoaderWatch) -> Protocol[CatalogEntry]:
    del ticket, watch

    def opened(entry: CatalogEntry | None) -> CatalogEntry:
        assert entry is not None
        return replace(entry, state=TableState.READABLE, loaders=())

    return (yield from change_entry(table, opened))


def dead_at_once(watch: LoaderWatch, loader: TableLoader) -> bool:
    del watch, loader
    return True


def late_rows_not_moving(*args: Any, **options: Any) -> Protocol[LatePage]:
    page = yield from late.late_rows(*args, **options)
    return replace(page, moving=())


def leave_copies(*args: Any, **options: Any) -> Protocol[LatePage]:
    del args, options
    yield from ()
    return LatePage(0, (), (), None)


def no_epoch(table: str) -> Protocol[int]:
    del table
    yield from ()
    return 0


@dataclass(frozen=True, slots=True)
class Break:
    """One rule: the library's function that keeps it, and one that does not."""

    rule: str
    module: ModuleType | type
    name: str
    by: Callable[..., Any]

    def __str__(self) -> str:
        return f"{self.rule}: {self.by.__name__}"


ROW_BEFORE_ENTRIES: Final = Break("R1", guard, "entries_then_row", row_then_entries)
ENTRIES_UNACKNOWLEDGED: Final = Break("R2", guard, "put_entries", put_entries_and_hope)
TWO_REQUESTS: Final = Break("R3", guard, "change_row", guard_then_data)
NO_CHECK: Final = Break("R3", guard, "change_row", change_unchecked)
CHECK_ON_VALUE: Final = Break("R3", guard, "check_on_guard", check_on_value)
GUARD_DIES: Final = Break("R4", attempts, "guard_changes", guard_dies_with_row)
EAGER_CLEAN_UP: Final = Break("R5", guard, "settle", settle_and_clean_up)
DELETE_AT_NOW: Final = Break("R6", attempts, "dead_entry_deletes", delete_at_server_now)
NO_FENCE: Final = Break("fence", fencing, "fence", no_fence)
NO_TOMBSTONES: Final = Break("told", attempts, "newest_timestamp", told_without_tombstones)
CLOCK_ALONE: Final = Break("growing", attempts, "next_timestamp", clock_alone)
WRITE_WHILE_LOADING: Final = Break("LOADING", CatalogView, "permit", permit_always)
LOADED_ROWS_FIRST: Final = Break("R1", loading, "load_in_order", rows_of_a_load_first)
LOADED_ENTRIES_BELIEVED_EARLY: Final = Break(
    "flag", loading, "load_in_order", verify_before_a_row_is_loaded
)
OPENED_BY_THE_FIRST: Final = Break("last", systems, "finish_loading", open_at_once)
LOADERS_NOT_WATCHED: Final = Break("lease", systems.WaitsForLoaders, "is_dead", dead_at_once)
BELIEVED_EARLY: Final = Break("flag", guard, "entries_then_row", verify_before_the_change)
BELIEVED_TOO_LONG: Final = Break("flag", attempts, "entries_to_put", put_new_entries_alone)
NO_OWNER_FENCE: Final = Break("owner's fence", claims, "fence_owner", no_owner_fence)
CLAIM_KEPT: Final = Break("claim again", claims, "claim_value", keep_own_claim)
CLAIM_OF_ITS_OWN_TIME: Final = Break(
    "newest timestamp", claims, "covering_timestamp", own_timestamp
)
RELEASED_WHOEVER_CLAIMED: Final = Break("release", claims, "release", release_any)
CLAIM_DELETED: Final = Break("FREE", claims, "free_mutation", delete_claim)
MOVING_ROWS_TRUSTED: Final = Break("late", catch_up, "late_rows", late_rows_not_moving)
LATE_COVERING_ENTRIES_LEFT: Final = Break(
    "late", catch_up, "delete_late_covering_entries", leave_copies
)
EPOCHS_NOT_READ: Final = Break("epochs", builds, "newest_epoch", no_epoch)
