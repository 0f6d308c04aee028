"""Copies of rows: their cells in the order of their columns, the batches that put them, a digest.

The digest of rows does not depend on their order. So two tables are compared by reading each of
them once, in the order of its own keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from operator import itemgetter
from struct import Struct
from typing import Any, Final, NamedTuple, Self

from hbase_orm.binding.table_moves.column_places import Convert, Place, unchanged
from hbase_orm.compiled import EncodedRow
from hbase_orm.ops import PutStampedRows, Row, StampedRows, StoredVersion

BATCH_ROWS: Final = 500
"""The most rows of a put; those of a page are put in parallel."""

_MOST_LAYOUTS: Final = 1024
_DIGEST_BYTES: Final = 16
_MODULUS: Final = 1 << 8 * _DIGEST_BYTES


class RowCopy(NamedTuple):
    """The cells of one row, in ascending order of their columns, newest first within a column.

    Attributes:
        columns: The column of each cell; a column with several versions is repeated.
        row: The row key, and then the value of each cell.
        stamps: The timestamp of each cell in milliseconds.
    """

    columns: tuple[bytes, ...]
    row: tuple[bytes, ...]
    stamps: tuple[int, ...]


def ordered(key: bytes, cells: Iterable[tuple[bytes, int, bytes]]) -> RowCopy:
    """Return the copy of a row from its cells, each with its column, timestamp and value."""
    placed = sorted(cells, key=lambda cell: (cell[0], -cell[1]))
    columns = tuple([column for column, _, _ in placed])
    return RowCopy(
        columns, (key, *[value for _, _, value in placed]), tuple([ms for _, ms, _ in placed])
    )


class _Layout(NamedTuple):
    """How the cells of rows with the same columns are copied.

    Attributes:
        columns: The columns of the copies.
        order: A function that takes a value for each old cell, and returns those of the copies in
            the order of `columns`. None if it would return the same.
        converters: The functions that convert values, each with the place of the value in the copy.
    """

    columns: tuple[bytes, ...]
    order: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None
    converters: tuple[tuple[int, Convert], ...]


class _LastNames:
    """The columns of the last row: most rows have those of the one before."""

    __slots__ = ("names",)

    def __init__(self) -> None:
        """Begin without a row."""
        self.names: tuple[bytes, ...] = ()


@dataclass(frozen=True)
class CellCopier:
    """Copies the cells of rows; rows with the same columns are copied in the same way.

    Attributes:
        place: A function from a column to the column of the copy and the conversion of its values;
            None for a column that is not copied.
    """

    place: Callable[[bytes], Place | None]
    _layouts: dict[tuple[bytes, ...], _Layout] = field(
        default_factory=dict[tuple[bytes, ...], _Layout], repr=False
    )
    _last: _LastNames = field(default_factory=_LastNames, repr=False)

    def newest(self, key: bytes, row: Row) -> RowCopy:
        """Return the copy of a row, with the key `key`, from the newest cell of each column.

        Raises:
            CorruptRowError, CodecError: A cell does not decode, or does not fit.
        """
        values: tuple[bytes, ...]
        stamps: tuple[int, ...]
        if isinstance(row, EncodedRow):
            names, values, stamps = row.parts(self._last.names)
            self._last.names = names
        else:
            names = tuple(row.cells)
            values, stamps = zip(*row.cells.values()) if names else ((), ())  # noqa: B905 - pairs
        layout = self._layouts.get(names) or self._layout(names)
        if not layout.columns:
            return RowCopy((), (key,), ())
        if layout.order is not None:
            values, stamps = layout.order(values), layout.order(stamps)
        if layout.converters:
            converted = list(values)
            for place, convert in layout.converters:
                converted[place] = convert(converted[place])
            values = tuple(converted)
        # To create it by calling the class takes twice as long.
        return tuple.__new__(RowCopy, (layout.columns, (key, *values), stamps))

    def versions(self, key: bytes, versions: Iterable[StoredVersion]) -> RowCopy:
        """Return the copy of a row, with the key `key`, from all versions of its cells.

        Raises:
            CorruptRowError, CodecError: As for `newest`.
        """
        placed = [(self.place(each.column), each) for each in versions]
        cells = [(to[0], ms.timestamp_ms, to[1](ms.value)) for to, ms in placed if to is not None]
        return ordered(key, cells)

    def _layout(self, names: tuple[bytes, ...]) -> _Layout:
        """Return, and keep, how rows with these columns are copied."""
        placed = [(self.place(name), number) for number, name in enumerate(names)]
        copied = sorted((place[0], number, place[1]) for place, number in placed if place)
        numbers = [number for _, number, _ in copied]
        converters = [(at, each[2]) for at, each in enumerate(copied) if each[2] is not unchanged]
        is_same = numbers == list(range(len(names)))
        layout = _Layout(
            tuple([column for column, _, _ in copied]),
            None if is_same else _picked(numbers),
            tuple(converters),
        )
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[names] = layout
        return layout


def _picked(numbers: Sequence[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that returns the values at these places as a tuple."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda values: tuple([values[number] for number in numbers])


STORED: Final = CellCopier(lambda column: (column, unchanged))
"""Reads rows as they are stored, to compare them with copies."""


def stored_copy(row: Row, versions: Sequence[StoredVersion] | None = None) -> RowCopy:
    """Return a stored row in the form of a copy.

    Args:
        row: The row.
        versions: All versions of its cells; None if only the newest are wanted.
    """
    if versions is None:
        return STORED.newest(row.key, row)
    return STORED.versions(row.key, versions)


def grouped(copies: Iterable[RowCopy]) -> tuple[StampedRows, ...]:
    """Return the copies, those with the same columns together."""
    groups: dict[tuple[bytes, ...], tuple[list[tuple[bytes, ...]], list[tuple[int, ...]]]] = {}
    for columns, row, stamps in copies:
        group = groups.get(columns)
        if group is None:
            group = groups[columns] = ([], [])
        group[0].append(row)
        group[1].append(stamps)
    return tuple(
        StampedRows(columns, tuple(rows), tuple(stamps))
        for columns, (rows, stamps) in groups.items()
    )


def puts(table: str, copies: Sequence[RowCopy]) -> Iterator[PutStampedRows]:
    """Yield the requests that put copies into a table."""
    for start in range(0, len(copies), BATCH_ROWS):
        yield PutStampedRows(table, grouped(copies[start : start + BATCH_ROWS]))


@dataclass(frozen=True, slots=True)
class RowsDigest:
    """The number of rows, and a checksum of their keys, columns, timestamps and values.

    Attributes:
        rows: The number of rows.
        checksum: The sum of the hashes of the rows, modulo 2**128: their order does not matter, and
            a row that is read twice counts twice.
    """

    rows: int = 0
    checksum: int = 0

    def plus(self, other: RowsDigest) -> RowsDigest:
        """Return the digest of the rows of both."""
        return RowsDigest(self.rows + other.rows, (self.checksum + other.checksum) % _MODULUS)

    def encode(self) -> str:
        """Return the digest as text."""
        return f"{self.rows} {self.checksum:x}"

    @classmethod
    def decode(cls, text: str) -> Self:
        """Return the digest from its text."""
        rows, checksum = text.split(" ")
        return cls(int(rows), int(checksum, 16))


def digest_of(groups: Iterable[StampedRows]) -> RowsDigest:
    """Return the digest of rows."""
    count, checksum = 0, 0
    for group in groups:
        head, pack = _hashed_layout(group.columns)
        count += len(group.rows)
        for row, stamps in zip(group.rows, group.stamps, strict=True):
            data = head + pack(*map(len, row), *stamps) + b"".join(row)
            checksum += int.from_bytes(blake2b(data, digest_size=_DIGEST_BYTES).digest(), "big")
    return RowsDigest(count, checksum % _MODULUS)


@lru_cache(maxsize=_MOST_LAYOUTS)
def _hashed_layout(columns: tuple[bytes, ...]) -> tuple[bytes, Callable[..., bytes]]:
    """Return the bytes that stand for columns, and what packs all lengths and timestamps.

    With all lengths in front, the same bytes never stand for two different rows.
    """
    names = b"".join([len(column).to_bytes(4, "big") + column for column in columns])
    head = blake2b(names, digest_size=_DIGEST_BYTES).digest()
    return head, Struct(f">{len(columns) + 1}I{len(columns)}q").pack
