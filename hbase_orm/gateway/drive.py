"""Run protocols on a gateway, blocking: yield by yield, request by request.

A protocol is a generator of requests (`hbase_orm.ops.Protocol`) and knows neither threads nor
time; `Driver` answers its requests, sends `Together` side by side and sleeps for `Sleep`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.base import Gateway
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
        self._executor: ThreadPoolExecutor | None = None
        self._start_without_threads()
        _DRIVERS.add(self)

    def __repr__(self) -> str:
        """Show the gateway and the number of threads."""
        return f"Driver({self.gateway!r}, parallel={self.parallel})"

    def run(self, protocol: Protocol[R]) -> R:
        """Run a protocol to its end and return its result.

        What a request raises is thrown into the protocol at the yield; what the protocol lets out
        is raised here. The protocol is closed in any case.
        """
        try:
            operation = next(protocol)
            while True:
                try:
                    answer = self._answer(operation)
                except Exception as exc:  # noqa: BLE001  # the protocol decides, whatever it is
                    operation = protocol.throw(exc)
                else:
                    operation = protocol.send(answer)
        except StopIteration as end:
            return cast("R", end.value)
        finally:
            protocol.close()

    def run_many(
        self, protocols: Iterable[Protocol[R]], parallel: int | None = None
    ) -> list[Outcome[R]]:
        """Run independent protocols side by side and say of each how it ended, in their order.

        None stops the others by failing. Within each, the requests of a `Together` go one by one.

        Args:
            protocols: What to run; all are started in their order.
            parallel: Most protocols under way at once, if fewer than the driver's own.
        """
        return self._side_by_side(self._outcome, list(protocols), parallel or self.parallel)

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
        with self._lock:
            executor = self._executor
            self._executor = None
        if executor is not None:
            executor.shutdown()

    def start_without_threads_in_child(self) -> None:
        """Forget the parent's threads, which a fork does not copy."""
        self._start_without_threads()

    def _start_without_threads(self) -> None:
        self._lock = threading.Lock()
        self._executor = None
        self._local = threading.local()

    def _answer(self, operation: Operation[Any]) -> Any:
        if isinstance(operation, Together):
            answers = self._side_by_side(self._try, operation.operations, self.parallel)
            return tuple(answer.result() for answer in answers)
        if isinstance(operation, Sleep):
            self._sleep(operation.seconds)
            return None
        return self.gateway.execute(operation)

    def _try(self, operation: Operation[Any]) -> Outcome[Any]:
        try:
            return Outcome(self._answer(operation))
        except Exception as exc:  # noqa: BLE001  # raised by the caller once all have ended
            return Outcome(error=exc)

    def _outcome(self, protocol: Protocol[R]) -> Outcome[R]:
        try:
            return Outcome(self.run(protocol))
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
        waiting: SimpleQueue[tuple[int, T]] = SimpleQueue()
        for numbered in enumerate(items):
            waiting.put(numbered)
        outcomes: dict[int, Outcome[R]] = {}
        executor = self._threads()
        futures: list[Future[None]] = []
        try:
            futures.extend(
                executor.submit(self._work_off, waiting, work, outcomes) for _ in range(width - 1)
            )
            # The caller's own thread takes part: with two items, one thread is enough.
            self._work_off(waiting, work, outcomes)
        finally:
            # An interrupt ends only this thread's work: the others must find nothing more to do.
            _empty(waiting)
            # What waits behind other callers' work would find nothing to do either.
            started = [future for future in futures if not future.cancel()]
            wait(started)
        for future in started:
            future.result()
        return [outcomes[number] for number in range(len(items))]

    def _work_off(
        self,
        waiting: SimpleQueue[tuple[int, T]],
        work: Callable[[T], Outcome[R]],
        outcomes: dict[int, Outcome[R]],
    ) -> None:
        was_ours = getattr(self._local, "is_ours", False)
        self._local.is_ours = True
        try:
            while True:
                number, item = waiting.get_nowait()
                outcomes[number] = work(item)
        except Empty:
            return
        finally:
            self._local.is_ours = was_ours

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(
                    self.parallel, thread_name_prefix="hbase-orm-driver"
                )
            return self._executor


def _empty(waiting: SimpleQueue[Any]) -> None:
    with suppress(Empty):
        while True:
            waiting.get_nowait()


_DRIVERS: WeakSet[Driver] = WeakSet()


def _forget_threads_in_child() -> None:
    for driver in tuple(_DRIVERS):
        driver.start_without_threads_in_child()


os.register_at_fork(after_in_child=_forget_threads_in_child)
