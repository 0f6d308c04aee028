"""Pages: so many of a statement's objects, and a token to go on from in any process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import PageTokenError, QueryError
from hbase_orm.execute import IndexedRow
from hbase_orm.ops import Row
from hbase_orm.query import Select
from hbase_orm.query.planning.page_tokens import (
    PagePosition,
    access_of,
    fingerprint,
    position_of,
    resume,
    token_of,
)
from hbase_orm.reading.stream import matching_rows, planned, rows_in_pages

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some of the objects that a statement selects.

    Attributes:
        items: The objects, in the statement's order.
        token: What to ask the next page with; None if nothing follows.
        reason: Why the page ends: "exhausted", nothing follows; "size", it is full; "limit", the
            statement's own; "cut_short", reading ended early and goes on with the token.
    """

    items: list[T] = field(default_factory=list)
    token: str | None = None
    reason: Literal["exhausted", "size", "limit", "cut_short"] = "exhausted"


def read_page(
    stmt: Select[T],
    size: int,
    token: str | None,
    *,
    bound: BoundModel,
    runtime: Runtime,
    attach: Callable[[Any], Any],
) -> Page[T]:
    """Return the next `size` objects of a statement.

    Raises:
        QueryError: The size is not a positive integer.
        PageTokenError: The token is none of this statement's, or the statement is now read by
            another index or the row key.
    """
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise QueryError("size= must be a positive integer", got=size, fix="write size=20")
    if stmt.is_aggregated or stmt.sort is not None:
        raise QueryError(
            "groups and rows sorted in memory cannot be read in pages: each page would read "
            "all rows again",
            fix="read all of them with session.all, and slice the list",
        )
    mark = fingerprint(stmt, bound.schema)
    position = None if token is None else position_of(token, mark)
    given_before = 0 if position is None else position.given
    since_ms = runtime.guard_context.now_ms() if position is None else position.since_ms
    room = size if stmt.row_limit is None else min(size, stmt.row_limit - given_before)
    if room < 1:
        raise PageTokenError("the page token belongs to the last page: no rows follow", token=token)
    # One row more than the page holds shows whether another page follows.
    chosen = planned(replace(stmt, row_limit=room + 1), bound, runtime)
    if position is not None:
        chosen = resume(chosen, position)
    items: list[Any] = []
    last: Row | None = None
    with closing(rows_in_pages(stmt, chosen, bound, runtime)) as pages:
        for row, obj in matching_rows(pages, bound, stmt):
            if len(items) == room:
                key, start = _end(last, bound)
                end = PagePosition(key, given_before + room, access_of(chosen), since_ms, start)
                return Page(items, token_of(end, mark), "size")
            items.append(attach(obj))
            last = row
            if given_before + len(items) == stmt.row_limit:
                return Page(items, None, "limit")
    return Page(items)


def _end(row: Row | None, bound: BoundModel) -> tuple[bytes, datetime | None]:
    """Return where a page ended: its last row's key or entry, and the period of its table."""
    if row is None:
        raise AssertionError(row)  # a page that is full has a last row
    key = row.entry if isinstance(row, IndexedRow) else row.key
    return key, bound.tables.start_of_row(row)
