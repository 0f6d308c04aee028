"""Run many protocols in step, and send what they ask alike as one request.

Each protocol gets the answer to its own request and knows nothing of the others. What all ask at
one time goes out together: reads of rows, or of their versions, of one table as one multi-get,
writes of one table whose cells all have timestamps as one batch. Any other request goes alone, from
the thread that made the protocol ask for it and at once: what the protocol made sure of just
before, a lease say, holds.

A protocol that waits, or asks what is the driver's, is no longer in step: it goes on by itself when
the others have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from hbase_orm.errors import GatewayError, RejectedError
from hbase_orm.gateway.drive import Driver, Outcome
from hbase_orm.gateway.read_sizes import ReadSizes
from hbase_orm.gateway.retry import is_repeatable
from hbase_orm.ops import (
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    MutateRows,
    Operation,
    Protocol,
    RowMutation,
    Sleep,
    Together,
)

R = TypeVar("R")

IN_STEP: Final = 100
"""Protocols in step at once: as many rows as a multi-get reads in one call."""

GROUP_ROWS: Final = 500
"""Rows in one batch of writes; a protocol writes several where a row has several entries."""


GROUP_BYTES: Final = 2 * 1024 * 1024
"""Cells in one batch of writes, or expected in the answer to one multi-get.

As much as HBase's own client collects, hbase.client.write.buffer. What one protocol asks in one
request is not divided.
"""


def run_grouped(
    driver: Driver,
    protocols: Sequence[Protocol[R]],
    *,
    expected_bytes: Sequence[int] = (),
    alone: Collection[str] = (),
    sizes: ReadSizes | None = None,
) -> list[Outcome[R]]:
    """Run independent protocols in step and say of each how it ended, in their order.

    None stops the others by failing. What fails as a group because HBase refuses some of it is
    sent anew, request by request: reads, and writes that leave the same when repeated. So is what
    fails as a group for a reason that is none of HBase's.

    Args:
        driver: Sends the requests.
        protocols: What to run.
        expected_bytes: How much each protocol is expected to read at a time at least, if known.
        alone: Tables whose requests are never joined, because the next protocol to be asked can
            do without once one has its answer.
        sizes: What is known of how large rows are, kept for the next call.
    """
    sizes = sizes or ReadSizes()
    expected = list(expected_bytes) or [0] * len(protocols)
    runs = [_Run(*each) for each in zip(protocols, expected, strict=True)]
    outcomes: list[Outcome[R]] = []
    for start in range(0, len(runs), IN_STEP):
        some = runs[start : start + IN_STEP]
        try:
            outcomes += _run_in_step(driver, some, frozenset(alone), sizes)
        finally:
            for run in some:
                run.protocol.close()
    return outcomes


def _run_in_step(
    driver: Driver, runs: Sequence[_Run], alone: frozenset[str], sizes: ReadSizes
) -> list[Outcome[Any]]:
    patience = driver.patience()
    execute = patience.execute
    driver.each(lambda run: run.go_on(execute, alone), runs)
    while in_step := [run for run in runs if run.is_in_step]:
        jobs = _jobs((each for run in in_step for each in run.asked), sizes)
        driver.each(lambda job: job.do(execute, sizes), jobs)
        driver.each(lambda run: run.go_on(execute, alone), in_step)
    stragglers = [run for run in runs if run.outcome is None]
    ended = driver.run_many([run.rest() for run in stragglers], patience=patience)
    for run, outcome in zip(stragglers, ended, strict=True):
        run.outcome = outcome
    return [cast("Outcome[Any]", run.outcome) for run in runs]


@dataclass(eq=False, slots=True)
class _Asked:
    """One request of one protocol, how much that expects to read, and how it ended."""

    operation: Operation[Any]
    expected_bytes: int = 0
    outcome: Outcome[Any] = Outcome()  # noqa: RUF009  # frozen


class _Run:
    """A protocol on its way.

    Attributes:
        protocol: The protocol.
        expected_bytes: How much it is expected to read at a time.
        operation: What it asks; None once it has ended.
        asked: The requests in that.
        outcome: How it ended, or None.
    """

    def __init__(self, protocol: Protocol[Any], expected_bytes: int) -> None:
        self.protocol = protocol
        self.expected_bytes = expected_bytes
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

    def go_on(self, execute: Callable[[Operation[Any]], Any], alone: frozenset[str]) -> None:
        """Let it begin, or give it its answers; send what it then asks alone, and so on."""
        self._answer()
        while self.operation is not None and _goes_alone(self.operation, alone):
            self.asked[0].outcome = _tried(execute, self.operation)
            self._answer()

    def _answer(self) -> None:
        """Give it the answers to what it asked; a failure is thrown into it."""
        if self.operation is None:
            self._step(next, self.protocol)
            return
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
            self.asked = [_Asked(each, self.expected_bytes) for each in members]
        except StopIteration as end:
            self.outcome = Outcome(end.value)
        except Exception as exc:  # noqa: BLE001  # handed to the caller as this one's outcome
            self.outcome = Outcome(error=exc)


@dataclass(eq=False, slots=True)
class _Job:
    """Requests that go out as one."""

    asked: list[_Asked] = field(default_factory=list[_Asked])
    rows: set[bytes] = field(default_factory=set[bytes])
    size_bytes: int = 0

    def has_room(self, rows: set[bytes], size_bytes: int) -> bool:
        """Say whether a request of these rows, none of which may be here already, fits in."""
        return (
            not rows & self.rows
            and len(rows) + len(self.rows) <= GROUP_ROWS
            and size_bytes + self.size_bytes <= GROUP_BYTES
        )

    def add(self, asked: _Asked, rows: set[bytes], size_bytes: int) -> None:
        """Take one more request in."""
        self.asked.append(asked)
        self.rows |= rows
        self.size_bytes += size_bytes

    def do(self, execute: Callable[[Operation[Any]], Any], sizes: ReadSizes) -> None:
        """Send it and note how each request ended."""
        operations = [each.operation for each in self.asked]
        outcomes = _sent_as_one(operations, execute)
        for each, outcome in zip(self.asked, outcomes, strict=True):
            each.outcome = outcome
        first = operations[0]
        if isinstance(first, GetRows):
            sizes.note(first, [row for each in outcomes for row in each.value or ()])


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
        except Exception as error:  # one of them does it: told by sending each
            outcomes = [_tried(execute, operation) for operation in operations]
            if not any(isinstance(each.error, type(error)) for each in outcomes):
                raise  # none of them does: it came from outside, as a time limit does
            return outcomes
    return [_tried(execute, operation) for operation in operations]


def _tried(execute: Callable[[Operation[Any]], Any], operation: Operation[Any]) -> Outcome[Any]:
    try:
        return Outcome(execute(operation))
    except Exception as exc:  # noqa: BLE001  # the protocol decides, whatever it is
        return Outcome(error=exc)


def _jobs(asked: Iterable[_Asked], sizes: ReadSizes) -> list[_Job]:
    """Put together what may go out as one request; of one row there is one request in each."""
    jobs: list[_Job] = []
    open_jobs: dict[Any, _Job] = {}
    for each in asked:
        kind = _kind(each.operation)
        rows, size_bytes = set(_rows(each.operation)), _size_bytes(each, sizes)
        job = open_jobs.get(kind) if kind is not None else None
        if job is None or not job.has_room(rows, size_bytes):
            job = _Job()
            jobs.append(job)
            if kind is not None:
                open_jobs[kind] = job
        job.add(each, rows, size_bytes)
    return jobs


def _size_bytes(asked: _Asked, sizes: ReadSizes) -> int:
    """Return how many bytes the cells of a request have, or those of its answer may have."""
    operation = asked.operation
    if isinstance(operation, GetRows):
        return max(asked.expected_bytes, sizes.expected_bytes(operation))
    if isinstance(operation, GetVersions):
        return asked.expected_bytes
    if isinstance(operation, MutateRows):
        return sum(
            len(each.row) + len(put.column) + len(put.value)
            for each in operation.mutations
            for put in each.puts
        )
    return 0


def _goes_alone(operation: Operation[Any], alone: frozenset[str]) -> bool:
    if isinstance(operation, Sleep | Together):
        return False
    is_apart = isinstance(operation, GetRows | MutateRows) and operation.table in alone
    return is_apart or _kind(operation) is None


def _kind(operation: Operation[Any]) -> Any:
    """Return what requests have in common that may go out as one; None for one that goes alone."""
    if isinstance(operation, GetRows):
        return GetRows, operation.table, operation.columns, operation.before_ms, operation.from_ms
    if isinstance(operation, GetVersions):
        asked = operation.columns, operation.max_versions, operation.raw
        return GetVersions, operation.table, *asked
    if isinstance(operation, MutateRows) and is_repeatable(operation):
        return MutateRows, operation.table
    return None


def _rows(operation: Operation[Any]) -> Iterator[bytes]:
    if isinstance(operation, GetRows):
        yield from operation.keys
    elif isinstance(operation, GetVersions):
        yield operation.key
    elif isinstance(operation, MutateRows):
        yield from (each.row for each in operation.mutations)


def _joined(operations: Sequence[Operation[Any]]) -> Operation[Any]:
    first = operations[0]
    if isinstance(first, GetRows):
        keys = tuple(row for each in operations for row in _rows(each))
        return GetRows(first.table, keys, first.columns, first.before_ms, first.from_ms)
    if isinstance(first, GetVersions):
        keys = tuple(row for each in operations for row in _rows(each))
        asked = first.columns, first.max_versions, first.raw
        return GetVersionsOfRows(first.table, keys, *asked)
    assert isinstance(first, MutateRows)
    mutations: list[RowMutation] = []
    for each in operations:
        mutations += cast("MutateRows", each).mutations
    return MutateRows(first.table, tuple(mutations))


def _split(operations: Sequence[Operation[Any]], answer: Any) -> list[Outcome[Any]]:
    """Return the part of an answer that each request gets."""
    if isinstance(operations[0], GetVersions):
        return [Outcome(versions) for versions in answer]
    if not isinstance(operations[0], GetRows):
        return [Outcome(answer) for _ in operations]
    found = iter(answer)
    return [Outcome([next(found) for _ in _rows(each)]) for each in operations]
