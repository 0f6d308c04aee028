"""Columns gathered from encoded rows into the buffers of Arrow arrays, by the compiled reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.codecs.source import MISFITS
from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.errors import CorruptRowError
from hbase_orm.execute import CorruptRows
from hbase_orm.model.mapping.compiled_reading import (
    REFUSED,
    cell_reader,
    is_readable,
    key_codecs,
    key_reader,
    value_without_cell,
)
from hbase_orm.model.mapping.projection import reader_of, required
from hbase_orm.ops import Row
from hbase_orm.query import Select, compile_match
from hbase_orm.reading.columnar.arrow_columns import ArrowColumn
from hbase_orm.reading.columnar.arrow_module import arrow
from hbase_orm.reading.columnar.gathered_kinds import GatheredKind, gathered_kind
from hbase_orm.schema import (
    ColumnSchema,
    Expr,
    TableSchema,
    column_field,
    compared_by,
    stored_column,
)

Matching = Callable[[Sequence[Row], CorruptRows], list[Row]]

_Buffers = tuple[int, bytearray, bytearray | None, Any]
"""The gathered values of a column: see `ColumnGatherer.take`."""


def gathering_of(
    bound: BoundModel, stmt: Select[Any], columns: Sequence[ArrowColumn], batch_rows: int
) -> Gathering | None:
    """Return what gathers the columns of a statement; None if its rows are read as values.

    Args:
        bound: The bound model of the rows.
        stmt: The statement, as one that selects values.
        columns: The columns, one for each selected value.
        batch_rows: The most rows of an array.
    """
    if stmt.is_aggregated or stmt.sort is not None or not _is_plain(bound):
        return None
    stored = _stored_columns(bound.schema, stmt.items)
    if not is_readable(stored.values()) or batch_rows > compiled_cells.MOST_ROWS:
        return None
    gatherer, kinds = _gatherer(bound.schema, columns, stored, batch_rows)
    return Gathering(bound, _matching(bound, stmt), gatherer, tuple(columns), tuple(kinds))


def _is_plain(bound: BoundModel) -> bool:
    """Return whether each row of a model is one object, which is decoded from its bytes only."""
    has_one_table = bound.tables.is_only and bound.schema.storage.has_own_rows
    return bound.kinds is None and bound.context is None and has_one_table


def _stored_columns(schema: TableSchema, items: Sequence[Expr[Any]]) -> dict[str, ColumnSchema]:
    """Return the columns of the items that are not decoded from the row key, by name."""
    columns = {}
    for item in items:
        column = None if item.name in schema.layout.decoded else stored_column(schema, item)
        if column is not None:
            columns[item.name] = column
    return columns


def _gatherer(
    schema: TableSchema,
    columns: Sequence[ArrowColumn],
    stored: dict[str, ColumnSchema],
    batch_rows: int,
) -> tuple[Any, list[GatheredKind]]:
    needed = {column for _, column in required(schema, [*stored])}
    absent = {
        column: REFUSED if column in needed else value_without_cell(schema, column)
        for column in stored.values()
    }
    in_cells, in_key = [*stored], [*schema.layout.decoded]
    keys: Any = None
    if any(column.name in in_key for column in columns):
        keys = key_reader(schema.layout)
    is_split = isinstance(keys, compiled_cells.KeyReader)
    in_parts = key_codecs(schema.layout) if is_split else {}
    kinds, places = [], []
    for column in columns:
        assert column.codec is not None
        if column.name in stored:
            kinds.append(gathered_kind(column, column.codec))
            places.append(("cell", in_cells.index(column.name)))
        elif is_split:
            kinds.append(gathered_kind(column, in_parts[column.name]))
            places.append(("key", in_key.index(column.name)))
        else:
            kinds.append(GatheredKind("value"))
            places.append(("decoded key", in_key.index(column.name)))
    gatherer = compiled_cells.ColumnGatherer(
        tuple(_described(*place, kind) for place, kind in zip(places, kinds, strict=True)),
        cell_reader(absent),
        keys if is_split else None,
        None if is_split else keys,
        MISFITS,
        EncodedRow,
        batch_rows,
    )
    return gatherer, kinds


def _described(source: str, place: int, kind: GatheredKind) -> tuple[Any, ...]:
    number = (kind.size, kind.desc, kind.sign, kind.least, kind.last, kind.width)
    return (source, place, kind.name, *number, kind.helper)


def _matching(bound: BoundModel, stmt: Select[Any]) -> Matching:
    """Return a function that returns the rows that exist and fulfil every condition."""
    compared = [column_field(of) for each in stmt.conditions for of in compared_by(each)]
    fields = {field.name: field for field in compared}
    check = compile_match(bound.schema, stmt.conditions, [*fields])
    read = reader_of(bound.model, [*fields.values()])

    table = bound.schema.table

    def matching(page: Sequence[Row], corrupt: CorruptRows) -> list[Row]:
        rows = [*corrupt.decodable(page, table)]
        if not bound.shows_every_row:
            rows = [row for row in rows if bound.exists(row)]
        return rows if check is None else [*checked(rows, corrupt)]

    def checked(rows: Iterable[Row], corrupt: CorruptRows) -> Iterator[Row]:
        assert check is not None
        for row in rows:
            try:
                if check(read(row)):
                    yield row
            except CorruptRowError as error:
                if not corrupt.leaves_out(error, table, row.key):
                    raise

    return matching


@dataclass(frozen=True, slots=True)
class Gathering:
    """Gathers the columns of rows.

    Attributes:
        bound: The bound model of the rows.
        matching: A function that returns the rows of a page that exist and fulfil every condition;
            its second argument decides about rows that do not decode.
        gatherer: The compiled gatherer.
        columns: The columns.
        kinds: How each column is gathered.
    """

    bound: BoundModel
    matching: Matching
    gatherer: Any
    columns: tuple[ArrowColumn, ...]
    kinds: tuple[GatheredKind, ...]

    @property
    def size_bytes(self) -> int:
        """The size of the cells of the rows that were added."""
        size: int = self.gatherer.size_bytes
        return size

    def add(self, rows: list[Row]) -> int:
        """Add rows until one cannot be gathered; return the number of added rows."""
        before: int = self.gatherer.rows
        with suppress(CorruptRowError):  # of a row key, which is decoded before anything is written
            self.gatherer.gather(rows)
        done: int = self.gatherer.rows - before
        return done

    def take(self) -> list[Any] | None:
        """Return the arrays of the added rows, and start again; None if there are no rows."""
        count = self.gatherer.rows
        if not count:
            return None
        buffers = self.gatherer.take()
        return [
            _array(column, kind, count, buffer)
            for column, kind, buffer in zip(self.columns, self.kinds, buffers, strict=True)
        ]


def _array(column: ArrowColumn, kind: GatheredKind, count: int, gathered: _Buffers) -> Any:
    """Return an array of gathered buffers."""
    nulls, valid, ends, values = gathered
    pa = arrow()
    if kind.name == "value":
        return column.array(values)
    stored = column.type.type.index_type if kind.name == "choice" else column.type.type
    buffers = [pa.py_buffer(valid) if nulls else None]
    buffers += [] if ends is None else [pa.py_buffer(ends)]
    array = pa.Array.from_buffers(stored, count, [*buffers, pa.py_buffer(values)], nulls)
    return column.type.encoded(array) if kind.name == "choice" else array
