"""Threads that help a caller with many items of work, and are safe to interrupt.

An exception from outside (Ctrl-C, a time limit) may leave locks in the standard library's executors
locked forever. Here only queues and locks in C code are used. A queue either returns an item or
does not. A `with` block always releases a simple lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar
from weakref import ref

from hbase_orm.errors import HBaseORMError

R = TypeVar("R")
T = TypeVar("T")


class SharedWork(Generic[T, R]):
    """The calls of one function with several items, which several threads share."""

    def __init__(self, work: Callable[[T], R], items: Sequence[T], *, helpers: int) -> None:
        """Prepare the work.

        Args:
            work: The function to call with each item, in several threads.
            items: The items, which are taken in order.
            helpers: The largest number of helping threads besides the caller's.
        """
        self._work = work
        self._items = len(items)
        self._waiting: SimpleQueue[tuple[int, T]] = SimpleQueue()
        for numbered in enumerate(items):
            self._waiting.put(numbered)
        self._outcomes: dict[int, R] = {}
        self._failures: list[BaseException] = []
        # Each is locked while its helper works.
        self.gates = [threading.Lock() for _ in range(helpers)]

    def work_off(self) -> None:
        """Take items and call the function with them, until no item is left."""
        try:
            while True:
                number, item = self._waiting.get_nowait()
                self._outcomes[number] = self._work(item)
        except Empty:
            return

    def help(self, gate: threading.Lock) -> None:
        """Process items in a helper thread; an error is raised later by `outcomes_in_order`.

        `gate` is locked until the helper has finished, so that `end` can wait for it.
        """
        with gate:
            try:
                self.work_off()
            except BaseException as exc:  # noqa: BLE001  # raised again by `outcomes_in_order`
                self._failures.append(exc)

    def end(self) -> None:
        """Drop the items that no thread has taken, and wait for the helpers that have begun."""
        try:
            while True:
                self._waiting.get_nowait()
        except Empty:
            pass
        for gate in self.gates:
            with gate:  # a helper that has not begun does not keep it, and finds nothing to do
                pass

    def result(self) -> R:
        """Return the result of the only item; do the work here if no thread has started it.

        Raises:
            BaseException: The error of the work, or the exception that ended its thread.
        """
        self.work_off()
        self.end()
        return self.outcomes_in_order()[0]

    def outcomes_in_order(self) -> list[R]:
        """Return the outcome of each item, in the order of the items.

        Raises:
            BaseException: The exception that ended a helper.
            HBaseORMError: An outcome is missing, because a helper was ended from outside.
        """
        if self._failures:
            raise self._failures[0]
        if len(self._outcomes) < self._items:
            raise HBaseORMError(
                "a helper thread ended before its work was finished",
                fix="read what was to be changed before you repeat the call: some of its requests "
                "may have been applied",
            )
        return [self._outcomes[number] for number in range(self._items)]


class Team:
    """A limited number of threads that help with `SharedWork`; they are started when needed."""

    def __init__(self, most: int, name: str = "hbase-orm-driver") -> None:
        """Create the team without starting a thread.

        Args:
            most: The largest number of threads.
            name: The name of the threads.
        """
        self._most = most
        self._name = name
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        # A team that nobody holds any more ends its threads.
        self._end = ref(self, self._jobs.put)

    def begin(self, work: Callable[[T], R], item: T) -> SharedWork[T, R]:
        """Let a thread call `work` with `item`; `result()` of the `SharedWork` waits for it."""
        share = SharedWork(work, (item,), helpers=1)
        self.help_with(share)
        return share

    def help_with(self, share: SharedWork[Any, Any]) -> None:
        """Let threads of the team take part in shared work, up to the work's number of helpers."""
        for gate in share.gates:
            self._jobs.put((share, gate))
        with self._lock:
            self._threads = alive = [thread for thread in self._threads if thread.is_alive()]
            for _ in range(min(len(share.gates), self._most - len(alive))):
                alive.append(thread := self._thread())
                try:
                    thread.start()
                except RuntimeError:  # no thread can be started, as when the interpreter ends
                    return

    def _thread(self) -> threading.Thread:
        return threading.Thread(
            target=_help, args=(self._jobs, self._end), name=self._name, daemon=True
        )

    def close(self) -> None:
        """Make the threads end after their present work, and wait until they have ended."""
        self.let_go()
        for thread in self._threads:
            if thread.is_alive():  # one that could not be started is not
                thread.join()

    def let_go(self) -> None:
        """Make the threads end after their present work, without waiting for them."""
        self._jobs.put(None)


def _help(jobs: SimpleQueue[Any], end: ref[Team]) -> None:
    """Take part in work until the team is closed or deleted."""
    del end  # kept alive by the thread's arguments: a deleted weak reference has no callback
    while isinstance(job := jobs.get(), tuple):
        share, gate = job
        share.help(gate)
        del job, share, gate  # or a waiting thread would keep the work of an earlier caller alive
    jobs.put(job)  # for the next thread
