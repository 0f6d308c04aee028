"""The session, through which an application reads and writes objects of models.

A session is a unit of work, not a transaction: `add` and `delete` only record a write, `flush`
sends it, and queries return what HBase stores, without pending writes. A session may be used by
only one thread at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, Never, Self, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.model.refusals import refuse_unnamed
from hbase_orm.ops import Protocol
from hbase_orm.query import Plan, Select
from hbase_orm.reading.history import CellVersion, StoredCell
from hbase_orm.reading.pages import Page
from hbase_orm.reading.stream import Stream
from hbase_orm.schema import Expr
from hbase_orm.session.arrow_reads import ArrowReads
from hbase_orm.session.flushing import Flush
from hbase_orm.session.immediate import ImmediateWrites
from hbase_orm.session.pending import PendingWrites
from hbase_orm.session.reads import Reader
from hbase_orm.session.state import SessionState
from hbase_orm.writing.bulk import Bulk, BulkSession
from hbase_orm.writing.bulk_sending import Progress
from hbase_orm.writing.flush_outcome import FlushReport

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class Session(ArrowReads, ImmediateWrites):
    """Reads and writes objects of models; `engine.session()` returns a new session.

    As a context manager, a session flushes at the end of the `with` block and closes. After an
    exception in the `with` block it closes without a flush.
    """

    def __init__(
        self,
        runtime: Runtime,
        bound_of: Callable[[type[Model]], BoundModel],
        usable: Callable[[type[Model]], Protocol[BoundModel]],
    ) -> None:
        """Start without objects and without pending writes."""
        state = SessionState(runtime, bound_of, usable)
        self._bound_of = bound_of
        self._state = state
        self._pending = PendingWrites(state)
        self._runtime = runtime
        self._reader = Reader(state, runtime)
        self._flush: Flush | None = None

    def __repr__(self) -> str:
        """Return a text with the numbers of loaded objects and of pending writes."""
        counts = f"loaded={len(self._state.identity)}, pending={len(self._state.pending)}"
        return f"Session({'closed' if self._state.is_closed else counts})"

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
        """Flush, unless an exception ended the `with` block; close the session in any case."""
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Forget all objects and pending writes; the objects stay usable, without a session.

        The session cannot be used afterwards; closing it twice is allowed.
        """
        self._state.close()

    # --- reads ------------------------------------------------------------------------------------

    def get(self, model: type[M], /, *values: Never, **key: Any) -> M | None:
        """Return the object of one row, or None if the row does not exist.

        If the engine has the URL option `on_corrupt=skip`, the result is also None for a row that
        does not decode.

        Raises:
            CorruptRowError: The row does not decode.
            RowKeyError: A key field is missing, unknown or does not fit.
            MultipleRowsError: The key has a random salt, and several rows have this key.
        """
        refuse_unnamed("session.get", model, values)
        return self._reader.get(model, key)

    def get_many(
        self, model: type[M], keys: Iterable[tuple[Any, ...] | Mapping[str, Any]], /
    ) -> list[M | None]:
        """Return the objects of rows in the order of the keys; None where a row does not exist.

        Args:
            model: The model of the rows.
            keys: The key fields of each row, as a mapping by name or as a tuple in the order of
                declaration.

        Raises:
            CorruptRowError: A row does not decode. If the engine has the URL option
                `on_corrupt=skip`, the result has None for this row instead.
            RowKeyError: A key field is missing, unknown or does not fit; nothing was sent.
            MultipleRowsError: The keys have a random salt, and several rows have the same key.
            QueryError: `keys` is not a list of keys.
        """
        return self._reader.get_many(model, keys)

    def all(self, stmt: Select[T], /) -> list[T]:
        """Return all objects, or all values of fields, that the statement selects."""
        return self._reader.all(stmt)

    def first(self, stmt: Select[T], /) -> T | None:
        """Return the first object or value that the statement selects, or None."""
        return self._reader.first(stmt)

    def one(self, stmt: Select[T], /) -> T:
        """Return the only object or value that the statement selects.

        Raises:
            RowNotFoundError: No row matches.
            MultipleRowsError: More than one row matches.
        """
        return self._reader.one(stmt)

    def stream(self, stmt: Select[T], /) -> Stream[T]:
        """Return an iterator over the objects or values that the statement selects.

        The iterator needs constant memory, except with an index: then it keeps the row keys of its
        results. The objects are not attached to the session. The iterator holds scanners of the
        server: read it to its end, close it, or use it as a context manager.
        """
        return self._reader.stream(stmt)

    def page(self, stmt: Select[T], /, *, size: int, token: str | None = None) -> Page[T]:
        """Return one page of the objects that the statement selects, with the next page's token.

        Every row that is not written or deleted between two pages is returned exactly once. Any
        other row may appear or not.

        Args:
            stmt: The statement.
            size: The largest number of objects of the page, 1 or more.
            token: The token that came with the previous page, also in another process. None for the
                first page.

        Raises:
            QueryError: The size is not a positive integer, or the statement has groups or sorts
                rows in memory.
            PageTokenError: The token is not valid, or belongs to another statement.
        """
        return self._reader.page(stmt, size, token)

    def count(self, stmt: Select[Any], /) -> int:
        """Return how many objects, tuples or groups the statement selects.

        Reads row keys and the columns that the conditions compare; for groups also the columns of
        the results. Other columns are read only where they show that a row exists, or that an
        index entry is not stale.
        """
        return self._reader.count(stmt)

    def exists(self, stmt: Select[Any], /) -> bool:
        """Return whether the statement selects anything.

        Reads at most one matching row, and only the columns that `count` would read.
        """
        return self._reader.exists(stmt)

    def explain(self, stmt: Select[Any], /, *, analyze: bool = False) -> Plan:
        """Return the plan of a statement: what would be sent to HBase. The plan prints as a tree.

        Sends no reads of rows, but other requests may be needed:

        - to look up names that the row key stores as numbers,
        - to list the tables of a model with a table for each period,
        - to read the catalog, once per lease: the record of the table, and which indexes may be
          used.

        Args:
            stmt: The statement.
            analyze: Run the statement as `stream` does, and add measurements to the plan. They
                count the rows that were fetched, kept and dropped, and stale index entries. For
                each step they show requests, bytes and time.
        """
        return self._reader.explain(stmt, analyze=analyze)

    def history(self, obj: Model, field: Expr[T], /, *, limit: int) -> list[CellVersion[T]]:
        """Return the newest versions of a field of `obj`'s row, newest first.

        A family keeps one version unless it is declared with more: `Family(versions=5)`.

        Args:
            obj: An object of the row; its own values are not used.
            field: A column, a counter, or a single dynamic column.
            limit: The largest number of versions, 1 or more.

        Raises:
            QueryError: The field is not stored in a column, or the limit is not positive.
            CorruptRowError: A version does not decode.
        """
        return self._reader.history(obj, field, limit)

    def stored_cells(self, model: type[Model], /, *values: Never, **key: Any) -> list[StoredCell]:
        """Return what HBase stores of a row: every version, deleted cells, and tombstones.

        Use it to find out why a cell is not visible. Cells that an HBase flush or compaction
        removed are not returned. For a key with a random salt, the rows in all buckets are
        returned.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
            FeatureMissingError: The engine has no Thrift2 gateway.
        """
        refuse_unnamed("session.stored_cells", model, values)
        return self._reader.stored_cells(model, key)

    def refresh(self, obj: Model, /, *fields: Expr[Any]) -> None:
        """Read the row of `obj` again; drop the object's changes and its pending write.

        Args:
            obj: The object.
            fields: Deferred fields to load: `session.refresh(doc, Doc.body)`. Deferred fields that
                the object has already are read again without being named.

        Raises:
            RowNotFoundError: The row does not exist.
            QueryError: An argument is not a field of the model.
            ValidationError: The session holds another object of the row, or `obj` belongs to
                another session.
        """
        self._reader.refresh(obj, fields, self._pending)

    # --- what the next flush writes ---------------------------------------------------------------

    def add(
        self, obj: Model, /, *, ttl: timedelta | None = None, timestamp_ms: int | None = None
    ) -> None:
        """Record that the next flush has to write `obj`.

        For a new object the flush puts all fields that are not None. For a loaded object it writes
        only the changed fields. Other cells of the row are kept.

        Args:
            obj: The object.
            ttl: The time to live of the cells that are put. A shorter ttl of their family applies
                instead. When the cells expire, older versions of them are visible again. Plain
                models only.
            timestamp_ms: The timestamp of the cells that are put, in milliseconds since 1970. An
                existing cell hides the new cell if its timestamp is newer. So does a delete at this
                timestamp or later. Plain models only.

        Raises:
            RowKeyError: The row key of the object cannot be computed.
            ValidationError: The session holds another object of this row, or the object belongs to
                another session or engine. Or `ttl` or `timestamp_ms` does not fit.
        """
        self._pending.note(obj, "put", ttl=ttl, timestamp_ms=timestamp_ms)

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Record that the next flush has to write each of these objects."""
        for obj in objects:
            self.add(obj)

    def delete(self, obj: Model, /, *, timestamp_ms: int | None = None) -> None:
        """Record that the next flush has to delete the row of `obj`.

        Args:
            obj: The object.
            timestamp_ms: Delete only cells up to this timestamp, in milliseconds since 1970. Newer
                cells are kept. Plain models only.

        Raises:
            RowKeyError: The row key of the object cannot be computed.
            ValidationError: The session holds another object of this row, or the object belongs to
                another session or engine. Or the timestamp does not fit.
        """
        self._pending.note(obj, "delete", timestamp_ms=timestamp_ms)

    def expunge(self, obj: Model, /) -> None:
        """Remove `obj` and its pending write from the session; the object stays usable."""
        self._pending.expunge(obj)

    def flush(self) -> FlushReport:
        """Send the pending writes, in order, and return a report.

        A flush sends the writes in rounds, until nothing is pending. Objects that `before_*` hooks
        add, delete or change are sent in the same round. Objects that `after_*` hooks add, delete
        or change are sent in the next round.

        Safe to call again after an error or an interruption (Ctrl-C, a time limit). Acknowledged
        writes are not sent again. A write that reached HBase without an acknowledgement does not
        count as a conflict.

        Raises:
            ValidationError: A value does not fit, or hooks add objects without end. Or an object
                was changed in place after another object took over its row. Nothing was sent.
            RowKeyError: The row key of an index entry is too long; nothing was sent. After this
                error or a `ValidationError`, correct or `expunge` the object, and flush again.
            FlushConflictError: Other programs wrote some of the rows after their objects were
                loaded.
            SchemaDriftError: A model contradicts the record of its table. Nothing was sent.
            FlushSchemaError: The model does not fit its table; for example, the model lacks an
                index that other programs maintain.
            ConflictError: A dict or list was changed in place after its object got a newer value
                from the row. Nothing was sent.
            FlushError: Some rows were not written, or their outcome is unknown. After the first
                round this error replaces the errors above, for example if objects that `after_*`
                hooks added do not fit.
            QueryError: A hook of a flush called `flush`.
            Exception: The error of a hook. The error of a `before_*` hook is raised before its
                round is sent. The error of an `after_*` hook is raised after all writes, when every
                hook was called.
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
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
    ) -> Bulk:
        """Return a bulk writer, which writes any number of rows in constant memory.

        It takes objects to put (`add`, `add_all`) and rows to delete (`delete`, `delete_row`).

        It can be used in one `with` block only, which starts its threads: outside of the block
        `add` raises `QueryError`.

        Args:
            batch_rows: The largest number of rows in one request; a request also ends at about 2
                MiB of cells.
            insert_only: Whether the caller knows that all rows are new. Without indexes nothing is
                checked. With indexes each row is checked, and an existing row raises
                `DuplicateRowError`. But a table with indexes that was never written is loaded in
                plain batches with guards, also by several processes together; the last one to end
                opens it. Load each row once: a second one raises `DuplicateRowError` only while the
                first one is sent; later it may lack index entries. To resume an interrupted load,
                load the same rows again. Rows cannot be deleted.
            parallel: The largest number of batches that are sent in parallel, each on its own
                connection. None means 6 for a load in plain batches (see `insert_only`), else 3.
                With 1, each batch is sent after the answer to the batch before it.
            progress: A function that is called in this thread after each batch with a `FlushReport`
                of the rows written so far. An exception that it raises ends the bulk.
            gateway_timeout_s: How long a load waits at its end for requests of loads of the table
                that were killed; see `engine.build_index`.

        Raises:
            QueryError: `batch_rows` or `parallel` is not a positive integer.
            ConfigurationError: The session is closed, or `gateway_timeout_s` is out of range.
        """
        self._state.refuse_closed()
        return Bulk(
            self._runtime,
            BulkSession(
                self._bound_of,
                self._state.refuse_closed,
                self._state.use,
                self._state.refuse_owned,
                self._pending.mark_deleted,
            ),
            batch_rows=batch_rows,
            insert_only=insert_only,
            parallel=parallel,
            progress=progress,
            gateway_timeout_s=gateway_timeout_s,
        )


def unsent_writes(session: Session) -> int:
    """Return how many writes a flush would send, also those of values changed in place."""
    session._state.note_changes_in_place()  # noqa: SLF001 - one library
    return len(session._state.pending)  # noqa: SLF001 - likewise
