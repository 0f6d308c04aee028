"""Threads that help a caller with many items of work, and leave nothing behind when interrupted.

The executors of the standard library hand work over under locks that an exception from outside
(Ctrl-C, a time limit) may leave locked for ever. Here queues and locks are C code only: a queue
gives an item or does not, and a `with` block around a plain lock frees it whatever happens.
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
    """Work on several items, of which each thread that takes part takes one after the other."""

    def __init__(self, work: Callable[[T], R], items: Sequence[T], *, helpers: int) -> None:
        """Prepare.

        Args:
            work: What to do with an item; called from several threads.
            items: The items, taken in their order.
            helpers: How many threads may take part besides the caller's.
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
        """Take items until there are none."""
        try:
            while True:
                number, item = self._waiting.get_nowait()
                self._outcomes[number] = self._work(item)
        except Empty:
            return

    def help(self, gate: threading.Lock) -> None:
        """Take part as a helper; the caller raises its errors."""
        with gate:
            try:
                self.work_off()
            except BaseException as exc:  # noqa: BLE001  # raised again by `outcomes_in_order`
                self._failures.append(exc)

    def end(self) -> None:
        """Begin no further item, and wait for the items that have begun."""
        try:
            while True:
                self._waiting.get_nowait()
        except Empty:
            pass
        for gate in self.gates:
            with gate:  # a helper that has not begun does not keep it, and finds nothing to do
                pass

    def result(self) -> R:
        """Return the result of the only item; do the work here if no thread has begun it.

        Raises:
            BaseException: What the work raised, or what ended the thread that did it.
        """
        self.work_off()
        self.end()
        return self.outcomes_in_order()[0]

    def outcomes_in_order(self) -> list[R]:
        """Return the outcome of each item.

        Raises:
            BaseException: What ended a helper.
        """
        if self._failures:
            raise self._failures[0]
        if len(self._outcomes) < self._items:
            raise HBaseORMError("a helper thread was ended from outside")
        return [self._outcomes[number] for number in range(self._items)]


class Team:
    """Threads that wait for work to help with; started when first needed."""

    def __init__(self, most: int, name: str = "hbase-orm-driver") -> None:
        """Start no thread.

        Args:
            most: How many threads at most.
            name: What they are called.
        """
        self._most = most
        self._name = name
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[Any] = SimpleQueue()
        # A team that nobody holds any more ends its threads.
        self._end = ref(self, self._jobs.put)

    def begin(self, work: Callable[[T], R], item: T) -> SharedWork[T, R]:
        """Let a thread do the work on one item; its `result` waits for it."""
        share = SharedWork(work, (item,), helpers=1)
        self.help_with(share)
        return share

    def help_with(self, share: SharedWork[Any, Any]) -> None:
        """Let threads take part in the work, as many as it wants and there are."""
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
        """End the threads when what they help with has ended, and wait for that."""
        self.let_go()
        for thread in self._threads:
            if thread.is_alive():  # one that could not be started is not
                thread.join()

    def let_go(self) -> None:
        """End the threads when what they help with has ended."""
        self._jobs.put(None)


def _help(jobs: SimpleQueue[Any], end: ref[Team]) -> None:
    """Take part in work until the team is closed or gone."""
    del end  # kept by the thread's arguments: a reference that is gone calls nothing
    while isinstance(job := jobs.get(), tuple):
        share, gate = job
        share.help(gate)
        del job, share, gate  # or a thread that waits would keep what the caller has let go
    jobs.put(job)  # for the next thread
