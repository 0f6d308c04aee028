"""Designs: models whose row keys are compared. Their keys are computed by the real codecs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any, Final

import numpy as np

from hbase_orm.advise.lab.keyed_tables import KeyedTable
from hbase_orm.advise.lab.load.sampled_rows import NeededField, SampledRows
from hbase_orm.advise.lab.presplits import entry_splits, row_splits
from hbase_orm.advise.sizes import CELL_BYTES, cell_count, row_columns
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, ConfigurationError, RowKeyError
from hbase_orm.index.entries.index_entries import index_target
from hbase_orm.model import Model
from hbase_orm.schema import ColumnSchema, TableSchema

TEXT_BYTES: Final = 16
"""The assumed size of a value whose codec has no fixed width."""

PERIOD_MARK: Final = b"\x00"
"""The byte between the name of a period's table and a row key; no name of a table has it."""

_GUARD_BYTES: Final = 48
"""About the size of the guard cell of a row with indexes."""


@dataclass(frozen=True, eq=False)
class Design:
    """A model with the row keys that a load writes.

    Attributes:
        label: The name of the design, unique within a lab.
        model: The model.
        schema: The model's schema.
        rows: The sampled rows.
        table: The table of the rows.
        indexes: The tables of the indexes, by their names.
        numbers: The numbers of the names that row keys hold as numbers.
        periods: The starts of the periods that have a table; empty without a table for each.
    """

    label: str
    model: type[Model]
    schema: TableSchema
    rows: SampledRows
    table: KeyedTable
    indexes: tuple[KeyedTable, ...]
    numbers: Mapping[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    periods: tuple[datetime, ...] = ()
    _rounded: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]], repr=False)

    @property
    def tables(self) -> tuple[KeyedTable, ...]:
        """The table of the rows, then those of the indexes."""
        return (self.table, *self.indexes)

    def values(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """Return the values of fields in every sampled row, by name, as they are read back."""
        return {name: self._stored(needed_field(self.schema, name)) for name in names}

    def _stored(self, needed: NeededField) -> list[Any]:
        values, codec = self.rows.values(needed), needed.codec
        if not codec.coarse:
            return values
        if needed.name not in self._rounded:
            self._rounded[needed.name] = [
                None if value is None else codec.normalize(value) for value in values
            ]
        return self._rounded[needed.name]


def design_of(
    model: type[Model], label: str, rows: SampledRows, regions: int | None = None
) -> Design:
    """Return a design; compute the row keys and index entries of the sampled rows.

    Args:
        model: The model.
        label: The name of the design.
        rows: The sampled rows.
        regions: The number of regions of each new table; None means the declared split keys.

    Raises:
        ConfigurationError: A value does not fit the row key, or cannot be made.
    """
    schema = model.__schema__
    if schema.record_types is not None:
        raise ConfigurationError(
            "the model is the base of record types, and the lab needs one kind of rows",
            model=schema.model_name,
            fix="name one of its record types: "
            + ", ".join(kind.__name__ for kind in schema.record_types.models.values()),
        )
    numbers: dict[tuple[str, str], int] = {}
    keys = _row_keys(schema, rows, numbers)
    starts: list[datetime] = []
    mean_bytes = sum(map(len, keys)) / len(keys)
    base = KeyedTable(
        name=schema.table,
        index="",
        keys=keys,
        rows=np.arange(len(keys)),
        written_at_s=rows.written_at_s,
        split_keys=(),
        scale=rows.scale,
        row_bytes=_row_bytes(schema, mean_bytes),
    )
    base = row_splits(schema, base, regions)
    if schema.layout.table_period is not None:
        base, starts = _in_periods(schema, base, rows)
    indexes = tuple(_index_tables(schema, rows, keys, regions))
    return Design(label, model, schema, rows, base, indexes, numbers, tuple(starts))


def needed_field(schema: TableSchema, name: str) -> NeededField:
    """Return a field of a model, as the sampled rows take it."""
    column = schema.column_by_name.get(name)
    in_key = name in schema.layout.names
    is_nullable = column is not None and column.nullable and not in_key
    return NeededField(name, schema.codecs[name], schema, is_nullable)


def _row_keys(
    schema: TableSchema, rows: SampledRows, numbers: dict[tuple[str, str], int]
) -> list[bytes]:
    layout = schema.layout
    columns = [rows.values(needed_field(schema, name)) for name in layout.names]
    for lookup in layout.lookups:
        names = columns[layout.names.index(lookup.field)]
        # A dictionary gives numbers in the order in which names are first written.
        for name in dict.fromkeys(names):
            numbers.setdefault((lookup.dictionary, name), len(numbers) + 1)
        columns.append([numbers[lookup.dictionary, name] for name in names])
    try:
        keys = list(map(layout.encode_parts, *columns))
    except RowKeyError as error:
        raise _misfit(schema, error) from error
    qualifier = schema.packed_bytes
    return [key[:-qualifier] for key in keys] if qualifier else keys


def _misfit(schema: TableSchema, error: RowKeyError | CodecError) -> ConfigurationError:
    return ConfigurationError(
        "a value of the workload does not fit the model",
        **{**error.details, "model": schema.model_name, "reason": error.text},
        fix="describe the field in a workload file: first=, distinct=, text= or choices=",
    )


def _in_periods(
    schema: TableSchema, table: KeyedTable, rows: SampledRows
) -> tuple[KeyedTable, list[datetime]]:
    """Return a table whose keys begin with the names of the periods' tables, and the periods."""
    period = schema.layout.table_period
    assert period is not None
    times = rows.values(needed_field(schema, period.field))
    starts = list(map(period.unit.start, times))
    every = sorted(set(starts))
    fronts = {start: period_front(schema, start) for start in every}
    split_keys = [(front, *(front + key for key in table.split_keys)) for front in fronts.values()]
    tables = "1 table" if len(every) == 1 else f"{len(every)} tables"
    made = KeyedTable(
        name=table.name,
        index="",
        keys=[fronts[start] + key for start, key in zip(starts, table.keys, strict=True)],
        rows=table.rows,
        written_at_s=table.written_at_s,
        split_keys=tuple(chain.from_iterable(split_keys))[1:],
        scale=table.scale,
        row_bytes=table.row_bytes,
        remarks=(*table.remarks, f"{tables}, one for each {period.unit}"),
    )
    return made, every


def period_front(schema: TableSchema, start: datetime) -> bytes:
    """Return what stands before the keys of a period's table."""
    period = schema.layout.table_period
    assert period is not None
    return table_front(period.unit.name_of(schema.table, start))


def table_front(table: str) -> bytes:
    """Return what stands before the keys of one of several tables."""
    return table.encode() + PERIOD_MARK


# --- indexes --------------------------------------------------------------------------------------


def _index_tables(
    schema: TableSchema, rows: SampledRows, keys: Sequence[bytes], regions: int | None
) -> Iterator[KeyedTable]:
    columns = {c.column: c for index in schema.indexes for c in index.columns}
    cells = _cells(schema, rows, columns.values()) if schema.indexes else []
    for index in schema.indexes:
        entry_keys = index_target(schema, index).entry_keys
        entries: list[bytes] = []
        owners: list[int] = []
        for number, (key, row) in enumerate(zip(keys, cells, strict=True)):
            for entry in entry_keys(key, row):
                entries.append(entry)
                owners.append(number)
        places = np.array(owners, dtype=np.int64)
        mean_bytes = sum(map(len, entries)) / max(1, len(entries))
        included = sum(CELL_BYTES + mean_bytes + _value_bytes(c.codec) for c in index.included)
        table = KeyedTable(
            name=index.table,
            index=index.name,
            keys=entries,
            rows=places,
            written_at_s=rows.written_at_s[places],
            split_keys=(),
            scale=rows.scale,
            row_bytes=round(CELL_BYTES + mean_bytes + included),
        )
        yield entry_splits(schema, index, table, regions)


def _cells(
    schema: TableSchema, rows: SampledRows, columns: Iterable[ColumnSchema]
) -> list[dict[bytes, bytes]]:
    """Return the stored columns of each sampled row."""
    cells: list[dict[bytes, bytes]] = [{} for _ in range(len(rows))]
    for column in columns:
        encode = column.codec.encode
        values = rows.values(needed_field(schema, column.name))
        try:
            for row, value in zip(cells, values, strict=True):
                if value is not None:
                    row[column.column] = encode(value)
        except CodecError as error:
            raise _misfit(schema, error) from error
    return cells


# --- sizes ----------------------------------------------------------------------------------------


def _row_bytes(schema: TableSchema, mean_key_bytes: float) -> int:
    names = sum(len(column) - 1 for column in row_columns(schema))
    values = sum(_value_bytes(column.codec) for column in schema.column_by_name.values())
    cells = cell_count(schema) * (CELL_BYTES + mean_key_bytes) + names + values
    return round(cells + (_GUARD_BYTES + mean_key_bytes if schema.has_guards else 0))


def _value_bytes(codec: Codec[Any]) -> int:
    return codec.width_bytes or TEXT_BYTES
