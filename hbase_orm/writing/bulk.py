"""Writes any number of rows with a limited amount of memory.

The caller's thread encodes the rows. A few other threads send them in batches, of which at most
`WAITING_BATCHES` wait. Guarded rows are written by the index protocol; in a load, in plain batches
that include the guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Never, Self

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import QueryError, RowKeyError, ValidationError
from hbase_orm.gateway.helper_threads import Team
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model, check_key_arguments
from hbase_orm.model.refusals import refuse_unnamed
from hbase_orm.objects.ownership import refuse_foreign, refuse_incomplete
from hbase_orm.reading.by_key import read_rows
from hbase_orm.writing.assign_numbers import assign_substitute_numbers
from hbase_orm.writing.bulk_buffers import TableBuffer
from hbase_orm.writing.bulk_senders import FlatSender, LoadSender
from hbase_orm.writing.bulk_sending import LOADS_IN_FLIGHT, BulkSending, Progress
from hbase_orm.writing.hook_calls import prepare
from hbase_orm.writing.options import options_of
from hbase_orm.writing.row_write import RowWrite, check_entries, write_with_key

NUMBERED_AT_ONCE: Final = 100
"""The number of objects whose new names get their numbers together, to save requests."""


@dataclass(frozen=True, slots=True)
class BulkSession:
    """What a bulk writer uses of its session.

    Attributes:
        bound_of: Returns a model's bound model.
        refuse_closed: Raises an error if the session is closed.
        use: Compares a model with the record of its table.
        refuse_owned: Raises an error if an object belongs to another session.
        note_delete: Is called with each acknowledged delete, and detaches the session's object of
            the row.
    """

    bound_of: Callable[[type[Model]], BoundModel]
    refuse_closed: Callable[[], None]
    use: Callable[[type[Model]], None]
    refuse_owned: Callable[[Model], None]
    note_delete: Callable[[RowWrite], None]


class Bulk(BulkSending):
    """A bulk writer, used in a with block. Rows may be unsent until the with block has ended.

    Attributes:
        report: The number of rows written so far, as a `FlushReport`.
    """

    def __init__(
        self,
        runtime: Runtime,
        session: BulkSession,
        *,
        batch_rows: int,
        insert_only: bool,
        parallel: int | None = None,
        progress: Progress | None = None,
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
    ) -> None:
        """Prepare the bulk writer; nothing is sent.

        Raises:
            ConfigurationError: `gateway_timeout_s` is out of range.
            QueryError: `batch_rows` or `parallel` is not a positive integer.
        """
        super().__init__(
            runtime,
            session.bound_of,
            session.note_delete,
            batch_rows=batch_rows,
            insert_only=insert_only,
            parallel=parallel,
            progress=progress,
            gateway_timeout_s=gateway_timeout_s,
        )
        self._session = session
        self._used: set[type[Model]] = set()

    def __repr__(self) -> str:
        """Return the state of the block, and how many rows were written and how many wait."""
        waiting = self._buffers.rows + len(self._unnumbered)
        return f"Bulk({self._block.state}, written={self.report.written}, waiting={waiting})"

    def add(self, obj: Model, /, *, ttl: timedelta | None = None) -> None:
        """Add one object to write: all its fields that are not None are put.

        Deferred fields that are not loaded are not written; they must not be required. The hook
        `before_put` is called, but not `after_put`: the objects are not kept.

        Args:
            obj: The object.
            ttl: The time to live of the cells, if shorter than that of their family; plain models.

        Raises:
            ValidationError, RowKeyError: The object cannot be encoded, or lacks deferred fields
                that its row needs. A row needs the required ones. It needs all if `insert_only` is
                set, if it was deleted, or if the object was read from the past or by another
                engine. Other objects are not affected.
            CorruptRowError: In a load, an indexed field's codec cannot decode what it encoded.
            DuplicateRowError: The same row was added to the load shortly before.
            FlushError: Some rows added before were not written; the bulk writer has ended.
            QueryError: The with block has not begun, or has ended. Or this process is a forked
                child. Or another thread, a hook or the progress function calls `add` while a row is
                being added. The object is not added; other objects are not affected.
            ConfigurationError, SchemaDriftError: The session is closed, or the model contradicts
                the record of its table. The object is not added.
        """
        with self._block:
            self._prepare(type(obj))
            self._encode(obj, ttl)

    def delete(self, obj: Model, /) -> None:
        """Add the delete of an object's row.

        The writes of a row are made in the order in which they were added, puts and deletes. If the
        model has a version column and the object was loaded, its row is deleted only if nobody has
        written it since. The hook `before_delete` is called, but not `after_delete`. When the
        delete is acknowledged, the session's object of the row leaves the session, as after
        `delete_where`.

        Raises:
            ValidationError, RowKeyError: The row key cannot be computed, or the object belongs to
                another session or engine. Other rows are not affected.
            FlushError, QueryError, ConfigurationError, SchemaDriftError: As for `add`. Also, the
                bulk writer was made with `insert_only`.
        """
        with self._block:
            self._prepare(type(obj))
            self._session.refuse_owned(obj)
            bound = self._bound_of(type(obj)).with_table_of(obj.__dict__)
            self._refuse_deletes(bound)
            if obj.__state__.row is not None:
                refuse_foreign(bound, obj)
            prepare(bound, obj, "delete")
            self._look_up_names(bound, obj.__dict__)
            key = bound.keys.known_of(obj)
            if key is not None:  # no row has a name without a number
                write = write_with_key(bound, obj, "delete", key)
                self._take_delete(bound, replace(write, obj=None))

    def delete_row(self, model: type[Model], /, *values: Never, **key: Any) -> None:
        """Add the delete of the row with these key fields; nothing is deleted if there is none.

        The writes of a row are made in the order in which they were added. If the key has a random
        salt, the row is looked up first, after its earlier writes were acknowledged.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
            FlushError, QueryError, ConfigurationError, SchemaDriftError: As for `delete`.
        """
        refuse_unnamed("bulk.delete_row", model, values)
        with self._block:
            self._prepare(model)
            bound = self._bound_of(model)
            check_key_arguments(bound.schema, key)
            bound = bound.with_table_of(key)
            self._refuse_deletes(bound)
            self._look_up_names(bound, key)
            rows = bound.keys.possible(key)
            if len(rows) > 1:
                self._finish_earlier(self._buffer_of(bound), rows)
                stored = self._runtime.run(read_rows(bound, rows))
                rows = tuple(row.key for row in stored if row is not None)
            for row in rows:
                self._take_delete(bound, RowWrite(bound, None, row, "delete"))

    def _prepare(self, model: type[Model]) -> None:
        """Prepare to take a write of a model, after the objects that wait for numbers."""
        self._session.refuse_closed()
        self._take_unnumbered()
        if model not in self._used:
            self._session.use(model)
            self._used.add(model)

    def _refuse_deletes(self, bound: BoundModel) -> None:
        if self._insert_only:
            raise QueryError(
                "a bulk writer with insert_only=True deletes no rows",
                model=bound.schema.model_name,
                fix="use another one for deletes: with session.bulk() as bulk",
            )
        refuse_without_guards(bound.schema, bound.guarded, "delete")

    def _look_up_names(self, bound: BoundModel, values: dict[str, Any]) -> None:
        if not bound.keys.are_names_known(values):
            self._runtime.run(bound.keys.look_up_names([values]))

    def _take_delete(self, bound: BoundModel, write: RowWrite) -> None:
        self._take(self._buffer_of(bound), write.key, write, write.size_bytes)

    def _encode(self, obj: Model, ttl: timedelta | None = None) -> None:
        known = self._flat.get(type(obj))
        if known is None or ttl is not None or not self._take_flat(*known, obj):
            self._add_write(obj, ttl)

    def _take_flat(self, buffer: TableBuffer, sender: FlatSender, obj: Model) -> bool:
        """Add an object as a flat row (see `RowFlattener`); return whether that was possible."""
        key = sender.flattener.encode_key(obj.__dict__)
        flat = sender.item(obj, key)
        if flat is None:
            return False
        self._take(buffer, key, *flat)
        return True

    def _add_write(self, obj: Model, ttl: timedelta | None) -> None:
        buffer = self._buffers.get(type(obj))
        bound = self._bound_of(type(obj)) if buffer is None else buffer.bound
        if not bound.tables.is_only:
            bound = self._bound_of(type(obj)).with_table_of(obj.__dict__)
            buffer = self._buffers.get(bound.schema.table)
        if self._insert_only:
            refuse_without_guards(bound.schema, bound.guarded, "bulk(insert_only=True)")
        prepare(bound, obj, "whole")
        refuse_incomplete(bound, obj, is_new=self._insert_only)
        key = bound.keys.known_of(obj) or self._runtime.run(bound.keys.of(obj))
        cells = bound.cells(obj, key)
        check_entries(bound, key, cells)
        if buffer is None:
            buffer = self._new_buffer(bound)
            known = self._flat.get(type(obj))
            if known is not None and ttl is None and self._take_flat(*known, obj):
                return
        write = RowWrite(bound, None, key, "insert" if self._insert_only else "put", cells)
        if ttl is not None:
            write = options_of(bound, ttl, None).of(write)
        sender = buffer.sender
        item = sender.item(write) if isinstance(sender, LoadSender) else write
        self._take(buffer, key, item, write.size_bytes)

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Add many objects, one after another.

        New names in row keys get numbers for up to `NUMBERED_AT_ONCE` objects at a time. If
        `objects` raises an error, or an object does not fit, all other objects that were already
        taken from `objects` are added. A generator may call `add` of this bulk writer.

        Raises:
            HBaseORMError: As for `add`.
        """
        self._block.check()
        try:
            for obj in objects:
                # An object without new names is added at once, unless earlier objects wait.
                if self._unnumbered or self._has_new_name(obj):
                    self._hold_unnumbered(obj)
                else:
                    self.add(obj)
        finally:
            if self._unnumbered and self._block.ended_by is None:
                with self._block:
                    self._take_unnumbered()

    def _hold_unnumbered(self, obj: Model) -> None:
        """Keep an object until its new names get numbers, together with many other objects."""
        self._block.check()
        self._unnumbered.append(obj)
        if len(self._unnumbered) >= NUMBERED_AT_ONCE:
            with self._block:
                self._take_unnumbered()

    def _take_unnumbered(self) -> None:
        """Give numbers to the new names of the waiting objects; then add all objects that fit."""
        if not self._unnumbered or self._block.ended_by is not None:
            return
        try:
            with suppress(RowKeyError, ValidationError):  # the misfit is refused below
                waiting = [(obj, "put") for obj in self._unnumbered]
                self._runtime.run(assign_substitute_numbers(waiting, self._bound_of))
        except BaseException as error:
            self._block.end(error)
            raise
        try:
            while self._unnumbered:
                self._encode(self._unnumbered.popleft())
        finally:
            self._take_unnumbered()

    def _has_new_name(self, obj: Model) -> bool:
        model = type(obj)
        if model in self._flat:
            return False  # such a model has no names to look up
        buffer = self._buffers.get(model)
        bound = self._bound_of(model) if buffer is None else buffer.bound
        return not bound.keys.are_names_known(obj.__dict__)

    def __enter__(self) -> Self:
        """Begin the with block and return this bulk writer.

        Raises:
            QueryError: The bulk writer was used in a with block before.
        """
        self._block.begin()
        self._threads = Team(self._parallel or LOADS_IN_FLIGHT, "hbase-orm-bulk")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Send all waiting rows, unless the with block raised an error; wait for all answers.

        In a forked child nothing is sent, because the parent process sends the rows.

        Raises:
            FlushError: Some rows were not written, or their outcome is unknown.
        """
        if not self._block.close():
            return
        try:
            if kind is None:
                self._finish()
            else:
                self._progress = None
                self._settle()
        finally:
            self._threads.close()
            self._give_up_loads()

    def _finish(self) -> None:
        try:
            self._take_unnumbered()
        finally:
            self._send_rest()
