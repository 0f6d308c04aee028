"""Makes record batches of the rows that a statement's read returns, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.compiled import EncodedRow
from hbase_orm.execute import CorruptRows
from hbase_orm.ops import Row
from hbase_orm.query import Select, Selection
from hbase_orm.reading.columnar.arrow_columns import ArrowColumn
from hbase_orm.reading.columnar.arrow_module import arrow
from hbase_orm.reading.columnar.gathered_columns import Gathering, gathering_of
from hbase_orm.reading.results import selected_values
from hbase_orm.reading.stream import selected

MOST_BATCH_BYTES: Final = 16 << 20
"""A batch ends when the rows that were read for it have so many bytes: large cells need memory."""

_ROWS_AT_A_TIME: Final = 256


def record_batches(
    pages: Iterator[Sequence[Row]],
    bound: BoundModel,
    stmt: Select[Any],
    columns: Sequence[ArrowColumn],
    batch_rows: int,
    *,
    corrupt: CorruptRows,
) -> Iterator[Any]:
    """Yield the results of a statement as record batches.

    Args:
        pages: The pages of rows that were read.
        bound: The bound model of the rows.
        stmt: The statement.
        columns: The columns of the batches.
        batch_rows: The most rows of a batch.
        corrupt: Decides about rows that do not decode.
    """
    by_value = _as_values(stmt, bound, columns)
    gathering = None if by_value is None else gathering_of(bound, by_value, columns, batch_rows)
    if by_value is None or gathering is None:
        measured = MeasuredPages(pages)
        results = selected(measured, bound, by_value or stmt, corrupt)
        return _plain_batches(measured, results, by_value or stmt, columns, batch_rows)
    return _Builder(bound, by_value, columns, gathering, batch_rows, corrupt).batches(pages)


class MeasuredPages(Iterator[Sequence[Row]]):
    """The pages of a read.

    Attributes:
        size_bytes: The bytes of the rows since it was set to 0.
    """

    def __init__(self, pages: Iterator[Sequence[Row]]) -> None:
        """Start with no bytes."""
        self._pages = pages
        self.size_bytes = 0

    def __next__(self) -> Sequence[Row]:
        """Return the next page."""
        page = next(self._pages)
        self.size_bytes += sum(map(_size_of, page))
        return page


def _size_of(row: Row) -> int:
    """Return the size of a row in bytes; of an encoded row without decoding its cells."""
    return len(row.encoded) if isinstance(row, EncodedRow) else row.content_bytes


def schema_of(columns: Sequence[ArrowColumn]) -> Any:
    """Return the `pyarrow.Schema` of the columns."""
    return arrow().schema([column.field for column in columns])


def _as_values(
    stmt: Select[Any], bound: BoundModel, columns: Sequence[ArrowColumn]
) -> Select[Any] | None:
    """Return the statement as one that selects values; None if it needs whole objects."""
    if stmt.selection is not None:
        return stmt
    if stmt.entries is not None or bound.schema.dynamics:
        return None
    fields = tuple(bound.schema.fields[column.name] for column in columns)
    return replace(stmt, selection=Selection(fields))


# --- any statement --------------------------------------------------------------------------------


def _plain_batches(
    pages: MeasuredPages,
    results: Iterator[Any],
    stmt: Select[Any],
    columns: Sequence[ArrowColumn],
    batch_rows: int,
) -> Iterator[Any]:
    records = _records(results, stmt, columns)
    while True:
        pages.size_bytes = 0
        held: list[tuple[Any, ...]] = []
        while len(held) < batch_rows and pages.size_bytes < MOST_BATCH_BYTES:
            some = [*islice(records, min(_ROWS_AT_A_TIME, batch_rows - len(held)))]
            held += some
            if not some:
                break
        if not held:
            return
        yield _batch([_array(column, held, n) for n, column in enumerate(columns)], columns)


def _records(
    results: Iterator[Any], stmt: Select[Any], columns: Sequence[ArrowColumn]
) -> Iterator[tuple[Any, ...]]:
    """Return an iterator over the values of each result, in the order of the columns."""
    if stmt.selection is not None:
        return ((value,) for value in results) if stmt.selection.is_bare else results
    read = attrgetter(*(column.name for column in columns))
    return map(read, results) if len(columns) > 1 else ((read(obj),) for obj in results)


def _array(column: ArrowColumn, records: Sequence[tuple[Any, ...]], place: int) -> Any:
    return column.array([record[place] for record in records])


def _batch(arrays: Sequence[Any], columns: Sequence[ArrowColumn]) -> Any:
    return arrow().RecordBatch.from_arrays([*arrays], schema=schema_of(columns))


# --- encoded rows ---------------------------------------------------------------------------------


@dataclass(slots=True)
class _Builder:
    """Builds batches of rows whose columns are gathered without making values.

    Rows that cannot be gathered, because a value needs anything unusual, are read as values. Their
    arrays stand between those that were gathered before and after them.

    Attributes:
        bound: The bound model of the rows.
        stmt: The statement, as one that selects values.
        columns: The columns of the batches.
        gathering: What gathers the columns.
        batch_rows: The most rows of a batch.
        corrupt: Decides about rows that do not decode.
        parts: The arrays of the batch, without the rows that `gathering` holds.
        count: The number of rows of the batch.
        size_bytes: The size of the rows in `parts`.
    """

    bound: BoundModel
    stmt: Select[Any]
    columns: Sequence[ArrowColumn]
    gathering: Gathering
    batch_rows: int
    corrupt: CorruptRows
    parts: list[list[Any]] = field(default_factory=list[list[Any]], init=False)
    count: int = field(default=0, init=False)
    size_bytes: int = field(default=0, init=False)

    def batches(self, pages: Iterator[Sequence[Row]]) -> Iterator[Any]:
        """Yield the batches."""
        left = self.stmt.row_limit
        for page in pages:
            rows = self.gathering.matching(page, self.corrupt)
            at = 0
            while at < len(rows) and left != 0:
                most = self.batch_rows - self.count
                some = rows[at : at + (most if left is None else min(most, left))]
                at += len(some)
                added = self._add(some)
                left = None if left is None else left - added
                if self.count == self.batch_rows:
                    yield self._joined()
            if self.count and self.size_bytes + self.gathering.size_bytes >= MOST_BATCH_BYTES:
                yield self._joined()
            if left == 0:
                break
        if self.count:
            yield self._joined()

    def _add(self, rows: list[Row]) -> int:
        """Add rows to the batch; return the number of those that were not left out."""
        added = self.gathering.add(rows)
        if added < len(rows):
            self.size_bytes += self.gathering.size_bytes
            gathered = self.gathering.take()
            self.parts += [] if gathered is None else [gathered]
            values = self._values(rows[added:])
            self.parts.append([_array(column, values, n) for n, column in enumerate(self.columns)])
            added += len(values)
        self.count += added
        return added

    def _values(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        """Return the values of rows that could not be gathered."""
        self.size_bytes += sum(map(_size_of, rows))
        read = selected_values(iter([rows]), self.bound, self.stmt, self.corrupt)
        values = [each for _, each in read]
        if self.stmt.selection is not None and self.stmt.selection.is_bare:
            return [(value,) for value in values]
        return values

    def _joined(self) -> Any:
        """Return the batch, and begin the next one."""
        pa, last = arrow(), self.gathering.take()
        parts = self.parts if last is None else [*self.parts, last]
        self.parts, self.count, self.size_bytes = [], 0, 0
        if len(parts) == 1:
            return _batch(parts[0], self.columns)
        joined = [pa.concat_arrays(pieces) for pieces in zip(*parts, strict=True)]
        return _batch(joined, self.columns)
