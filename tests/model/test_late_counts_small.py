"""Increments in the old table that nobody waited for, under every interleaving with a move.

A program has decided to increment in the old table before the move. Its request may arrive at any
moment, also long after the end, and it looks again after the answer. What it acknowledges is counted
once, whether or not the row exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pytest

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GuardContext, GuardedTable
from hbase_orm.moving import counter_seals, late_increments, seal
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.late_increments import confirm_late
from hbase_orm.ops import GetRows, Increment, Protocol, ask
from tests.model.cells import NOTES, Amounts, Note
from tests.model.explorer import ACKNOWLEDGED, CRASHED, UNKNOWN, Explorer, State, run_alone
from tests.model.moving import checked_floor, move_all, protocol, row_by_row
from tests.model.moving_soundness import move_store, rows_in
from tests.model.moving_systems import BYTE, NONE, ONE, count, insert
from tests.model.moving_tables import NEW_TABLE, OLD_TABLE, MoveSystem, N, Task, move_of
from tests.model.systems import context

LATE_CLOCK_MS = 20
TRIES = 2
NEW_KEY, OLD_KEY = b"na", b"a"
MOVER: Task = Task("mover")


@dataclass(frozen=True)
class NotedPhase:
    """What a program reads of the catalog: NEW as soon as the mover has noted it."""

    system: MoveSystem
    context: GuardContext

    def phase(self) -> Protocol[Phase]:
        (note,) = yield from ask(GetRows(NOTES, (b"moved",)))
        return Phase.MOVING if note is None else Phase.NEW

    def hand_over(self, old_key: bytes) -> Protocol[bool]:
        yield from hand_over(move_of(self.system), b"n" + old_key, self.context)
        return True


def late_count(system: MoveSystem, number: int) -> Protocol[None]:
    own = context(number, LATE_CLOCK_MS)
    request = Increment(OLD_TABLE, OLD_KEY, Amounts({N: 1}))
    yield from ask(request)
    yield from confirm_late(move_of(system).old, request, NotedPhase(system, own), own)


def moved_without_a_wait(system: MoveSystem, number: int) -> Protocol[None]:
    own = context(number, LATE_CLOCK_MS)
    yield from move_all(move_of(system), own)
    floor_ms = yield from checked_floor(move_of(system), own)
    yield from ask(Note(b"moved", str(floor_ms).encode()))


def steps(system: MoveSystem, number: int, task: Task | Literal["late"]) -> Protocol[Any]:
    if task == "late":
        return row_by_row(late_count(system, number))
    if task.kind == "mover":
        return row_by_row(moved_without_a_wait(system, number))
    return protocol(system, number, task)


@dataclass(frozen=True)
class CountSoundness:
    """Compares the counter in the end with the increments that were acknowledged."""

    system: MoveSystem
    counting: tuple[int, ...]

    def fault_of(self, state: State) -> str:
        if not state.is_quiet:
            return ""
        store = run_alone(row_by_row(moved_without_a_wait(self.system, 90)), state.store)
        row = rows_in(store, NEW_TABLE).get(NEW_KEY, {})
        counted = int.from_bytes(row[N].value) if N in row else 0
        ends = [state.processes[number] for number in self.counting]
        sure = ends.count(ACKNOWLEDGED)
        most = sure + ends.count(UNKNOWN) + ends.count(CRASHED)
        return "" if sure <= counted <= most else f"{counted} counted, {sure} to {most} added"


def explored(
    before: Mapping[bytes, Mapping[bytes, bytes]],
    *tasks: Task,
    crashes: int = 0,
    losses: int = 0,
) -> Explorer:
    """Explore a late increment beside others; fail with the trace of a wrong sum.

    What is left of the move is done when all is quiet.
    """
    system = MoveSystem("late", BYTE, before, tasks=tasks, has_counter=True)
    every: tuple[Task | Literal["late"], ...] = (*tasks, "late")
    counting = tuple(n for n, each in enumerate(every) if each == "late" or each.kind == "count")
    makers = [partial(steps, system, number, each) for number, each in enumerate(every)]
    explorer = Explorer(makers, CountSoundness(system, counting).fault_of, crashes, losses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seal, "MAX_SEAL_ROUNDS", TRIES)
        patch.setattr(counter_seals, "MAX_COUNTER_ROUNDS", TRIES)
        patch.setattr(late_increments, "MAX_LATE_READS", TRIES)
        violation = explorer.run(move_store(system))
    if violation:
        pytest.fail("\n".join((violation.what, *violation.trace)), pytrace=False)
    return explorer


@pytest.mark.parametrize("before", [NONE, ONE], ids=["an absent row", "a row"])
def test_what_a_late_increment_acknowledges_is_counted_once_beside_the_mover_and_new(
    before: Mapping[bytes, Mapping[bytes, bytes]],
) -> None:
    assert explored(before, MOVER, count(Phase.NEW), crashes=1, losses=1).states > 1_000


@pytest.mark.parametrize("before", [NONE, ONE], ids=["an absent row", "a row"])
@pytest.mark.parametrize("other", [count(Phase.MOVING), insert(Phase.MOVING), MOVER], ids=str)
def test_what_a_late_increment_acknowledges_is_counted_once_beside_programs_of_moving(
    before: Mapping[bytes, Mapping[bytes, bytes]], other: Task
) -> None:
    assert explored(before, other, losses=1).states > 100


def leaves_where_it_is(self: NotedPhase, old_key: bytes) -> Protocol[bool]:
    del self, old_key
    yield from ()
    return True


def has_always_moving(self: NotedPhase) -> Protocol[Phase]:
    del self
    yield from ()
    return Phase.MOVING


@pytest.mark.parametrize(
    ("owner", "name", "by"),
    [
        (GuardedTable, "exists", lambda *_: True),
        (NotedPhase, "hand_over", leaves_where_it_is),
        (NotedPhase, "phase", has_always_moving),
    ],
    ids=["exists", "hand over", "phase"],
)
def test_with_a_look_left_out_some_interleaving_loses_an_acknowledged_amount(
    owner: Any, name: str, by: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, by)

    with pytest.raises(pytest.fail.Exception, match="counted"):
        explored(NONE, MOVER, count(Phase.NEW))
