"""The session: what an application holds while it works with objects.

A unit of work, not a transaction: `add` and `delete` only note what is meant, `flush` sends it, and
queries see what HBase has, not what is pending. A session belongs to one thread at a time.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from hbase_orm.session.at_once import SessionAtOnce
from hbase_orm.session.reads import SessionReads
from hbase_orm.session.rounds import SessionFlush


class Session(SessionReads, SessionFlush, SessionAtOnce):
    """Reads and writes objects of models; made by `engine.session()`.

    As a context manager it flushes when the block ends well and closes itself; after an exception
    nothing more is sent.
    """

    def __repr__(self) -> str:
        """Return how much is loaded and pending."""
        return f"Session(loaded={len(self._identity)}, pending={len(self._pending)})"

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Flush unless an exception ends the block; close in any case."""
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Forget everything loaded and pending; the objects live on, unattached.

        The session is unusable afterwards; closing twice is fine.
        """
        self._is_closed = True
        for obj, _ in self._pending.values():
            if self._owner_of(obj) is self:
                obj._note_change = None  # noqa: SLF001 - the model's own state
        self._pending.clear()
        self._watched.clear()
        self._options.clear()
        for obj in self._identity.clear():
            obj._note_change = None  # noqa: SLF001 - the model's own state
