"""Every interleaving of a few protocols, with crashes, lost answers and late requests.

The protocols are the library's own generators. A process is known by the answers it was given, so
a branch is taken up again by giving a fresh generator the same answers; states that were seen
before are not explored again. The first state that fails a check ends the run with its trace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hbase_orm.errors import ConnectionLostError, HBaseORMError
from hbase_orm.ops import (
    CheckAndMutate,
    CloseScanner,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Protocol,
    ScannerId,
    Sleep,
)
from tests.model.cells import Store, execute

WRITES = (MutateRows, MutateRow, CheckAndMutate, Increment)

ACKNOWLEDGED, UNKNOWN, REFUSED, CRASHED = "acknowledged", "unknown", "refused", "crashed"


class Running(NamedTuple):
    """A process under way, by the numbers of the answers it got."""

    answers: tuple[int, ...] = ()


Process = Running | str
"""A process: running, or how it ended."""


class State(NamedTuple):
    """Everything: two equal states have the same future.

    `net` are requests under way whose senders do not listen any more; `order` tells which process
    started and which was acknowledged, in order.
    """

    store: Store
    processes: tuple[Process, ...]
    net: tuple[Operation[Any], ...]
    crashes: int
    losses: int
    order: tuple[tuple[str, int], ...]

    @property
    def is_quiet(self) -> bool:
        return not self.net and not any(isinstance(p, Running) for p in self.processes)


class Violation(NamedTuple):
    what: str
    trace: tuple[str, ...]
    state: State


@dataclass(slots=True)
class Explorer:
    """Explores one system.

    Attributes:
        makers: Make each process's protocol anew.
        check: Says what is wrong with a state, or nothing.
        crashes: How many processes may crash, each with or without its request under way.
        losses: How many answers may be lost, their requests applied now, later, or never.
    """

    makers: Sequence[Callable[[], Protocol[Any]]]
    check: Callable[[State], str]
    crashes: int
    losses: int
    states: int = 0
    _answers: list[Any] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)
    _nexts: dict[tuple[int, tuple[int, ...]], Operation[Any] | str] = field(default_factory=dict)

    def run(self, store: Store) -> Violation | None:
        """Return the first violation, by the shortest trace, or None when all states are sound."""
        first = State(store, (Running(),) * len(self.makers), (), self.crashes, self.losses, ())
        parents: dict[State, tuple[State, str] | None] = {first: None}
        queue = deque([first])
        while queue:
            state = queue.popleft()
            self.states += 1
            if what := self.check(state):
                return Violation(what, _trace(parents, state), state)
            for label, following in self._successors(state):
                if following not in parents:
                    parents[following] = (state, label)
                    queue.append(following)
        return None

    def _successors(self, state: State) -> Iterator[tuple[str, State]]:
        for at, request in enumerate(state.net):
            store, answer = execute(state.store, request)
            net = state.net[:at] + state.net[at + 1 :]
            yield f"late {request} -> {answer}", state._replace(store=store, net=net)
        for number, process in enumerate(state.processes):
            if isinstance(process, Running):
                yield from self._steps(state, number, process)

    def _steps(self, state: State, number: int, process: Running) -> Iterator[tuple[str, State]]:
        request = self._next(number, process.answers)
        assert isinstance(request, Operation)
        if not process.answers:
            state = state._replace(order=(*state.order, ("start", number)))
        store, answer = execute(state.store, request)
        label = f"p{number} {request}"
        applied = state._replace(store=store)
        yield f"{label} -> {answer}", self._answered(applied, number, process, answer)
        if state.crashes:
            crashed = _with_process(state, number, CRASHED)._replace(crashes=state.crashes - 1)
            yield f"{label} CRASH", crashed
            if isinstance(request, WRITES):
                yield f"{label} CRASH, under way", crashed._replace(net=(*state.net, request))
        if state.losses and isinstance(request, WRITES):
            yield from self._losses(state, applied, number, process, request, answer)

    def _losses(  # noqa: PLR0917  # one branch point, spelled out
        self,
        state: State,
        applied: State,
        number: int,
        process: Running,
        request: Operation[Any],
        answer: object,
    ) -> Iterator[tuple[str, State]]:
        lost = ConnectionLostError("lost")
        label, left = f"p{number} {request}", state.losses - 1
        before = self._answered(state, number, process, lost)._replace(losses=left)
        yield f"{label} LOST, under way", before._replace(net=(*state.net, request))
        yield f"{label} LOST", before
        after = self._answered(applied, number, process, lost)._replace(losses=left)
        yield f"{label} applied, answer LOST", after
        if answer is True:
            repeated = self._answered(applied, number, process, False)  # an answer
            yield f"{label} applied, answer False", repeated._replace(losses=left)

    def _answered(self, state: State, number: int, process: Running, answer: object) -> State:
        answers = (*process.answers, self._number_of(answer))
        following = self._next(number, answers)
        if isinstance(following, Operation):
            return _with_process(state, number, Running(answers))
        order = (*state.order, ("acknowledged", number)) if following == ACKNOWLEDGED else None
        return _with_process(state, number, following)._replace(order=order or state.order)

    def _number_of(self, answer: object) -> int:
        shown = repr(answer)
        if shown not in self._numbers:
            self._numbers[shown] = len(self._answers)
            self._answers.append(answer)
        return self._numbers[shown]

    def _next(self, number: int, answers: tuple[int, ...]) -> Operation[Any] | str:
        """Return a process's next request, or how it ends, after these answers."""
        key = (number, answers)
        if key not in self._nexts:
            given = [self._answers[answer] for answer in answers]
            self._nexts[key] = _replayed(self.makers[number](), given)
        return self._nexts[key]


def _replayed(protocol: Protocol[Any], answers: Sequence[Any]) -> Operation[Any] | str:
    try:
        request = _past_pauses(protocol, next(protocol))
        for answer in answers:
            if isinstance(answer, Exception):
                request = _past_pauses(protocol, protocol.throw(answer))
            else:
                request = _past_pauses(protocol, protocol.send(answer))
    except StopIteration:
        return ACKNOWLEDGED
    except ConnectionLostError:
        return UNKNOWN
    except HBaseORMError:
        return REFUSED
    return request


def _past_pauses(protocol: Protocol[Any], request: Operation[Any]) -> Operation[Any]:
    """Answer what touches no data: pauses, and scanners being opened and closed."""
    while True:
        match request:
            case Sleep() | CloseScanner():
                request = protocol.send(None)
            case OpenScanner(scan):
                request = protocol.send(ScannerId(0, (scan.table, scan.key_range)))
            case _:
                return request


def _with_process(state: State, number: int, process: Process) -> State:
    processes = (*state.processes[:number], process, *state.processes[number + 1 :])
    return state._replace(processes=processes)


def _trace(parents: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    labels: list[str] = []
    while (parent := parents[state]) is not None:
        state, label = parent
        labels.append(label)
    return tuple(reversed(labels))


def run_alone(protocol: Protocol[Any], store: Store) -> Store:
    """Run one protocol without any fault; return the store it leaves."""
    try:
        request = _past_pauses(protocol, next(protocol))
        while True:
            store, answer = execute(store, request)
            request = _past_pauses(protocol, protocol.send(answer))
    except StopIteration:
        return store
