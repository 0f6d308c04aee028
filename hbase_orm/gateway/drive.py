"""The blocking driver: runs protocols on a gateway, request by request.

A protocol is a generator of requests (`hbase_orm.ops.Protocol`), independent of threads and clocks.
`Driver` executes these requests: it sends the requests of a `Together` in parallel, runs the
protocols of a `SideBySide`, and sleeps for a `Sleep`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from hbase_orm.errors import ConfigurationError, ConnectionLostError, RetryableError
from hbase_orm.gateway.base import Gateway, execute_within
from hbase_orm.gateway.helper_threads import SharedWork, Team
from hbase_orm.ops import (
    FetchRows,
    Nested,
    Operation,
    Protocol,
    RenewTimeLimit,
    SideBySide,
    Sleep,
    Together,
    run_protocol,
)

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProtocolResult(Generic[R]):
    """The result or the error of one protocol, or of one call, among several.

    Attributes:
        value: The result; None after an error.
        error: The error; None after a success.
    """

    value: R | None = None
    error: Exception | None = None

    def result(self) -> R:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return cast("R", self.value)


def result_of(protocol: Protocol[R]) -> Protocol[ProtocolResult[R]]:
    """Run a protocol, and return its result or its error; the error is not raised."""
    try:
        return ProtocolResult((yield from protocol))
    except Exception as exc:  # noqa: BLE001  # handed to the caller as this one's outcome
        return ProtocolResult(error=exc)


def result_of_call(call: Callable[..., R], /, *arguments: Any) -> ProtocolResult[R]:
    """Call a function, and return its result or its error; the error is not raised."""
    try:
        return ProtocolResult(call(*arguments))
    except Exception as exc:  # noqa: BLE001  # handed to the caller as this one's outcome
        return ProtocolResult(error=exc)


class Patience:
    """Limits the time for which an operation of many requests waits for a silent gateway.

    An operation may repeat requests, read back the outcome of a write, or resume a scan. If the
    gateway is silent, each of these requests would wait for the whole timeout again. So a single
    time limit, of the length of the timeout, begins with the first request that is not answered.
    All following requests share the rest of this time. An answer ends the time limit.
    """

    def __init__(self, gateway: Gateway, clock: Callable[[], float] = time.monotonic) -> None:
        """Send requests through `gateway`.

        The gateway's `timeout_s` is the time limit. If it has no such attribute, there is no limit.
        """
        self._gateway = gateway
        self._clock = clock
        self._timeout_s: float | None = getattr(gateway, "timeout_s", None)
        self._silent_since: float | None = None

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer; several threads may do so in parallel.

        Raises:
            RetryableError: Earlier requests without an answer have used up the time limit. This
                request was not sent.
        """
        timeout_s = self._timeout_s
        if timeout_s is None:
            return self._gateway.execute(operation)
        begun = self._clock()
        left_s = self._left_s(timeout_s, begun)
        if left_s <= 0:
            raise RetryableError(
                "the request was not sent: the gateway has not answered earlier requests in time",
                timeout_s=timeout_s,
                fix="check that the gateway is running, or raise timeout_s= in the URL",
            )
        if isinstance(operation, FetchRows):
            left_s *= operation.share
        try:
            answer = execute_within(self._gateway, operation, left_s)
        except (RetryableError, ConnectionLostError):
            if self._silent_since is None:
                self._silent_since = begun
            raise
        self._silent_since = None
        return answer

    def renew(self) -> None:
        """Start the time limit again for the following requests."""
        self._silent_since = None

    def pause_s(self, seconds: float) -> float:
        """Return the pause before the next request: `seconds`, or the remaining time if shorter."""
        if self._timeout_s is None or self._silent_since is None:
            return seconds
        return max(0.0, min(seconds, self._left_s(self._timeout_s, self._clock())))

    def _left_s(self, timeout_s: float, now: float) -> float:
        since = self._silent_since
        return timeout_s if since is None else since + timeout_s - now


class Driver:
    """Runs protocols on one gateway; several threads may use one driver.

    Attributes:
        gateway: The gateway that executes the requests; the driver does not close it.
        parallel: The largest number of parallel requests for one caller. A number above the pool's
            number of connections does not help, because the requests wait for connections.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        parallel: int = 1,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        run_group: RunGroup | None = None,
    ) -> None:
        """Prepare to run protocols on `gateway`; threads are started when first needed.

        Args:
            gateway: The gateway that executes the requests.
            parallel: The largest number of parallel requests for one caller.
            sleep: A function that waits a number of seconds.
            clock: A monotonic clock, in seconds.
            run_group: A function that runs the protocols of a `SideBySide`; None runs them on
                threads.

        Raises:
            ConfigurationError: `parallel` is below 1.
        """
        if parallel < 1:
            raise ConfigurationError(
                "the driver has no thread", parallel=parallel, fix="use parallel=1 or more"
            )
        self.gateway = gateway
        self.parallel = parallel
        self._sleep = sleep
        self._clock = clock
        self._run_group = run_group
        self._team = Team(parallel)
        self._start_without_threads()
        _DRIVERS.add(self)

    def __repr__(self) -> str:
        """Return the class with the gateway and the number of threads."""
        return f"Driver({self.gateway!r}, parallel={self.parallel})"

    def patience(self) -> Patience:
        """Return a new `Patience`, through which the requests of one operation are sent."""
        return Patience(self.gateway, self._clock)

    def answer(self, operation: Operation[Any], patience: Patience) -> Any:
        """Return the answer to one request.

        `Together`, `Sleep`, `RenewTimeLimit`, `SideBySide` and `Nested` are handled here. All other
        requests are sent through `patience`.
        """
        if isinstance(operation, Together):
            answers = self._side_by_side(
                lambda each: result_of_call(self.answer, each, patience),
                operation.operations,
                self.parallel,
            )
            return tuple(answer.result() for answer in answers)
        if isinstance(operation, Sleep):
            self._sleep(patience.pause_s(operation.seconds))
            return None
        if isinstance(operation, RenewTimeLimit):
            patience.renew()
            return None
        if isinstance(operation, SideBySide):
            return [outcome.result() for outcome in self._outcomes(operation, patience)]
        if isinstance(operation, Nested):
            return self.run(operation.protocol)
        return patience.execute(operation)

    def run(self, protocol: Protocol[R], patience: Patience | None = None) -> R:
        """Run a protocol to its end and return its result.

        An error of a request is raised inside the protocol; an error of the protocol is raised
        here. The protocol is closed in any case.

        Args:
            protocol: The protocol.
            patience: The `Patience` through which the requests are sent. None means a new one, so
                that with a silent gateway the protocol ends after about the time limit of one
                request.
        """
        patience = patience or self.patience()
        return run_protocol(protocol, partial(self.answer, patience=patience))

    def run_many(
        self,
        protocols: Iterable[Protocol[R]],
        parallel: int | None = None,
        patience: Patience | None = None,
    ) -> list[ProtocolResult[R]]:
        """Run independent protocols in parallel, and return their results or errors in order.

        An error of one protocol does not stop the others. Protocols that run in parallel send the
        requests of a `Together` one by one.

        Args:
            protocols: The protocols, which are started in this order.
            parallel: The largest number of parallel protocols; None means the driver's `parallel`,
                which is also the upper limit.
            patience: The `Patience` through which the requests of all protocols are sent; None
                means a new one.
        """
        shared = patience or self.patience()
        return self._side_by_side(
            lambda protocol: result_of_call(self.run, protocol, shared),
            list(protocols),
            parallel or self.parallel,
        )

    def each(
        self, work: Callable[[T], R], items: Sequence[T], parallel: int | None = None
    ) -> list[R]:
        """Call `work` with each item, in parallel, and return the results in the items' order.

        After an error, no further call is started.

        Args:
            work: The function, which is called in several threads.
            items: The arguments of the calls.
            parallel: The largest number of parallel calls; None means the driver's `parallel`,
                which is also the upper limit.

        Raises:
            Exception: The error of the first failed item, by position. It is raised after all
                started calls have ended.
        """
        failures: dict[int, Exception] = {}

        def attempt(numbered: tuple[int, T]) -> ProtocolResult[R]:
            number, item = numbered
            if not failures:
                try:
                    return ProtocolResult(work(item))
                except Exception as exc:  # noqa: BLE001  # raised by the caller once all have ended
                    failures[number] = exc
            return ProtocolResult()

        numbered = tuple(enumerate(items))
        outcomes = self._side_by_side(attempt, numbered, parallel or self.parallel)
        if failures:
            raise failures[min(failures)]
        return [outcome.result() for outcome in outcomes]

    def close(self) -> None:
        """End the threads, after waiting for their present work; closing twice is allowed."""
        team, self._team = self._team, Team(self.parallel)
        team.close()

    def let_go(self) -> None:
        """Make the threads end after their present work, without waiting for them."""
        self._team.let_go()

    def start_without_threads_in_child(self) -> None:
        """In a forked child, forget the parent's threads, which do not exist there."""
        self._start_without_threads()

    def _start_without_threads(self) -> None:
        self._team = Team(self.parallel)
        self._local = threading.local()

    def _outcomes(self, group: SideBySide, patience: Patience) -> list[ProtocolResult[Any]]:
        if self._run_group is None:
            return self.run_many(group.protocols, patience=patience)
        return self._run_group(self, group.protocols, group.expected_bytes)

    def _side_by_side(
        self, work: Callable[[T], ProtocolResult[R]], items: Sequence[T], parallel: int
    ) -> list[ProtocolResult[R]]:
        """Call `work` with each item, in parallel, and return the outcomes in the items' order."""
        width = min(parallel, self.parallel, len(items))
        # A thread of the team that waited for another thread of the team could wait for ever.
        if width <= 1 or getattr(self._local, "is_ours", False):
            return [work(item) for item in items]
        share = SharedWork(partial(self._as_ours, work), items, helpers=width - 1)
        team = self._team
        try:
            try:
                team.help_with(share)
                # The caller's own thread takes part: with two items, one thread is enough.
                share.work_off()
            finally:
                share.end()
        finally:
            share.end()  # an exception from outside may have interrupted the first call
        return share.outcomes_in_order()

    def _as_ours(self, work: Callable[[T], ProtocolResult[R]], item: T) -> ProtocolResult[R]:
        was_ours = getattr(self._local, "is_ours", False)
        self._local.is_ours = True
        try:
            return work(item)
        finally:
            self._local.is_ours = was_ours


RunGroup = Callable[[Driver, Sequence[Protocol[Any]], Sequence[int]], list[ProtocolResult[Any]]]
"""A function that runs independent protocols on a driver.

Its arguments are the driver, and the `protocols` and `expected_bytes` of a `SideBySide`. It returns
the protocols' results or errors in order.
"""

_DRIVERS: WeakSet[Driver] = WeakSet()


def _forget_threads_in_child() -> None:
    for driver in tuple(_DRIVERS):
        driver.start_without_threads_in_child()


os.register_at_fork(after_in_child=_forget_threads_in_child)
