"""The session: what an application holds while it works with objects.

A unit of work, not a transaction: `add` and `delete` only note what is meant, `flush` sends it, and
queries see what HBase has, not what is pending. A session belongs to one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.model import Model
from hbase_orm.query import Plan, Select
from hbase_orm.reading.history import CellVersion, StoredCell
from hbase_orm.reading.pages import Page
from hbase_orm.reading.stream import Stream
from hbase_orm.schema import Expr
from hbase_orm.session.flushing import Flush
from hbase_orm.session.immediate import ImmediateWrites
from hbase_orm.session.pending import PendingWrites
from hbase_orm.session.reads import Reader
from hbase_orm.session.state import SessionState
from hbase_orm.writing.bulk import Bulk, Progress
from hbase_orm.writing.flush_outcome import FlushReport

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class Session(ImmediateWrites):
    """Reads and writes objects of models; made by `engine.session()`.

    As a context manager it flushes when the block ends well and closes itself; after an exception
    nothing more is sent.
    """

    def __init__(self, runtime: Runtime, bound_of: Callable[[type[Model]], BoundModel]) -> None:
        """Start with nothing loaded and nothing pending."""
        state = SessionState(runtime, bound_of)
        self._bound_of = bound_of
        self._state = state
        self._pending = PendingWrites(state)
        self._runtime = runtime
        self._reader = Reader(state, runtime)
        self._flush: Flush | None = None

    def __repr__(self) -> str:
        """Return how much is loaded and pending."""
        return f"Session(loaded={len(self._state.identity)}, pending={len(self._state.pending)})"

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
        self._state.close()

    # --- reads ------------------------------------------------------------------------------------

    def get(self, model: type[M], /, **key: Any) -> M | None:
        """Return the object of one row, or None.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
        """
        return self._reader.get_many(model, [key])[0]

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
        return self._reader.get_many(model, keys)

    def all(self, stmt: Select[T], /) -> list[T]:
        """Return everything that the statement selects: objects, or values of fields."""
        return self._reader.all(stmt)

    def first(self, stmt: Select[T], /) -> T | None:
        """Return the first that the statement selects, or None."""
        return self._reader.first(stmt)

    def one(self, stmt: Select[T], /) -> T:
        """Return the only one that the statement selects.

        Raises:
            RowNotFoundError: There is none.
            MultipleRowsError: There are more.
        """
        return self._reader.one(stmt)

    def stream(self, stmt: Select[T], /) -> Stream[T]:
        """Return an iterator over what the statement selects, in constant memory.

        Through an index it remembers the row keys that it gave.

        Its objects are not attached to the session. Close it, or use it as a context manager, to
        release the server's scanners before its end.
        """
        return self._reader.stream(stmt)

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
        return self._reader.page(stmt, size, token)

    def count(self, stmt: Select[Any], /) -> int:
        """Return how many objects, tuples or groups the statement selects.

        Of the rows only keys are read, and the columns that conditions compare.
        """
        return self._reader.count(stmt)

    def exists(self, stmt: Select[Any], /) -> bool:
        """Return whether the statement selects anything; reads as little as `count`, of one row."""
        return self._reader.exists(stmt)

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
        return self._reader.explain(stmt, analyze=analyze)

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
        return self._reader.history(obj, field, limit)

    def stored_cells(self, model: type[Model], /, **key: Any) -> list[StoredCell]:
        """Return what HBase stores of a row: every version, deleted cells, and tombstones.

        To find out why a cell is not seen. What a flush or compaction dropped is gone. Of a row
        under a random salt, all rows that the key can have.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
            FeatureMissingError: The engine has no Thrift2 gateway.
        """
        return self._reader.stored_cells(model, key)

    def refresh(self, obj: Model, /, *fields: Expr[Any]) -> None:
        """Read the row of `obj` again; its changes and what is pending for it are dropped.

        Args:
            obj: The object.
            fields: Deferred fields to load: `session.refresh(doc, Doc.body)`. Those that the object
                was loaded with are read again without being named.

        Raises:
            RowNotFoundError: There is no such row.
            QueryError: Not a field of the model.
            ValidationError: The session holds another object of it, or it belongs to another
                session.
        """
        self._reader.refresh(obj, fields, self._pending)

    # --- what the next flush writes ---------------------------------------------------------------

    def add(
        self, obj: Model, /, *, ttl: timedelta | None = None, timestamp_ms: int | None = None
    ) -> None:
        """Note that `obj` is to be written by the next flush.

        A new object puts its non-None cells, a loaded one its changes; other cells of the row stay.

        Args:
            obj: The object.
            ttl: How long the cells live that are put, if that is shorter than their family's ttl;
                what lies below is seen again afterwards. Plain models only.
            timestamp_ms: The timestamp of what is written, milliseconds since 1970; a cell with a
                newer one, or a delete at this one, hides it. Plain models only.

        Raises:
            RowKeyError: Its row key cannot be made.
            ValidationError: The session holds another object of this row, the object belongs to
                another session or engine, or an option does not fit.
        """
        self._pending.note(obj, "put", ttl=ttl, timestamp_ms=timestamp_ms)

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Note that each of these objects is to be written by the next flush."""
        for obj in objects:
            self.add(obj)

    def delete(self, obj: Model, /, *, timestamp_ms: int | None = None) -> None:
        """Note that the row of `obj` is to be deleted by the next flush.

        Args:
            obj: The object.
            timestamp_ms: Delete cells up to this timestamp, milliseconds since 1970; newer ones
                stay. Plain models only.

        Raises:
            RowKeyError: Its row key cannot be made.
            ValidationError: The session holds another object of this row, the object belongs to
                another session or engine, or the timestamp does not fit.
        """
        self._pending.note(obj, "delete", timestamp_ms=timestamp_ms)

    def expunge(self, obj: Model, /) -> None:
        """Forget `obj` and what is pending for it; the object lives on, unattached."""
        self._pending.expunge(obj)

    def flush(self) -> FlushReport:
        """Send what is pending, in order, and report.

        What hooks add, delete or change is sent too: what `before_*` hooks note with the rest, and
        what `after_*` hooks note in a further round, until nothing is pending.

        Safe to call again after an error, and after an exception from outside (Ctrl-C, a time
        limit) that interrupted it: what was acknowledged is not pending any more, and of the rest
        what was written all the same is no conflict.

        Raises:
            ValidationError: A value does not fit, hooks note more without end, or an object was
                changed in place that no longer stands for its row; nothing was sent.
            RowKeyError: The row key of an index entry is too long; nothing was sent. Either way
                the flush goes on once the object is corrected, or forgotten by `expunge`.
            FlushConflictError: Some were written by others since their objects were loaded.
            ConflictError: A value was changed in place after its object had got another one from
                its row; nothing was sent.
            FlushError: Some rows were not written, or their outcome is unknown. What `after_*`
                hooks noted and does not fit, or has no end, is not written: others were.
            QueryError: A hook of a flush calls this.
            Exception: What a hook raised: a `before_*` hook before its round is sent, an `after_*`
                hook when everything was written and every hook was called.
        """
        if self._flush is None:
            if self._state.is_clean:
                return FlushReport()
            self._flush = Flush(self._state, self._pending)
        return self._flush.run()

    # --- many rows --------------------------------------------------------------------------------

    def bulk(
        self,
        *,
        batch_rows: int = 1000,
        insert_only: bool = False,
        parallel: int | None = None,
        progress: Progress | None = None,
    ) -> Bulk:
        """Return a writer for any number of rows, in constant memory.

        It takes objects inside its `with` block only, and in one block: elsewhere `add` raises
        `QueryError`. Safe to abandon before the block: it has no threads until then.

        Args:
            batch_rows: Most rows in one request; it also ends at about 2 MiB of cells.
            insert_only: The rows are known to be new. A table with indexes that nobody has written
                yet is then loaded in plain batches that carry their guards; an interrupted load is
                resumed by loading the same rows again, and nothing is doubled. A row that stands
                twice in a load is refused with `DuplicateRowError` while the first is on its way;
                further apart that is not noticed, and the row may lack index entries: load each
                row once, and from one process at a time. Otherwise each row of a table with
                indexes is checked, and one that exists is reported with `DuplicateRowError`.
                Without indexes nothing is checked.
            parallel: Most batches under way at once, each on a connection; more than the pool has
                only wait for each other. None: 3, and 6 in such a load. 1 sends a batch when the
                one before it was answered.
            progress: Called in this thread after each batch with a `FlushReport` of what was
                written so far. What it raises ends the bulk.

        Raises:
            QueryError: `batch_rows` or `parallel` is not a positive integer.
            ConfigurationError: The session is closed.
        """
        self._state.refuse_closed()
        return Bulk(
            self._runtime,
            self._bound_of,
            self._state.refuse_closed,
            batch_rows=batch_rows,
            insert_only=insert_only,
            parallel=parallel,
            progress=progress,
        )
