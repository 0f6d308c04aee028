"""Whether a read is closed by somebody, or by the garbage collector.

Both end a generator in the same way. But the collector may run inside any request, on a thread that
has a connection at that moment: what it ends must neither send anything nor wait for anything.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from types import TracebackType
from typing import Any
from weakref import ref


class _Scope:
    """Lives as long as somebody closes a read on this thread."""


class _Closing(threading.local):
    scope: ref[_Scope] | None = None


_closing = _Closing()


def close_now(reading: Generator[Any, Any, Any]) -> None:
    """Close a read and release its scanners on the server; it may send requests."""
    before, scope = _closing.scope, _Scope()
    _closing.scope = ref(scope)
    try:
        reading.close()
    finally:
        _closing.scope = before


def is_dropped(error: BaseException | None) -> bool:
    """Say whether what ends a read, with this error in flight, is the garbage collector."""
    scope = _closing.scope
    return isinstance(error, GeneratorExit) and (scope is None or scope() is None)


class released:  # noqa: N801  # used as contextlib.closing is
    """Close a read when a `with` block ends; if the collector ends the block, without requests."""

    def __init__(self, reading: Generator[Any, Any, Any]) -> None:
        """Close `reading` later."""
        self._reading = reading

    def __enter__(self) -> Generator[Any, Any, Any]:
        """Return the read."""
        return self._reading

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close it."""
        if is_dropped(error):
            self._reading.close()
        else:
            close_now(self._reading)
