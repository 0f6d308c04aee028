"""`watching`: collects the statements that an engine runs, and gives advice about them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from hbase_orm.advise.linting import advice_on
from hbase_orm.advise.remarks import DEFAULT_ROWS, Advice
from hbase_orm.model import Model
from hbase_orm.query import Select
from hbase_orm.schema import fields_of
from hbase_orm.session.engine import Engine, runtime_of

_LIBRARY: Final = str(Path(__file__).parents[1])

_Place = tuple[str, int]


class WatchedStatements:
    """The statements that an engine ran, one for each line of the program and each form."""

    def __init__(self) -> None:
        """Start without statements."""
        self._statements: dict[tuple[_Place, type[Model], tuple[str, ...]], Select[Any]] = {}

    def add(self, statement: Select[Any]) -> None:
        """Note a statement and the line of the program that runs it. Threads may call this."""
        names = tuple(name for each in statement.conditions for name in fields_of(each))
        self._statements.setdefault((_caller(), statement.model, names), statement)

    def __len__(self) -> int:
        """Return the number of different statements."""
        return len(self._statements)

    def advice(self, *, rows: int = DEFAULT_ROWS) -> tuple[Advice, ...]:
        """Return the advice about the statements so far, each with its file and line.

        Args:
            rows: The number of rows for which costs are computed.

        Raises:
            SchemaError: A model's `__lint__` has an unknown rule or an empty reason.
        """
        noted = tuple(self._statements.items())
        return tuple(
            advice
            for (place, _, _), statement in noted
            for advice in advice_on(statement, rows=rows, at=place)
        )


@contextmanager
def watching(engine: Engine) -> Iterator[WatchedStatements]:
    """Collect the statements that an engine runs within the block.

    Sends nothing, and changes nothing that is read. Statements that were refused are not collected:
    their errors say what is missing. Reads by key are none.

    Examples:
        >>> with watching(engine) as seen:  # doctest: +SKIP
        ...     run_the_tests()
        >>> assert not [each for each in seen.advice() if each.is_alarm]  # doctest: +SKIP
    """
    watched, watchers = WatchedStatements(), runtime_of(engine).statement_watchers
    watchers.append(watched.add)
    try:
        yield watched
    finally:
        watchers.remove(watched.add)


def _caller() -> _Place:
    """Return the file and the line of the innermost call from outside the library."""
    frame = sys._getframe()  # noqa: SLF001 - the stack as values would be built for every statement
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARY):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
