"""Holds open reads until they end or are closed, so that the garbage collector never ends one.

The garbage collector may run inside any request. If it ended a read there, the read would close its
scanners. That could wait for a connection that the same thread is using. So each read is held here,
and the program gets only a handle. A dropped handle is only recorded, without requests or waits.
The next read closes the dropped reads.
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
    """An iterator over the pages of rows of one read. `close` releases its scanners."""

    def __init__(self, reading: Generator[Sequence[Any], None, T]) -> None:
        """Make an iterator over the pages of `reading`."""
        self._reading = reading

    def __next__(self) -> Sequence[Any]:
        """Return the next page."""
        return next(self._reading)

    def result(self) -> T:
        """Read all pages and return the read's result; close the read in any case."""
        try:
            while True:
                next(self._reading)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            self.close()

    def close(self) -> None:
        """Release the server's scanners, and end the iterator."""
        close_now(self._reading)


class OpenReads:
    """The open reads of one engine. Threads may share it."""

    def __init__(self) -> None:
        """Start without open reads."""
        self._readings: dict[ref[RowPages[Any]], Generator[Any, Any, Any]] = {}
        # Filled by C code, which needs no lock and cannot be interrupted.
        self._dropped: deque[ref[RowPages[Any]]] = deque()

    def handle(self, reading: Generator[Sequence[Any], None, T]) -> RowPages[T]:
        """Return a handle of a read. If the handle is dropped, `close_dropped` closes the read."""
        pages = RowPages(reading)
        self._readings[ref(pages, self._dropped.append)] = reading
        return pages

    def close_dropped(self) -> None:
        """Close the reads whose handles were dropped; this may send requests."""
        if not self._dropped:
            return
        with suppress(IndexError):  # there is none left, or another thread took the last one
            while True:
                reading = self._readings.pop(self._dropped.popleft(), None)
                if reading is not None:
                    close_now(reading)
