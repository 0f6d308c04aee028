"""Every interleaving of a few protocols, with crashes, lost answers and late requests.

The protocols are the library's own generators. A process is known by the answers it was given, so
a branch is taken up again by giving a fresh generator the same answers; states that were seen
before are not explored again. The first state that fails a check ends the run with its trace, the
shortest there is.

One step is what HBase does at once: a request for one row. A batch is done row by row, and requests
that are made together one by one, in any order; what is lost of them may be a part.

Stores, requests, answers and processes are known by numbers while a run lasts, so that states are
small; what a request does to a store, and what a process asks next, is found out once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from hbase_orm.errors import ConnectionLostError, HBaseORMError
from hbase_orm.ops import (
    CheckAndMutate,
    CloseScanner,
    Increment,
    ListRegions,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Protocol,
    ProtocolRun,
    PutStampedRows,
    RegionRange,
    RenewTimeLimit,
    ScannerId,
    SideBySide,
    Sleep,
    Together,
)
from tests.model.cells import ScannedRange, Store, execute

R = TypeVar("R")
T = TypeVar("T", bound=Hashable)

WRITES = (MutateRows, MutateRow, CheckAndMutate, Increment)

ACKNOWLEDGED, UNKNOWN, REFUSED, CRASHED = "acknowledged", "unknown", "refused", "crashed"
ENDS = (ACKNOWLEDGED, UNKNOWN, REFUSED, CRASHED)

LOST = ConnectionLostError("lost")

Order = tuple[tuple[str, int], ...]
"""Which process started and which was acknowledged, one after the other."""


@dataclass(frozen=True, slots=True)
class LeasesEnd(Operation[None]):
    """Waits until nobody acts any more on what he read in the catalog earlier.

    A process whose lease ends in the middle of its work stops there, as one that crashes.

    Attributes:
        writers: Which processes may act on it.
        is_quiet: Whether no request is under way either.
        of_writers: Whether only requests of `writers` count for that.
    """

    writers: tuple[int, ...]
    is_quiet: bool = True
    of_writers: bool = False


class State(NamedTuple):
    """What a check is shown.

    Attributes:
        store: All cells.
        processes: How each process has ended; empty while it is running.
        order: Which process started and which was acknowledged, in order.
        is_quiet: Whether no process is running and no request under way.
    """

    store: Store
    processes: tuple[str, ...]
    order: Order
    is_quiet: bool


class Violation(NamedTuple):
    what: str
    trace: tuple[str, ...]
    state: State


class _Key(NamedTuple):
    """A state, by numbers; two equal ones have the same future.

    `processes` holds for each process the number of the answers it was given, and the set of the parts of
    its request that are done; `net` are requests under way whose senders listen no more, each after its
    sender.
    """

    store: int
    processes: tuple[tuple[int, int], ...]
    net: tuple[tuple[int, int], ...]
    crashes: int
    losses: int
    order: int


class _Step(NamedTuple):
    what: str
    process: int
    request: int


@dataclass(slots=True)
class _Numbered(Generic[T]):
    """Values, each known by a number."""

    values: list[T] = field(default_factory=list)
    numbers: dict[T, int] = field(default_factory=dict)

    def number(self, value: T) -> int:
        if value not in self.numbers:
            self.numbers[value] = len(self.values)
            self.values.append(value)
        return self.numbers[value]


class _History(NamedTuple):
    """A process, by the numbers of the answers it was given."""

    process: int
    answers: tuple[int, ...]


@dataclass(slots=True)
class Explorer:
    """Explores one system.

    Attributes:
        makers: Make each process's protocol again.
        check: Says what is wrong with a state, or nothing.
        crashes: How many processes may crash, each with or without its request under way.
        losses: How many answers may be lost, their requests applied now, later, or never.
        shares_checks: Whether the check, while a process is running or a request under way, looks
            at the store alone, and so is asked once a store.
        states: How many states were seen.
        depth: How many steps the longest of all shortest ways to a state has.
    """

    makers: Sequence[Callable[[], Protocol[Any]]]
    check: Callable[[State], str]
    crashes: int
    losses: int
    shares_checks: bool = True
    states: int = 0
    depth: int = 0
    _stores: _Numbered[Store] = field(default_factory=_Numbered)
    _requests: _Numbered[Operation[Any]] = field(default_factory=_Numbered)
    _orders: _Numbered[Order] = field(default_factory=_Numbered)
    _histories: _Numbered[_History] = field(default_factory=_Numbered)
    _answers: list[Any] = field(default_factory=list)
    _answer_numbers: dict[str, int] = field(default_factory=dict)
    _effects: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    _nexts: dict[int, tuple[int, ...] | str] = field(default_factory=dict)
    _whole: dict[int, int] = field(default_factory=dict)
    _following: dict[tuple[int, int], int] = field(default_factory=dict)
    _sound: set[int] = field(default_factory=set)

    def run(self, store: Store) -> Violation | None:
        """Return the first violation, by the shortest trace, or None when all states are sound."""
        processes = tuple(
            (self._histories.number(_History(n, ())), 0) for n in range(len(self.makers))
        )
        order = self._orders.number(())
        first = _Key(self._stores.number(store), processes, (), self.crashes, self.losses, order)
        parents: dict[_Key, tuple[_Key, _Step] | None] = {first: None}
        level = [first]
        while level:
            following: list[_Key] = []
            for key in level:
                if what := self._fault(key):
                    return Violation(what, self._trace(parents, key), self._state(key))
                for step, reached in self._successors(key):
                    if reached not in parents:
                        parents[reached] = (key, step)
                        following.append(reached)
            self.states += len(level)
            self.depth += bool(following)
            level = following
        return None

    def _fault(self, key: _Key) -> str:
        is_running = self.shares_checks and (
            bool(key.net)
            or any(not isinstance(self._next(history), str) for history, _ in key.processes)
        )
        if is_running and key.store in self._sound:
            return ""
        what = self.check(self._state(key))
        if is_running and not what:
            self._sound.add(key.store)
        return what

    def _state(self, key: _Key) -> State:
        nexts = [self._next(history) for history, _ in key.processes]
        processes = tuple(ended if isinstance(ended, str) else "" for ended in nexts)
        is_quiet = not key.net and all(processes)
        order = self._orders.values[key.order]
        return State(self._stores.values[key.store], processes, order, is_quiet)

    def _successors(self, key: _Key) -> Iterator[tuple[_Step, _Key]]:
        for at, (_, request) in enumerate(key.net):
            store, _ = self._effect(key.store, request)
            net = key.net[:at] + key.net[at + 1 :]
            yield _Step("late", -1, request), key._replace(store=store, net=net)
        for number, (history, done) in enumerate(key.processes):
            parts = self._next(history)
            if not isinstance(parts, str) and not self._waits(key, parts[0]):
                yield from self._steps(key, number, parts, history, done)

    def _waits(self, key: _Key, request: int) -> bool:
        """Return whether a request is one to wait, and what it waits for has not come."""
        wait = self._requests.values[request]
        if not isinstance(wait, LeasesEnd):
            return False
        histories = [key.processes[writer][0] for writer in wait.writers]
        is_anybody = any(not isinstance(self._next(history), str) for history in histories)
        under_way = [
            sender for sender, _ in key.net if sender in wait.writers or not wait.of_writers
        ]
        return is_anybody or (wait.is_quiet and bool(under_way))

    def _steps(  # one branch point, spelled out
        self, key: _Key, number: int, parts: tuple[int, ...], history: int, done: int
    ) -> Iterator[tuple[_Step, _Key]]:
        if not done and not self._histories.values[history].answers:
            key = key._replace(order=self._happened(key.order, "start", number))
        left = [at for at in range(len(parts)) if not done >> at & 1]
        for at in left:
            request = parts[at]
            store, answer = self._effect(key.store, request)
            applied = key._replace(store=store)
            if len(left) > 1:
                yield (
                    _Step("", number, request),
                    _with_process(applied, number, (history, done | 1 << at)),
                )
                continue
            whole = answer if len(parts) == 1 else self._whole_answer(history)
            yield _Step("", number, request), self._answered(applied, number, history, whole)
            if key.losses and isinstance(self._requests.values[request], WRITES):
                yield from self._answer_lost(applied, number, history, request, answer)
        yield from self._faults(key, number, tuple(parts[at] for at in left), history)

    def _answer_lost(  # one branch point, spelled out
        self, applied: _Key, number: int, history: int, request: int, answer: int
    ) -> Iterator[tuple[_Step, _Key]]:
        fewer = applied._replace(losses=applied.losses - 1)
        lost = self._answer_number(LOST)
        yield _Step("LOST answer of", number, request), self._answered(fewer, number, history, lost)
        if self._answers[answer] is True:
            false = self._answer_number(False)  # an answer
            yield _Step("False for", number, request), self._answered(fewer, number, history, false)

    def _faults(
        self, key: _Key, number: int, left: tuple[int, ...], history: int
    ) -> Iterator[tuple[_Step, _Key]]:
        """Yield the crashes and the losses before what is left of a request is done."""
        is_write = isinstance(self._requests.values[left[0]], WRITES)
        net = tuple(sorted((*key.net, *((number, request) for request in left))))
        if key.crashes:
            ended = self._ended(number, CRASHED)
            crashed = _with_process(key, number, (ended, 0))._replace(crashes=key.crashes - 1)
            yield _Step("CRASH before", number, left[0]), crashed
            if is_write:
                yield _Step("CRASH, under way", number, left[0]), crashed._replace(net=net)
        if key.losses and is_write:
            lost = self._answer_number(LOST)
            fewer = key._replace(losses=key.losses - 1)
            before = self._answered(fewer, number, history, lost)
            yield _Step("LOST", number, left[0]), before
            yield _Step("LOST, under way", number, left[0]), before._replace(net=net)

    def _answered(self, key: _Key, number: int, history: int, answer: int) -> _Key:
        """Return the state after a process was given an answer."""
        at = (history, answer)
        if at not in self._following:
            answers = self._histories.values[history].answers
            self._following[at] = self._histories.number(_History(number, (*answers, answer)))
        following = self._following[at]
        key = _with_process(key, number, (following, 0))
        end = self._next(following)
        if not isinstance(end, str):
            return key
        if end == ACKNOWLEDGED:
            key = key._replace(order=self._happened(key.order, ACKNOWLEDGED, number))
        return _with_process(key, number, (self._ended(number, end), 0))

    def _ended(self, number: int, end: str) -> int:
        """Return the one number of all ways in which a process has ended so."""
        history = self._histories.number(_History(number, (-1 - ENDS.index(end),)))
        self._nexts[history] = end
        return history

    def _happened(self, order: int, what: str, number: int) -> int:
        return self._orders.number((*self._orders.values[order], (what, number)))

    def _effect(self, store: int, request: int) -> tuple[int, int]:
        """Return the store after a request, and the answer."""
        at = (store, request)
        if isinstance(self._requests.values[request], LeasesEnd):
            return store, self._answer_number(None)
        if at not in self._effects:
            after, answer = execute(self._stores.values[store], self._requests.values[request])
            self._effects[at] = self._stores.number(after), self._answer_number(answer)
        return self._effects[at]

    def _answer_number(self, answer: object) -> int:
        shown = repr(answer)
        if shown not in self._answer_numbers:
            self._answer_numbers[shown] = len(self._answers)
            self._answers.append(answer)
        return self._answer_numbers[shown]

    def _next(self, history: int) -> tuple[int, ...] | str:
        """Return the parts of a process's next request, or how it ends."""
        if history not in self._nexts:
            process, answers = self._histories.values[history]
            given = [self._answers[answer] for answer in answers]
            request = _replayed(self.makers[process](), given)
            if isinstance(request, str):
                self._nexts[history] = request
            else:
                parts = tuple(self._requests.number(part) for part in parts_of(request))
                self._nexts[history] = parts
                if isinstance(request, Together):
                    self._whole[history] = self._answer_number((None,) * len(request.operations))
        return self._nexts[history]

    def _whole_answer(self, history: int) -> int:
        """Return the answer to a request of several parts, which are all writes."""
        return self._whole.get(history, self._answer_number(None))

    def _trace(self, parents: dict[_Key, tuple[_Key, _Step] | None], key: _Key) -> tuple[str, ...]:
        labels: list[str] = []
        while (parent := parents[key]) is not None:
            key, step = parent
            request = self._requests.values[step.request]
            answer = (
                ""
                if step.what
                else f" -> {self._answers[self._effect(key.store, step.request)[1]]}"
            )
            labels.append(f"p{step.process} {step.what} {request}{answer}")
        return tuple(reversed(labels))


def parts_of(request: Operation[Any]) -> tuple[Operation[Any], ...]:
    """Return the steps that HBase makes of a request: one for each row that it writes."""
    match request:
        case PutStampedRows():
            return parts_of(request.as_mutations())
        case Together(operations):
            assert all(isinstance(operation, MutateRows) for operation in operations)
            return tuple(part for operation in operations for part in parts_of(operation))
        case MutateRows(table, mutations) if len(mutations) > 1:
            return tuple(MutateRows(table, (mutation,)) for mutation in mutations)
        case _:
            return (request,)


def _replayed(protocol: Protocol[Any], answers: Sequence[Any]) -> Operation[Any] | str:
    run = ProtocolRun(protocol)
    try:
        run.begin()
        _pass_pauses(run)
        for answer in answers:
            if isinstance(answer, Exception):
                run.throw(answer)
            else:
                run.send(answer)
            _pass_pauses(run)
    except ConnectionLostError:
        return UNKNOWN
    except HBaseORMError:
        return REFUSED
    return ACKNOWLEDGED if run.request is None else run.request


def _pass_pauses(run: ProtocolRun[Operation[Any], Any]) -> None:
    """Answer what touches no data: pauses, time limits, regions, and scanners being opened and closed."""
    while True:
        match run.request:
            case Sleep() | RenewTimeLimit() | CloseScanner():
                run.send(None)
            case ListRegions():
                run.send([RegionRange(b"", None, "")])
            case OpenScanner(scan):
                run.send(ScannerId(0, ScannedRange(scan.table, scan.key_range, scan.reverse)))
            case _:
                return


def in_turn(protocol: Protocol[R]) -> Protocol[R]:
    """Pass on what a protocol asks; those that it runs side by side run one after the other."""
    run = ProtocolRun(protocol)
    run.begin()
    while (request := run.request) is not None:
        try:
            if isinstance(request, SideBySide):
                answer: Any = yield from _all_in_turn(request)
            else:
                answer = yield request
        except HBaseORMError as error:
            run.throw(error)
        else:
            run.send(answer)
    return run.result


def _all_in_turn(request: SideBySide) -> Protocol[list[Any]]:
    results: list[Any] = []
    failures: list[HBaseORMError] = []
    for each in request.protocols:
        try:
            results.append((yield from in_turn(each)))
        except HBaseORMError as error:
            failures.append(error)
    if failures:
        raise failures[0]
    return results


def _with_process(key: _Key, number: int, process: tuple[int, int]) -> _Key:
    processes = (*key.processes[:number], process, *key.processes[number + 1 :])
    return key._replace(processes=processes)


def run_alone(protocol: Protocol[Any], store: Store) -> Store:
    """Run one protocol without any fault; return the store it leaves."""
    run = ProtocolRun(protocol)
    run.begin()
    _pass_pauses(run)
    while (request := run.request) is not None:
        answer = None
        for part in parts_of(request):
            store, answer = execute(store, part)
        if isinstance(answer, HBaseORMError):
            run.throw(answer)
        else:
            run.send((None,) * len(request.operations) if isinstance(request, Together) else answer)
        _pass_pauses(run)
    return store
