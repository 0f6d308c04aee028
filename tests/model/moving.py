"""Systems in which a table moves: processes of several phases, and what must hold of both tables.

The old table has a row at `a` with the columns `v1` and `v2`; in the new one they are `v1` and `w`,
and the key is the old one, the old one behind a byte, or the old one behind the value of `v1`. The new
table has an index of `w`.

Multi-row reads are made row by row, so that a row can move in the midst of a scan. Readers leave a
note of what they have seen, which is checked when all is quiet.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations, permutations
from typing import Any, Literal

import pytest

from hbase_orm.errors import ConflictError, HBaseORMError
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowChange,
)
from hbase_orm.index.protocol import guarded_write as guard
from hbase_orm.index.upkeep.repair import repair_pass
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.moving import seal
from hbase_orm.moving.adoption import taking_over
from hbase_orm.moving.moved_write import moved_write, new_table, old_table
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.phases import Phase
from hbase_orm.moving.translation import RowTranslation, TableMove
from hbase_orm.moving.virtual_reads import rows_of_entries, virtual_rows
from hbase_orm.moving.virtual_scans import virtual_page
from hbase_orm.ops import (
    Cell,
    FetchRows,
    GetRows,
    KeyRange,
    Operation,
    Protocol,
    ProtocolRun,
    Row,
    ScannerId,
    ask,
)
from tests.model.cells import NOTES, Compact, ExpireDeadGuards, Note, Place, Store, Stored
from tests.model.explorer import (
    ACKNOWLEDGED,
    CRASHED,
    UNKNOWN,
    Explorer,
    LeasesEnd,
    State,
    run_alone,
)
from tests.model.systems import context, is_in_real_time
from tests.support.replays import SEPARATOR, V1, V2, base_key_of

W = b"d:w"
OLD_TABLE, NEW_TABLE, NEW_KEYS, OLD_INDEX, NEW_INDEX = "old", "new", "new keys", "by v2", "by w"
OF_OLD = {OLD_TABLE, NEW_KEYS, OLD_INDEX}

PAGE_ROWS = 2
LATER_CLOCK_MS = 3
"""The clock of writes after the move, so slow that only the floor keeps their cells visible."""

Layout = Literal["same key", "behind a byte", "behind a value"]
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
            index, the mover, a repair of the new table's index, or what HBase does.
        phase: The phase that the process knows.
        key: The new key that is written; of the old class the old key.
    """

    kind: Literal[
        "put", "insert", "update", "delete",
        "old put", "old delete",
        "get", "scan", "find",
        "mover", "repair", "expire", "compact",
    ]  # fmt: skip
    phase: Phase = MOVING
    key: bytes = b""
    puts: Cells = field(default_factory=dict)
    clock_ms: int = 10

    @property
    def writes(self) -> bool:
        return self.kind in {"put", "insert", "update", "delete", "old put", "old delete"}

    @property
    def reads(self) -> bool:
        return self.kind in {"get", "scan", "find"}


@dataclass(frozen=True, slots=True)
class MoveSystem:
    """Some processes on a table that moves.

    Attributes:
        before: The rows of the old table, written at 5 by writers of the phase INDEXING.
        settled: What happened before the others began, one after the other.
        has_old_index: Whether the old table has an index of its own.
        has_index: Whether the new table has its index.
        keeps_promise: Whether the mover waits until no writer of PREPARED is left.
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
    has_index: bool = True
    keeps_promise: bool = True
    tries: int = 3

    def __str__(self) -> str:
        return self.name


# --- the tables -----------------------------------------------------------------------------------


def new_key(layout: Layout, key: bytes, cells: Mapping[bytes, Cell]) -> bytes:
    match layout:
        case "same key":
            return key
        case "behind a byte":
            return b"n" + key
        case "behind a value":
            return cells[V1].value + key


def translation(layout: Layout) -> RowTranslation:
    prefix = 0 if layout == "same key" else 1
    to_old_name, to_new_name = {W: V2, V1: V1, b"d": b"d"}, {V2: W, V1: V1}

    def to_new(row: Row) -> Row:
        cells = {to_new_name[column]: cell for column, cell in row.cells.items()}
        return Row(new_key(layout, row.key, row.cells), cells)

    def old_columns(columns: frozenset[bytes]) -> frozenset[bytes]:
        key_columns = {V1} if layout == "behind a value" else set[bytes]()
        return frozenset({to_old_name[column] for column in columns} | key_columns)

    def old_change(change: RowChange) -> RowChange:
        puts = {to_old_name[column]: value for column, value in change.puts.items()}
        return RowChange(change.row[prefix:], puts, kind=change.kind)

    return RowTranslation(to_new, lambda key: key[prefix:], old_change, old_columns)


def keys_by(column: bytes) -> Callable[[bytes, Cells], frozenset[bytes]]:
    def keys(row: bytes, cells: Cells) -> frozenset[bytes]:
        return frozenset({cells[column] + SEPARATOR + row} if column in cells else ())

    return keys


def table(name: str, columns: frozenset[bytes], indexes: tuple[IndexTarget, ...]) -> GuardedTable:
    return GuardedTable(
        name,
        families=(b"d",),
        anchor=V1,
        marker=None,
        counters=frozenset(),
        columns=columns,
        indexes=indexes,
    )


def move_of(system: MoveSystem) -> TableMove:
    by_v2 = IndexTarget("by_v2", OLD_INDEX, frozenset((V2,)), keys_by(V2))
    by_w = IndexTarget("by_w", NEW_INDEX, frozenset((W,)), keys_by(W))
    return TableMove(
        table(OLD_TABLE, frozenset((V1, V2)), (by_v2,) if system.has_old_index else ()),
        table(NEW_TABLE, frozenset((V1, W)), (by_w,) if system.has_index else ()),
        translation(system.layout),
        None if system.layout == "same key" else NEW_KEYS,
    )


# --- the processes --------------------------------------------------------------------------------


def protocol(system: MoveSystem, number: int, task: Task) -> Protocol[Any]:
    return row_by_row(_waiting_for_phase(system, number, task))


def _waiting_for_phase(system: MoveSystem, number: int, task: Task) -> Protocol[Any]:
    """Begin a process of the phase NEW only once the mover has noted that all is moved."""
    floor_ms = 0
    if task.phase is NEW:
        movers = [n for n, other in enumerate(system.tasks) if other.kind == "mover"]
        yield from ask(LeasesEnd(tuple(movers), is_quiet=False))
        (note,) = yield from ask(GetRows(NOTES, (b"moved",)))
        if note is None:
            raise HBaseORMError("the phase is not reached")
        floor_ms = int(note.cells[b""].value)
    own = context(number, task.clock_ms)
    steps = steps_of(system, number, task, own, floor_ms)
    return (yield from (without_old_tables(steps) if task.phase is NEW else steps))


def steps_of(  # noqa: PLR0911  # one return a kind of task
    system: MoveSystem, number: int, task: Task, own: GuardContext, floor_ms: int
) -> Protocol[Any]:
    move = move_of(system)
    match task.kind:
        case "mover":
            return moved(system, own)
        case "repair":
            return repair(move, task.phase, own, floor_ms)
        case "get" | "scan" | "find":
            return noted(number, read(system, task, own))
        case "expire":
            return ask(ExpireDeadGuards())
        case "compact":
            return ask(Compact())
        case "old put":
            change = RowChange(task.key, task.puts)
            return guard.guarded_write(old_table(move, task.phase), change, own)
        case "old delete":
            change = RowChange(task.key, kind="delete")
            return guard.guarded_write(old_table(move, task.phase), change, own)
        case kind:
            change = RowChange(task.key, task.puts, kind=kind)
            return moved_write(move, task.phase, change, own, floor_ms=floor_ms)


def moved(system: MoveSystem, own: GuardContext) -> Protocol[None]:
    """Move all rows, wait for the writers of PREPARED, move what they have left, and check."""
    move = move_of(system)
    earlier = [n for n, task in enumerate(system.tasks) if task.phase < MOVING]
    yield from move_all(move, own)
    if earlier:
        yield from ask(LeasesEnd(tuple(earlier), system.keeps_promise, of_writers=True))
        yield from move_all(move, own)
    floor_ms = yield from checked_floor(move, own)
    yield from ask(Note(b"moved", str(floor_ms).encode()))


def move_all(move: TableMove, own: GuardContext) -> Protocol[None]:
    rest: bytes | None = b""
    while rest is not None:
        page = yield from move_page(move, KeyRange(rest), own, page_rows=PAGE_ROWS)
        rest = page.next


def checked_floor(move: TableMove, own: GuardContext) -> Protocol[int]:
    floor_ms, rest = 0, b""
    while True:
        page = yield from check_page(move, KeyRange(rest), own, page_rows=PAGE_ROWS)
        if page.left:
            raise HBaseORMError("rows are left", rows=page.left)
        if page.next is None:
            return floor_ms
        floor_ms, rest = max(floor_ms, page.newest_ms), page.next


def repair(move: TableMove, phase: Phase, own: GuardContext, floor_ms: int = 0) -> Protocol[None]:
    context_ = taking_over(move, own) if phase is MOVING else own
    target = new_table(move, phase, floor_ms)
    for index in target.indexes:
        yield from repair_pass(target, index, base_key_of, context_, min_age_ms=-99)


def read(system: MoveSystem, task: Task, own: GuardContext) -> Protocol[Seen]:
    move, universe = move_of(system), universe_of(system)
    if task.kind == "get":
        keys = [task.key] if task.key else universe
        rows = yield from virtual_rows(move, task.phase, keys, own)
        return dict(zip(keys, map(_values, rows), strict=True))
    read_all = scanned if task.kind == "scan" else indexed
    all_rows = yield from read_all(move, task.phase, own)
    keys = [row.key for row in all_rows]
    if len(keys) != len(set(keys)) or keys != sorted(keys):
        return {b"": {}}
    return dict.fromkeys(universe) | {row.key: _values(row) for row in all_rows}


def scanned(move: TableMove, phase: Phase, own: GuardContext) -> Protocol[list[Row]]:
    rows: list[Row] = []
    rest: bytes | None = b""
    while rest is not None:
        page = yield from virtual_page(move, phase, KeyRange(rest), own, page_rows=PAGE_ROWS)
        rows += page.rows
        rest = page.next
    return rows


def indexed(move: TableMove, phase: Phase, own: GuardContext) -> Protocol[list[Row]]:
    (index,) = move.new.indexes
    entries = yield from scan_page(index.table, (b"d",), KeyRange(), 99, own)
    pairs = {entry.key: base_key_of(entry.key) for entry in entries}
    rows = yield from rows_of_entries(move, phase, index, pairs, own)
    by_key = {row.key: row for row in rows.values()}
    return [by_key[key] for key in sorted(by_key)]


def _values(row: Row | None) -> Cells | None:
    return None if row is None else {column: cell.value for column, cell in row.cells.items()}


def noted(number: int, steps: Protocol[Seen]) -> Protocol[None]:
    seen = yield from steps
    yield from ask(Note(b"%d" % number, repr(seen).encode()))


def row_by_row(steps: Protocol[Any]) -> Protocol[Any]:
    """Pass on what a protocol asks; reads of several rows are made one row at a time."""
    run = ProtocolRun(steps)
    run.begin()
    while (request := run.request) is not None:
        try:
            match request:
                case GetRows(_, keys) if len(keys) > 1:
                    answer: Any = []
                    for key in keys:
                        answer += yield from ask(replace(request, keys=(key,)))
                case FetchRows(scanner, count) if count > 1:
                    answer = yield from _rows_one_by_one(scanner, count)
                case _:
                    answer = yield request
        except HBaseORMError as error:
            run.throw(error)
        else:
            run.send(answer)
    return run.result


def _rows_one_by_one(scanner: ScannerId, count: int) -> Protocol[list[Row]]:
    name, whole = scanner.owner  # type: ignore[misc]  # as the explorer answers OpenScanner
    rows: list[Row] = []
    while len(rows) < count:
        start = rows[-1].key + b"\x00" if rows else whole.start
        rest = ScannerId(0, (name, KeyRange(start, whole.stop)))
        fetched = yield from ask(FetchRows(rest, 1))
        if not fetched:
            break
        rows += fetched
    return rows


def without_old_tables(steps: Protocol[Any]) -> Protocol[Any]:
    run = ProtocolRun(steps)
    run.begin()
    while run.request is not None:
        assert _table_of(run.request) not in OF_OLD, run.request
        yield from run.pass_on()
    return run.result


def _table_of(request: Operation[Any]) -> str:
    scan = getattr(request, "scan", request)
    return str(getattr(scan, "table", ""))


# --- the exploration ------------------------------------------------------------------------------


def explore_move(system: MoveSystem) -> Explorer:
    """Explore a system; fail with the trace of the first state that is not sound."""
    makers = [partial(protocol, system, n, task) for n, task in enumerate(system.tasks)]
    check = MoveSoundness(system)
    explorer = Explorer(makers, check.fault_of, system.crashes, system.losses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "MAX_ROUNDS", system.tries)
        patch.setattr(seal, "MAX_SEAL_ROUNDS", system.tries)
        violation = explorer.run(move_store(system))
    if violation:
        pytest.fail("\n".join((violation.what, *violation.trace)), pytrace=False)
    return explorer


def move_store(system: MoveSystem) -> Store:
    store: Store = ()
    target = old_table(move_of(system), INDEXING)
    for number, (key, cells) in enumerate(system.before.items(), start=98):
        change = RowChange(key, cells)
        store = run_alone(guard.guarded_write(target, change, context(number, 5)), store)
    for number, task in enumerate(system.settled, start=90):
        store = run_alone(protocol(system, number, task), store)
    return store


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


# --- what must hold -------------------------------------------------------------------------------


@dataclass(slots=True)
class MoveSoundness:
    """Says what is wrong with a state of one system, or nothing."""

    system: MoveSystem
    move: TableMove = field(init=False)
    _ended: dict[Store, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.move = move_of(self.system)

    def fault_of(self, state: State) -> str:
        if what := self.fault_of_store(state.store):
            return what
        if not state.is_quiet:
            return ""
        rows = virtual_ledger(self.move, state.store)
        if not is_explained(self.system, state, rows):
            return "the acknowledged writes do not explain the rows, or what a reader saw"
        bare = tuple((p, s) for p, s in state.store if p.table != NOTES or p.row == b"moved")
        if bare not in self._ended:
            self._ended[bare] = self._fault_after_all(bare, rows)
        return self._ended[bare]

    def fault_of_store(self, store: Store) -> str:
        """Return what is wrong with the entries, or with which table decides about a row."""
        move, old, new = self.move, rows_in(store, OLD_TABLE), rows_in(store, NEW_TABLE)
        visible = {(p.table, p.row) for p, s in store if s.value is not None}
        is_new = (NOTES, b"moved") in visible
        for key, row in new.items():
            owner = old.get(move.old_key(key))
            if GUARD_COLUMN in row and not is_new and not is_sealed(owner):
                return "both tables decide about a row"
        for key, row in old.items():
            moved_row = move.to_new(key, data_of(row))
            if moved_row is None:
                continue
            if move.new_key_table is not None and (NEW_KEYS, moved_row.key) not in visible:
                return "an old row has no entry for its new key"
            own = {column: cell.value for column, cell in data_of(row).items()}
            for entry in () if is_sealed(row) else move.old.entries(key, own):
                if (entry.table, entry.key) not in visible:
                    return "an old row has no entry in the old table's index"
        for key, cells in virtual_ledger(move, store).items():
            for entry in move.new.entries(key, cells):
                if (entry.table, entry.key) not in visible:
                    return "a row has no entry in the new table's index"
        return ""

    def _fault_after_all(self, store: Store, rows: Ledger) -> str:
        """Return what is wrong once the move has gone on to its end from here."""
        own = context(96, LATER_CLOCK_MS)
        if any(self._read(store, phase, kind) != rows for phase in self._phases(store) for kind in (
            "get", "scan", "find")):  # fmt: skip
            return "a reader does not see the rows"
        if not any(p.row == b"moved" for p, _ in store):
            if virtual_ledger(self.move, run_alone(ask(ExpireDeadGuards()), store)) != rows:
                return "rows change when guards expire"
            repaired = run_alone(row_by_row(repair(self.move, MOVING, own)), store)
            if what := self._fault_of_repaired(repaired, rows):
                return what
            store = run_alone(row_by_row(moved(replace(self.system, tasks=()), own)), store)
        if what := self._fault_of_timestamps(store):
            return what
        if ledger_in(store, NEW_TABLE) != rows:
            return "the new table does not have the rows"
        return self._fault_when_new(store, rows)

    def _phases(self, store: Store) -> tuple[Phase, ...]:
        if any(p.row == b"moved" for p, _ in store):
            return MOVING, NEW
        return PREPARED, MOVING

    def _read(self, store: Store, phase: Phase, kind: Literal["get", "scan", "find"]) -> Ledger:
        if kind == "find" and not self.system.has_index:
            kind = "get"
        steps = read(self.system, Task(kind, phase), context(96, LATER_CLOCK_MS))
        seen = result_of(row_by_row(steps), store)
        return {key: dict(cells) for key, cells in seen.items() if cells is not None}

    def _fault_when_new(self, store: Store, rows: Ledger) -> str:
        floor_ms = int(dict(store)[Place(NOTES, b"moved", b"")].value or b"0")
        own = context(95, LATER_CLOCK_MS)
        repaired = run_alone(repair(self.move, NEW, own, floor_ms), store)
        if what := self._fault_of_repaired(repaired, rows):
            return what
        for start in (store, repaired):
            after, expected = start, dict(rows)
            for number, key in enumerate(universe_of(self.system), start=80):
                change = RowChange(key, {V1: b"L", W: b"Z"})
                steps = moved_write(self.move, NEW, change, context(number, 3), floor_ms=floor_ms)
                after = run_alone(without_old_tables(steps), after)
                expected[key] = {V1: b"L", W: b"Z"}
            if ledger_in(after, NEW_TABLE) != expected:
                return "a write after the move does not show"
            if what := self.fault_of_store(after):
                return f"after the move {what}"
        return ""

    def _fault_of_repaired(self, store: Store, rows: Ledger) -> str:
        if virtual_ledger(self.move, store) != rows:
            return "a repair changes rows"
        due = {e.key for key, row in rows.items() for e in self.move.new.entries(key, row)}
        present = {p.row for p, s in store if p.table == NEW_INDEX and s.value is not None}
        return "" if due == present else "a repair pass does not leave the rows' entries"

    def _fault_of_timestamps(self, store: Store) -> str:
        """Return what is wrong with the timestamps of cells in the new table."""
        old = rows_in(store, OLD_TABLE)
        for key, row in rows_in(store, NEW_TABLE).items():
            owner = old.get(self.move.old_key(key))
            if not is_sealed(owner) or owner is None:
                continue
            seal_ms = owner[GUARD_COLUMN].timestamp_ms
            from_old = self.move.to_new(self.move.old_key(key), data_of(owner))
            before = from_old.cells if from_old is not None and from_old.key == key else {}
            for column, cell in data_of(row).items():
                if cell.timestamp_ms <= seal_ms and before.get(column) != cell:
                    return "a cell was handed over with another value or timestamp"
        return ""


def result_of(steps: Protocol[Any], store: Store) -> Any:
    result: list[Any] = []

    def kept() -> Protocol[None]:
        result.append((yield from steps))

    run_alone(kept(), store)
    return result[0]


def rows_in(store: Store, name: str) -> dict[bytes, dict[bytes, Cell]]:
    """Return the rows of a table with all that is visible of them, the guard too."""
    rows: dict[bytes, dict[bytes, Cell]] = {}
    for place, stored in store:
        if place.table == name and stored.value is not None:
            rows.setdefault(place.row, {})[place.column] = Cell(stored.value, stored.timestamp_ms)
    return rows


def data_of(row: Mapping[bytes, Cell]) -> dict[bytes, Cell]:
    return {column: cell for column, cell in row.items() if column != GUARD_COLUMN}


def is_sealed(row: Mapping[bytes, Cell] | None) -> bool:
    return row is not None and GUARD_COLUMN in row and row[GUARD_COLUMN].value[:1] == b"M"


def ledger_in(store: Store, name: str) -> Ledger:
    rows = rows_in(store, name)
    data = {key: data_of(row) for key, row in rows.items()}
    return {key: {c: cell.value for c, cell in row.items()} for key, row in data.items() if row}


def virtual_ledger(move: TableMove, store: Store) -> Ledger:
    """Return the rows that there are, each from the table that decides about it."""
    guarded = {key for key, row in rows_in(store, NEW_TABLE).items() if GUARD_COLUMN in row}
    ledger = {key: row for key, row in ledger_in(store, NEW_TABLE).items() if key in guarded}
    for key, row in rows_in(store, OLD_TABLE).items():
        moved_row = move.to_new(key, data_of(row))
        if moved_row is not None and moved_row.key not in guarded:
            ledger[moved_row.key] = {c: cell.value for c, cell in moved_row.cells.items()}
    return ledger


# --- what explains it -----------------------------------------------------------------------------


def is_explained(system: MoveSystem, state: State, rows: Ledger) -> bool:
    """Return whether some order of the writes explains the rows, and all that readers saw."""
    tasks = system.tasks
    writes = [number for number, task in enumerate(tasks) if task.writes]
    sure = [number for number in writes if state.processes[number] == ACKNOWLEDGED]
    maybe = [number for number in writes if state.processes[number] in {UNKNOWN, CRASHED}]
    subsets = chain.from_iterable(combinations(maybe, size) for size in range(len(maybe) + 1))
    seen = {int(p.row): ast.literal_eval((s.value or b"").decode())
            for p, s in state.store if p.table == NOTES and p.row != b"moved"}  # fmt: skip
    return any(
        is_in_real_time(state, order) and _explains(system, state, order, rows, seen)
        for subset in subsets
        for order in permutations((*sure, *subset))
    )


def _explains(
    system: MoveSystem,
    state: State,
    order: Sequence[int],
    rows: Ledger,
    seen: Mapping[int, Seen],
) -> bool:
    ledgers = [first_ledger(system)]
    for number in order:
        after = ledger_after(system, ledgers[-1], system.tasks[number])
        if after is None:
            return False
        ledgers.append(after)
    return ledgers[-1] == rows and all(
        any(
            is_in_real_time(state, (*order[:at], reader, *order[at:]))
            and ledgers[at].get(key) == cells
            for at in range(len(ledgers))
        )
        for reader, view in seen.items()
        for key, cells in view.items()
    ) and not any(b"" in view for view in seen.values())  # fmt: skip


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
    return rest if task.kind == "delete" else {**rest, task.key: {**row, **task.puts}}


def _after_old_write(system: MoveSystem, ledger: Ledger, task: Task) -> Ledger:
    move = move_of(system)
    old_rows = {move.old_key(key): (key, cells) for key, cells in ledger.items()}
    key, cells = old_rows.get(task.key, (b"", {}))
    rest = {other: row for other, row in ledger.items() if other != key}
    if task.kind == "old delete":
        return rest
    puts = {W if column == V2 else column: value for column, value in task.puts.items()}
    after = {**cells, **puts}
    at = {c: Cell(value, 0) for c, value in after.items()}
    return {**rest, new_key(system.layout, task.key, at): after}


def guard_of_row(store: Store, name: str, key: bytes) -> GuardCell | None:
    stored = dict(store).get(Place(name, key, GUARD_COLUMN), Stored())
    return None if stored.value is None else GuardCell.decode(stored.value)


REFUSALS = (ConflictError,)
