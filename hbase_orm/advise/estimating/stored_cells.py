"""Cells as HBase stores them, and what each takes without block encoding.

The format is HBase's `KeyValue`: 4 bytes for the length of the key, 4 for that of the value; the
key, which is 2 bytes for the length of the row key, the row key, 1 byte for the length of the
family, the family, the qualifier, 8 bytes for the timestamp and 1 for the type; and the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from hbase_orm.ops import Row

LENGTHS_BYTES: Final = 8
"""The lengths of key and value."""

KEY_BYTES: Final = 12
"""A key without row key, family and qualifier: two lengths, the timestamp and the type."""

_PUT: Final = b"\x04"
_SHORT: Final = 127
_LENGTH_BASE: Final = 144  # -112 as a byte: a number of n bytes begins with 144 - n


class FileCell(NamedTuple):
    """One put of a column.

    Attributes:
        row: The row key.
        family: The family.
        qualifier: The qualifier.
        timestamp_ms: Milliseconds since 1970.
        value: The value.
        sequence: The number of the write in its region. HBase keeps it for five days, and 0
            afterwards.
    """

    row: bytes
    family: bytes
    qualifier: bytes
    timestamp_ms: int
    value: bytes
    sequence: int = 0

    @property
    def column(self) -> bytes:
        """`family:qualifier`."""
        return b"%b:%b" % (self.family, self.qualifier)

    @property
    def key_bytes(self) -> int:
        """The length of the key."""
        return KEY_BYTES + len(self.row) + len(self.family) + len(self.qualifier)

    @property
    def size_bytes(self) -> int:
        """The length of the whole `KeyValue`."""
        return LENGTHS_BYTES + self.key_bytes + len(self.value)

    def flat_key(self) -> bytes:
        """Return the bytes of the key."""
        return b"".join(
            (
                len(self.row).to_bytes(2, "big"),
                self.row,
                len(self.family).to_bytes(1, "big"),
                self.family,
                self.qualifier,
                self.timestamp_ms.to_bytes(8, "big"),
                _PUT,
            )
        )

    def plain(self) -> bytes:
        """Return the bytes of the whole `KeyValue`."""
        key = self.flat_key()
        lengths = len(key).to_bytes(4, "big") + len(self.value).to_bytes(4, "big")
        return lengths + key + self.value


def cells_of(
    rows: Iterable[Row], family: bytes, sequences: Mapping[tuple[bytes, int], int]
) -> list[FileCell]:
    """Return the cells of one family, in the order in which HBase stores them.

    `sequences` has the numbers of the writes by row key and timestamp; cells that it lacks have 0.
    """
    cells = []
    for row in rows:
        for column, (value, timestamp_ms) in row.cells.items():
            name, _, qualifier = column.partition(b":")
            if name == family:
                number = sequences.get((row.key, timestamp_ms), 0)
                cell = FileCell(row.key, family, qualifier, timestamp_ms, value, number)
                cells.append(cell)
    cells.sort(key=lambda each: (each.row, each.qualifier))
    return cells


def variable_int(number: int) -> bytes:
    """Return a number from 0 as Hadoop's `WritableUtils.writeVLong` does: up to 127 in one byte."""
    if number <= _SHORT:
        return number.to_bytes(1, "big")
    size = (number.bit_length() + 7) // 8
    return (_LENGTH_BASE - size).to_bytes(1, "big") + number.to_bytes(size, "big")


def rows_of(cells: Iterable[FileCell]) -> Iterator[list[FileCell]]:
    """Yield the cells of each row; they are sorted."""
    for _, of_row in groupby(cells, key=lambda each: each.row):
        yield list(of_row)
