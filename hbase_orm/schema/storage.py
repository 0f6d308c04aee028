"""The storage of objects: each object as a row, or each as one cell of a shared row.

Sessions and plans use one key for each object. A `Storage` converts these keys to requests, and the
answers to one row for each object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from hbase_orm import ops
from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.ops import (
    CorruptRow,
    Delete,
    GetRows,
    KeyRange,
    Put,
    Row,
    RowMutation,
    StaleRow,
    ask,
    merged,
)
from hbase_orm.rowkey import KeyLayout


class Storage(Protocol):
    """Converts keys of objects to requests of HBase, and answers to one row for each object."""

    @property
    def has_own_rows(self) -> bool:
        """Whether each object has its own row."""
        ...

    @property
    def batch_group(self) -> tuple[int, bytes]:
        """The model's group: models of one table with the same group may share a write request."""
        ...

    def row_of(self, key: bytes, /) -> bytes:
        """Return the row key of the row that holds the object whose key is `key`."""
        ...

    def column_of(self, key: bytes, column: bytes, /) -> bytes:
        """Return the column of a row in which `column` of the object is stored.

        The qualifier of an object that is one cell depends on the object's `key`.
        """
        ...

    def mutations(self, mutations: Sequence[RowMutation], /) -> Sequence[RowMutation]:
        """Convert mutations of objects to mutations of the rows that hold the objects.

        The row key of each given mutation is the key of an object.
        """
        ...

    def get(
        self, request: GetRows, families: tuple[bytes, ...] = (), /
    ) -> ops.Protocol[Sequence[Row | None]]:
        """Read objects by key; return each as a row.

        The result is in the order of the keys in `request`. None stands for an object that does not
        exist.

        Args:
            request: The request that would read the objects if each had its own row.
            families: The families that a second request reads, of the rows that have none of the
                requested columns: such a row may still have other cells. Empty means no second
                request.
        """
        ...

    def row_ranges(
        self, ranges: Sequence[KeyRange], /, *, reverse: bool = False
    ) -> Sequence[KeyRange]:
        """Return the ranges of row keys to scan for the objects whose keys are in `ranges`."""
        ...

    def objects(
        self, rows: Sequence[Row], ranges: Iterable[KeyRange], /, *, reverse: bool = False
    ) -> Sequence[Row]:
        """Return the scanned objects whose keys are in `ranges`, each as a row."""
        ...


@dataclass(frozen=True, slots=True)
class StoredAsRows:
    """Each object has its own row: keys, ranges and rows are used unchanged."""

    has_own_rows = True
    batch_group = (0, b"")

    def row_of(self, key: bytes, /) -> bytes:
        """Return `key` unchanged: it is the row key of the object's own row."""
        return key

    def column_of(self, key: bytes, column: bytes, /) -> bytes:  # noqa: ARG002  # for every key
        """Return `column` unchanged."""
        return column

    def mutations(self, mutations: Sequence[RowMutation], /) -> Sequence[RowMutation]:
        """Return `mutations` unchanged: each object has its own row."""
        return mutations

    def get(
        self, request: GetRows, families: tuple[bytes, ...] = (), /
    ) -> ops.Protocol[Sequence[Row | None]]:
        """Read rows by key, in the order of the keys; None stands for a row that does not exist.

        A second request reads `families` of the rows that have none of the requested columns. It is
        not sent if there is no such row, or if `families` is empty or equal to the requested
        columns.
        """
        rows = yield from ask(request)
        if not families or families == request.columns:
            return rows
        missing = tuple(k for k, row in zip(request.keys, rows, strict=True) if row is None)
        if not missing:
            return rows
        others = yield from ask(replace(request, keys=missing, columns=families))
        by_key = dict(zip(missing, others, strict=True))
        return [row or by_key[key] for key, row in zip(request.keys, rows, strict=True)]

    def row_ranges(
        self,
        ranges: Sequence[KeyRange],
        /,
        *,
        reverse: bool = False,  # noqa: ARG002  # in any order
    ) -> Sequence[KeyRange]:
        """Return `ranges` unchanged: the keys of objects are row keys."""
        return ranges

    def objects(
        self,
        rows: Sequence[Row],
        ranges: Iterable[KeyRange],  # noqa: ARG002  # no other rows were scanned
        /,
        *,
        reverse: bool = False,  # noqa: ARG002  # in any order
    ) -> Sequence[Row]:
        """Return `rows` unchanged: each row is one object."""
        return rows


@dataclass(frozen=True, slots=True)
class StoredAsCells:
    """Each object is one cell of a row.

    The key of an object is the row key followed by the cell's qualifier. The qualifier is an offset
    of fixed width. Every part of the row key shows its own end. So no row key is a prefix of
    another.

    Attributes:
        model_name: The name of the model.
        layout: The layout of the objects' keys, with the offset.
        column: The beginning of every object's column; the offset follows it.
        width_bytes: The width of the offset in bytes.
    """

    model_name: str
    layout: KeyLayout
    column: bytes
    width_bytes: int

    has_own_rows = False

    @property
    def batch_group(self) -> tuple[int, bytes]:
        """The model's group: models of one table with the same group may share a write request."""
        return self.width_bytes, self.column

    def row_of(self, key: bytes, /) -> bytes:
        """Return `key` without the offset at its end."""
        return key[: -self.width_bytes]

    def column_of(self, key: bytes, column: bytes, /) -> bytes:
        """Return `column` followed by the offset at the end of `key`."""
        return column + key[-self.width_bytes :]

    def mutations(self, mutations: Sequence[RowMutation], /) -> Sequence[RowMutation]:
        """Return mutations of the rows that hold the objects.

        The mutations of one row that have the same TTL are joined to one mutation.
        """
        by_row: dict[tuple[bytes, int | None], RowMutation] = {}
        for mutation in mutations:
            row, qualifier = self.row_of(mutation.row), mutation.row[-self.width_bytes :]
            column = self.column + qualifier
            puts = tuple(Put(p.column + qualifier, p.value, p.timestamp_ms) for p in mutation.puts)
            deletes = tuple(Delete(column, each.timestamp_ms) for each in mutation.deletes)
            ttl_ms = mutation.ttl_ms
            known = by_row.get((row, ttl_ms), RowMutation(row))
            by_row[row, ttl_ms] = RowMutation(
                row, known.puts + puts, known.deletes + deletes, ttl_ms
            )
        return list(by_row.values())

    def get(
        self,
        request: GetRows,
        families: tuple[bytes, ...] = (),  # noqa: ARG002  # the object is this one cell
        /,
    ) -> ops.Protocol[Sequence[Row | None]]:
        """Read the cells of objects by the objects' keys; return each cell as a row.

        None stands for a cell that does not exist. One request reads all rows and columns of the
        cells.
        """
        rows = dict.fromkeys(self.row_of(key) for key in request.keys)
        names = dict.fromkeys(self.column_of(key, self.column) for key in request.keys)
        answer = yield from ask(replace(request, keys=tuple(rows), columns=tuple(names)))
        cells = {row.key: row for row in self._cells(row for row in answer if row is not None)}
        return [cells.get(key) for key in request.keys]

    def row_ranges(
        self, ranges: Sequence[KeyRange], /, *, reverse: bool = False
    ) -> Sequence[KeyRange]:
        """Return the ranges of the rows that hold the cells; the ranges do not overlap.

        The first and the last row of a range may also hold cells outside the given ranges.
        """
        rows = merged([self._row_range(key_range) for key_range in ranges])
        return rows[::-1] if reverse else rows

    def objects(
        self, rows: Sequence[Row], ranges: Iterable[KeyRange], /, *, reverse: bool = False
    ) -> Sequence[Row]:
        """Return the scanned objects whose keys are in `ranges`, each cell as a row.

        The cells of one row are in the order of their qualifiers, descending if `reverse`. A cell
        whose qualifier is not an offset of the model is a `CorruptRow`, in any of the ranges.
        """
        ranges = tuple(ranges)
        cells = self._cells(rows, reverse=reverse)
        return [cell for cell in cells if _is_in(ranges, cell)]

    def _row_range(self, key_range: KeyRange) -> KeyRange:
        start, stop = key_range.start, key_range.stop
        row = self._row_in(start)
        last = None if stop is None else self._row_in(stop)
        return KeyRange(start if row is None else row, stop if last is None else last + b"\x00")

    def _row_in(self, key: bytes) -> bytes | None:
        """Return the row key with which the key of an object begins.

        `key` may be only the beginning of an object's key. The result is None if `key` has no bytes
        after the row key.
        """
        position = 0
        try:
            for part in self.layout.parts[:-1]:
                position = part.span(key, position)
        except CodecError:
            return None
        return key[:position] if position < len(key) else None

    def _cells(self, rows: Iterable[Row], *, reverse: bool = False) -> Iterator[Row]:
        column = self.column
        for row in rows:
            of_cell = StaleRow if isinstance(row, StaleRow) else Row
            for name in sorted(row.cells, reverse=reverse):
                qualifier = name[len(column) :]
                if len(qualifier) != self.width_bytes:
                    error = self._not_an_offset(row.key, name)
                    yield CorruptRow(row.key + qualifier, {}, error)
                    continue
                yield of_cell(row.key + qualifier, {column: row.cells[name]})

    def _not_an_offset(self, row: bytes, column: bytes) -> CorruptRowError:
        return CorruptRowError(
            "a qualifier is not an offset as the model declares it",
            model=self.model_name,
            row=row,
            column=column,
            width_bytes=self.width_bytes,
            fix="let no other program write this family, or give the model another family",
        )


def _is_in(ranges: Iterable[KeyRange], cell: Row) -> bool:
    # The length of a corrupt row's key is wrong, so that it cannot be compared with a range.
    return isinstance(cell, CorruptRow) or any(cell.key in each for each in ranges)
