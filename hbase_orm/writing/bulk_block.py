"""The state of a bulk writer's with block.

Every added row is either sent or named in an error. So rows may be added only inside the `with`
block, by one thread at a time, and in the process that began the block.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Final
from weakref import WeakSet

from hbase_orm.errors import QueryError

_NEW: Final = "new"
_OPEN: Final = "open"
_ENDED: Final = "ended"
_CLOSED: Final = "closed"
_FORKED: Final = "forked"

_REFUSALS: Final = {
    _NEW: (
        "the bulk writer takes objects inside its block only",
        "write `with session.bulk() as bulk:` and add the objects in the block",
    ),
    _ENDED: (
        "an error has ended the bulk writer",
        "leave the block: its FlushError names the rows; write them again by another bulk writer",
    ),
    _CLOSED: (
        "the block of the bulk writer has ended",
        "make a new bulk writer: with session.bulk() as bulk",
    ),
    _FORKED: (
        "this process is a forked child, and the bulk writer belongs to its parent process",
        "make a bulk writer in the child process: with session.bulk() as bulk",
    ),
}


def check_positive(**numbers: object) -> None:
    """Raise an error unless these arguments of a bulk writer are positive integers.

    Raises:
        QueryError: An argument is not a positive integer.
    """
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise QueryError(
                "the argument must be a positive integer",
                argument=name,
                got=number,
                fix="write bulk(batch_rows=1000, parallel=3)",
            )


class BulkBlock:
    """The state of one bulk writer's with block; also a context manager around each added object.

    Attributes:
        ended_by: The error that ended the with block; None if no error ended it.
    """

    def __init__(self) -> None:
        """Create the state of a with block that has not begun."""
        self.ended_by: BaseException | None = None
        self._state = _NEW
        self._is_taking = False
        self._lock = threading.RLock()
        _BLOCKS.add(self)

    @property
    def state(self) -> str:
        """The state: new, open, ended (by an error), closed or forked."""
        return self._state

    def begin(self) -> None:
        """Begin the with block.

        Raises:
            QueryError: The with block began before.
        """
        if self._state is not _NEW:
            raise QueryError(
                "a bulk writer can be used in only one with block",
                fix="make a new bulk writer: with session.bulk() as bulk",
            )
        self._state = _OPEN

    def check(self) -> None:
        """Raise an error if objects cannot be added now.

        Raises:
            QueryError: The with block has not begun, or has ended. Or this process is a forked
                child.
        """
        if self._state is not _OPEN:
            text, fix = _REFUSALS[self._state]
            raise QueryError(text, fix=fix) from self.ended_by

    def __enter__(self) -> None:
        """Begin to add an object.

        Raises:
            QueryError: As for `check`; or another object is being added.
        """
        self.check()
        if not self._lock.acquire(blocking=False):
            raise QueryError(
                "another thread adds to this bulk writer at the same time",
                fix="add objects by one thread only, or make a bulk writer for each thread",
            )
        if self._is_taking:
            self._lock.release()
            raise QueryError(
                "a hook or a progress function of a bulk writer cannot add to it",
                fix="call session.add(obj) in the hook, or collect the objects and add them "
                "afterwards",
            )
        self._is_taking = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Finish adding an object."""
        self._is_taking = False
        self._lock.release()

    def end(self, error: BaseException) -> None:
        """End the with block because of an error that may have left rows unsent."""
        self.ended_by = self.ended_by or error
        self._state = _ENDED

    def close(self) -> bool:
        """Wait until no thread is adding an object, then end the with block.

        Returns:
            Whether the caller must send the waiting rows. False if the with block has not begun or
            was closed before. Also False in a forked child, because the parent process sends the
            rows.

        Raises:
            QueryError: A hook or a progress function of the bulk writer calls this method.
        """
        if self._state in {_NEW, _CLOSED, _FORKED}:
            return False
        with self._lock:
            if self._is_taking:
                raise QueryError(
                    "a hook or a progress function of a bulk writer cannot end its block",
                    fix="raise an exception to end the block",
                )
            self._state = _CLOSED
        return True

    def leave_in_child(self) -> None:
        """In a forked child, refuse further objects and send nothing: the parent sends the rows."""
        self._lock = threading.RLock()
        self._is_taking = False
        self._state = _FORKED


_BLOCKS: WeakSet[BulkBlock] = WeakSet()


def _leave_blocks_in_child() -> None:
    for block in tuple(_BLOCKS):
        block.leave_in_child()


os.register_at_fork(after_in_child=_leave_blocks_in_child)
