"""What the rows of a plan are made of: requests, work side by side, and rows that are ready."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast

from hbase_orm import ops
from hbase_orm.errors import GatewayError, HBaseORMError
from hbase_orm.execute.closing import is_dropped
from hbase_orm.ops import CloseScanner, OpenScanner, Operation, Row, ScannerId

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
"""Sees entries that are stale or not verified."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Protocols that do not need each other; the answer has what each returned, in order.

    If some fail, the first failure by position is raised once those that had begun have ended.
    """

    protocols: tuple[ops.Protocol[Any], ...]


Step = Operation[Any] | SideBySide | Emit
Rows = Generator[Step, Any, None]
Execute = Callable[[Operation[Any]], Any]
"""Answers one request; called from several threads if `Each` uses several."""


class Each(Protocol):
    """Does the same work on several items, at once if it can."""

    def __call__(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        """Return the results in order; or raise the first failure once what had begun has ended."""
        ...


def in_turn(work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
    """Do the work on each item, one after the other."""
    return [work(item) for item in items]


def stream(
    rows: Rows, execute: Execute, each: Each = in_turn, note: Note | None = None
) -> Generator[Sequence[Row], None, None]:
    """Drive `rows` with `execute` and yield what it emits.

    Ends when everything was read. A failed request is thrown into the generator, which resumes or
    lets the error through. Close the iterator by `close_now` to release open scanners early; one
    that the garbage collector ends sends nothing.

    Args:
        rows: What to drive.
        execute: Answers a request.
        each: Runs protocols side by side, from several threads if it likes.
        note: Is told of doubtful entries, before the rows beside them are yielded.
    """
    scanners = _Scanners(execute)
    is_left = False
    try:
        step = next(rows, None)
        while step is not None:
            if isinstance(step, Emit):
                if step.doubtful and note is not None:
                    note(step.doubtful)
                yield step.rows
                step = advance(rows, None)
                continue
            try:
                answer = scanners.answer(step, each)
            except HBaseORMError as error:
                step = throw(rows, error)
                continue
            step = advance(rows, answer)
    except GeneratorExit as error:
        is_left = is_dropped(error)
        raise
    finally:
        rows.close()
        if not is_left:
            scanners.close(each)


class _Scanners:
    """Executes requests and knows which scanners are open."""

    def __init__(self, execute: Execute) -> None:
        self._execute = execute
        self._open: set[ScannerId] = set()

    def answer(self, step: Operation[Any] | SideBySide, each: Each) -> Any:
        if isinstance(step, SideBySide):
            return each(partial(_run, execute=self.execute), step.protocols)
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


def _run(protocol: ops.Protocol[R], *, execute: Execute) -> R:
    """Run one protocol to its end and return its result."""
    try:
        step = next(protocol)
        while True:
            try:
                answer = execute(step)
            except HBaseORMError as error:
                step = protocol.throw(error)
            else:
                step = protocol.send(answer)
    except StopIteration as end:
        return cast("R", end.value)
    finally:
        protocol.close()


def through(rows: Rows, answer: Callable[[Sequence[Row]], Rows]) -> Rows:
    """Pass on what `rows` asks, and in place of the rows it emits what `answer` makes of them."""
    try:
        step = next(rows, None)
        while step is not None:
            if isinstance(step, Emit):
                yield from answer(step.rows)
                step = advance(rows, None)
                continue
            try:
                got = yield step
            except HBaseORMError as error:
                step = throw(rows, error)
            else:
                step = advance(rows, got)
    finally:
        rows.close()


def advance(rows: Rows, answer: Any) -> Step | None:
    """Send an answer; return the next step, or None at the end."""
    try:
        return rows.send(answer)
    except StopIteration:
        return None


def throw(rows: Rows, error: HBaseORMError) -> Step | None:
    """Throw an error in; return the next step, or None at the end."""
    try:
        return rows.throw(error)
    except StopIteration:
        return None
