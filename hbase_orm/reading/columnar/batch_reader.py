"""pyarrow's readers of record batches, which release the server's scanners when they are closed.

`pyarrow.RecordBatchReader.from_batches` would make a reader whose `close` does nothing. A reader of
Arrow's stream format can be extended, and passes on the errors of its source as they are. So the
batches are written to a stream in memory, one at a time, which costs a copy of their buffers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hbase_orm.reading.columnar.arrow_module import arrow
from hbase_orm.reading.stream import Stream


class _WrittenBytes:
    """A file that keeps what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        """Start empty."""
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        """Return True, as files do that can be written."""
        return True

    def write(self, data: Any) -> int:
        """Keep a copy of the data."""
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def take(self) -> memoryview:
        """Return what was written since the last call."""
        pieces, self._pieces = self._pieces, []
        return memoryview(b"".join(pieces))


class _StreamedBatches:
    """A file with record batches in Arrow's stream format; each batch is made when it is read."""

    closed = False

    def __init__(self, batches: Stream[Any], schema: Any) -> None:
        """Begin with the schema, so that opening the stream makes no batch."""
        # The writer keeps its file alive, unseen by the garbage collector: it must not be this one.
        self._sink = _WrittenBytes()
        self._writer: Any = arrow().ipc.new_stream(self._sink, schema)
        self._batches = batches
        self._unread = memoryview(schema.serialize())
        # The writer writes the schema, too, but only before the first batch.
        self._written_twice = len(self._unread)

    def readable(self) -> bool:
        """Return True, as files do that can be read."""
        return True

    def read(self, size_bytes: int) -> memoryview:
        """Return the next bytes, at most `size_bytes`; fewer only at the end."""
        pieces, missing = [], size_bytes
        while missing and (self._unread or self._write_next()):
            piece = self._unread[:missing]
            self._unread = self._unread[missing:]
            pieces.append(piece)
            missing -= len(piece)
        return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))

    def _write_next(self) -> bool:
        """Make the next batch; return whether there was one."""
        if self._writer is None:
            return False
        batch = next(self._batches, None)
        if batch is None:
            self._writer.close()
            self._writer = None
        else:
            self._writer.write_batch(batch)
        self._unread = self._sink.take()[self._written_twice :]
        self._written_twice = 0
        return bool(self._unread)

    def close(self) -> None:
        """Do nothing: the reader is closed."""


def batch_reader(batches: Stream[Any], schema: Any) -> Any:
    """Return a `pyarrow.RecordBatchReader` of a stream of record batches.

    Args:
        batches: The stream, which is closed with the reader.
        schema: The `pyarrow.Schema` of every batch.
    """
    return _reader_class()(batches, schema)


@cache
def _reader_class() -> type[Any]:
    base: type[Any] = arrow().ipc.RecordBatchStreamReader

    class BatchReader(base):  # type: ignore[misc]  # pyarrow has no types, and is imported late
        """Record batches with the results of a statement, in the order of its rows.

        Reading it to its end or closing it releases the server's scanners. If a program drops it
        without closing it, the engine's next read releases them.
        """

        def __init__(self, batches: Stream[Any], schema: Any) -> None:
            super().__init__(_StreamedBatches(batches, schema))
            self._batches = batches

        def __repr__(self) -> str:
            return f"BatchReader({self._batches!r})"

        @property
        def stale(self) -> bool:
            """Whether a replica answered so far; see `Stream.stale`."""
            return self._batches.stale

        @property
        def corrupt_rows(self) -> int:
            """How many corrupt rows were left out so far; see `Stream.corrupt_rows`."""
            return self._batches.corrupt_rows

        def close(self) -> None:
            """Release the server's scanners; no further batch is read."""
            self._batches.close()

    return BatchReader
