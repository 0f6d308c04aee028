"""Samples of the rows that a model's tables hold: made up, from a CSV file, or of real tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from hbase_orm.advise.estimating.csv_objects import csv_arguments
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.model import Model
from hbase_orm.model.made_values import made_arguments
from hbase_orm.ops import (
    CloseScanner,
    DescribeTable,
    FamilyDescriptor,
    FetchRows,
    KeyRange,
    ListRegions,
    ListTables,
    OpenScanner,
    Protocol,
    Row,
    Scan,
    ask,
)
from hbase_orm.schema import GUARD_FAMILY
from hbase_orm.session.engine import Engine, runtime_of, schema_in_use

DEFAULT_SAMPLE_ROWS: Final = 5_000
"""How many rows are sampled if nothing else is asked for."""

_START_MS: Final = 1_767_225_600_000  # 2026-01-01: a fixed time, so that two runs are equal
_MS: Final = timedelta(milliseconds=1)
_FETCHED_ROWS: Final = 1_000
_FLUSHED_ROWS: Final = 1_000
_BATCH: Final = 100  # entries of an index that are written together
_MOST_OF_REGION: Final = 50_000_000
_STRETCHES: Final = 16  # of each region, at most
_STRETCH_ROWS: Final = 600
_MOST_ROWS: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class TableSample:
    """Rows of one table.

    Attributes:
        table: The name of the table.
        index: The name of the index whose table it is; empty for the table of the model.
        families: The families of the table, with their options.
        rows: The rows, sorted.
        share: How many rows the table has for each object of the model.
        is_claimed: Whether the rows are claims of a unique index, which are written one by one.
        starts: The row keys before which rows of the table are left out.
    """

    table: str
    index: str
    families: tuple[FamilyDescriptor, ...]
    rows: tuple[Row, ...]
    share: float
    is_claimed: bool = False
    starts: frozenset[bytes] = frozenset()

    def sequences(self, of_rows: float) -> dict[bytes, int]:
        """Return the number of the write of each row, as a region with so many rows counts them.

        Rows with guards are written one by one, others in batches: those of one timestamp, and
        about 100 entries of an index.
        """
        is_guarded = any(each.name == GUARD_FAMILY for each in self.families)
        written = sorted(
            (max(cell.timestamp_ms for cell in row.cells.values()), row.key) for row in self.rows
        )
        first_ms, last_ms = written[0][0] if written else 0, written[-1][0] if written else 0
        # A load goes on evenly: what part of its time has passed, that part of the rows is written.
        of_region = min(of_rows, _MOST_OF_REGION)
        per_ms, step = of_region / max(1, last_ms - first_ms), of_region / max(1, len(written))
        numbers: dict[bytes, int] = {}
        before_ms, of_time, within = -1, 0, 0
        for time_ms, key in written:
            within = within + 1 if time_ms == before_ms else 0
            of_time += time_ms != before_ms
            before_ms = time_ms
            place = int((time_ms - first_ms) * per_ms + within * step)
            if is_guarded or self.is_claimed:
                numbers[key] = 1 + place
            else:
                numbers[key] = 1 + place // _BATCH if self.index else of_time
        return numbers


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
        ConfigurationError: Values of a field cannot be made.
    """
    # The objects of a model with a table for each period stay within a few periods.
    step = 1 if model.__schema__.layout.table_period else max(1, of_rows // rows)
    try:
        arguments = [made_arguments(model, 1 + n * step, values) for n in range(rows)]
    except ConfigurationError as error:
        raise ConfigurationError(
            error.text,
            **error.details,
            fix="give rows as a CSV file (--sample FILE), or sample the table (--sample table)",
        ) from error
    return _stored(model, arguments, rows_per_s / step)


def csv_sample(
    model: type[Model], path: Path, *, rows: int, rows_per_s: float
) -> list[TableSample]:
    """Return the tables with the objects of a CSV file, whose first line names the fields.

    An empty text is None, or the field's default.

    Raises:
        ConfigurationError: The file cannot be read, lacks a field, or has a value that does not
            fit; the error names the line.
    """
    return _stored(model, csv_arguments(model, path, rows), rows_per_s)


def table_sample(engine: Engine, model: type[Model], *, rows: int) -> list[TableSample]:
    """Return rows of the model's real tables: neighbours, from every region.

    Raises:
        ConfigurationError: The table has no rows.
        GatewayError: A request failed.
    """
    samples = []
    for table, index in _tables(engine, model):
        stretches = runtime_of(engine).run_as_is(_stretches(table, rows))
        if not stretches and not index:
            raise ConfigurationError(
                "the table has no rows to sample",
                table=table,
                fix="leave out the sample, or give rows as a CSV file",
            )
        read = tuple(row for stretch in stretches for row in stretch)
        starts = frozenset(stretch[0].key for stretch in stretches)
        samples.append(
            TableSample(
                table, index, _families(engine, table), read, 1.0, _is_unique(model, index), starts
            )
        )
    return samples


def _tables(engine: Engine, model: type[Model]) -> list[tuple[str, str]]:
    schema = schema_in_use(engine, model)
    return [(schema.table, ""), *((each.table, each.name) for each in schema.indexes)]


def _is_unique(model: type[Model], index: str) -> bool:
    return any(each.name == index and each.unique for each in model.__schema__.indexes)


def _families(engine: Engine, table: str) -> tuple[FamilyDescriptor, ...]:
    return runtime_of(engine).run_as_is(ask(DescribeTable(table))).families


def _all_rows(table: str) -> Protocol[list[Row]]:
    rows = yield from _rows(Scan(table, caching_rows=_FETCHED_ROWS), _MOST_ROWS)
    return rows


def _stretches(table: str, rows: int) -> Protocol[list[list[Row]]]:
    """Read stretches of neighbouring rows from all parts of every region, as many rows in all."""
    regions = yield from ask(ListRegions(table))
    wanted = math.ceil(rows / len(regions))
    stretches: list[list[Row]] = []
    for region in regions:
        bounds = KeyRange(region.start, region.stop)
        last = yield from _rows(Scan(table, bounds, reverse=True), 1)
        if not last:
            continue
        (first,) = yield from _rows(Scan(table, bounds), 1)
        starts = between(first.key, last[0].key, max(2, min(_STRETCHES, wanted // _STRETCH_ROWS)))
        after, left = first.key, wanted
        for place, start in enumerate(starts):
            # Keys that look far apart may be close together: no row is read twice.
            scan = Scan(table, KeyRange(max(start, after), region.stop), caching_rows=_FETCHED_ROWS)
            stretch = yield from _rows(scan, math.ceil(left / (len(starts) - place)))
            if stretch:
                stretches.append(stretch)
                after, left = stretch[-1].key + b"\0", left - len(stretch)
    return stretches


def between(first: bytes, last: bytes, count: int) -> list[bytes]:
    """Return the first key and others on the way to the last key, `count` or fewer."""
    width = max(len(first), len(last), 1)
    low, high = (int.from_bytes(each.ljust(width, b"\0"), "big") for each in (first, last))
    steps = (low + (high - low) * step // count for step in range(1, count))
    return sorted({first, *(step.to_bytes(width, "big") for step in steps)})


def _rows(scan: Scan, most: int) -> Protocol[list[Row]]:
    scanner = yield from ask(OpenScanner(scan))
    read: list[Row] = []
    while len(read) < most:
        fetched = yield from ask(FetchRows(scanner, min(_FETCHED_ROWS, most - len(read))))
        if not fetched:
            break
        read += fetched
    yield from ask(CloseScanner(scanner))
    return read


def _stored(
    model: type[Model], arguments: Iterable[dict[str, Any]], rows_per_s: float
) -> list[TableSample]:
    """Save objects in memory, and return what the library stores, guards included."""
    clock = _SteppingClock()
    objects = [model(**each) for each in arguments]
    with Engine(MemoryGateway(clock), EngineOptions(scheme="memory"), now_ms=clock) as engine:
        _create(engine, model, objects)
        with engine.session() as session:
            for count, each in enumerate(objects, start=1):
                session.add(each)
                clock.now_ms += 1000 / rows_per_s
                if count % _FLUSHED_ROWS == 0:
                    session.flush()
            session.flush()
        if model.__schema__.layout.table_period is not None:
            return [_of_all_periods(engine, model, len(objects))]
        samples = []
        for table, index in _tables(engine, model):
            rows = runtime_of(engine).run_as_is(_all_rows(table))
            share, families = len(rows) / max(1, len(objects)), _families(engine, table)
            is_claimed = _is_unique(model, index)
            samples.append(TableSample(table, index, families, tuple(rows), share, is_claimed))
        return samples


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
    rows = [row for each in tables for row in runtime_of(engine).run_as_is(_all_rows(each))]
    return TableSample(
        period.pattern, "", _families(engine, tables[0]), tuple(rows), len(rows) / max(1, objects)
    )
