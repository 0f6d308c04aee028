"""Run protocols on a gateway, blocking: yield by yield, request by request.

A protocol is a generator of requests (`hbase_orm.ops.Protocol`) and knows neither threads nor
time; `Driver` answers its requests, sends `Together` side by side and sleeps for `Sleep`.
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

from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.bounded import Patience
from hbase_orm.gateway.team import Share, Team
from hbase_orm.ops import Operation, Protocol, Sleep, Together

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[R]):
    """How one of several protocols ended.

    Attributes:
        value: What it returned; None if it failed.
        error: What it raised; None if it returned.
    """

    value: R | None = None
    error: Exception | None = None

    def result(self) -> R:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return cast("R", self.value)


class Driver:
    """Runs protocols on one gateway; several threads may use one driver.

    Attributes:
        gateway: Executes the requests; the driver does not close it.
        parallel: Most requests under way at once for one caller. More than the gateway has
            connections only makes them wait for each other.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        parallel: int = 1,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Drive on `gateway`; threads are started when first needed.

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
        self._team = Team(parallel)
        self._start_without_threads()
        _DRIVERS.add(self)

    def __repr__(self) -> str:
        """Show the gateway and the number of threads."""
        return f"Driver({self.gateway!r}, parallel={self.parallel})"

    def patience(self) -> Patience:
        """Return what sends the requests of one piece of work."""
        return Patience(self.gateway, self._clock)

    def run(self, protocol: Protocol[R], patience: Patience | None = None) -> R:
        """Run a protocol to its end and return its result.

        What a request raises is thrown into the protocol at the yield; what the protocol lets out
        is raised here. The protocol is closed in any case.

        Args:
            protocol: What to run.
            patience: Sends its requests; None gives it a patience of its own, so that with a
                gateway that does not answer it ends after the time of about one request.
        """
        patience = patience or self.patience()
        try:
            operation = next(protocol)
            while True:
                try:
                    answer = self._answer(operation, patience)
                except Exception as exc:  # noqa: BLE001  # the protocol decides, whatever it is
                    operation = protocol.throw(exc)
                else:
                    operation = protocol.send(answer)
        except StopIteration as end:
            return cast("R", end.value)
        finally:
            protocol.close()

    def run_many(
        self,
        protocols: Iterable[Protocol[R]],
        parallel: int | None = None,
        patience: Patience | None = None,
    ) -> list[Outcome[R]]:
        """Run independent protocols side by side and say of each how it ended, in their order.

        None stops the others by failing. Within each, the requests of a `Together` go one by one.

        Args:
            protocols: What to run; all are started in their order.
            parallel: Most protocols under way at once, if fewer than the driver's own.
            patience: Sends their requests; None gives all of them one of their own.
        """
        run = partial(self._outcome, patience=patience or self.patience())
        return self._side_by_side(run, list(protocols), parallel or self.parallel)

    def each(
        self, work: Callable[[T], R], items: Sequence[T], parallel: int | None = None
    ) -> list[R]:
        """Do the work on each item, side by side, and return the results in order.

        After a failure, work that has not begun is left undone.

        Args:
            work: What to do; called from several threads.
            items: What to do it on.
            parallel: Most items under way at once, if fewer than the driver's own.

        Raises:
            Exception: What the first of the items, by position, failed with; what had begun has
                ended.
        """
        failures: dict[int, Exception] = {}

        def attempt(numbered: tuple[int, T]) -> Outcome[R]:
            number, item = numbered
            if not failures:
                try:
                    return Outcome(work(item))
                except Exception as exc:  # noqa: BLE001  # raised by the caller once all have ended
                    failures[number] = exc
            return Outcome()

        numbered = tuple(enumerate(items))
        outcomes = self._side_by_side(attempt, numbered, parallel or self.parallel)
        if failures:
            raise failures[min(failures)]
        return [outcome.result() for outcome in outcomes]

    def close(self) -> None:
        """End the threads when their requests have ended; closing twice is fine."""
        team, self._team = self._team, Team(self.parallel)
        team.close()

    def let_go(self) -> None:
        """End the threads when their requests have ended; waits for nothing."""
        self._team.let_go()

    def start_without_threads_in_child(self) -> None:
        """Forget the parent's threads, which a fork does not copy."""
        self._start_without_threads()

    def _start_without_threads(self) -> None:
        self._team = Team(self.parallel)
        self._local = threading.local()

    def _answer(self, operation: Operation[Any], patience: Patience) -> Any:
        if isinstance(operation, Together):
            attempt = partial(self._try, patience=patience)
            answers = self._side_by_side(attempt, operation.operations, self.parallel)
            return tuple(answer.result() for answer in answers)
        if isinstance(operation, Sleep):
            self._sleep(patience.pause_s(operation.seconds))
            return None
        return patience.execute(operation)

    def _try(self, operation: Operation[Any], patience: Patience) -> Outcome[Any]:
        try:
            return Outcome(self._answer(operation, patience))
        except Exception as exc:  # noqa: BLE001  # raised by the caller once all have ended
            return Outcome(error=exc)

    def _outcome(self, protocol: Protocol[R], patience: Patience) -> Outcome[R]:
        try:
            return Outcome(self.run(protocol, patience))
        except Exception as exc:  # noqa: BLE001  # handed to the caller as this one's outcome
            return Outcome(error=exc)

    def _side_by_side(
        self, work: Callable[[T], Outcome[R]], items: Sequence[T], parallel: int
    ) -> list[Outcome[R]]:
        """Do the work on each item and return the outcomes in the items' order."""
        width = min(parallel, self.parallel, len(items))
        # A thread of ours that waited for another one of ours could wait for ever.
        if width <= 1 or getattr(self._local, "is_ours", False):
            return [work(item) for item in items]
        share = Share(partial(self._as_ours, work), items, helpers=width - 1)
        team = self._team
        try:
            try:
                team.help_with(share)
                # The caller's own thread takes part: with two items, one thread is enough.
                share.work_off()
            finally:
                share.end()
        finally:
            share.end()  # an exception from outside may have cut the first short
        return share.outcomes_in_order()

    def _as_ours(self, work: Callable[[T], Outcome[R]], item: T) -> Outcome[R]:
        was_ours = getattr(self._local, "is_ours", False)
        self._local.is_ours = True
        try:
            return work(item)
        finally:
            self._local.is_ours = was_ours


_DRIVERS: WeakSet[Driver] = WeakSet()


def _forget_threads_in_child() -> None:
    for driver in tuple(_DRIVERS):
        driver.start_without_threads_in_child()


os.register_at_fork(after_in_child=_forget_threads_in_child)
