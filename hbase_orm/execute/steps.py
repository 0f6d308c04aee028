"""The steps of a read: requests and emitted rows; and how a read is closed.

A read is closed by somebody, or by the garbage collector. Both end a generator in the same way. But
the collector may run inside any request, on a thread that has a connection at that moment: what it
ends must neither send anything nor wait for anything.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
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
        base_key: The row that it names.
        is_stale: Whether its row is gone, or does not have it any more; else the row has it, and
            what it repeats could not be believed.
    """

    index: str
    key: bytes
    timestamp_ms: int
    base_key: bytes
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Emit:
    """Rows that are ready, in order. Not a request: nothing answers it.

    Attributes:
        rows: The rows.
        doubtful: Entries on the way to them that no row has, or that had to be looked up.
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
    """Does the same work on several items, in parallel if possible."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        """Return the results in order; raise the first failure after all begun work has ended."""
        ...


def in_turn(work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
    """Do the work on each item, one after the other."""
    return [work(item) for item in items]


def stream(
    rows: Reading[T],
    execute: Execute,
    each: Each = in_turn,
    note: Note | None = None,
    after: Callable[[], object] | None = None,
) -> Generator[Sequence[Any], None, T]:
    """Drive `rows` with `execute` and yield what it emits.

    Ends when everything was read. A failed request is thrown into the generator, which resumes or
    lets the error through. Close the iterator by `close_now` to release open scanners early; one
    that the garbage collector ends sends nothing.

    Args:
        rows: What to drive.
        execute: Answers a request.
        each: Runs protocols side by side, from several threads if it likes.
        note: Called with doubtful entries, before the rows emitted with them are yielded.
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
            if step.doubtful and note is not None:
                note(step.doubtful)
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
    """Executes requests and knows which scanners are open."""

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
    """Make the requests of `rows`, and replace each emission by the steps of `answer`."""
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
    """Marks, while it lives, that this thread is closing a read."""


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
    """Return whether `error` shows that the garbage collector is ending a read."""
    scope = _closing.scope
    return isinstance(error, GeneratorExit) and (scope is None or scope() is None)


class released:  # noqa: N801  # used as contextlib.closing is
    """Close a read at the end of a `with` block; send nothing if the collector ends the block."""

    def __init__(self, reading: Generator[Any, Any, Any]) -> None:
        """Close `reading` later."""
        self._reading = reading

    def __enter__(self) -> Generator[Any, Any, Any]:
        """Return the read."""
        return self._reading

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close it."""
        if is_dropped(error):
            self._reading.close()
        else:
            close_now(self._reading)
