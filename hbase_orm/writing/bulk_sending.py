"""Sends the rows of a bulk writer in batches, in parallel, and keeps the writes of a row in order.

At most `IN_FLIGHT` batches are in progress (in loads `LOADS_IN_FLIGHT`), each on a thread of the
bulk writer. A row is sent only after the acknowledgement of its earlier writes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.maintained_indexes import maintained_table
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_holds.table_load import TableLoad
from hbase_orm.errors import (
    ConnectionLostError,
    DuplicateRowError,
    HBaseORMError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.gateway.helper_threads import Team
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.writing.bulk_block import BulkBlock, check_positive
from hbase_orm.writing.bulk_buffers import SentBatch, TableBuffer, TableBuffers
from hbase_orm.writing.bulk_senders import BegunLoad, FlatSender, begin_load, senders_of
from hbase_orm.writing.flush_outcome import Failure, FlushOutcome, FlushReport
from hbase_orm.writing.options import check_pace
from hbase_orm.writing.row_write import RowWrite

IN_FLIGHT: Final = 3
"""The number of batches that are sent in parallel, unless the program chooses another number."""

LOADS_IN_FLIGHT: Final = 6
"""`IN_FLIGHT` for loads, where a batch needs two requests in turn: index entries, then rows."""

Progress = Callable[[FlushReport], None]
"""A function that is called after each batch, with a report of all rows written so far."""


class BulkSending:
    """The batches of a bulk writer: the rows that wait, and the rows that are being sent.

    Attributes:
        report: The number of rows written so far, as a `FlushReport`.
    """

    def __init__(
        self,
        runtime: Runtime,
        bound_of: Callable[[type[Model]], BoundModel],
        note_delete: Callable[[RowWrite], None],
        *,
        batch_rows: int,
        insert_only: bool,
        parallel: int | None = None,
        progress: Progress | None = None,
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
    ) -> None:
        """Start without rows; nothing is sent.

        Raises:
            ConfigurationError: `gateway_timeout_s` is out of range.
            QueryError: `batch_rows` or `parallel` is not a positive integer.
        """
        check_pace(None, gateway_timeout_s)
        check_positive(batch_rows=batch_rows, parallel=IN_FLIGHT if parallel is None else parallel)
        self.report = FlushReport()
        self._runtime = runtime
        self._bound_of = bound_of
        self._note_delete = note_delete
        self._batch_rows = batch_rows
        self._insert_only = insert_only
        self._buffers = TableBuffers(batch_rows)
        self._parallel = parallel
        self._progress = progress
        timeout_s = runtime.timeout_s
        self._held_s = timeout_s and timeout_s + gateway_timeout_s  # 0 in memory
        self._loads: list[TableLoad] = []
        self._flat: dict[type[Model], tuple[TableBuffer, FlatSender]] = {}
        self._current: tuple[TableBuffer, Any] | None = None
        self._unnumbered: deque[Model] = deque()
        self._block = BulkBlock()
        self._threads: Team
        self._under_way: deque[SentBatch] = deque()
        self._failed = FlushOutcome()

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
        if (waiting or under_way) and buffer.sender.ticket is not None:
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

    def _send_rest(self) -> None:
        for buffer in self._buffers:
            self._submit(buffer)
        self._settle()
        self._refuse_failed()
        while self._loads:
            self._loads[0].finish()
            del self._loads[0]

    def _give_up_loads(self) -> None:
        """End the loads that were not finished, because an error has ended the bulk writer."""
        lost = [e for _, e in self._failed.unknown if not _is_answered(e)]
        while self._loads:
            self._loads.pop().give_up(is_settled=not lost)

    def _finish_earlier(self, buffer: TableBuffer, keys: Sequence[bytes]) -> None:
        """Send the waiting writes of these rows of a table, and wait for their answers.

        An error ends the bulk writer, because rows may be unsent.
        """
        try:
            for key in keys:
                waiting, is_under_way = self._earlier(buffer, key)
                self._keep_order(waiting, is_under_way=is_under_way)
        except BaseException as error:
            self._block.end(error)
            raise

    def _buffer_of(self, bound: BoundModel) -> TableBuffer:
        """Return the buffer of a model's table for rows that are not flat."""
        of = bound.model if bound.tables.is_only else bound.schema.table
        return self._buffers.get(of) or self._new_buffer(bound)

    def _new_buffer(self, bound: BoundModel) -> TableBuffer:
        """Create the buffers of a model; return the buffer for rows that are not flat."""
        load = self._begin_load(bound) if self._insert_only else None
        any_row, flat_rows = senders_of(bound, load, self._runtime.writer)
        buffer = TableBuffer(bound, any_row)
        self._buffers.add(buffer)
        if flat_rows is not None:
            flat_buffer = TableBuffer(bound, flat_rows)
            self._buffers.add(flat_buffer)
            self._flat[bound.model] = flat_buffer, flat_rows
        return buffer

    def _begin_load(self, bound: BoundModel) -> BegunLoad | None:
        part = TableLoad(self._runtime, bound.schema.table, self._held_s)
        entry = self._runtime.run(begin_load(bound, self._runtime.writer, part.loader))
        if entry is None:
            return None
        part.start(entry)
        self._loads.append(part)
        return BegunLoad(part, maintained_table(bound, entry))

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
        self._note_deletes(sent, outcome)
        if self._progress is not None and self._block.ended_by is None:
            self._progress(self.report)

    def _note_deletes(self, sent: SentBatch, outcome: FlushOutcome) -> None:
        """Call `note_delete` with each acknowledged delete of a batch."""
        deletes = [each for each in sent.rows.values() if isinstance(each, RowWrite)]
        failed = {write.key for write, _ in outcome.failures}
        for write in deletes:
            if write.kind == "delete" and write.key not in failed:
                self._note_delete(write)

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


def _is_answered(error: Exception) -> bool:
    """Return whether a gateway has answered with this error, so that no request is under way."""
    return isinstance(error, HBaseORMError) and not isinstance(error, ConnectionLostError)
