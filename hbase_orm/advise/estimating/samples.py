"""Samples of the rows that a model's tables hold: made up, from a CSV file, or of real tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import gcd
from pathlib import Path
from typing import Any, Final

from hbase_orm.advise.estimating.csv_objects import csv_objects, key_values
from hbase_orm.advise.estimating.spread_rows import read_rows, spread_rows
from hbase_orm.advise.estimating.write_numbers import (
    numbers_of_batches,
    numbers_of_entries,
    numbers_of_single_writes,
)
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import ConfigurationError, FlushError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.entries.index_entries import index_target
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import record_type_test
from hbase_orm.model.made_values import made_arguments
from hbase_orm.ops import DescribeTable, FamilyDescriptor, KeyRange, ListTables, Row, ask
from hbase_orm.schema import GUARD_FAMILY, TableSchema
from hbase_orm.session.engine import Engine, runtime_of, schema_in_use

DEFAULT_SAMPLE_ROWS: Final = 5_000
"""How many rows of a file are sampled, or made up, if nothing else is asked for."""

DEFAULT_TABLE_ROWS: Final = 20_000
"""How many rows of a table: each of its stretches should fill a block."""

_START_MS: Final = 1_767_225_600_000  # 2026-01-01: a fixed time, so that two runs are equal
_MS: Final = timedelta(milliseconds=1)
_FLUSHED_ROWS: Final = 1_000
_MOST_ROWS: Final = 1 << 31
_CYCLES: Final = 2 * 3 * 5 * 7 * 11 * 13


@dataclass(frozen=True, slots=True)
class TableSample:
    """Rows of one table.

    Attributes:
        table: The name of the table.
        index: The name of the index whose table it is; empty for the table of the model.
        families: The families of the table, with their options.
        stretches: The rows, sorted: in one piece or several, which are apart in the table.
        share: How many rows the table has for each object of the model.
        is_unique: Whether the rows are claims of a unique index.
        is_thinned: Whether the table has other rows, which were written between these.
    """

    table: str
    index: str
    families: tuple[FamilyDescriptor, ...]
    stretches: tuple[tuple[Row, ...], ...]
    share: float
    is_unique: bool = False
    is_thinned: bool = False

    @property
    def rows(self) -> list[Row]:
        """All rows, sorted."""
        return [row for stretch in self.stretches for row in stretch]

    def sequences(self, of_rows: float) -> dict[tuple[bytes, int], int]:
        """Return the numbers of the writes by row key and timestamp, in a table of so many rows."""
        if self.is_unique or any(each.name == GUARD_FAMILY for each in self.families):
            return numbers_of_single_writes(self.rows, of_rows)
        if self.index:
            return numbers_of_entries(self.rows, of_rows)
        return numbers_of_batches(self.rows, of_rows, is_thinned=self.is_thinned)


class _SteppingClock:
    """A clock that an estimate puts forward: rows have the timestamps of a load at a given rate."""

    def __init__(self) -> None:
        self.now_ms = float(_START_MS)

    def __call__(self) -> int:
        return int(self.now_ms)


def made_up_sample(
    model: type[Model],
    values: Mapping[str, Any],
    *,
    rows: int,
    of_rows: int,
    rows_per_s: float,
) -> list[TableSample]:
    """Return the tables with made-up objects: numbers count up, texts are `city-1`, `city-2`.

    Args:
        model: The model.
        values: Values of fields, or functions of the object's number.
        rows: The number of objects.
        of_rows: The number of objects that they stand for; numbers are spread over it.
        rows_per_s: How many rows are written in a second.

    Raises:
        ConfigurationError: Values of a field cannot be made, or do not tell so many rows apart.
    """
    # The objects of a model with a table for each period stay within a few periods.
    step = 1 if model.__schema__.layout.table_period else _step(of_rows // rows)
    try:
        objects = [model(**made_arguments(model, 1 + n * step, values)) for n in range(rows)]
        _refuse_equal_keys(objects)
        return _stored(model, objects, rows_per_s / step)
    except ConfigurationError as error:
        raise ConfigurationError(
            error.text,
            **error.details,
            fix="give rows as a CSV file (--sample FILE), or sample the table (--sample table)",
        ) from error


def _refuse_equal_keys(objects: Sequence[Model]) -> None:
    if len(set(map(key_values, objects))) < len(objects):
        raise ConfigurationError("made-up rows have one row key", model=type(objects[0]).__name__)


def _step(most: int) -> int:
    """Return a step between the numbers of objects, with which values of small cycles differ.

    A step of 200 would give each object the same one of 4, 10 or 100 values.
    """
    return next((each for each in range(most, 1, -1) if gcd(each, _CYCLES) == 1), 1)


def csv_sample(
    model: type[Model], path: Path, *, rows: int, rows_per_s: float
) -> list[TableSample]:
    """Return the tables with the objects of a CSV file, whose first line names the fields.

    An empty text is None, or the field's default.

    Raises:
        ConfigurationError: The file cannot be read, lacks a field, or has a value that does not
            fit; the error names the line.
    """
    return _stored(model, csv_objects(model, path, rows), rows_per_s)


def table_sample(engine: Engine, model: type[Model], *, rows: int) -> list[TableSample]:
    """Return rows of the model's real tables: neighbours, from every region.

    Raises:
        ConfigurationError: The table has no rows of the model.
        CorruptRowError: The entries of a row cannot be computed.
        GatewayError: A request failed.
    """
    samples: list[TableSample] = []
    is_own = record_type_test(model)
    for table, index in _tables(engine, model):
        read = runtime_of(engine).run_as_is(spread_rows(table, rows))
        if not index and is_own is not None:
            own = ([row for row in each if is_own(row.key)] for each in read)
            read = [each for each in own if each]
        if not read and not index:
            raise ConfigurationError(
                "the table has no rows to sample",
                table=table,
                fix="leave out the sample, or give rows as a CSV file",
            )
        stretches = tuple(map(tuple, read))
        families = _families(engine, table)
        is_unique = _is_unique(model, index)
        share = _entries_of_row(schema_in_use(engine, model), index, samples[0]) if index else 1.0
        samples.append(
            TableSample(table, index, families, stretches, share, is_unique, is_thinned=True)
        )
    return samples


def _entries_of_row(schema: TableSchema, index: str, rows: TableSample) -> float:
    """Return how many entries of an index a row has, on average: None has no entry."""
    described = next(each for each in schema.indexes if each.name == index)
    entry_keys = index_target(schema, described).entry_keys
    entries = (
        entry_keys(row.key, {column: value for column, (value, _) in row.cells.items()})
        for row in rows.rows
    )
    return sum(map(len, entries)) / len(rows.rows)


def _tables(engine: Engine, model: type[Model]) -> list[tuple[str, str]]:
    schema = schema_in_use(engine, model)
    return [(schema.table, ""), *((each.table, each.name) for each in schema.indexes)]


def _is_unique(model: type[Model], index: str) -> bool:
    return any(each.name == index and each.unique for each in model.__schema__.indexes)


def _families(engine: Engine, table: str) -> tuple[FamilyDescriptor, ...]:
    return runtime_of(engine).run_as_is(ask(DescribeTable(table))).families


def _stored(model: type[Model], objects: Sequence[Model], rows_per_s: float) -> list[TableSample]:
    """Save objects in memory, and return what the library stores, guards included.

    Raises:
        ConfigurationError: Two objects have one value of a unique index.
    """
    clock = _SteppingClock()
    with Engine(MemoryGateway(clock), EngineOptions(scheme="memory"), now_ms=clock) as engine:
        _create(engine, model, objects)
        with engine.session() as session:
            try:
                for count, each in enumerate(objects, start=1):
                    session.add(each)
                    clock.now_ms += 1000 / rows_per_s
                    if count % _FLUSHED_ROWS == 0:
                        session.flush()
                session.flush()
            except FlushError as error:
                raise _not_stored(model, error) from error
        # Rows are read as of the first write: a long load would outlive the TTL of its first rows.
        clock.now_ms = float(_START_MS)
        if model.__schema__.layout.table_period is not None:
            return [_of_all_periods(engine, model, len(objects))]
        samples = []
        for table, index in _tables(engine, model):
            rows = runtime_of(engine).run_as_is(read_rows(table, KeyRange(), _MOST_ROWS))
            share, families = len(rows) / max(1, len(objects)), _families(engine, table)
            is_unique = _is_unique(model, index)
            samples.append(TableSample(table, index, families, (tuple(rows),), share, is_unique))
        return samples


def _not_stored(model: type[Model], error: FlushError) -> ConfigurationError:
    _, row, reason = error.details["not_written"][0]
    return ConfigurationError(
        "two rows of the sample cannot be in one table",
        model=model.__name__,
        row=row,
        reason=getattr(reason, "text", reason),
        fix="leave one of them out of the file",
    )


def _create(engine: Engine, model: type[Model], objects: Sequence[Any]) -> None:
    """Create the table of a model, or those of its periods that the objects need."""
    period = model.__schema__.layout.table_period
    if period is None:
        engine.create_tables(model)
        return
    times = [getattr(each, period.field) for each in objects]
    engine.create_tables(model, periods=(min(times), max(times) + _MS))


def _of_all_periods(engine: Engine, model: type[Model], objects: int) -> TableSample:
    """Return the rows of the tables of all periods, as if they were one table."""
    period = model.__schema__.layout.table_period
    assert period is not None
    tables = [each for each in runtime_of(engine).execute(ListTables()) if each != CATALOG_TABLE]
    rows = [
        row
        for each in tables
        for row in runtime_of(engine).run_as_is(read_rows(each, KeyRange(), _MOST_ROWS))
    ]
    return TableSample(
        period.pattern,
        "",
        _families(engine, tables[0]),
        (tuple(rows),),
        len(rows) / max(1, objects),
    )
