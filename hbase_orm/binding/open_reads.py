"""Holds open reads until they end or are closed, so that the garbage collector never ends one.

The garbage collector may run inside any request. What it collects it also ends: a read would then
close its scanners, and wait for a connection that its own thread has at that moment. So a read is
held here, and what the program holds is a handle. A handle that is dropped leaves a note, which
sends nothing and waits for nothing; the next read closes what was dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar
from weakref import ref

from hbase_orm.execute import close_now

T = TypeVar("T")


class RowPages(Iterator[Sequence[Any]], Generic[T]):
    """What one read emits, page by page. Close it to release the server's scanners at once."""

    def __init__(self, reading: Generator[Sequence[Any], None, T]) -> None:
        """Return pages from `reading`."""
        self._reading = reading

    def __next__(self) -> Sequence[Any]:
        """Return the next page."""
        return next(self._reading)

    def result(self) -> T:
        """Read to the end and return what the read returns; close it in any case."""
        try:
            while True:
                next(self._reading)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            self.close()

    def close(self) -> None:
        """Release the server's scanners; there are no more pages."""
        close_now(self._reading)


class OpenReads:
    """The open reads of one engine. Threads may share it."""

    def __init__(self) -> None:
        """Start with none."""
        self._readings: dict[ref[RowPages[Any]], Generator[Any, Any, Any]] = {}
        # Filled by C code, which needs no lock and cannot be interrupted.
        self._dropped: deque[ref[RowPages[Any]]] = deque()

    def handle(self, reading: Generator[Sequence[Any], None, T]) -> RowPages[T]:
        """Return a handle of a read: once the handle is gone, a later read closes this one."""
        pages = RowPages(reading)
        self._readings[ref(pages, self._dropped.append)] = reading
        return pages

    def close_dropped(self) -> None:
        """Close the reads whose handles are gone; it may send requests."""
        with suppress(IndexError):  # there is none left, or another thread took the last one
            while True:
                reading = self._readings.pop(self._dropped.popleft(), None)
                if reading is not None:
                    close_now(reading)
