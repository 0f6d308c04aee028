"""Writes any number of rows with a limited amount of memory.

The caller's thread encodes the rows. A few other threads send them in batches. At most `IN_FLIGHT`
batches are in progress (in loads `LOADS_IN_FLIGHT`), and at most `WAITING_BATCHES` wait. Guarded
rows are written by the index protocol; in a load, in plain batches that include the guards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.protocol import refuse_without_guards
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import (
    DuplicateRowError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.gateway.helper_threads import Team
from hbase_orm.index.catalog.catalog import finish_loading
from hbase_orm.model import Model
from hbase_orm.objects.ownership import refuse_incomplete
from hbase_orm.writing.assign_numbers import assign_substitute_numbers
from hbase_orm.writing.bulk_block import BulkBlock, check_positive
from hbase_orm.writing.bulk_buffers import SentBatch, TableBuffer, TableBuffers
from hbase_orm.writing.bulk_senders import FlatSender, LoadSender, begin_load, senders_of
from hbase_orm.writing.flush_outcome import Failure, FlushOutcome, FlushReport
from hbase_orm.writing.hook_calls import prepare
from hbase_orm.writing.options import options_of
from hbase_orm.writing.row_write import RowWrite, check_entries

IN_FLIGHT: Final = 3
"""The number of batches that are sent in parallel, unless the program chooses another number."""

LOADS_IN_FLIGHT: Final = 6
"""`IN_FLIGHT` for loads, where a batch needs two requests in turn: index entries, then rows."""

NUMBERED_AT_ONCE: Final = 100
"""The number of objects whose new names get their numbers together, to save requests."""

Progress = Callable[[FlushReport], None]
"""A function that is called after each batch, with a report of all rows written so far."""


class Bulk:
    """A bulk writer, used in a with block. Rows may be unsent until the with block has ended.

    Attributes:
        report: The number of rows written so far, as a `FlushReport`.
    """

    def __init__(
        self,
        runtime: Runtime,
        bound_of: Callable[[type[Model]], BoundModel],
        refuse_closed: Callable[[], None],
        use: Callable[[type[Model]], None],
        *,
        batch_rows: int,
        insert_only: bool,
        parallel: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Prepare the bulk writer; nothing is sent.

        Raises:
            QueryError: `batch_rows` or `parallel` is not a positive integer.
        """
        check_positive(batch_rows=batch_rows, parallel=IN_FLIGHT if parallel is None else parallel)
        self.report = FlushReport()
        self._runtime = runtime
        self._bound_of = bound_of
        self._refuse_closed = refuse_closed
        self._use = use
        self._used: set[type[Model]] = set()
        self._batch_rows = batch_rows
        self._insert_only = insert_only
        self._buffers = TableBuffers(batch_rows)
        self._parallel = parallel
        self._progress = progress
        self._flat: dict[type[Model], tuple[TableBuffer, FlatSender]] = {}
        self._current: tuple[TableBuffer, Any] | None = None
        self._unnumbered: deque[Model] = deque()
        self._block = BulkBlock()
        self._threads: Team
        self._under_way: deque[SentBatch] = deque()
        self._failed = FlushOutcome()

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
            self._refuse_closed()
            self._take_unnumbered()
            if type(obj) not in self._used:
                self._use(type(obj))
                self._used.add(type(obj))
            self._encode(obj, ttl)

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

    def _take(self, buffer: TableBuffer, key: bytes, item: Any, size_bytes: int) -> None:
        """Add a row to a buffer; first send full buffers and earlier writes of the same row.

        An error ends the bulk writer, because rows may be unsent; a DuplicateRowError does not.
        """
        waiting, is_under_way = self._earlier(buffer, key)
        try:
            self._current = buffer, item
            self._keep_order(waiting, is_under_way=is_under_way)
            while full := self._buffers.full_buffer(buffer, size_bytes):
                self._submit(full)
            self._buffers.put(buffer, key, item, size_bytes)
            self._current = None
            if len(buffer.batch) >= self._batch_rows:
                self._submit(buffer)
        except BaseException as error:
            self._block.end(error)
            raise

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

    def _earlier(self, buffer: TableBuffer, key: bytes) -> tuple[list[TableBuffer], bool]:
        """Return the buffers in which earlier writes of a row wait, and whether any is being sent.

        Raises:
            DuplicateRowError: The row was added to the load before. The index entries of both
                writes would have the same timestamp.
        """
        waiting = self._buffers.holding(buffer.table, key)
        under_way = False
        for sent in self._under_way:
            under_way |= key in sent.rows and sent.buffer.table == buffer.table
        if buffer.sender.ticket is not None and (waiting or under_way):
            raise DuplicateRowError(
                "the load has the same row twice",
                table=buffer.table,
                row=key,
                fix="load each row once, or leave out insert_only",
            )
        return waiting, under_way

    def _keep_order(self, waiting: list[TableBuffer], *, is_under_way: bool) -> None:
        """Wait for a row's earlier writes, so that its next write cannot overtake them."""
        for other in waiting:
            self._submit(other)
        if waiting or is_under_way:
            self._settle()

    def _finish(self) -> None:
        try:
            self._take_unnumbered()
        finally:
            self._send_rest()

    def _send_rest(self) -> None:
        for buffer in self._buffers:
            self._submit(buffer)
        self._settle()
        self._refuse_failed()
        loads = {
            buffer.table: buffer.sender.ticket
            for buffer in self._buffers
            if buffer.sender.ticket is not None
        }
        for table, ticket in loads.items():
            self._runtime.run(finish_loading(table, ticket))

    def _new_buffer(self, bound: BoundModel) -> TableBuffer:
        """Create the buffers of a model; return the buffer for rows that are not flat."""
        writer, load = self._runtime.writer, None
        if self._insert_only:
            load = self._runtime.run(begin_load(bound, writer))
        any_row, flat_rows = senders_of(bound, load, writer)
        buffer = TableBuffer(bound, any_row)
        self._buffers.add(buffer)
        if flat_rows is not None:
            flat_buffer = TableBuffer(bound, flat_rows)
            self._buffers.add(flat_buffer)
            self._flat[bound.model] = flat_buffer, flat_rows
        return buffer

    def _submit(self, buffer: TableBuffer) -> None:
        if not buffer.batch:
            return
        most = IN_FLIGHT if buffer.sender.ticket is None else LOADS_IN_FLIGHT
        while len(self._under_way) >= (self._parallel or most):
            self._collect(self._under_way.popleft())
        self._refuse_failed()
        rows = buffer.batch
        sending = self._threads.begin(self._runtime.run, buffer.sender.send(tuple(rows.values())))
        self._under_way.append(SentBatch(sending, buffer, rows))
        self._buffers.drain(buffer)

    def _settle(self) -> None:
        while self._under_way:
            self._collect(self._under_way.popleft())

    def _collect(self, sent: SentBatch) -> None:
        outcome = sent.outcome()
        written = len(sent.rows) - len(outcome.failures)
        self.report = FlushReport(written=self.report.written + written)
        self._failed.add_failures(outcome)
        if self._progress is not None and self._block.ended_by is None:
            self._progress(self.report)

    def _refuse_failed(self) -> None:
        ended_by = self._block.ended_by
        if self._failed.has_failures or ended_by is not None:
            self._settle()
            outcome, unexpected = FlushOutcome(), self._failed.unexpected
            outcome.add_failures(self._failed)
            outcome.not_written += self._held_back()
            raise outcome.error(
                "not all rows were written",
                written=self.report.written,
                again="write the rows that were not written again",
            ) from unexpected or ended_by

    def _held_back(self) -> list[Failure]:
        """Return the rows that were added but not sent, each with the first error as its reason."""
        errors = [error for _, error in self._failed.failures]
        reason: Any = (*errors, self._block.ended_by)[0]
        writes = self._buffers.waiting()
        if self._current is not None:
            buffer, item = self._current
            writes += buffer.sender.writes((item,))
        writes += [self._unencoded(obj) for obj in self._unnumbered]
        return [(write, reason) for write in writes if reason is not None]

    def _unencoded(self, obj: Model) -> RowWrite:
        """Return the write of a waiting object; its key is empty if it is not known yet."""
        bound, key = self._bound_of(type(obj)), b""
        with suppress(RowKeyError, ValidationError):
            bound = bound.with_table_of(obj.__dict__)
            key = bound.keys.known_of(obj) or b""
        return RowWrite(bound, None, key, "put")
