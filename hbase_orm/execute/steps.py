"""The steps of a read, which are requests and emitted rows, and the closing of reads.

A read is closed by the program or by the garbage collector. Both raise GeneratorExit in the read's
generator. But the garbage collector may run inside any request, on a thread that is using a
connection. So a read that the garbage collector closes must neither send requests nor wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast
from weakref import ref

from hbase_orm.errors import GatewayError
from hbase_orm.ops import (
    CloseScanner,
    OpenScanner,
    Operation,
    ProtocolRun,
    Row,
    ScannerId,
    SideBySide,
    Together,
    run_protocol,
)

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DoubtfulEntry:
    """An index entry that is stale or not verified.

    Attributes:
        index: The index's name.
        key: The entry's key.
        timestamp_ms: The entry's timestamp.
        base_key: The key of the entry's row.
        is_stale: Whether the row does not exist or no longer has the entry. If false, the row has
            the entry, but the entry is not verified.
    """

    index: str
    key: bytes
    timestamp_ms: int
    base_key: bytes
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Emit:
    """A step that emits rows, in order. It is not a request and gets no answer.

    Attributes:
        rows: The rows.
        doubtful: The stale and unverified entries that were read before these rows.
    """

    rows: Sequence[Row]
    doubtful: tuple[DoubtfulEntry, ...] = ()


Note = Callable[[Sequence[DoubtfulEntry]], None]
"""A function that is called with the stale and unverified entries that a read meets."""


Step = Operation[Any] | Emit
Rows = Generator[Step, Any, None]
Reading = Generator[Step, Any, T]
"""A generator that yields the requests of a read, emits its rows, and then returns a result."""
Execute = Callable[[Operation[Any]], Any]
"""A function that executes one request and returns its answer; `Each` may call it in threads."""


class Each(Protocol):
    """A function that does the same work on several items, in parallel if possible."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        """Return the results in order; raise the first error after all started work has ended."""
        ...


def in_turn(work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
    """Do the work on each item, one after another."""
    return [work(item) for item in items]


def stream(
    rows: Reading[T],
    execute: Execute,
    each: Each = in_turn,
    after: Callable[[], object] | None = None,
) -> Generator[Sequence[Any], None, T]:
    """Run the generator `rows` with `execute`, and yield the rows that it emits.

    The iterator ends when everything is read. The error of a request is raised inside the
    generator, which continues or fails. Close the iterator by `close_now` to release open scanners
    early. If the garbage collector ends the iterator, nothing is sent, and open scanners expire.

    Args:
        rows: The generator of requests and emissions.
        execute: A function that executes a request.
        each: A function that runs protocols, perhaps in several threads.
        after: A function that is called after the scanners are closed, also if the read failed or
            was closed early. It is not called if the garbage collector ends the iterator.
    """
    scanners = _Scanners(execute)
    answer = partial(scanners.answer, each=each)
    run = ProtocolRun(rows)
    is_left = False
    try:
        run.begin()
        while (step := run.request) is not None:
            if not isinstance(step, Emit):
                run.answer_by(cast("Callable[[Step], Any]", answer))
                continue
            yield step.rows
            run.send(None)
    except GeneratorExit as error:
        is_left = is_dropped(error)
        raise
    else:
        return run.result
    finally:
        try:
            run.close()
            if not is_left:
                scanners.close(each)
        finally:
            if after is not None and not is_left:
                after()


class _Scanners:
    """Executes requests and records which scanners are open."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._open: set[ScannerId] = set()

    def answer(self, step: Operation[Any], each: Each) -> Any:
        if isinstance(step, SideBySide):
            return each(partial(run_protocol, execute=self.execute), step.protocols)
        if isinstance(step, Together):
            return tuple(each(self.execute, step.operations))
        return self.execute(step)

    def execute(self, operation: Operation[Any]) -> Any:
        if isinstance(operation, CloseScanner):
            self._open.discard(operation.scanner)  # a close that fails is not repeated
        answer = self._execute(operation)
        if isinstance(operation, OpenScanner):
            self._open.add(answer)
        return answer

    def close(self, each: Each) -> None:
        each(self._close, tuple(self._open))

    def _close(self, scanner: ScannerId) -> None:
        try:
            self._execute(CloseScanner(scanner))
        except GatewayError:
            return  # the server closes the scanner after its lease


def through(rows: Rows, answer: Callable[[Emit], Rows]) -> Rows:
    """Yield the requests of `rows`, and replace each emission by the steps of `answer`."""
    run = ProtocolRun(rows)
    try:
        run.begin()
        while (step := run.request) is not None:
            if isinstance(step, Emit):
                yield from answer(step)
                run.send(None)
            else:
                yield from run.pass_on()
    finally:
        run.close()


class Pages:
    """Runs a read inside another protocol, which gets the emitted rows page by page.

    The outer protocol yields the requests of the read, and must call `close` at the end.
    """

    def __init__(self, rows: Rows) -> None:
        """Prepare to read, without starting the generator `rows`."""
        self._reading = ProtocolRun(rows)
        self._has_begun = False

    def next(self) -> Generator[Step, Any, Sequence[Any] | None]:
        """Return the rows of the next emission; None at the end of the read."""
        run = self._reading
        if self._has_begun:
            run.send(None)
        else:
            self._has_begun = True
            run.begin()
        while (step := run.request) is not None:
            if isinstance(step, Emit):
                return step.rows
            yield from run.pass_on()
        return None

    def close(self) -> None:
        """End the read; open scanners are closed by the function that drives the outer protocol."""
        self._reading.close()


class _Scope:
    """A mark that exists while `close_now` is closing a read in this thread."""


class _Closing(threading.local):
    scope: ref[_Scope] | None = None


_closing = _Closing()


def close_now(reading: Generator[Any, Any, Any]) -> None:
    """Close a read, and send the requests that close its scanners on the server."""
    before, scope = _closing.scope, _Scope()
    _closing.scope = ref(scope)
    try:
        reading.close()
    finally:
        _closing.scope = before


def is_dropped(error: BaseException | None) -> bool:
    """Return whether `error` means that the garbage collector is ending a read.

    That is a GeneratorExit in a thread that is not running `close_now`.
    """
    scope = _closing.scope
    return isinstance(error, GeneratorExit) and (scope is None or scope() is None)
