"""A dictionary under every interleaving of two or three processes, with crashes and lost answers.

In every state each name has at most one number and each number at most one name, and what any
process was told stays true. With a rule replaced the explorer finds a state that fails.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.numbering.dictionary import (
    COUNTER_ROW,
    allocate,
    dictionary_descriptor,
    look_up,
    names_of,
)
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    GetRows,
    Increment,
    MutateRow,
    Operation,
    Protocol,
    ProtocolRun,
    Put,
    RowMutation,
    Together,
)
from tests.model.cells import EMPTY, Amounts, Place, Store, Stored, execute
from tests.model.explorer import Explorer, State, run_alone

TABLE, REPORTS, COLUMN = "ids", "reports", b"d:v"


Step = Callable[[Operation[Any]], Protocol[Any]]


def plainly(request: Operation[Any]) -> Protocol[Any]:
    return (yield request)


def one_by_one(protocol: Protocol[Any], step: Step = plainly) -> Protocol[Any]:
    """Make the requests of a protocol in turns of their own, each as `step` does."""
    run = ProtocolRun(protocol)
    run.begin()
    while run.request is not None:
        answer, failure = yield from answered(run.request, step)
        if failure is None:
            run.send(answer)
        else:
            run.throw(failure)
    return run.result


def answered(request: Operation[Any], step: Step) -> Protocol[tuple[Any, Exception | None]]:
    if isinstance(request, Together):
        all_answers = []
        for each in request.operations:
            all_answers.append((yield from answered(each, step)))  # noqa: PERF401  # a generator's turns
        failures = [failure for _, failure in all_answers if failure]
        return tuple(answer for answer, _ in all_answers), failures[0] if failures else None
    if isinstance(request, Increment):
        request = replace(request, amounts=Amounts(request.amounts))
    try:
        return (yield from step(request)), None
    except ConnectionLostError as error:
        return None, error


# --- processes: each writes down what it was told -------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allocator:
    names: str

    def told(self) -> Protocol[dict[str, int]]:
        return allocate(TABLE, self.names)


@dataclass(frozen=True, slots=True)
class NameReader:
    names: str

    def told(self) -> Protocol[dict[str, int]]:
        return look_up(TABLE, self.names)


@dataclass(frozen=True, slots=True)
class NumberReader:
    numbers: tuple[int, ...]

    def told(self) -> Protocol[dict[str, int]]:
        names = yield from names_of(TABLE, self.numbers)
        return {name: number for number, name in names.items()}


@dataclass(frozen=True, slots=True)
class BelievingReader:
    """Takes what number rows say for true: what `names_of` must not do."""

    numbers: tuple[int, ...]

    def told(self) -> Protocol[dict[str, int]]:
        rows = yield GetRows(TABLE, tuple(b"r" + value_of(number) for number in self.numbers))
        return {
            row.cells[COLUMN].value[1:].decode(): number
            for row, number in zip(rows, self.numbers, strict=True)
            if row
        }


Process = Allocator | NameReader | NumberReader | BelievingReader


def reporting(number: int, process: Process, step: Step) -> Protocol[None]:
    told = yield from one_by_one(process.told(), step)
    if told:
        puts = tuple(Put(b"d:" + name.encode(), value_of(told[name])) for name in sorted(told))
        yield MutateRow(REPORTS, RowMutation(b"p%d" % number, puts))


def value_of(number: int) -> bytes:
    return number.to_bytes(8)


@dataclass(frozen=True, slots=True)
class System:
    name: str
    processes: Sequence[Process]
    crashes: int = 1
    losses: int = 1
    before: Store = EMPTY

    def __str__(self) -> str:
        return self.name


def explore(system: System, step: Step = plainly) -> Explorer:
    """Explore a system; fail with the trace of the first state that is not sound."""
    makers = [
        partial(reporting, number, process, step) for number, process in enumerate(system.processes)
    ]
    explorer = Explorer(makers, fault_of, system.crashes, system.losses)
    violation = explorer.run(system.before)
    if violation:
        pytest.fail("\n".join((violation.what, *violation.trace)), pytrace=False)
    return explorer


# --- what must hold -------------------------------------------------------------------------------


def fault_of(state: State) -> str:
    """Return what is wrong with a state, or nothing."""
    names = numbers_by_name(state.store)
    taken_for = {
        row[1:]: value for row, value in cells(state.store, TABLE).items() if row[:1] == b"r"
    }
    if len(set(names.values())) < len(names):
        return "two names have one number"
    if any(taken_for.get(value_of(number)) != b"n" + name for name, number in names.items()):
        return "a number does not give its name back"
    if any(names.get(name) != number for name, number in reports(state.store)):
        return "what a process was told does not hold"
    return fault_at_rest(state, names) if state.is_quiet else ""


def fault_at_rest(state: State, names: dict[bytes, int]) -> str:
    """Return what is wrong when everybody has ended: a late process is told what stands there."""
    late: tuple[Process, ...] = (Allocator("ab"), NameReader("ab"), NumberReader(tuple(range(9))))
    told = state.store
    for number, process in enumerate(late, start=7):
        told = run_alone(reporting(number, process, plainly), told)
    after = numbers_by_name(told)
    if any(after[name] != number for name, number in names.items()):
        return "a name changed its number"
    if len(set(after.values())) < len(after):
        return "a number is given again"
    if any(after.get(name) != number for name, number in reports(told)):
        return "a reader is told what does not hold"
    return ""


def cells(store: Store, table: str) -> dict[bytes, bytes]:
    return {
        place.row: stored.value
        for place, stored in store
        if place.table == table and stored.value is not None
    }


def numbers_by_name(store: Store) -> dict[bytes, int]:
    return {
        row[1:]: int.from_bytes(value)
        for row, value in cells(store, TABLE).items()
        if row[:1] == b"n"
    }


def reports(store: Store) -> list[tuple[bytes, int]]:
    return [
        (place.column[2:], int.from_bytes(stored.value or b""))
        for place, stored in store
        if place.table == REPORTS
    ]


# --- systems --------------------------------------------------------------------------------------


def stored(*rows: tuple[bytes, bytes]) -> Store:
    return tuple(sorted((Place(TABLE, row, COLUMN), Stored(1, value)) for row, value in rows))


ONE_HAS_ONE = ((b"na", value_of(1)), (b"r" + value_of(1), b"na"))

ONE_NAME = System("one new name", (Allocator("a"), Allocator("a")), crashes=2, losses=2)
TWO_NAMES = System("two new names in either order", (Allocator("ab"), Allocator("ba")))
OVERLAP = System("a known and a new name", (Allocator("ab"), Allocator("b")))
THREE = System("three at one new name", (Allocator("a"),) * 3, losses=0)
READERS = System(
    "readers of names and numbers beside two writers",
    (Allocator("a"), Allocator("a"), NumberReader((1, 2))),
    losses=0,
)
NAME_READER = System(
    "a reader beside two writers", (*ONE_NAME.processes, NameReader("a")), crashes=0
)
LOST_COUNTER = System(
    "a counter that was lost", (Allocator("b"), Allocator("ab")), before=stored(*ONE_HAS_ONE)
)
SYSTEMS = (ONE_NAME, TWO_NAMES, OVERLAP, THREE, READERS, NAME_READER, LOST_COUNTER)


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_a_name_has_one_number_whatever_happens(system: System) -> None:
    explorer = explore(system)

    assert explorer.states > 500


# --- the checks can fail --------------------------------------------------------------------------


def claim_blindly(request: Operation[Any]) -> Protocol[Any]:
    """Write the name's row without a look at what stands there."""
    if isinstance(request, CheckAndMutate) and request.mutation.row[:1] == b"n":
        yield MutateRow(TABLE, request.mutation)
        return True
    return (yield request)


def believe_oneself(request: Operation[Any]) -> Protocol[Any]:
    """Take every claim for won."""
    answer = yield request
    return answer if not isinstance(request, CheckAndMutate) else True


def take_a_lost_answer_for_applied(request: Operation[Any]) -> Protocol[Any]:
    """Take a claim whose answer is lost for won."""
    try:
        return (yield request)
    except ConnectionLostError:
        if isinstance(request, CheckAndMutate):
            return True
        raise


def number_rows_blindly(request: Operation[Any]) -> Protocol[Any]:
    """Write the number's row without a look at whose it is."""
    if isinstance(request, CheckAndMutate) and request.mutation.row[:1] == b"r":
        yield MutateRow(TABLE, request.mutation)
        return True
    return (yield request)


def read_the_counter_back(request: Operation[Any]) -> Protocol[Any]:
    """After a lost increment take the counter's value for one's own number."""
    try:
        return (yield from number_rows_blindly(request))
    except ConnectionLostError:
        if not isinstance(request, Increment):
            raise
        (row,) = yield GetRows(TABLE, (COUNTER_ROW,), (COLUMN,))
        return {COLUMN: int.from_bytes(row.cells[COLUMN].value) if row else 1}


@pytest.mark.parametrize(
    ("step", "system"),
    [
        (claim_blindly, ONE_NAME),
        (believe_oneself, ONE_NAME),
        (take_a_lost_answer_for_applied, ONE_NAME),
        (number_rows_blindly, LOST_COUNTER),
        (read_the_counter_back, System("two names", (Allocator("a"), Allocator("b")))),
        (plainly, System("a credulous reader", (Allocator("a"), BelievingReader((1,))))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_with_a_rule_replaced_some_interleaving_does_harm(step: Step, system: System) -> None:
    with pytest.raises(pytest.fail.Exception):
        explore(system, step)


# --- the small store is HBase's -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_the_small_store_counts_as_the_memory_gateway(seed: int) -> None:
    gateway = MemoryGateway(lambda: 1_000)
    gateway.execute(CreateTable(dictionary_descriptor(TABLE)))
    numbers = random.Random(seed)
    store = EMPTY

    for _ in range(30):
        request = Increment(TABLE, numbers.choice((b"c", b"d")), {COLUMN: numbers.randint(0, 9)})
        store, answer = execute(store, request)

        assert answer == gateway.execute(request)
