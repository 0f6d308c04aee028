"""The session: what an application holds while it works with objects.

A unit of work, not a transaction: `add` and `delete` only note what is meant, `flush` sends it, and
queries see what HBase has, not what is pending. A session belongs to one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from hbase_orm.errors import (
    ConfigurationError,
    MultipleRowsError,
    QueryError,
    RowNotFoundError,
    ValidationError,
)
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.ops import Cell, Increment, Row
from hbase_orm.query import Plan, Select
from hbase_orm.schema import AddAmount
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.bulk import Bulk
from hbase_orm.session.flush import emit
from hbase_orm.session.gets import found_rows, key_to_change
from hbase_orm.session.identity import IdentityMap, refresh, supersede
from hbase_orm.session.increments import amounts_by_column
from hbase_orm.session.pages import Page, read_page
from hbase_orm.session.pending import number_names
from hbase_orm.session.period_tables import send
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.stream import Stream, planned, rows_in_pages, selected
from hbase_orm.session.unit_of_work import (
    FlushReport,
    RowWrite,
    flush_error,
    loaded_row,
    write_of,
)

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class Session:
    """Reads and writes objects of models; made by `engine.session()`.

    As a context manager it flushes when the block ends well and closes itself; after an exception
    nothing more is sent.
    """

    def __init__(self, runtime: Runtime, bound_of: Callable[[type[Model]], BoundModel]) -> None:
        """Start with nothing loaded and nothing pending."""
        self._runtime = runtime
        self._bound_of = bound_of
        self._is_closed = False
        self._identity = IdentityMap()
        self._pending: dict[int, tuple[Model, str]] = {}

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
        self._pending.clear()
        for obj in self._identity.clear():
            obj._note_change = None  # noqa: SLF001 - the model's own state

    # --- writing ----------------------------------------------------------------------------------

    def add(self, obj: Model, /) -> None:
        """Note that `obj` is to be written by the next flush.

        A new object puts its non-None cells, a loaded one its changes; other cells of the row stay.

        Raises:
            RowKeyError: Its row key cannot be made.
            ValidationError: The session holds another object of this row.
        """
        self._note(obj, "put")

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Note that all of them are to be written."""
        for obj in objects:
            self.add(obj)

    def delete(self, obj: Model, /) -> None:
        """Note that the row of `obj` is to be deleted by the next flush.

        Raises:
            RowKeyError: Its row key cannot be made.
            ValidationError: The session holds another object of this row.
        """
        self._note(obj, "delete")

    def expunge(self, obj: Model, /) -> None:
        """Forget `obj` and what is pending for it; the object lives on, unattached."""
        self._pending.pop(id(obj), None)
        bound = self._bound_to(obj)
        key = bound.known_key(obj)
        if key is not None and self._identity.find(bound, key) is obj:
            self._identity.forget(bound, key)
        obj._note_change = None  # noqa: SLF001 - the model's own state

    def flush(self) -> FlushReport:
        """Send what is pending, in order, and report.

        Safe to call again after an error: what was acknowledged is not pending any more.

        Raises:
            ValidationError: A value does not fit; nothing was sent.
            FlushError: Some rows were not written, or their outcome is unknown.
        """
        for obj in number_names(self._pending.values(), self._bound):
            self._pending.pop(id(obj))  # there is no such row to delete
        writes = [
            write_of(self._bound_to(obj), obj, "delete" if kind == "delete" else "put")
            for obj, kind in self._pending.values()
        ]
        outcome = emit(writes, self._runtime)
        idle = [write for write in writes if write.is_idle]
        for write in (*outcome.written, *idle):
            self._mark_clean(write)
        if outcome.not_written or outcome.unknown:
            raise flush_error(outcome) from outcome.unexpected
        return FlushReport(written=len(outcome.written))

    def bulk(self, *, batch_rows: int = 1000, insert_only: bool = False) -> Bulk:
        """Return a writer for any number of rows, in constant memory.

        Args:
            batch_rows: Most rows in one request; it also ends at about 2 MiB of cells.
            insert_only: The rows are known to be new. A table with indexes that nobody has written
                yet is then loaded in plain batches that carry their guards; an interrupted load is
                resumed by loading the same rows again, and nothing is doubled. A row that stands
                twice in a load is refused with `DuplicateRowError` while the first is on its way;
                further apart that is not noticed, and the row may lack index entries: load each
                row once. Otherwise each row
                of a table with indexes is checked, and one that exists is reported with
                `DuplicateRowError`. Without indexes nothing is checked.
        """
        return Bulk(self._runtime, self._bound, batch_rows=batch_rows, insert_only=insert_only)

    def increment(self, model: type[Model], /, *increments: AddAmount, **key: Any) -> list[int]:
        """Add to counters of one row at once, atomically; return their new values in order.

        Never repeated by itself: after `ConnectionLostError` the outcome is unknown.

        Raises:
            QueryError: Nothing to add, or a field that is no counter of the model.
            RowKeyError: A key field is missing or does not fit.
        """
        bound = self._bound(model)
        amounts = amounts_by_column(bound, increments)
        check_key_arguments(bound.schema, key)
        bound = bound.placed(key)
        row = key_to_change(bound, key, self._runtime)
        self._runtime.wait_for_ties([(bound.schema.table, row)])
        values = send(Increment(bound.schema.table, row, amounts), bound, self._runtime)
        return [values[column] for column in amounts]

    # --- reading ----------------------------------------------------------------------------------

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
        """
        bound = self._bound(model)
        asked = list(keys)
        found: list[M | None] = [None] * len(asked)
        for position, placed, row in found_rows(bound, asked, self._runtime):
            found[position] = self._attach(placed, placed.hydrate(row))
        return found

    def all(self, stmt: Select[T], /) -> list[T]:
        """Return every object that the statement selects."""
        _check_statement(stmt)
        bound = self._bound(stmt.model)
        with self.stream(stmt) as objects:
            return [self._attach(bound, obj) for obj in objects]

    def first(self, stmt: Select[T], /) -> T | None:
        """Return the first object, or None."""
        _check_statement(stmt)
        found = self.all(stmt.limit(1))
        return found[0] if found else None

    def one(self, stmt: Select[T], /) -> T:
        """Return the only object.

        Raises:
            RowNotFoundError: There is none.
            MultipleRowsError: There are more.
        """
        _check_statement(stmt)
        found = self.all(stmt.limit(2))
        if not found:
            raise RowNotFoundError("no row matches", statement=repr(stmt.conditions))
        if len(found) > 1:
            raise MultipleRowsError("more than one row matches", statement=repr(stmt.conditions))
        return found[0]

    def stream(self, stmt: Select[T], /) -> Stream[T]:
        """Return an iterator over the objects, in constant memory.

        Its objects are not attached to the session. Close it, or use it as a context manager, to
        release the server's scanners before its end.
        """
        _check_statement(stmt)
        bound = self._bound(stmt.model)
        pages = rows_in_pages(planned(stmt, bound, self._runtime), bound, self._runtime)
        return Stream(selected(pages, bound, stmt), pages.close)

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
        _check_statement(stmt)
        bound = self._bound(stmt.model)
        return read_page(
            stmt,
            size,
            token,
            bound=bound,
            runtime=self._runtime,
            attach=lambda obj: self._attach(bound, obj),
        )

    def count(self, stmt: Select[Any], /) -> int:
        """Return how many objects the statement selects."""
        with self.stream(stmt) as objects:
            return sum(1 for _ in objects)

    def exists(self, stmt: Select[Any], /) -> bool:
        """Say whether the statement selects any object."""
        return self.first(stmt) is not None

    def explain(self, stmt: Select[Any], /) -> Plan:
        """Return what would be sent for the statement; it prints as a tree.

        Sends nothing, but to look up names that have a number in their stead, and the tables of
        a statement that reads all of them.
        """
        _check_statement(stmt)
        return planned(stmt, self._bound(stmt.model), self._runtime)

    # --- inside -----------------------------------------------------------------------------------

    def _bound(self, model: type[Model]) -> BoundModel:
        if self._is_closed:
            raise ConfigurationError(
                "the session is closed", fix="make another one: engine.session()"
            )
        return self._bound_of(model)

    def _bound_to(self, obj: Model) -> BoundModel:
        """Return the model of an object, with the table of its row."""
        return self._bound(type(obj)).placed(obj.__dict__)

    def _note(self, obj: Model, kind: str) -> None:
        if not isinstance(obj, Model):
            raise ValidationError(
                "this is no object of a model", got=repr(obj), fix="add(Reading(...))"
            )
        self._refuse_other(obj)
        self._pending.pop(id(obj), None)  # what is noted last is sent last
        self._pending[id(obj)] = (obj, kind)

    def _refuse_other(self, obj: Model) -> None:
        """Refuse a second object of a row: what one writes, the other does not know."""
        bound = self._bound_to(obj)
        key = bound.known_key(obj)
        if key is None:
            return  # its name has no number here, so no object of its row was read
        known = self._identity.find(bound, key) or obj
        is_to_go = self._pending.get(id(known), (known, "put"))[1] == "delete"
        if known is not obj and not is_to_go:
            raise ValidationError(
                "the session holds another object of this row",
                model=bound.schema.model_name,
                row=key,
                fix="change that object, or expunge it first",
            )

    def _note_change(self, obj: Model) -> None:
        self._pending.setdefault(id(obj), (obj, "put"))

    def _mark_clean(self, write: RowWrite) -> None:
        obj = write.obj
        if obj is None:
            return
        self._pending.pop(id(obj), None)
        if write.kind == "delete":
            obj._row = None  # noqa: SLF001 - the model's own state
            obj._note_change = None  # noqa: SLF001 - the model's own state
            supersede(self._identity.forget(write.bound, write.key), obj)
            return
        loaded = loaded_row(obj)
        kept = {} if loaded is None else dict(loaded.cells)
        kept = {column: cell for column, cell in kept.items() if column not in write.clears}
        kept.update({column: Cell(value, 0) for column, value in write.cells.items()})
        obj._row = Row(write.key, kept)  # noqa: SLF001 - the model's own state
        obj._note_change = self._note_change  # noqa: SLF001 - the model's own state
        supersede(self._identity.find(write.bound, write.key), obj)
        self._identity.put(write.bound, write.key, obj)

    def _attach(self, bound: BoundModel, obj: Any) -> Any:
        """Return the session's one object of a row: `obj`, or the known one brought up to date."""
        if bound.kinds is not None or bound.schema.layout.table_period is not None:
            bound = self._bound_to(obj)
        key = obj._row.key  # noqa: SLF001 - the model's own state
        known = self._identity.find(bound, key)
        if known is not None:
            refresh(bound, known, obj)
            return known
        obj._note_change = self._note_change  # noqa: SLF001 - the model's own state
        self._identity.put(bound, key, obj)
        return obj


def _check_statement(stmt: object) -> None:
    if not isinstance(stmt, Select):
        raise QueryError(
            "this is no statement", got=repr(stmt), fix="write session.all(select(Reading))"
        )
