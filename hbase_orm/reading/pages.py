"""Pages: a limited number of a statement's results, and a token for the next page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import PageTokenError, QueryError
from hbase_orm.execute import IndexedRow, Pages, Reading, Rows
from hbase_orm.model.descriptions import results_html
from hbase_orm.model.printing import shown
from hbase_orm.ops import Row
from hbase_orm.query import Plan, Select
from hbase_orm.query.planning.page_tokens import (
    PagePosition,
    access_of,
    fingerprint,
    position_of,
    resume,
    token_of,
)
from hbase_orm.reading.stream import matching_rows

T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Page(Generic[T]):
    """One page of the results of a statement.

    Attributes:
        items: The objects or values, in the statement's order.
        token: The token for the next page; None if nothing follows.
        reason: Why the page ends:

            - "exhausted": nothing follows.
            - "size": the page is full, and more follows.
            - "limit": the statement's limit is reached.
            - "cut_short": the read ended early. The token continues it.
        stale: Whether a replica answered: objects may be outdated, and others missing. Only
            statements with `.consistency("timeline")` read from replicas.
    """

    items: list[T] = field(default_factory=list)
    token: str | None = None
    reason: Literal["exhausted", "size", "limit", "cut_short"] = "exhausted"
    stale: bool = False

    def __repr__(self) -> str:
        """Return the first results, the token and the reason; long values are cut."""
        stale = ", stale=True" if self.stale else ""
        items, token = shown(self.items), shown(self.token)
        return f"Page(items={items}, token={token}, reason={self.reason!r}{stale})"

    def _repr_html_(self) -> str:
        """Return the page for a notebook: a table with a row for each result."""
        plural = "" if len(self.items) == 1 else "s"
        caption = f"{len(self.items)} result{plural}, {_ENDS[self.reason]}"
        return results_html(self.items, caption + ("; replicas answered" if self.stale else ""))


_ENDS: Final = {
    "exhausted": "nothing follows",
    "size": "more follow",
    "limit": "the limit is reached",
    "cut_short": "the read ended early",
}
"""Why a page ends, in words, by the reason."""


@dataclass(frozen=True, slots=True)
class PageRequest(Generic[T]):
    """The request for one page of a statement's results.

    Attributes:
        stmt: The statement, with a limit of one row more than the page holds. The additional row
            shows whether another page follows.
        bound: The bound model of the statement.
        room: The largest number of results on the page.
        limit: The limit of the original statement, or None.
        mark: The fingerprint of the statement, which every token of the statement contains.
        since_ms: The time of the request for the first page, in milliseconds since 1970.
        position: The position of the last row of the previous page; None for the first page.
    """

    stmt: Select[T]
    bound: BoundModel
    room: int
    limit: int | None
    mark: bytes
    since_ms: int
    position: PagePosition | None

    @property
    def given_before(self) -> int:
        """The number of results that all earlier pages had."""
        return 0 if self.position is None else self.position.given

    def plan_from(self, chosen: Plan) -> Plan:
        """Return the part of plan `chosen` that is left to read after the previous page.

        Raises:
            PageTokenError: The previous page did not read the same index (or row key). Or the plan
                does not read the last row of the previous page.
        """
        return chosen if self.position is None else resume(chosen, self.position)

    def page(self, rows: Rows, chosen: Plan, attach: Callable[[Any], Any]) -> Reading[Page[T]]:
        """Read the page and return it.

        Args:
            rows: The generator that reads the rows of the plan.
            chosen: The plan.
            attach: A function that makes the page's item of each result.
        """
        items: list[Any] = []
        last: Row | None = None
        with closing(Pages(rows)) as pages:
            while (page := (yield from pages.next())) is not None:
                for row, obj in matching_rows(iter((page,)), self.bound, self.stmt):
                    if len(items) == self.room:
                        return Page(items, self._token(last, chosen), "size")
                    items.append(attach(obj))
                    last = row
                    if self.given_before + len(items) == self.limit:
                        return Page(items, None, "limit")
        return Page(items)

    def _token(self, last: Row | None, chosen: Plan) -> str:
        key, start = _end(last, self.bound)
        given, access = self.given_before + self.room, access_of(chosen)
        return token_of(PagePosition(key, given, access, self.since_ms, start), self.mark)


def page_request(
    stmt: Select[T], size: int, token: str | None, *, bound: BoundModel, now_ms: Callable[[], int]
) -> PageRequest[T]:
    """Return the request for a page with the next `size` results of a statement.

    Raises:
        QueryError: The size is not a positive integer, or the statement has groups or a
            sort in memory.
        PageTokenError: The token does not belong to this statement, or no rows follow it.
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
    since_ms = now_ms() if position is None else position.since_ms
    room = size if stmt.row_limit is None else min(size, stmt.row_limit - given_before)
    if room < 1:
        raise PageTokenError("the page token belongs to the last page: no rows follow", token=token)
    with_next = replace(stmt, row_limit=room + 1)
    return PageRequest(with_next, bound, room, stmt.row_limit, mark, since_ms, position)


def _end(row: Row | None, bound: BoundModel) -> tuple[bytes, datetime | None]:
    """Return the key of a page's last row, and the start of the period of the row's table.

    If the row was read through an index, the key is the key of its index entry. The start is None
    if the model has one table.
    """
    if row is None:
        raise AssertionError(row)  # a page that is full has a last row
    key = row.entry if isinstance(row, IndexedRow) else row.key
    return key, bound.tables.start_of_row(row)
