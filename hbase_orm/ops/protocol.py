"""Protocols: generators of requests, the class that runs them, and repeated requests.

A protocol yields requests and receives their answers; it does not depend on threads or clocks.
Drivers and tests run protocols step by step with `ProtocolRun`.
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
    """Yield one request and return its answer, with the right type.

    Used as `rows = yield from ask(GetRows(...))`.
    """
    return cast("R", (yield operation))


def ask_all(operations: Sequence[Operation[R]]) -> Protocol[tuple[R, ...]]:
    """Yield independent requests at once and return their answers in order."""
    return cast("tuple[R, ...]", (yield Together(tuple(operations))))


def run_all(protocols: Iterable[Protocol[R]]) -> Protocol[list[R]]:
    """Yield independent protocols at once and return their results in order."""
    return cast("list[R]", (yield SideBySide(tuple(protocols))))


def _no_jitter() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts of a request, the errors after which it is repeated, and the pauses.

    Attributes:
        attempts: The largest number of attempts; 1 means that a request is never repeated.
        first_pause_s: The pause after the first failure.
        longest_pause_s: The longest pause.
        factor: Each pause is the one before times this factor; with None the pauses increase by the
            first pause each time.
        jitter: A function that returns a number from 0 to 1; each pause is shortened at random by
            up to a half, so that clients that failed together do not repeat together.
        errors: The errors after which the request is repeated; other errors are raised at once.
    """

    attempts: int
    first_pause_s: float
    longest_pause_s: float = 5.0
    factor: float | None = 2.0
    jitter: Callable[[], float] = _no_jitter
    errors: tuple[type[Exception], ...] = (RetryableError, ConnectionLostError)

    def for_scans(self) -> RetryPolicy:
        """Return the policy for scans, which also repeats after an expired scanner."""
        return replace(self, errors=(*self.errors, ScannerExpiredError))

    def pause_s(self, failures: int) -> float:
        """Return the pause after a number of failures, 1 or more, in seconds."""
        growth = failures if self.factor is None else self.factor ** (failures - 1)
        longest_s = min(self.first_pause_s * growth, self.longest_pause_s)
        return longest_s * (1 - self.jitter() / 2)

    def pause(self, failures: int) -> Protocol[None]:
        """Wait for the pause after a number of failures, 1 or more."""
        yield Sleep(self.pause_s(failures))


def ask_with_retry(operation: Operation[R], policy: RetryPolicy) -> Protocol[R]:
    """Make a request and return its answer; after an error of the policy, pause and repeat it.

    The caller must make sure that the request may be sent twice, because it may have been applied
    without an answer.
    """
    return retry(partial(ask, operation), policy)


def ask_all_with_retry(
    operations: Sequence[Operation[None]], policy: RetryPolicy
) -> Protocol[None]:
    """Make independent requests at once; after an error of the policy repeat all of them."""
    if len(operations) == 1:
        yield from ask_with_retry(operations[0], policy)
    elif operations:
        yield from ask_with_retry(Together(tuple(operations)), policy)


def retry(begin: Callable[[], Protocol[R]], policy: RetryPolicy) -> Protocol[R]:
    """Run a protocol and return its result; after an error of the policy, start it again."""
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
    """A running protocol, which is advanced from request to request.

    An error of the protocol is raised by the method that advances it.

    Attributes:
        request: The present request; None before the start and after the end.
    """

    __slots__ = ("_protocol", "_result", "request")

    def __init__(self, protocol: Generator[Q, Any, R]) -> None:
        """Prepare to run `protocol`, without starting it."""
        self.request: Q | None = None
        self._protocol = protocol
        self._result: R | None = None

    @property
    def result(self) -> R:
        """The result of the protocol, valid after its end."""
        return cast("R", self._result)

    def begin(self) -> None:
        """Start the protocol and advance it to its first request."""
        self.send(None)

    def send(self, answer: Any) -> None:
        """Send the answer to the protocol, and advance it to its next request."""
        self.request = None
        try:
            self.request = self._protocol.send(answer)
        except StopIteration as end:
            self._result = end.value

    def throw(self, error: Exception) -> None:
        """Raise an error inside the protocol, which continues with another request or fails."""
        self.request = None
        try:
            self.request = self._protocol.throw(error)
        except StopIteration as end:
            self._result = end.value

    def answer_by(self, execute: Callable[[Q], Any]) -> None:
        """Execute the present request by `execute`; send its answer or error to the protocol."""
        request: Any = self.request
        try:
            answer = execute(request)
        except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
            self.throw(error)
        else:
            self.send(answer)

    def pass_on(self) -> Generator[Q, Any, None]:
        """Yield the present request from the calling protocol, and send the answer or the error."""
        request: Any = self.request
        try:
            answer = yield request
        except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
            self.throw(error)
        else:
            self.send(answer)

    def rest(self) -> Generator[Q, Any, R]:
        """Return a protocol that continues with the present request, and returns the result."""
        while self.request is not None:
            yield from self.pass_on()
        return self.result

    def close(self) -> None:
        """Close the protocol, unless it has ended."""
        self._protocol.close()


def run_protocol(protocol: Generator[Q, Any, R], execute: Callable[[Q], Any]) -> R:
    """Run a protocol to its end, each request by `execute`, and return its result.

    An error of `execute` is raised inside the protocol; an error of the protocol is raised here.
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
