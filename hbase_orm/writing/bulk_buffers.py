"""The rows of a bulk writer: buffers with waiting rows, and batches that are being sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.gateway.helper_threads import SharedWork
from hbase_orm.model import Model
from hbase_orm.writing.bulk_senders import BatchSender
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import RowWrite
from hbase_orm.writing.send import BATCH_BYTES

WAITING_BATCHES: Final = 8
"""The largest number of rows that wait in all buffers together, counted in full batches.

It is more than one, so that batches are large even if a program adds rows of many tables in turn.
"""

BufferName = tuple[type[Model] | str, bool]


@dataclass(slots=True, eq=False)
class TableBuffer:
    """The waiting rows of one model, or of one table if the model has a table for each period.

    Attributes:
        bound: The bound model.
        sender: The object that sends a batch.
        batch: The waiting rows by row key, in the form that `sender` needs.
        size_bytes: The size of the rows in `batch`.
        table: The name of the table.
        name: The key of the buffer in `TableBuffers`, a pair. The first item is the model, or the
            table's name if the model has a table for each period. The second is whether the rows
            are flat.
    """

    bound: BoundModel
    sender: BatchSender
    batch: dict[bytes, Any] = field(default_factory=dict[bytes, Any])
    size_bytes: int = 0
    table: str = field(init=False)
    name: BufferName = field(init=False)

    @property
    def waiting(self) -> list[RowWrite]:
        """The waiting writes."""
        return list(self.sender.writes(tuple(self.batch.values())))

    def __post_init__(self) -> None:
        """Compute `table` and `name`."""
        self.table = self.bound.schema.table
        of = self.bound.model if self.bound.tables.is_only else self.table
        self.name = of, self.sender.flattener is not None


@dataclass(frozen=True, slots=True)
class SentBatch:
    """A batch that is being sent.

    Attributes:
        sending: The work of the thread that sends the batch; its result is the outcome.
        buffer: The buffer from which the rows were taken.
        rows: The rows by row key, in the form that the buffer's sender needs.
    """

    sending: SharedWork[Any, FlushOutcome]
    buffer: TableBuffer
    rows: Mapping[bytes, Any]

    def outcome(self) -> FlushOutcome:
        """Wait for the batch and return its outcome.

        If sending raised an unexpected error, the outcome of all rows of the batch is unknown.
        """
        try:
            return self.sending.result()
        except Exception as error:  # noqa: BLE001  # each row of the batch is named in a FlushError
            writes = self.buffer.sender.writes(tuple(self.rows.values()))
            outcome = FlushOutcome()
            outcome.record_unknown(writes, error)
            return outcome


class TableBuffers:
    """The buffers of one bulk writer, with the number and the size of all waiting rows.

    If a model has a table for each period, a table has a buffer only while rows wait for it.
    """

    def __init__(self, batch_rows: int) -> None:
        """Start without a buffer."""
        self._batch_rows = batch_rows
        self._buffers: dict[BufferName, TableBuffer] = {}
        self._by_table: dict[str, list[TableBuffer]] = {}
        self._filled: dict[
            TableBuffer, None
        ] = {}  # in the order in which they got their first rows
        self._rows = 0
        self._size_bytes = 0

    def __iter__(self) -> Iterator[TableBuffer]:
        """Iterate over all buffers, also empty ones."""
        return iter(tuple(self._buffers.values()))

    @property
    def rows(self) -> int:
        """The number of waiting rows."""
        return self._rows

    def get(self, of: type[Model] | str) -> TableBuffer | None:
        """Return the buffer for rows that are not flat; None if there is no such buffer.

        Args:
            of: The model of the rows. Or the table's name, if the model has a table for each
                period.
        """
        return self._buffers.get((of, False))

    def holding(self, table: str, key: bytes) -> list[TableBuffer]:
        """Return the buffers of `table` in which the row with this key waits."""
        buffers = self._by_table.get(table, ())
        return [buffer for buffer in buffers if key in buffer.batch]

    def add(self, buffer: TableBuffer) -> None:
        """Add a new buffer."""
        self._buffers[buffer.name] = buffer
        self._by_table.setdefault(buffer.table, []).append(buffer)

    def put(self, buffer: TableBuffer, key: bytes, item: Any, size_bytes: int) -> None:
        """Add a row to a buffer."""
        if not buffer.batch:
            if buffer.name not in self._buffers:
                self.add(buffer)
            self._filled[buffer] = None
        buffer.batch[key] = item
        buffer.size_bytes += size_bytes
        self._rows += 1
        self._size_bytes += size_bytes

    def drain(self, buffer: TableBuffer) -> None:
        """Remove the waiting rows of a buffer.

        If the buffer is for the table of a period, remove the buffer too.
        """
        rows = buffer.batch
        self._rows -= len(rows)
        self._size_bytes -= buffer.size_bytes
        buffer.batch, buffer.size_bytes = {}, 0
        self._filled.pop(buffer, None)
        if not buffer.bound.tables.is_only:
            del self._buffers[buffer.name]
            left = self._by_table[buffer.table]
            left.remove(buffer)
            if not left:
                del self._by_table[buffer.table]

    def full_buffer(self, buffer: TableBuffer, size_bytes: int) -> TableBuffer | None:
        """Return the buffer that must be sent before a row is added to `buffer`.

        None if no buffer must be sent. It is `buffer` itself if a row of `size_bytes` would make
        its batch too large. Otherwise, if too many rows wait in all buffers together, it is the
        buffer whose first row has waited longest.
        """
        if buffer.batch and buffer.size_bytes + size_bytes > BATCH_BYTES:
            return buffer
        is_over = (
            self._rows >= WAITING_BATCHES * self._batch_rows
            or self._size_bytes + size_bytes > WAITING_BATCHES * BATCH_BYTES
        )
        return next(iter(self._filled), None) if is_over else None

    def waiting(self) -> list[RowWrite]:
        """Return all waiting writes."""
        return [write for buffer in self._filled for write in buffer.waiting]
