"""The steps of a read, which are requests and emitted rows, and the closing of reads.

A read is closed by the program or by the garbage collector, which end a generator in the same way.
But the collector may run inside any request, on a thread that is using a connection: so a read that
it ends must neither send nor wait for anything.
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
        is_stale: Whether the row does not exist or no longer has the entry; otherwise the row has
            it, but the entry was not verified.
    """

    index: str
    key: bytes
    timestamp_ms: int
    base_key: bytes
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Emit:
    """Rows that are ready, in order. It is not a request and has no answer.

    Attributes:
        rows: The rows.
        doubtful: The stale and unverified entries that were read before these rows.
    """

    rows: Sequence[Row]
    doubtful: tuple[DoubtfulEntry, ...] = ()


Note = Callable[[Sequence[DoubtfulEntry]], None]
"""Called with entries that are stale or not verified."""


Step = Operation[Any] | Emit
Rows = Generator[Step, Any, None]
Reading = Generator[Step, Any, T]
"""Makes the requests of a read and emits what it reads; at its end it returns something."""
Execute = Callable[[Operation[Any]], Any]
"""Answers one request; called from several threads if `Each` uses several."""


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
    early; if the garbage collector ends it, nothing is sent.

    Args:
        rows: The generator of requests and emissions.
        execute: A function that executes a request.
        each: A function that runs protocols, perhaps in several threads.
        after: Called once the scanners are closed, however the read ended; not if the garbage
            collector ends it.
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
            self._open.discard(operation.scanner)  # it is closed once, even if that fails
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
            return  # its lease releases it


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
    """What a read emits, page by page, for a protocol that makes its requests; close it."""

    def __init__(self, rows: Rows) -> None:
        """Prepare to read; nothing of it runs yet."""
        self._reading = ProtocolRun(rows)
        self._has_begun = False

    def next(self) -> Generator[Step, Any, Sequence[Any] | None]:
        """Return the next page; None at the end."""
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
        """End the read where it is; its scanners are left to whoever drives it."""
        self._reading.close()


class _Scope:
    """A context in which this thread is closing a read."""


class _Closing(threading.local):
    scope: ref[_Scope] | None = None


_closing = _Closing()


def close_now(reading: Generator[Any, Any, Any]) -> None:
    """Close a read and release its scanners on the server; it may send requests."""
    before, scope = _closing.scope, _Scope()
    _closing.scope = ref(scope)
    try:
        reading.close()
    finally:
        _closing.scope = before


def is_dropped(error: BaseException | None) -> bool:
    """Return whether `error` means that the garbage collector is ending a read."""
    scope = _closing.scope
    return isinstance(error, GeneratorExit) and (scope is None or scope() is None)
