"""The reading half of a session: gets, statements, streams and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hbase_orm.errors import MultipleRowsError, RowNotFoundError
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.query import ROWS_ALONE, Plan, Select
from hbase_orm.schema import Expr
from hbase_orm.session.analysis import analyzed
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.gets import found_rows, several_keys
from hbase_orm.session.history import CellVersion, StoredCell, stored_cells, versions_of
from hbase_orm.session.hooks import tell_loaded, telling
from hbase_orm.session.pages import Page, read_page
from hbase_orm.session.related import loader, with_related
from hbase_orm.session.state import SessionState, check_statement
from hbase_orm.session.stream import Stream, planned, rows_in_pages, selected

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class SessionReads(SessionState):
    """What a session reads. Queries see what HBase has, not what is pending."""

    def get(self, model: type[M], /, **key: Any) -> M | None:
        """Return the object of one row, or None.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
        """
        return self.get_many(model, [key])[0]

    def get_many(
        self, model: type[M], keys: Iterable[tuple[Any, ...] | Mapping[str, Any]], /
    ) -> list[M | None]:
        """Return the objects of several rows, None where there is none, positions kept.

        Args:
            model: The class.
            keys: Key fields by name, or as tuples in the order of declaration.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
            QueryError: `keys` is no list of keys.
        """
        bound = self._bound(model)
        asked = several_keys(keys)
        self._runtime.unclosed.close_dropped()
        found: list[M | None] = [None] * len(asked)
        for position, placed, row in found_rows(bound, asked, self._runtime):
            found[position] = self._attach(placed, placed.hydrate(row))
        return found

    def history(self, obj: Model, field: Expr[T], /, *, limit: int) -> list[CellVersion[T]]:
        """Return the newest versions of a field of `obj`'s row, newest first.

        A family keeps one version unless it is declared with more: `Family(versions=5)`.

        Args:
            obj: The object; its own values do not matter.
            field: A column, counter, or an entry of dynamic columns.
            limit: At most so many versions, 1 or more.

        Raises:
            QueryError: The field has no column, or the limit is not positive.
            CorruptRowError: A version does not decode.
        """
        bound = self._bound_to(obj)
        bound.look_up_names([obj.__dict__])
        key = bound.known_key(obj)
        return [] if key is None else versions_of(bound, key, field, limit, self._runtime)

    def stored_cells(self, model: type[Model], /, **key: Any) -> list[StoredCell]:
        """Return what HBase stores of a row: every version, deleted cells, and tombstones.

        To find out why a cell is not seen. What a flush or compaction dropped is gone. Of a row
        under a random salt, all rows that the key can have.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
            FeatureMissingError: The engine has no Thrift2 gateway.
        """
        bound = self._bound(model)
        check_key_arguments(bound.schema, key)
        bound = bound.placed(key)
        bound.look_up_names([key])
        return [
            cell for each in bound.keys(key) for cell in stored_cells(bound, each, self._runtime)
        ]

    def all(self, stmt: Select[T], /) -> list[T]:
        """Return everything that the statement selects: objects, or values of fields."""
        check_statement(stmt)
        if stmt.selection is not None:
            with self.stream(stmt) as values:
                return list(values)
        bound = self._bound(stmt.model)
        items, close = self._found(replace(stmt, related=()))
        with Stream[Any](items, close) as objects:
            found = [self._attach_whole(stmt, bound, obj) for obj in objects]
        loader(stmt, self._bound, self._runtime, self._attach)(found)
        return found

    def first(self, stmt: Select[T], /) -> T | None:
        """Return the first that the statement selects, or None."""
        check_statement(stmt)
        found = self.all(stmt.limit(1))
        return found[0] if found else None

    def one(self, stmt: Select[T], /) -> T:
        """Return the only one that the statement selects.

        Raises:
            RowNotFoundError: There is none.
            MultipleRowsError: There are more.
        """
        check_statement(stmt)
        found = self.all(stmt.limit(min(stmt.row_limit or 2, 2)))
        if not found:
            raise RowNotFoundError("no row matches", statement=repr(stmt.conditions))
        if len(found) > 1:
            raise MultipleRowsError("more than one row matches", statement=repr(stmt.conditions))
        return found[0]

    def stream(self, stmt: Select[T], /) -> Stream[T]:
        """Return an iterator over what the statement selects, in constant memory.

        Through an index it remembers the row keys that it gave.

        Its objects are not attached to the session. Close it, or use it as a context manager, to
        release the server's scanners before its end.
        """
        check_statement(stmt)
        items, close = self._found(stmt)
        return Stream(telling(stmt, items), close)

    def _found(self, stmt: Select[Any]) -> tuple[Iterator[Any], Callable[[], None]]:
        """Return what the statement selects, and what ends it; no object was told of its load."""
        bound = self._bound(stmt.model)
        pages = rows_in_pages(planned(stmt, bound, self._runtime), bound, self._runtime)
        if not stmt.related:
            return selected(pages, bound, stmt), pages.close
        load = loader(stmt, self._bound, self._runtime, lambda _, obj: tell_loaded(obj))
        return with_related(pages, bound, stmt, load), pages.close

    def page(self, stmt: Select[T], /, *, size: int, token: str | None = None) -> Page[T]:
        """Return the next objects that the statement selects, and a token to go on from.

        Rows that are written or deleted meanwhile may show or not; no other row is left out or
        given twice.

        Args:
            stmt: The statement.
            size: At most so many objects, 1 or more.
            token: The token of the page before, from any process; None begins.

        Raises:
            QueryError: The size is not a positive integer.
            PageTokenError: The token is none, or another statement's.
        """
        check_statement(stmt)
        bound = self._bound(stmt.model)
        page = read_page(
            stmt,
            size,
            token,
            bound=bound,
            runtime=self._runtime,
            attach=lambda obj: self._attach_whole(stmt, bound, obj),
        )
        loader(stmt, self._bound, self._runtime, self._attach)(page.items)
        return page

    def count(self, stmt: Select[Any], /) -> int:
        """Return how many objects, tuples or groups the statement selects.

        Of the rows only keys are read, and the columns that conditions compare.
        """
        check_statement(stmt)
        if not stmt.is_aggregated:
            stmt = replace(stmt, selection=ROWS_ALONE, sort=None, related=(), entries=None)
        with self.stream(stmt) as found:
            return sum(1 for _ in found)

    def exists(self, stmt: Select[Any], /) -> bool:
        """Say whether the statement selects anything; reads as little as `count`, of one row."""
        check_statement(stmt)
        return bool(self.count(stmt.limit(1)))

    def _attach_whole(self, stmt: Select[Any], bound: BoundModel, obj: Any) -> Any:
        """Return the session's object of a row; what is read in part stays out of the session."""
        if stmt.selection is not None:
            return obj  # values of fields
        is_whole = stmt.entries is None and stmt.times is None
        return self._attach(bound, obj) if is_whole else tell_loaded(obj)

    def explain(self, stmt: Select[Any], /, *, analyze: bool = False) -> Plan:
        """Return what would be sent for the statement; it prints as a tree.

        Sends nothing, but to look up names that have a number in their stead, the tables of a
        statement that reads all of them, and, once a lease, whether an index may be used.

        Args:
            stmt: The statement.
            analyze: Run it as `stream` does, and add what was measured: rows fetched, kept and
                dropped, stale index entries, and requests, bytes and time of each step. That sends
                what the statement sends, no more.
        """
        check_statement(stmt)
        if analyze:
            return analyzed(stmt, self._bound, self._runtime)
        return planned(stmt, self._bound(stmt.model), self._runtime)
