"""Samples of the rows that a model's tables hold: made up, from a CSV file, or of real tables."""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import CodecError, ConfigurationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.model import Model
from hbase_orm.model.made_values import made_arguments
from hbase_orm.ops import (
    CloseScanner,
    DescribeTable,
    FamilyDescriptor,
    FetchRows,
    KeyRange,
    ListRegions,
    OpenScanner,
    Protocol,
    Row,
    Scan,
    ask,
)
from hbase_orm.schema import GUARD_FAMILY
from hbase_orm.schema.typed_values import typed_value
from hbase_orm.session.engine import Engine, runtime_of, schema_in_use

DEFAULT_SAMPLE_ROWS: Final = 5_000
"""How many rows are sampled if nothing else is asked for."""

_START_MS: Final = 1_767_225_600_000  # 2026-01-01: a fixed time, so that two runs are equal
_FETCHED_ROWS: Final = 1_000
_FLUSHED_ROWS: Final = 1_000
_BATCH: Final = 100  # entries of an index that are written together
_MOST_OF_REGION: Final = 50_000_000
_STRETCHES: Final = 16  # of each region
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
    """

    table: str
    index: str
    families: tuple[FamilyDescriptor, ...]
    rows: tuple[Row, ...]
    share: float

    def sequences(self, of_rows: float) -> dict[bytes, int]:
        """Return the number of the write of each row, as a region with so many rows counts them.

        Rows with guards are written one by one, others in batches: those of one timestamp, and
        about 100 entries of an index.
        """
        is_guarded = any(each.name == GUARD_FAMILY for each in self.families)
        written = sorted(
            (max(cell.timestamp_ms for cell in row.cells.values()), row.key) for row in self.rows
        )
        step = max(1.0, min(of_rows, _MOST_OF_REGION) / max(1, len(self.rows)))
        numbers: dict[bytes, int] = {}
        last_ms, of_time = -1, 0
        for place, (time_ms, key) in enumerate(written):
            of_time += time_ms != last_ms
            last_ms = time_ms
            if is_guarded:
                numbers[key] = 1 + int(place * step)
            else:
                numbers[key] = 1 + int(place * step) // _BATCH if self.index else of_time
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
    step = max(1, of_rows // rows)
    arguments = (made_arguments(model, 1 + n * step, values) for n in range(rows))
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
    return _stored(model, _csv_arguments(model, path, rows), rows_per_s)


def table_sample(engine: Engine, model: type[Model], *, rows: int) -> list[TableSample]:
    """Return rows of the model's real tables: neighbours, from every region.

    Raises:
        ConfigurationError: The table has no rows.
        GatewayError: A request failed.
    """
    samples = []
    for table, index in _tables(engine, model):
        read = runtime_of(engine).run_as_is(_spread_rows(table, rows))
        if not read and not index:
            raise ConfigurationError(
                "the table has no rows to sample",
                table=table,
                fix="leave out --sample-table, or give rows as a CSV file",
            )
        samples.append(TableSample(table, index, _families(engine, table), tuple(read), 1.0))
    return samples


def _tables(engine: Engine, model: type[Model]) -> list[tuple[str, str]]:
    schema = schema_in_use(engine, model)
    return [(schema.table, ""), *((each.table, each.name) for each in schema.indexes)]


def _families(engine: Engine, table: str) -> tuple[FamilyDescriptor, ...]:
    return runtime_of(engine).run_as_is(ask(DescribeTable(table))).families


def _all_rows(table: str) -> Protocol[list[Row]]:
    rows = yield from _rows(Scan(table, caching_rows=_FETCHED_ROWS), _MOST_ROWS)
    return rows


def _spread_rows(table: str, rows: int) -> Protocol[list[Row]]:
    """Read stretches of neighbouring rows from all parts of every region, as many rows in all."""
    regions = yield from ask(ListRegions(table))
    read: dict[bytes, Row] = {}
    for region in regions:
        bounds = KeyRange(region.start, region.stop)
        last = yield from _rows(Scan(table, bounds, reverse=True), 1)
        if not last:
            continue
        (first,) = yield from _rows(Scan(table, bounds), 1)
        starts = between(first.key, last[0].key, _STRETCHES)
        for start in starts:
            wanted = Scan(table, KeyRange(start, region.stop), caching_rows=_FETCHED_ROWS)
            stretch = yield from _rows(wanted, 1 + math.ceil(rows / len(regions) / len(starts)))
            read.update((row.key, row) for row in stretch)
    return [read[key] for key in sorted(read)]


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
    model: type[Model], arguments: Iterator[dict[str, Any]], rows_per_s: float
) -> list[TableSample]:
    """Save objects in memory, and return what the library stores, guards included."""
    clock = _SteppingClock()
    with Engine(MemoryGateway(clock), EngineOptions(scheme="memory"), now_ms=clock) as engine:
        engine.create_tables(model)
        count = 0
        with engine.session() as session:
            for each in arguments:
                obj = model(**each)
                session.add(obj)
                count += 1
                clock.now_ms += 1000 / rows_per_s
                if count % _FLUSHED_ROWS == 0:
                    session.flush()
            session.flush()
        samples = []
        for table, index in _tables(engine, model):
            rows = runtime_of(engine).run_as_is(_all_rows(table))
            share, families = len(rows) / max(1, count), _families(engine, table)
            samples.append(TableSample(table, index, families, tuple(rows), share))
        return samples


# --- CSV ------------------------------------------------------------------------------------------


def _csv_arguments(model: type[Model], path: Path, rows: int) -> Iterator[dict[str, Any]]:
    try:
        file = path.open(encoding="utf-8-sig", newline="")
    except OSError as error:
        raise ConfigurationError(
            "the sample cannot be read",
            file=str(path),
            reason=error.strerror,
            fix="name a CSV file that exists",
        ) from error
    with file:
        lines = csv.reader(file, strict=True)
        try:
            yield from _objects(model, path, lines, rows)
        except (csv.Error, UnicodeDecodeError) as error:
            raise _wrong(path, lines.line_num, str(error)) from error


def _objects(model: type[Model], path: Path, lines: Any, rows: int) -> Iterator[dict[str, Any]]:
    names = [name.strip() for name in next(lines, [])]
    parameters = inspect.signature(model).parameters
    lacking = [
        name
        for name, each in parameters.items()
        if each.default is inspect.Parameter.empty and name not in names
    ]
    if lacking:
        raise _wrong(path, 1, f"the first line lacks the fields {', '.join(lacking)}")
    count = 0
    for texts in lines:
        if count == rows:
            return
        if len(texts) != len(names):
            reason = f"the line has {len(texts)} values, and the first line {len(names)} names"
            raise _wrong(path, lines.line_num, reason)
        pairs = zip(names, texts, strict=True)
        given = {name: text for name, text in pairs if name in parameters}
        yield _values(model, path, lines.line_num, given)
        count += 1
    if not count:
        raise _wrong(path, 2, "the file has no rows")


def _values(model: type[Model], path: Path, line: int, texts: dict[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    parameters = inspect.signature(model).parameters
    for name, text in texts.items():
        has_default = parameters[name].default is not inspect.Parameter.empty
        if not text and has_default:
            continue
        codec = model.__schema__.codecs[name]
        try:
            values[name] = typed_value(codec.python_type, text) if text else None
        except CodecError as error:
            expected = error.details["expected"] or "another type"
            raise _wrong(path, line, f"{name} is {text!r}, and not {expected}") from error
        if not text:
            raise _wrong(path, line, f"{name} has no value, and needs one")
    return values


def _wrong(path: Path, line: int, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the CSV file of the sample is wrong",
        file=str(path),
        line=line,
        reason=reason,
        fix="write the names of the model's fields into the first line, and rows into the others",
    )
