"""Systems in which a table moves: the tables, the processes and the rows that there should be.

The old table has a row at `a` with the columns `v1` and `v2`; in the new one they are `v1` and `w`,
and the key is the old one, the old one behind a byte, or the old one behind the value of `v1`. The
table may be that of a period, whose entries are a part of the index of new keys. The
new table has an index of `w`. Both may have a counter `n`, which is added to by 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GuardedTable, IndexTarget, RowChange
from hbase_orm.moving.layouts import MovedPeriod, RowTranslation
from hbase_orm.moving.translation import TableMove
from hbase_orm.ops import Cell, Protocol, Row
from tests.support.replays import SEPARATOR, V1, V2

W = b"d:w"
N = b"d:n"
OLD_TABLE, NEW_TABLE, NEW_KEYS, OLD_INDEX, NEW_INDEX = "old", "new", "new keys", "by v2", "by w"
OF_OLD = {OLD_TABLE, NEW_KEYS, OLD_INDEX}

INDEXED = b"indexed"
"""The note of a process that has put all rows into the new indexes."""

PAGE_ROWS = 2
LATER_CLOCK_MS = 3
"""The clock of writes after the move, so slow that only the floor keeps their cells visible."""

Layout = Literal["same key", "behind a byte", "behind a value", "of a period"]
ReadKind = Literal["get", "scan", "scan back", "find"]
Cells = Mapping[bytes, bytes]
Ledger = dict[bytes, dict[bytes, bytes]]
"""Rows in the new layout, by their new keys."""

Seen = Mapping[bytes, Cells | None]

PREPARED, MOVING, NEW, INDEXING = Phase.PREPARED, Phase.MOVING, Phase.NEW, Phase.INDEXING


@dataclass(frozen=True, slots=True)
class Task:
    """What one process does.

    Attributes:
        kind: A write of the new class, one of the old class, a read by keys, by a range or by the
            index, what indexes old rows, the mover, a repair of the new table's index, or what HBase does.
        phase: The phase that the process knows.
        key: The new key that is written; of the old class the old key.
    """

    kind: Literal[
        "put", "insert", "update", "delete",
        "old put", "old delete", "count", "old count",
        "get", "scan", "scan back", "find",
        "indexer", "mover", "repair", "old repair", "expire", "compact",
    ]  # fmt: skip
    phase: Phase = MOVING
    key: bytes = b""
    puts: Cells = field(default_factory=dict)
    clock_ms: int = 10

    @property
    def writes(self) -> bool:
        return self.kind in {"put", "insert", "update", "delete"} or self.kind in {
            "old put", "old delete", "count", "old count",
        }  # fmt: skip

    @property
    def reads(self) -> bool:
        return self.kind in {"get", "scan", "scan back", "find"}


@dataclass(frozen=True, slots=True)
class MoveSystem:
    """Some processes on a table that moves.

    Attributes:
        before: The rows of the old table, written at 5 by writers of the phase INDEXING.
        settled: What happened before the others began, one after the other.
        has_old_index: Whether the old table has an index of its own.
        is_unique: Whether the new table's index is unique.
        has_counter: Whether both tables have the counter.
        keeps_promise: Whether the mover waits until no writer of PREPARED is left.
        needs_index: Whether the rows of `before` were written by writers of GUARDED, and do not
            have entries in the new indexes yet.
    """

    name: str
    layout: Layout
    before: Mapping[bytes, Cells]
    tasks: Sequence[Task]
    crashes: int = 1
    losses: int = 1
    at_least: int = 100
    settled: Sequence[Task] = ()
    has_old_index: bool = False
    is_unique: bool = False
    has_counter: bool = False
    keeps_promise: bool = True
    tries: int = 3
    needs_index: bool = False

    def epoch_of(self, phase: Phase) -> int:
        """Return the catalog's epoch that processes of a phase know."""
        return 2 if self.needs_index and phase >= INDEXING else 1

    def __str__(self) -> str:
        return self.name


# --- the tables -----------------------------------------------------------------------------------


def new_key(layout: Layout, key: bytes, cells: Mapping[bytes, Cell]) -> bytes:
    match layout:
        case "same key":
            return key
        case "behind a byte" | "of a period":
            return b"n" + key
        case "behind a value":
            return cells[V1].value + key


def translation(layout: Layout, *, has_counter: bool = False) -> RowTranslation:
    prefix = 0 if layout == "same key" else 1
    to_old_name, to_new_name = {W: V2, V1: V1, N: N, b"d": b"d"}, {V2: W, V1: V1, N: N}

    def to_new(row: Row) -> Row:
        cells = {to_new_name[column]: cell for column, cell in row.cells.items()}
        return Row(new_key(layout, row.key, row.cells), cells)

    def old_columns(columns: frozenset[bytes]) -> frozenset[bytes]:
        key_columns = {V1} if layout == "behind a value" else set[bytes]()
        return frozenset({to_old_name[column] for column in columns} | key_columns)

    def old_change(change: RowChange) -> RowChange:
        puts = {to_old_name[column]: value for column, value in change.puts.items()}
        return RowChange(change.row[prefix:], puts, kind=change.kind)

    counters = {N: N} if has_counter else {}
    return RowTranslation(
        to_new, lambda key: key[prefix:], old_change, old_columns, old_counters=counters
    )


def keys_by(column: bytes) -> Callable[[bytes, Cells], frozenset[bytes]]:
    def keys(row: bytes, cells: Cells) -> frozenset[bytes]:
        return frozenset({cells[column] + SEPARATOR + row} if column in cells else ())

    return keys


def unique_keys(row: bytes, cells: Cells) -> frozenset[bytes]:
    del row
    return frozenset({cells[W]} if W in cells else ())


def table(
    name: str,
    columns: frozenset[bytes],
    indexes: tuple[IndexTarget, ...],
    *,
    has_counter: bool,
) -> GuardedTable:
    return GuardedTable(
        name,
        families=(b"d",),
        anchor=V1,
        marker=None,
        counters=frozenset({N} if has_counter else ()),
        columns=columns,
        indexes=indexes,
    )


def nothing_to_make() -> Protocol[None]:
    yield from ()


PERIOD = MovedPeriod(b"p", lambda _: b"p", nothing_to_make)


def move_of(system: MoveSystem) -> TableMove:
    by_v2 = IndexTarget("by_v2", OLD_INDEX, frozenset((V2,)), keys_by(V2))
    w_keys = unique_keys if system.is_unique else keys_by(W)
    by_w = IndexTarget("by_w", NEW_INDEX, frozenset((W,)), w_keys, unique=system.is_unique)
    return TableMove(
        table(
            OLD_TABLE,
            frozenset((V1, V2)),
            (by_v2,) if system.has_old_index else (),
            has_counter=system.has_counter,
        ),
        table(NEW_TABLE, frozenset((V1, W)), (by_w,), has_counter=system.has_counter),
        translation(system.layout, has_counter=system.has_counter),
        None if system.layout == "same key" else NEW_KEYS,
        PERIOD if system.layout == "of a period" else None,
    )


# --- the rows that there should be -----------------------------------------------------------------


def first_ledger(system: MoveSystem) -> Ledger:
    ledger: Ledger = {}
    for key, cells in system.before.items():
        ledger = ledger_after(system, ledger, Task("old put", key=key, puts=cells)) or {}
    for task in system.settled:
        ledger = (ledger_after(system, ledger, task) if task.writes else ledger) or {}
    return ledger


def ledger_after(system: MoveSystem, ledger: Ledger, task: Task) -> Ledger | None:
    """Return the rows after a write, in the new layout; None if it could not be made."""
    if task.kind.startswith("old"):
        return _after_old_write(system, ledger, task)
    row = ledger.get(task.key, {})
    if (task.kind == "insert" and row) or (task.kind == "update" and not row):
        return None
    rest = {key: cells for key, cells in ledger.items() if key != task.key}
    if task.kind == "count":
        return {**rest, task.key: counted(row)} if row else None
    if task.kind == "delete":
        return rest
    after = {**row, **task.puts}
    is_taken = any(cells.get(W) == after.get(W) for cells in rest.values())
    return None if system.is_unique and is_taken else {**rest, task.key: after}


def counted(row: Cells) -> dict[bytes, bytes]:
    """Return a row after an increment of its counter."""
    return {**row, N: (int.from_bytes(row.get(N, b"")) + 1).to_bytes(8)}


def _after_old_write(system: MoveSystem, ledger: Ledger, task: Task) -> Ledger:
    move = move_of(system)
    old_rows = {move.old_key(key): (key, cells) for key, cells in ledger.items()}
    key, cells = old_rows.get(task.key, (b"", {}))
    rest = {other: row for other, row in ledger.items() if other != key}
    if task.kind == "old delete":
        return rest
    puts = {W if column == V2 else column: value for column, value in task.puts.items()}
    after = counted(cells) if task.kind == "old count" else {**cells, **puts}
    at = {c: Cell(value, 0) for c, value in after.items()}
    return {**rest, new_key(system.layout, task.key, at): after}


def universe_of(system: MoveSystem) -> list[bytes]:
    """Return all new keys that the system can have."""
    keys = {task.key for task in system.tasks if task.writes and not task.kind.startswith("old")}
    for rows in _ledgers(system):
        keys |= rows.keys()
    return sorted(keys)


def _ledgers(system: MoveSystem) -> Iterator[Ledger]:
    first = first_ledger(system)
    yield first
    for task in system.tasks:
        if task.kind.startswith("old") and (after := ledger_after(system, first, task)):
            yield after
