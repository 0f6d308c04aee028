"""Random storms of increments while rows move: no amount is lost, and none is added twice.

Programs of each phase, writers of other columns, readers and two movers take turns, one request at a
time. Answers are lost, requests arrive late, also after the move has ended.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from hbase_orm.errors import ConnectionLostError, HBaseORMError, RejectedError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.moving.moved_increment import moved_increment
from hbase_orm.moving.moved_write import moved_write
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.virtual_reads import virtual_rows
from hbase_orm.ops import (
    CheckAndMutate,
    GetRows,
    Increment,
    KeyRange,
    MutateRow,
    MutateRows,
    Operation,
    Protocol,
    RenewTimeLimit,
    Sleep,
    Together,
    ask,
)
from hbase_orm.ops.protocol import ProtocolRun
from tests.model.explorer import in_turn
from tests.support import broken_moves as broken
from tests.support.broken_rules import Break
from tests.support.counted_readings import COUNTING, NORTH
from tests.support.moved_readings import (
    FAILS,
    HITS,
    MISSES,
    NAME,
    VISITS,
    Tables,
    readings_in_memory,
)

ROWS = (NORTH, b"north\x00d2", b"east\x00d3")
NEW_COLUMN = {HITS: VISITS, MISSES: FAILS}
NEWEST_ONLY = replace(COUNTING, translation=replace(COUNTING.translation, older_versions=None))
"""The versions beneath a counter seal would make up for some mistakes."""

LOST, LATE = 0.04, 0.04
WRITES = (Increment, CheckAndMutate, MutateRow, MutateRows, Together)
INCREMENTS_OF_A_PROCESS = 6
COUNTER_BYTES = 8
SEEDS = 60
FEWEST_ACKNOWLEDGED = 20
MOST_PASSES = 20

Place = tuple[bytes, bytes]
"""A new key and a counter of the new table."""


@dataclass
class Process:
    """A process that runs one protocol after another.

    Attributes:
        steps: A function that returns its next protocol; None when it has ended.
        run: The present one.
        amounts: The amounts of the present increment, by place; empty for other protocols.
        applied: How often the tables took the present increment.
    """

    steps: Callable[[], Protocol[Any] | None]
    run: ProtocolRun[Any, Any] | None = None
    amounts: dict[Place, int] = field(default_factory=dict)
    applied: int = 0


@dataclass
class Storm:
    """The tables, and what was added to them.

    Attributes:
        sums: All amounts that the tables took, whether or not the answer arrived.
        late: Requests that are under way, each with the process that sent it.
    """

    tables: Tables
    random: random.Random
    sums: Counter[Place] = field(default_factory=Counter)
    acknowledged: int = 0
    late: list[Operation[Any]] = field(default_factory=list)
    has_moved: bool = False

    # --- requests -----------------------------------------------------------------------------------

    def execute(self, request: Operation[Any], process: Process | None = None) -> Any:
        if isinstance(request, (Sleep, RenewTimeLimit)):
            return None
        if isinstance(request, Together):
            return tuple(self.execute(each, process) for each in request.operations)
        answer = self.tables.gateway.execute(request)
        if isinstance(request, Increment):
            for place, amount in places_of(request).items():
                self.sums[place] += amount
            if process is not None:
                process.applied += 1
        return answer

    def answer(self, request: Operation[Any], process: Process) -> Any:
        chance = self.random.random()
        if isinstance(request, (Sleep, RenewTimeLimit)) or chance > LOST + LATE:
            return self.execute(request, process)
        if chance < LATE:
            if isinstance(request, WRITES):
                self.late.append(request)
        elif self.random.random() < 0.5:
            self.execute(request, process)
        raise ConnectionLostError("no answer")

    def deliver(self, request: Operation[Any]) -> None:
        try:
            self.execute(request)
        except RejectedError:
            assert isinstance(request, Increment)

    # --- processes ----------------------------------------------------------------------------------

    def step(self, process: Process) -> bool:
        """Let a process make one request; return whether it goes on."""
        if process.run is None:
            protocol = process.steps()
            if protocol is None:
                return False
            process.run, process.applied = ProtocolRun(in_turn(protocol)), 0
            self._advance(process, process.run.begin)
            return True
        request = process.run.request
        assert request is not None
        try:
            answer = self.answer(request, process)
        except HBaseORMError as error:
            self._advance(process, partial(process.run.throw, error))
        else:
            self._advance(process, partial(process.run.send, answer))
        return True

    def _advance(self, process: Process, go_on: Callable[[], None]) -> None:
        assert process.run is not None
        try:
            go_on()
        except ConnectionLostError:
            process.run = None
        except HBaseORMError:
            process.run = None
            assert process.applied == 0
        else:
            self._note(process)
        assert process.applied <= 1

    def _note(self, process: Process) -> None:
        assert process.run is not None
        if process.run.request is None:
            process.run = None
            if process.amounts:
                assert process.applied == 1
                self.acknowledged += 1

    def incrementing(self, phase: Phase, *, is_old: bool = False) -> Process:
        left = INCREMENTS_OF_A_PROCESS

        def steps() -> Protocol[Any] | None:
            nonlocal left
            if not left:
                return None
            left -= 1
            row = self.random.choice(ROWS)
            columns = self.random.choice([(VISITS,), (FAILS,), (VISITS, FAILS)])
            request = Increment("new", row, {c: self.random.randint(-5, 20) for c in columns})
            process.amounts = places_of(request)
            if is_old:
                return ask(NEWEST_ONLY.old_increment(request))
            return moved_increment(NEWEST_ONLY, phase, request, self.tables.context)

        process = Process(steps)
        return process

    def writing(self, phase: Phase) -> Process:
        left = 3

        def steps() -> Protocol[Any] | None:
            nonlocal left
            left -= 1
            change = RowChange(self.random.choice(ROWS), {NAME: b"%d" % left}, kind="update")
            self.tables.clock_ms += 1
            write = moved_write(NEWEST_ONLY, phase, change, self.tables.context)
            return write if left >= 0 else None

        return Process(steps)

    def reading(self) -> Process:
        left = 4

        def steps() -> Protocol[Any] | None:
            nonlocal left
            left -= 1
            return self._read(self.random.choice(ROWS)) if left >= 0 else None

        return Process(steps)

    def _read(self, row: bytes) -> Protocol[None]:
        (seen,) = yield from virtual_rows(NEWEST_ONLY, Phase.MOVING, [row], self.tables.context)
        assert seen is not None
        widths = {len(seen.cells[c].value) for c in (VISITS, FAILS) if c in seen.cells}
        assert widths <= {COUNTER_BYTES}

    def moving(self) -> Process:
        left = MOST_PASSES

        def steps() -> Protocol[Any] | None:
            nonlocal left
            left -= 1
            return self._move() if left >= 0 and not self.has_moved else None

        return Process(steps)

    def _move(self) -> Protocol[None]:
        yield from move_page(NEWEST_ONLY, KeyRange(), self.tables.context)
        page = yield from check_page(NEWEST_ONLY, KeyRange(), self.tables.context)
        self.has_moved = not page.left

    # --- the storm ----------------------------------------------------------------------------------

    def rage(self) -> None:
        processes = [
            self.incrementing(Phase.INDEXING, is_old=True),
            self.incrementing(Phase.PREPARED),
            self.incrementing(Phase.PREPARED),
            self.incrementing(Phase.MOVING),
            self.incrementing(Phase.MOVING),
            self.writing(Phase.MOVING),
            self.reading(),
            self.moving(),
            self.moving(),
        ]
        has_new = False
        while processes:
            if self.late and self.random.random() < 0.05:
                self.deliver(self.late.pop(self.random.randrange(len(self.late))))
            if self.has_moved and not has_new:
                processes.append(self.incrementing(Phase.NEW))
                has_new = True
            process = self.random.choice(processes)
            if not self.step(process):
                processes.remove(process)
        for request in self.late:
            self.deliver(request)


def places_of(request: Increment) -> dict[Place, int]:
    """Return the amounts of an increment of either table by place in the new one."""
    if request.table == "new":
        return {(request.row, column): n for column, n in request.amounts.items()}
    (row,) = (row for row in ROWS if row.endswith(request.row))
    return {(row, NEW_COLUMN[column]): n for column, n in request.amounts.items()}


def raging(seed: int) -> None:
    """Let a storm rage, and compare the counters with what the tables took."""
    tables = readings_in_memory()
    for row in ROWS:
        region, _, device = row.partition(b"\x00")
        tables.write_old(device, region=region, unit=b"K")
    storm = Storm(tables, random.Random(seed))

    storm.rage()

    assert storm.has_moved
    assert storm.acknowledged > FEWEST_ACKNOWLEDGED
    for row in ROWS:
        (stored,) = tables.gateway.execute(GetRows("new", (row,), (VISITS, FAILS)))
        cells = {} if stored is None else stored.cells
        counted = {c: int.from_bytes(cell.value, signed=True) for c, cell in cells.items()}
        assert counted == {c: storm.sums[row, c] for c in counted}
        assert all(storm.sums[row, c] == 0 for c in {VISITS, FAILS} - counted.keys())


@pytest.mark.parametrize("seed", range(SEEDS))
def test_counters_of_moved_rows_are_the_sums_of_what_the_tables_took(seed: int) -> None:
    raging(seed)


@pytest.mark.parametrize(
    "rule",
    [
        broken.COUNTERS_UNSEALED,
        broken.ABSENT_COUNTERS_UNSEALED,
        broken.COUNTERS_UNCHECKED,
        broken.COUNTED_IN_NEW_ONLY,
    ],
    ids=str,
)
def test_with_a_rule_of_counters_replaced_some_storm_loses_an_amount(
    rule: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    with pytest.raises(AssertionError):
        storms()


def storms() -> None:
    for seed in range(SEEDS):
        raging(seed)
