"""Run many protocols in step, and send what they ask alike as one request.

Each protocol gets the answer to its own request and knows nothing of the others. What all ask at
one time goes out together: reads of rows of one table as one multi-get, writes of one table whose
cells all have timestamps as one batch. Other requests go out side by side, as they are.

A protocol that waits, or asks what is the driver's, is no longer in step: it goes on by itself when
the others have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from hbase_orm.errors import GatewayError, RejectedError
from hbase_orm.gateway.drive import Driver, Outcome
from hbase_orm.gateway.retry import is_repeatable
from hbase_orm.ops import GetRows, MutateRows, Operation, Protocol, RowMutation, Sleep, Together

R = TypeVar("R")

IN_STEP: Final = 100
"""Protocols in step at once: as many rows as a multi-get reads in one call."""

GROUP_ROWS: Final = 500
"""Rows in one batch of writes; a protocol writes several where a row has several entries."""


def run_grouped(driver: Driver, protocols: Sequence[Protocol[R]]) -> list[Outcome[R]]:
    """Run independent protocols in step and say of each how it ended, in their order.

    None stops the others by failing. What fails as a group because HBase refuses some of it is
    sent anew, request by request: reads, and writes that leave the same when repeated.
    """
    outcomes: list[Outcome[R]] = []
    for start in range(0, len(protocols), IN_STEP):
        runs = [_Run(protocol) for protocol in protocols[start : start + IN_STEP]]
        try:
            outcomes += _run_in_step(driver, runs)
        finally:
            for run in runs:
                run.protocol.close()
    return outcomes


def _run_in_step(driver: Driver, runs: Sequence[_Run]) -> list[Outcome[Any]]:
    for run in runs:
        run.begin()
    while in_step := [run for run in runs if run.is_in_step]:
        jobs = _jobs(each for run in in_step for each in run.asked)
        driver.each(lambda job: job.do(driver.gateway.execute), jobs)
        for run in in_step:
            run.go_on()
    stragglers = [run for run in runs if run.outcome is None]
    ended = driver.run_many([run.rest() for run in stragglers])
    for run, outcome in zip(stragglers, ended, strict=True):
        run.outcome = outcome
    return [cast("Outcome[Any]", run.outcome) for run in runs]


@dataclass(eq=False, slots=True)
class _Asked:
    """One request of one protocol, and how it ended."""

    operation: Operation[Any]
    outcome: Outcome[Any] = Outcome()  # noqa: RUF009  # frozen


class _Run:
    """A protocol on its way.

    Attributes:
        protocol: The protocol.
        operation: What it asks; None once it has ended.
        asked: The requests in that.
        outcome: How it ended, or None.
    """

    def __init__(self, protocol: Protocol[Any]) -> None:
        self.protocol = protocol
        self.operation: Operation[Any] | None = None
        self.asked: list[_Asked] = []
        self.outcome: Outcome[Any] | None = None

    @property
    def is_in_step(self) -> bool:
        """Whether it asks for something that is sent with what the others ask."""
        kinds = (Sleep, Together)
        return bool(self.asked) and not any(
            isinstance(each.operation, kinds) for each in self.asked
        )

    def begin(self) -> None:
        """Let it ask for the first time."""
        self._step(next, self.protocol)

    def go_on(self) -> None:
        """Give it the answers to what it asked; a failure is thrown into it."""
        outcomes = [each.outcome for each in self.asked]
        failed = next((each.error for each in outcomes if each.error is not None), None)
        if failed is not None:
            self._step(self.protocol.throw, failed)
            return
        values = tuple(each.value for each in outcomes)
        answer = values if isinstance(self.operation, Together) else values[0]
        self._step(self.protocol.send, answer)

    def rest(self) -> Protocol[Any]:
        """Return a protocol that asks for what this one asks, and all that follows."""
        while self.outcome is None:
            assert self.operation is not None
            try:
                answer = yield self.operation
            except Exception as exc:  # noqa: BLE001  # the protocol decides, whatever it is
                self._step(self.protocol.throw, exc)
            else:
                self._step(self.protocol.send, answer)
        return self.outcome.result()

    def _step(self, step: Callable[[Any], Operation[Any]], argument: Any) -> None:
        self.operation, self.asked = None, []
        try:
            operation = self.operation = step(argument)
            members = operation.operations if isinstance(operation, Together) else (operation,)
            self.asked = [_Asked(each) for each in members]
        except StopIteration as end:
            self.outcome = Outcome(end.value)
        except Exception as exc:  # noqa: BLE001  # handed to the caller as this one's outcome
            self.outcome = Outcome(error=exc)


@dataclass(eq=False, slots=True)
class _Job:
    """Requests that go out as one."""

    asked: list[_Asked] = field(default_factory=list[_Asked])
    rows: set[bytes] = field(default_factory=set[bytes])

    def do(self, execute: Callable[[Operation[Any]], Any]) -> None:
        """Send it and note how each request ended."""
        operations = [each.operation for each in self.asked]
        outcomes = _sent_as_one(operations, execute)
        for each, outcome in zip(self.asked, outcomes, strict=True):
            each.outcome = outcome


def _sent_as_one(
    operations: Sequence[Operation[Any]], execute: Callable[[Operation[Any]], Any]
) -> list[Outcome[Any]]:
    if len(operations) > 1:
        try:
            return _split(operations, execute(_joined(operations)))
        except RejectedError:
            pass  # by one of them: which one is told by sending each
        except GatewayError as error:
            return [Outcome(error=error) for _ in operations]
    return [_tried(execute, operation) for operation in operations]


def _tried(execute: Callable[[Operation[Any]], Any], operation: Operation[Any]) -> Outcome[Any]:
    try:
        return Outcome(execute(operation))
    except Exception as exc:  # noqa: BLE001  # the protocol decides, whatever it is
        return Outcome(error=exc)


def _jobs(asked: Iterable[_Asked]) -> list[_Job]:
    """Put together what may go out as one request; of one row there is one request in each."""
    jobs: list[_Job] = []
    open_jobs: dict[Any, _Job] = {}
    for each in asked:
        kind = _kind(each.operation)
        rows = set(_rows(each.operation))
        job = open_jobs.get(kind) if kind is not None else None
        if job is None or rows & job.rows or len(rows) + len(job.rows) > GROUP_ROWS:
            job = _Job()
            jobs.append(job)
            if kind is not None:
                open_jobs[kind] = job
        job.asked.append(each)
        job.rows |= rows
    return jobs


def _kind(operation: Operation[Any]) -> Any:
    """Return what requests have in common that may go out as one; None for one that goes alone."""
    if isinstance(operation, GetRows):
        return GetRows, operation.table, operation.columns, operation.before_ms, operation.from_ms
    if isinstance(operation, MutateRows) and is_repeatable(operation):
        return MutateRows, operation.table
    return None


def _rows(operation: Operation[Any]) -> Iterator[bytes]:
    if isinstance(operation, GetRows):
        yield from operation.keys
    elif isinstance(operation, MutateRows):
        yield from (each.row for each in operation.mutations)


def _joined(operations: Sequence[Operation[Any]]) -> Operation[Any]:
    first = operations[0]
    if isinstance(first, GetRows):
        keys = tuple(row for each in operations for row in _rows(each))
        return GetRows(first.table, keys, first.columns, first.before_ms, first.from_ms)
    assert isinstance(first, MutateRows)
    mutations: list[RowMutation] = []
    for each in operations:
        mutations += cast("MutateRows", each).mutations
    return MutateRows(first.table, tuple(mutations))


def _split(operations: Sequence[Operation[Any]], answer: Any) -> list[Outcome[Any]]:
    """Return the part of an answer that each request gets."""
    if not isinstance(operations[0], GetRows):
        return [Outcome(answer) for _ in operations]
    found = iter(answer)
    return [Outcome([next(found) for _ in _rows(each)]) for each in operations]
