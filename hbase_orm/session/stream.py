"""An iterator that holds something open and can be closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")


class Stream(Iterator[T], Generic[T]):
    """Yields results one by one; ends when everything was read, raises what a read raises.

    Closing it releases the server's scanners; so does reading it to its end.
    """

    def __init__(self, items: Iterator[Any], close: Callable[[], None]) -> None:
        """Yield `items`; `close` releases what they hold open."""
        self._items = items
        self._close = close

    def __next__(self) -> T:
        """Return the next result."""
        try:
            item: T = next(self._items)
        except BaseException:
            self._close()
            raise
        return item

    def __enter__(self) -> Self:
        """Return the stream."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Release the server's scanners; further reading ends at once."""
        self._items = iter(())
        self._close()
