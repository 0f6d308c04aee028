"""What cells take in a memstore and in the write-ahead log.

Sources: `KeyValue.heapSize`, `Segment.indexEntrySize` and `WALKeyImpl` of HBase 2.6, on a Java
machine with compressed references.
"""

from __future__ import annotations

from typing import Final

from hbase_orm.advise.estimating.stored_cells import FileCell

_OBJECT_BYTES: Final = 32
"""A `KeyValue`: its header, reference, offset, length and sequence number, aligned."""

_ENTRY_BYTES: Final = 40
"""Its place in the skip list of the memstore: an entry, and its part of the index above."""

_ALIGNED: Final = 8
WAL_ENTRY_BYTES: Final = 100
"""The key of an entry of the log: region, table, sequence number, time and cluster."""

_WAL_CELL_BYTES: Final = 4  # the length before each cell


def data_bytes(cell: FileCell) -> int:
    """Return what a cell adds to the data size of a memstore, from which HBase flushes it."""
    return cell.size_bytes


def heap_bytes(cell: FileCell) -> int:
    """Return what a cell takes of the heap."""
    size = _OBJECT_BYTES + cell.size_bytes
    return size + -size % _ALIGNED + _ENTRY_BYTES


def wal_bytes(cell: FileCell) -> int:
    """Return what a cell takes in the log, without the entry that holds all cells of a write."""
    return _WAL_CELL_BYTES + cell.size_bytes
