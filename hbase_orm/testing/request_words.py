"""Words for requests, by which tests say which requests they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from hbase_orm.errors import ValidationError
from hbase_orm.model import Model
from hbase_orm.ops import (
    Append,
    CheckAndMutate,
    CloseScanner,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    PutRows,
    PutStampedRows,
    RowMutation,
)

Word = Literal[
    "get", "scan", "read", "put", "delete", "check", "increment", "append", "write", "any"
]
"""What a request does.

- "get": reads rows by their keys. "scan": opens or reads a scanner. "read": both.
- "put": writes cells, alone, in a batch, or after a check as guarded tables do. "delete": deletes
  cells, likewise. "check": writes after a check. "increment", "append". "write": any of these.
- "any": every request, also those about tables.
"""

WORDS: Final[tuple[Word, ...]] = get_args(Word)

_GETS: Final = (GetRows, GetVersions, GetVersionsOfRows)
_SCANS: Final = (OpenScanner, FetchRows, CloseScanner)


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """The requests that a test means.

    Attributes:
        word: What they do.
        table: The table, with or without its namespace; empty for all. A `FetchRows` or a
            `CloseScanner` names no table, and belongs to none.
    """

    word: Word
    table: str = ""

    def __str__(self) -> str:
        """Return the word, with the table if one is named."""
        return f"{self.word!r} of {self.table!r}" if self.table else f"{self.word!r}"

    def matches(self, request: Operation[Any]) -> bool:
        """Return whether a request is one of them."""
        if self.table and self.table not in {(name := table_of(request)), name.rpartition(":")[2]}:
            return False
        return _MATCHES[self.word](request)


def pattern_of(word: str, table: str | type[Model] | None) -> RequestPattern:
    """Return the pattern for a word and a table, which may be given by its model.

    Raises:
        ValidationError: The word is not known.
    """
    for known in WORDS:
        if word == known:
            named = "" if table is None else table
            return RequestPattern(
                known, named if isinstance(named, str) else named.__schema__.table
            )
    raise ValidationError(
        "no request is called so", word=word, fix=f"write one of {', '.join(WORDS)}"
    )


def table_of(request: Operation[Any]) -> str:
    """Return the table of a request; empty if it names none."""
    if isinstance(request, OpenScanner):
        return request.scan.table
    return str(getattr(request, "table", ""))


def described(request: Operation[Any]) -> str:
    """Return a request as a short line: its class, table and size."""
    words = [type(request).__name__]
    if table := table_of(request):
        words.append(table)
    size = _size(request)
    return " ".join([*words, *([size] if size else [])])


def _size(request: Operation[Any]) -> str:
    if isinstance(request, GetRows | GetVersionsOfRows):
        return f"{len(request.keys)} keys"
    if isinstance(request, PutRows):
        return f"{len(request.rows)} rows"
    if isinstance(request, MutateRows):
        return f"{len(request.mutations)} rows"
    if isinstance(request, PutStampedRows):
        return f"{sum(len(group.rows) for group in request.groups)} rows"
    return ""


def _mutations(request: Operation[Any]) -> tuple[RowMutation, ...]:
    if isinstance(request, MutateRow | CheckAndMutate):
        return (request.mutation,)
    return request.mutations if isinstance(request, MutateRows) else ()


def _is_put(request: Operation[Any]) -> bool:
    return isinstance(request, PutRows | PutStampedRows) or any(
        each.puts for each in _mutations(request)
    )


def _is_write(request: Operation[Any]) -> bool:
    return isinstance(
        request,
        PutRows | PutStampedRows | MutateRow | MutateRows | CheckAndMutate | Increment | Append,
    )


_MATCHES: Final[dict[Word, Callable[[Operation[Any]], bool]]] = {
    "get": lambda request: isinstance(request, _GETS),
    "scan": lambda request: isinstance(request, _SCANS),
    "read": lambda request: isinstance(request, (*_GETS, *_SCANS)),
    "put": _is_put,
    "delete": lambda request: any(each.deletes for each in _mutations(request)),
    "check": lambda request: isinstance(request, CheckAndMutate),
    "increment": lambda request: isinstance(request, Increment),
    "append": lambda request: isinstance(request, Append),
    "write": _is_write,
    "any": lambda _: True,
}
