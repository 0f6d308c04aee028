"""Protocols: generators of requests, the steps that run one, and requests that are repeated.

A protocol yields requests and is sent their answers; it knows neither threads nor time. Whatever
runs one, a driver or a test, takes it from request to request by `ProtocolRun`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

from hbase_orm.errors import ConnectionLostError, RetryableError, ScannerExpiredError
from hbase_orm.ops.operation import Operation, Protocol, SideBySide, Sleep, Together

R = TypeVar("R")
Q = TypeVar("Q")


def ask(operation: Operation[R]) -> Protocol[R]:
    """Yield one request and return its answer, typed.

    Used as `rows = yield from ask(GetRows(...))`.
    """
    return cast("R", (yield operation))


def ask_all(operations: Sequence[Operation[R]]) -> Protocol[tuple[R, ...]]:
    """Yield independent requests at once and return their answers in order."""
    return cast("tuple[R, ...]", (yield Together(tuple(operations))))


def run_all(protocols: Iterable[Protocol[R]]) -> Protocol[list[R]]:
    """Yield independent protocols at once and return what each returned, in order."""
    return cast("list[R]", (yield SideBySide(tuple(protocols))))


def _no_jitter() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is sent, after which errors, and how long the pauses are.

    Attributes:
        attempts: How often it is sent at most; 1 means never again.
        first_pause_s: The pause after the first failure.
        longest_pause_s: No pause is longer.
        factor: Each pause is so many times the one before; None makes the second one twice as
            long as the first, the third one three times, and so on.
        jitter: Returns a number from 0 to 1 for each pause, which is cut by up to half, so that
            clients that failed together do not return together.
        errors: After these the request is sent again; any other is raised at once.
    """

    attempts: int
    first_pause_s: float
    longest_pause_s: float = 5.0
    factor: float | None = 2.0
    jitter: Callable[[], float] = _no_jitter
    errors: tuple[type[Exception], ...] = (RetryableError, ConnectionLostError)

    def for_scans(self) -> RetryPolicy:
        """Return the same policy for scans, which are opened again when their scanner expires."""
        return replace(self, errors=(*self.errors, ScannerExpiredError))

    def pause_s(self, failures: int) -> float:
        """Return how long to wait after so many failures, 1 or more."""
        growth = failures if self.factor is None else self.factor ** (failures - 1)
        longest_s = min(self.first_pause_s * growth, self.longest_pause_s)
        return longest_s * (1 - self.jitter() / 2)

    def pause(self, failures: int) -> Protocol[None]:
        """Wait as long as it should be after so many failures, 1 or more."""
        yield Sleep(self.pause_s(failures))


def ask_with_retry(operation: Operation[R], policy: RetryPolicy) -> Protocol[R]:
    """Make a request and return its answer; after an error of the policy, pause and repeat it.

    The caller sees to it that a request which was applied, and whose answer was lost, may be sent
    again.
    """
    return retry(partial(ask, operation), policy)


def ask_all_with_retry(
    operations: Sequence[Operation[None]], policy: RetryPolicy
) -> Protocol[None]:
    """Make independent requests at once, and all again after an error of the policy."""
    if len(operations) == 1:
        yield from ask_with_retry(operations[0], policy)
    elif operations:
        yield from ask_with_retry(Together(tuple(operations)), policy)


def retry(begin: Callable[[], Protocol[R]], policy: RetryPolicy) -> Protocol[R]:
    """Return what a protocol returns; after an error of the policy, pause and begin it again."""
    failures = 0
    while True:
        try:
            return (yield from begin())
        except policy.errors:
            failures += 1
            if failures >= policy.attempts:
                raise
        yield from policy.pause(failures)


class ProtocolRun(Generic[Q, R]):
    """A protocol that is taken from request to request.

    What the protocol raises is raised by the step that made it raise.

    Attributes:
        request: What it asks now; None before it has begun and after it has ended.
    """

    __slots__ = ("_protocol", "_result", "request")

    def __init__(self, protocol: Generator[Q, Any, R]) -> None:
        """Prepare to run `protocol`; nothing of it runs yet."""
        self.request: Q | None = None
        self._protocol = protocol
        self._result: R | None = None

    @property
    def result(self) -> R:
        """What it returned; meaningful once it has ended."""
        return cast("R", self._result)

    def begin(self) -> None:
        """Take it to its first request."""
        self.send(None)

    def send(self, answer: Any) -> None:
        """Give it the answer to its request, which takes it to the next one."""
        self.request = None
        try:
            self.request = self._protocol.send(answer)
        except StopIteration as end:
            self._result = end.value

    def throw(self, error: Exception) -> None:
        """Raise an error at its request: it goes on to another one, or lets the error out."""
        self.request = None
        try:
            self.request = self._protocol.throw(error)
        except StopIteration as end:
            self._result = end.value

    def answer_by(self, execute: Callable[[Q], Any]) -> None:
        """Give it what `execute` returns for its request, or throw in what that raises."""
        request: Any = self.request
        try:
            answer = execute(request)
        except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
            self.throw(error)
        else:
            self.send(answer)

    def pass_on(self) -> Generator[Q, Any, None]:
        """Make its request in its place, and give it the answer or the error."""
        request: Any = self.request
        try:
            answer = yield request
        except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
            self.throw(error)
        else:
            self.send(answer)

    def rest(self) -> Generator[Q, Any, R]:
        """Return a protocol that makes its request and all that follow, and returns its result."""
        while self.request is not None:
            yield from self.pass_on()
        return self.result

    def close(self) -> None:
        """End it where it is; a protocol that has ended stays as it is."""
        self._protocol.close()


def run_protocol(protocol: Generator[Q, Any, R], execute: Callable[[Q], Any]) -> R:
    """Run a protocol to its end, each request by `execute`, and return its result.

    What `execute` raises is thrown into the protocol; what the protocol lets out is raised here.
    The protocol is closed in any case.
    """
    try:
        request = protocol.send(None)
        while True:  # without a `ProtocolRun`: every request of an application comes by here
            try:
                answer = execute(request)
            except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
                request = protocol.throw(error)
            else:
                request = protocol.send(answer)
    except StopIteration as end:
        result: R = end.value
        return result
    finally:
        protocol.close()
