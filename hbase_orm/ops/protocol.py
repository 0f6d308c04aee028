"""Functions that make requests in a protocol, repeat failed requests, and run protocols.

A protocol is a generator that yields requests and receives their answers. It does not depend on
threads or clocks. `run_protocol` runs a protocol to its end. `ProtocolRun` runs it step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

from hbase_orm.errors import ConnectionLostError, RetryableError, ScannerExpiredError
from hbase_orm.ops.operation import (
    Operation,
    Protocol,
    RenewTimeLimit,
    SideBySide,
    Sleep,
    Together,
)

R = TypeVar("R")
Q = TypeVar("Q")


def ask(operation: Operation[R]) -> Protocol[R]:
    """Yield one request and return its answer, with the right type.

    Used as `rows = yield from ask(GetRows(...))`.
    """
    return cast("R", (yield operation))


def ask_all(operations: Sequence[Operation[R]]) -> Protocol[tuple[R, ...]]:
    """Yield independent requests as one `Together`; return their answers in order."""
    return cast("tuple[R, ...]", (yield Together(tuple(operations))))


def run_all(protocols: Iterable[Protocol[R]]) -> Protocol[list[R]]:
    """Yield independent protocols as one `SideBySide`; return their results in order."""
    return cast("list[R]", (yield SideBySide(tuple(protocols))))


def offline_result(protocol: Protocol[R]) -> R | None:
    """Run a protocol up to its first request; return its result if it ends without a request.

    If it makes a request, it is closed there and None is returned, so it must have no effects
    before that. An error that it raises before its first request is raised here. So bad arguments
    are reported before anything is sent. `RenewTimeLimit` does not count as a request.
    """
    try:
        request = next(protocol)
        while isinstance(request, RenewTimeLimit):
            request = protocol.send(None)
    except StopIteration as stop:
        return cast("R", stop.value)
    protocol.close()
    return None


def _no_jitter() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after which errors a request is repeated, and the pauses before repetitions.

    Attributes:
        attempts: The largest number of attempts; 1 means that a request is never repeated.
        first_pause_s: The pause after the first failure.
        longest_pause_s: The longest pause.
        factor: Each pause is this factor times the previous pause. If it is None, each pause is the
            previous pause plus `first_pause_s`.
        jitter: A function that returns a number from 0 (keep the whole pause) to 1 (halve it).
            With random numbers, clients that failed together do not repeat together.
        errors: The errors after which the request is repeated; other errors are raised immediately.
    """

    attempts: int
    first_pause_s: float
    longest_pause_s: float = 5.0
    factor: float | None = 2.0
    jitter: Callable[[], float] = _no_jitter
    errors: tuple[type[Exception], ...] = (RetryableError, ConnectionLostError)

    def for_scans(self) -> RetryPolicy:
        """Return a copy of this policy for scans: an expired scanner is also a reason to repeat."""
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
    """Make a request and return its answer; after an error that `policy` lists, repeat it.

    There is a pause before each repetition. The error of the last attempt is raised. The caller
    must make sure that the request may be sent twice: it may have been applied although its answer
    was lost.
    """
    return retry(partial(ask, operation), policy)


def ask_all_with_retry(
    operations: Sequence[Operation[None]], policy: RetryPolicy
) -> Protocol[None]:
    """Make independent requests together; after an error that `policy` lists, repeat all of them.

    There is a pause before each repetition. The error of the last attempt is raised.
    """
    if len(operations) == 1:
        yield from ask_with_retry(operations[0], policy)
    elif operations:
        yield from ask_with_retry(Together(tuple(operations)), policy)


def retry(begin: Callable[[], Protocol[R]], policy: RetryPolicy) -> Protocol[R]:
    """Run a protocol and return its result; after an error that `policy` lists, start it again.

    There is a pause before each new attempt. The error of the last attempt is raised.

    Args:
        begin: A function that returns the protocol for one attempt.
        policy: The number of attempts, the errors after which there is another one, and the pauses.
    """
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

    def pass_on(self, convert: Callable[[Any], Any] | None = None) -> Generator[Q, Any, None]:
        """Yield the present request, and send the answer or the error to the protocol of this run.

        Another protocol does `yield from run.pass_on()`, so that its own driver executes the
        requests of both protocols.

        Args:
            convert: A function that takes the driver's answer and returns the answer to send. With
                None, the driver's answer is sent unchanged.
        """
        request: Any = self.request
        try:
            answer = yield request
        except Exception as error:  # noqa: BLE001  # the protocol decides, whatever it is
            self.throw(error)
        else:
            self.send(answer if convert is None else convert(answer))

    def rest(self) -> Generator[Q, Any, R]:
        """Return a protocol that continues this one from the present request to the same result."""
        while self.request is not None:
            yield from self.pass_on()
        return self.result

    def close(self) -> None:
        """Close the protocol, unless it has ended."""
        self._protocol.close()


def run_protocol(protocol: Generator[Q, Any, R], execute: Callable[[Q], Any]) -> R:
    """Run a protocol to its end, and return its result; `execute` answers each request.

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
