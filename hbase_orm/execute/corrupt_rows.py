"""Decides what a read does with rows that do not decode, and counts the rows that are left out.

A row does not decode if the bytes of its key, or of a cell that is read, are not what the model
declares. By default its error ends the read, at the place of the row: rows before it are returned.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from hbase_orm.errors import CorruptRowError
from hbase_orm.ops import CorruptRow, Row
from hbase_orm.query import OnCorrupt

logger = logging.getLogger("hbase_orm.session")

_FIX = (
    'correct or delete the row, or leave such rows out: .on_corrupt("skip"), or on_corrupt=skip in '
    "the URL"
)


def name_row(error: CorruptRowError, table: str, key: bytes) -> None:
    """Add a row's table and key to the details of an error, unless it has them.

    An empty key means that the row is unknown, and is not added.
    """
    of_row = {"table": table, "row": key} if key else {"table": table}
    error.details = {**of_row, **error.details}


class CorruptRows:
    """The corrupt rows of one statement.

    Attributes:
        count: The number of rows that were left out so far.
        holds_marks: Whether pages may hold `CorruptRow`s.
        is_after_page: Whether the page to return is full, so that a corrupt row is not its own.
    """

    def __init__(
        self, rule: OnCorrupt, model: str, left_out: Callable[[], None] | None = None
    ) -> None:
        """Start without corrupt rows.

        Args:
            rule: What is done with a corrupt row.
            model: The name of the model, for the report.
            left_out: A function that is called for each row that is left out.
        """
        self.count = 0
        self.holds_marks = False
        self.is_after_page = False
        self._rule = rule
        self._model = model
        self._left_out = left_out
        self._first: CorruptRowError | None = None

    def decodable(self, page: Sequence[Row], table: str) -> Iterable[Row]:
        """Return the rows of a page without its `CorruptRow`s, about which it is decided in turn.

        Raises:
            CorruptRowError: A row is a `CorruptRow`, which may not be left out.
        """
        return self._without_marked(page, table) if self.holds_marks else page

    def _without_marked(self, page: Sequence[Row], table: str) -> Iterator[Row]:
        for row in page:
            if not isinstance(row, CorruptRow):
                yield row
            elif not self.leaves_out(row.error, table, row.key):
                raise row.error

    def leaves_out(self, error: CorruptRowError, table: str, key: bytes) -> bool:
        """Return whether a corrupt row is left out; if not, the caller raises the error.

        The table and the row key are added to the details of the error. If the rule is a function,
        it is called with the error, and its exceptions are not caught.

        Args:
            error: The error that was raised when the row was decoded.
            table: The name of the row's table.
            key: The row key.
        """
        name_row(error, table, key)
        error.fix = error.fix or _FIX
        if self._rule == "raise" or self.is_after_page:
            return False
        if callable(self._rule):
            self._rule(error)
        self.count += 1
        if self._left_out is not None:
            self._left_out()
        self._first = self._first or error
        return True

    def report(self) -> None:
        """Log how many rows were skipped, and the error of the first one; nothing if none was."""
        if self._first is not None and self._rule == "skip":
            logger.warning(
                "%d corrupt %s left out of a statement on model %s; the first one: %s",
                self.count,
                "row was" if self.count == 1 else "rows were",
                self._model,
                self._first,
            )


class CorruptRowCount:
    """Counts the corrupt rows that the statements of one engine left out. Threads may share it.

    Attributes:
        rule: What is done with a corrupt row if a statement does not specify it.
        total: The number of rows that were left out so far.
    """

    def __init__(self, rule: OnCorrupt = "raise") -> None:
        """Start at 0."""
        self.rule = rule
        self.total = 0
        self.free_lock()

    def free_lock(self) -> None:
        """Replace the lock in a forked child, where the thread that held it does not exist."""
        self._lock = threading.Lock()

    def of(self, rule: OnCorrupt | None, model: str) -> CorruptRows:
        """Return the corrupt rows of a statement; if it has no rule, the engine's is used."""
        return CorruptRows(self.rule if rule is None else rule, model, self._add)

    def _add(self) -> None:
        with self._lock:
            self.total += 1
