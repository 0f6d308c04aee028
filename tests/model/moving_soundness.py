"""Explores systems in which a table moves, and says what is wrong with a state, or nothing."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations, permutations
from typing import Any

import pytest

from hbase_orm.errors import HBaseORMError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GUARD_COLUMN, RowChange
from hbase_orm.index.protocol import claims
from hbase_orm.index.protocol import guarded_write as guard
from hbase_orm.index.protocol.claims import CLAIM_COLUMN, StoredClaim
from hbase_orm.moving import counter_seals, seal
from hbase_orm.moving.moved_write import moved_write, old_table
from hbase_orm.moving.translation import TableMove
from hbase_orm.moving.translation import is_sealed as is_sealed_in
from hbase_orm.ops import Cell, Protocol, Row, ask
from tests.model.cells import NOTES, ExpireDeadGuards, Place, Store
from tests.model.explorer import ACKNOWLEDGED, CRASHED, UNKNOWN, Explorer, State, run_alone
from tests.model.moving import (
    moved,
    protocol,
    read,
    repair,
    row_by_row,
    without_old_tables,
)
from tests.model.moving_tables import (
    INDEXED,
    INDEXING,
    LATER_CLOCK_MS,
    MOVING,
    NEW,
    NEW_INDEX,
    NEW_KEYS,
    NEW_TABLE,
    OLD_TABLE,
    PREPARED,
    Cells,
    Ledger,
    MoveSystem,
    N,
    ReadKind,
    Seen,
    Task,
    W,
    first_ledger,
    ledger_after,
    move_of,
    universe_of,
)
from tests.model.systems import context, is_in_real_time
from tests.support.replays import V1

# --- the exploration ------------------------------------------------------------------------------


def explore_move(system: MoveSystem) -> Explorer:
    """Explore a system; fail with the trace of the first state that is not sound."""
    makers = [partial(protocol, system, n, task) for n, task in enumerate(system.tasks)]
    check = MoveSoundness(system)
    explorer = Explorer(makers, check.fault_of, system.crashes, system.losses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "MAX_ROUNDS", system.tries)
        patch.setattr(seal, "MAX_SEAL_ROUNDS", system.tries)
        patch.setattr(counter_seals, "MAX_COUNTER_ROUNDS", system.tries)
        patch.setattr(claims, "MAX_CLAIM_ROUNDS", system.tries)
        patch.setattr(claims, "POLITE_ROUNDS", 0)  # politeness is time, and time stands still
        violation = explorer.run(move_store(system))
    if violation:
        pytest.fail("\n".join((violation.what, *violation.trace)), pytrace=False)
    return explorer


def move_store(system: MoveSystem) -> Store:
    store: Store = ()
    first = Phase.GUARDED if system.needs_index else INDEXING
    target = old_table(move_of(system), first)
    for number, (key, cells) in enumerate(system.before.items(), start=98):
        change = RowChange(key, cells)
        store = run_alone(guard.guarded_write(target, change, context(number, 5)), store)
    for number, task in enumerate(system.settled, start=90):
        store = run_alone(protocol(system, number, task), store)
    return store


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
        if not self.system.losses and UNKNOWN in state.processes:
            return "the outcome of a write is unknown, though no answer was lost"
        rows = virtual_ledger(self.move, state.store)
        if not is_explained(self.system, state, rows):
            return "the acknowledged writes do not explain the rows, or what a reader saw"
        kept = {b"moved", INDEXED}
        bare = tuple((p, s) for p, s in state.store if p.table != NOTES or p.row in kept)
        if bare not in self._ended:
            is_indexed = self._is_indexed(bare)
            self._ended[bare] = self._fault_after_all(bare, rows) if is_indexed else ""
        return self._ended[bare]

    def fault_of_store(self, store: Store) -> str:
        """Return what is wrong with the entries, or with which table decides about a row."""
        visible = {(p.table, p.row) for p, s in store if s.value is not None}
        if (NOTES, b"moved") not in visible and self._is_in_doubt(store):
            return "both tables decide about a row"
        if not self._is_indexed(store):
            return ""
        if what := self._fault_of_old_rows(store, visible):
            return what
        owners = self._owners(store)
        for key, cells in virtual_ledger(self.move, store).items():
            for entry in self.move.new.entries(key, cells):
                if owners.get(entry.key) not in {key, b""}:
                    return "a row has no entry in the new table's index"
        return ""

    def _is_indexed(self, store: Store) -> bool:
        """Return whether the old rows must have entries in the new indexes."""
        return not self.system.needs_index or any(p.row == INDEXED for p, _ in store)

    def _is_in_doubt(self, store: Store) -> bool:
        """Return whether the new table has a guard for a row that is not sealed in the old one."""
        old, new = rows_in(store, OLD_TABLE), rows_in(store, NEW_TABLE)
        guarded = [key for key, row in new.items() if GUARD_COLUMN in row]
        return any(not self._is_sealed(old, self.move.old_key(key)) for key in guarded)

    def _is_sealed(self, rows: Mapping[bytes, dict[bytes, Cell]], key: bytes) -> bool:
        return key in rows and is_sealed_in(self.move.old, Row(key, rows[key]))

    def _fault_of_old_rows(self, store: Store, visible: set[tuple[str, bytes]]) -> str:
        move = self.move
        for key, row in rows_in(store, OLD_TABLE).items():
            moved_row = move.to_new(key, data_of(row))
            if moved_row is None:
                continue
            own = {column: cell.value for column, cell in data_of(row).items()}
            new_keys = {(NEW_KEYS, entry) for entry in move.new_key_entries(key, own)}
            if move.new_key_table is not None and not new_keys <= visible:
                return "an old row has no entry for its new key"
            for entry in () if is_sealed(row) else move.old.entries(key, own):
                if (entry.table, entry.key) not in visible:
                    return "an old row has no entry in the old table's index"
        return ""

    def _owners(self, store: Store) -> dict[bytes, bytes]:
        """Return the entries of the new table's index, and which row owns each; b"" means any."""
        entries = rows_in(store, NEW_INDEX)
        if not self.system.is_unique:
            return dict.fromkeys(entries, b"")
        stored = {key: StoredClaim.of(cells[CLAIM_COLUMN]).claim for key, cells in entries.items()}
        return {key: claim.owner for key, claim in stored.items() if claim is not None}

    def _fault_after_all(self, store: Store, rows: Ledger) -> str:
        """Return what is wrong now, or once the move has gone on to its end from here."""
        kinds: tuple[ReadKind, ...] = ("get", "scan", "scan back", "find")
        for phase in self._phases(store):
            if any(self._read(store, phase, kind) != rows for kind in kinds):
                return "a reader does not see the rows"
        if any(p.row == b"moved" for p, _ in store):
            return self._fault_of_moved(store, rows)
        if virtual_ledger(self.move, run_alone(ask(ExpireDeadGuards()), store)) != rows:
            return "rows change when guards expire"
        own = context(96, LATER_CLOCK_MS, self.system.epoch_of(MOVING))
        repaired = run_alone(row_by_row(repair(self.move, MOVING, own)), store)
        if what := self._fault_of_repaired(repaired, rows):
            return what
        try:
            store = run_alone(row_by_row(moved(replace(self.system, tasks=()), own)), store)
        except HBaseORMError as error:
            return f"the move does not come to its end: {error}"
        return self._fault_of_moved(store, rows)

    def _fault_of_moved(self, store: Store, rows: Ledger) -> str:
        if what := self._fault_of_timestamps(store):
            return what
        if ledger_in(store, NEW_TABLE) != rows:
            return "the new table does not have the rows"
        return self._fault_when_new(store, rows)

    def _phases(self, store: Store) -> tuple[Phase, ...]:
        if any(p.row == b"moved" for p, _ in store):
            return MOVING, NEW
        return PREPARED, MOVING

    def _read(self, store: Store, phase: Phase, kind: ReadKind) -> Ledger:
        steps = read(
            self.system,
            Task(kind, phase),
            context(96, LATER_CLOCK_MS, self.system.epoch_of(MOVING)),
        )
        seen = result_of(row_by_row(steps), store)
        return {key: dict(cells) for key, cells in seen.items() if cells is not None}

    def _fault_when_new(self, store: Store, rows: Ledger) -> str:
        floor_ms = int(dict(store)[Place(NOTES, b"moved", b"")].value or b"0")
        own = context(95, LATER_CLOCK_MS, self.system.epoch_of(MOVING))
        repaired = run_alone(repair(self.move, NEW, own, floor_ms), store)
        if what := self._fault_of_repaired(repaired, rows):
            return what
        for start in (store, repaired):
            after, expected = start, dict(rows)
            for number, key in enumerate(universe_of(self.system), start=80):
                last = {V1: b"A", W: b"%d" % number if self.system.is_unique else b"X"}
                counter = {c: v for c, v in rows.get(key, {}).items() if c == N}
                change = RowChange(key, last)
                steps = moved_write(
                    self.move,
                    NEW,
                    change,
                    context(number, 3, self.system.epoch_of(NEW)),
                    floor_ms=floor_ms,
                )
                after = run_alone(without_old_tables(steps), after)
                expected[key] = {**last, **counter}
            if ledger_in(after, NEW_TABLE) != expected:
                return "a write after the move does not show"
            if what := self.fault_of_store(after):
                return f"after the move {what}"
        return ""

    def _fault_of_repaired(self, store: Store, rows: Ledger) -> str:
        if virtual_ledger(self.move, store) != rows:
            return "a repair changes rows"
        due = {e.key for key, row in rows.items() for e in self.move.new.entries(key, row)}
        is_clean = due == self._owners(store).keys()
        return "" if is_clean else "a repair pass does not leave the rows' entries"

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
                known = before.get(column)
                is_same = known is not None and known.value == cell.value
                # A seal that was put again is as late as the first write after the first one.
                limit_ms = seal_ms if is_same else seal_ms - 1
                is_old = cell.timestamp_ms <= limit_ms if column != N else is_same
                is_changed = known != cell and is_old
                if is_changed:
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
            for p, s in state.store if p.table == NOTES and p.row not in {b"moved", INDEXED}}  # fmt: skip
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
            and shown(system.tasks[reader], ledgers[at].get(key)) == cells
            for at in range(len(ledgers))
        )
        for reader, view in seen.items()
        for key, cells in view.items()
    ) and not any(b"" in view for view in seen.values())  # fmt: skip


def shown(reader: Task, cells: Cells | None) -> Cells | None:
    """Return what a reader shows of a row: of other values than it seeks by the index nothing."""
    is_other = reader.kind == "find" and cells is not None and cells.get(W) != reader.puts[W]
    return None if is_other else cells
