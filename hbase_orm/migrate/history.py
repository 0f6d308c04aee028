"""The history of migrations: one row of the table `hbase_orm_migrations`.

The row has the lock of the runner, the position of an interrupted revision, and a column for each
applied revision. All are in one row, because HBase changes only one row atomically: every change is
conditional on the exact bytes of the lock's cell, and replaces them. So a runner that has lost its
lock can record nothing.

The timestamp of a change is greater than that of the change before it, whatever the clocks say:
otherwise a server with a slow clock could store a change behind the present one. Nothing is
deleted, because a tombstone could hide a later change: what is gone has an empty value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec

from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import ConflictError, ConnectionLostError, RetryableError, TableNotFoundError
from hbase_orm.migrate.errors import HistoryError
from hbase_orm.migrate.revisions import Direction
from hbase_orm.numbering.create_tables import descriptor, ensure_table
from hbase_orm.ops import (
    Cell,
    CheckAndMutate,
    GetRows,
    Protocol,
    Put,
    RenewTimeLimit,
    RetryPolicy,
    RowMutation,
    ask,
    ask_with_retry,
)

T = TypeVar("T")

MIGRATIONS_TABLE: Final = "hbase_orm_migrations"
MIGRATIONS_FORMAT: Final = "migrations 1"
HISTORY_ROW: Final = b"history"
LOCK_COLUMN: Final = b"d:lock"
POSITION_COLUMN: Final = b"d:position"
REVISION_PREFIX: Final = b"d:r:"
"""The beginning of the column of an applied revision; its name follows."""

CHANGES: Final = RetryPolicy(attempts=12, first_pause_s=0.1, factor=None)
"""A change is repeated until the region has moved, which takes seconds."""


@dataclass(frozen=True, slots=True)
class LockCell:
    """The lock of the runner.

    Attributes:
        fence: A number that grows with each runner.
        id: The random id of the runner that has or had the lock.
        holder: The runner and its purpose, for people.
        since_ms: When it took the lock, by its own clock; for people.
        lease_s: How long another runner must see no renewal before it takes over.
        nonce: A random text that each change replaces, also a renewal.
        is_held: Whether the runner has the lock.
    """

    fence: int
    id: str
    holder: str
    since_ms: int
    lease_s: float
    nonce: str
    is_held: bool


@dataclass(frozen=True, slots=True)
class AppliedRevision:
    """An applied revision.

    Attributes:
        checksum: The checksum of its files when it was applied.
        at_ms: When it was applied, by the runner's clock.
        by: The runner.
        is_stamped: Whether it was only recorded, and not run.
    """

    checksum: str
    at_ms: int
    by: str
    is_stamped: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """Where the work on a revision is, or was interrupted.

    Attributes:
        revision: The revision.
        direction: Whether it is applied or undone.
        step: The number of the operation that is running, from 0 in the order of an upgrade.
        operations: What all operations of the revision do, as they were when it began.
        checkpoint: What the operation has saved.
    """

    revision: str
    direction: Direction
    step: int
    operations: tuple[str, ...]
    checkpoint: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class MigrationHistory:
    """The row as it was read, or as this runner has changed it.

    Attributes:
        lock: The lock; None if there was never one.
        lock_bytes: The exact bytes of its cell; empty without one.
        timestamp_ms: The timestamp of its cell.
        position: The position of a revision that is half done; None without one.
        applied: The applied revisions by name.
    """

    lock: LockCell | None = None
    lock_bytes: bytes = b""
    timestamp_ms: int = 0
    position: Position | None = None
    applied: Mapping[str, AppliedRevision] = field(default_factory=dict[str, AppliedRevision])

    def changed(self, change: Change) -> MigrationHistory:
        """Return the history after a change, whose lock is not replaced here."""
        applied = {**self.applied, **change.applied}
        kept = {name: each for name, each in applied.items() if each is not None}
        position = change.position if change.moves else self.position
        return replace(self, position=position, applied=kept)


@dataclass(frozen=True, slots=True)
class Change:
    """What a runner records.

    Attributes:
        moves: Whether the position changes.
        position: The new position; None if no revision is half done.
        applied: Applied revisions by name; None for one that was undone.
    """

    moves: bool = False
    position: Position | None = None
    applied: Mapping[str, AppliedRevision | None] = field(
        default_factory=dict[str, AppliedRevision | None]
    )

    def cells(self) -> dict[bytes, bytes]:
        """Return the values of the changed cells by column."""
        cells = {
            REVISION_PREFIX + name.encode(): b"" if each is None else encoded(each)
            for name, each in self.applied.items()
        }
        if self.moves:
            cells[POSITION_COLUMN] = b"" if self.position is None else encoded(self.position)
        return cells


def history_table(namespace: str) -> str:
    """Return the name of the table in a namespace."""
    return in_namespace(MIGRATIONS_TABLE, namespace)


def create_history(table: str) -> Protocol[None]:
    """Create the table if it is missing."""
    yield from ensure_table(descriptor(table, MIGRATIONS_FORMAT))


def read_history(table: str) -> Protocol[MigrationHistory]:
    """Return the history; it is empty if there is no table.

    Raises:
        HistoryError: A cell is damaged, or of another release.
    """
    try:
        (row,) = yield from ask_with_retry(GetRows(table, (HISTORY_ROW,)), CHANGES)
    except TableNotFoundError:
        return MigrationHistory()
    cells = {} if row is None else {c: cell for c, cell in row.cells.items() if cell.value}
    lock = cells.get(LOCK_COLUMN, Cell(b"", 0))
    return MigrationHistory(
        _decoded(table, LOCK_COLUMN, cells, LockCell),
        lock.value,
        lock.timestamp_ms,
        _decoded(table, POSITION_COLUMN, cells, Position),
        {
            column.removeprefix(REVISION_PREFIX).decode(): applied
            for column in sorted(cells)
            if column.startswith(REVISION_PREFIX)
            and (applied := _decoded(table, column, cells, AppliedRevision)) is not None
        },
    )


def record_change(
    table: str, seen: MigrationHistory, lock: LockCell, change: Change, *, now_ms: int
) -> Protocol[MigrationHistory | None]:
    """Change the row if its lock is still as it was seen; return the new history.

    Args:
        table: The table.
        seen: The history as it was read, or as the last change left it.
        lock: The new lock, with a nonce that no other change has.
        change: What else is changed.
        now_ms: The time by the runner's clock.

    Returns:
        None if another runner, or another change of this one, has changed the row.

    Raises:
        GatewayError: It is unknown whether the row was changed.
        ConflictError: HBase refused the change at every attempt, although nobody changed the row.
    """
    value = encoded(lock)
    timestamp_ms = max(now_ms, seen.timestamp_ms + 1)
    cells = {LOCK_COLUMN: value, **change.cells()}
    puts = tuple(Put(column, cell, timestamp_ms) for column, cell in cells.items())
    request = CheckAndMutate(
        table, LOCK_COLUMN, seen.lock_bytes, RowMutation(HISTORY_ROW, puts=puts)
    )
    failure: Exception = ConflictError("the history could not be changed", table=table)
    for attempt in range(1, CHANGES.attempts + 1):
        yield from ask(RenewTimeLimit())
        try:
            is_changed = yield from ask(request)
        except (RetryableError, ConnectionLostError) as error:
            failure, is_changed = error, False
        if not is_changed:
            # A gateway that repeats a request by itself compares with its own first attempt.
            stored = (yield from read_history(table)).lock_bytes
            if stored not in {value, seen.lock_bytes}:
                return None
            is_changed = stored == value
        if is_changed:
            return replace(
                seen.changed(change), lock=lock, lock_bytes=value, timestamp_ms=timestamp_ms
            )
        yield from CHANGES.pause(attempt)
    raise failure


def encoded(value: Any) -> bytes:
    """Return the value of a cell."""
    return msgspec.json.encode(value)


def _decoded(table: str, column: bytes, cells: Mapping[bytes, Cell], kind: type[T]) -> T | None:
    if column not in cells:
        return None
    try:
        return msgspec.json.decode(cells[column].value, type=kind)
    except msgspec.DecodeError as error:
        raise HistoryError(
            "the history of migrations in HBase is damaged, or of another release",
            table=table,
            row=HISTORY_ROW,
            column=column,
            error=str(error),
            fix="use the newest release; or restore the row from a backup",
        ) from error
