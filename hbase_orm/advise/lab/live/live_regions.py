"""`live_lab`: the regions of existing tables, shown as those of a simulation are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from hbase_orm.advise.lab.lab_results import DesignResult, LabResult, TableResult, Verdict
from hbase_orm.advise.lab.live.counted_regions import CountedRegion, count_regions
from hbase_orm.advise.lab.live.server_metrics import RegionMetrics, encoded_name, read_metrics
from hbase_orm.advise.lab.region_growth import Cells
from hbase_orm.advise.lab.verdicts import percent_text
from hbase_orm.advise.sizes import count_text
from hbase_orm.errors import ConfigurationError
from hbase_orm.model import Model
from hbase_orm.ops import KeyRange
from hbase_orm.session.engine import Engine, runtime_of, schema_in_use

MOST_ROWS: Final = 100_000
"""The most rows that are counted in one region."""

OBSERVED_S: Final = 30.0
"""How long requests are observed, unless the caller says so."""

_LOOKS: Final = 24
_HOT: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Table:
    """A table that is shown: its design, its index or an empty text, and its counted regions."""

    design: str
    model: str
    name: str
    index: str
    regions: Sequence[CountedRegion]


def live_lab(
    engine: Engine,
    *models: type[Model],
    most_rows: int = MOST_ROWS,
    metrics: Sequence[str] = (),
    seconds: float = OBSERVED_S,
    sleep: Callable[[float], None] = time.sleep,
) -> LabResult:
    """Return the regions of the models' tables and indexes, with their rows and their load.

    Rows are counted by reading keys, without values. Requests and sizes are shown only if
    RegionServers are asked by HTTP, because Thrift shows neither: then the requests of some
    seconds are shown over time.

    Args:
        engine: The engine.
        models: The models.
        most_rows: The most rows that are counted in one region.
        metrics: The addresses of RegionServers' pages, such as `http://host:16030`.
        seconds: How long requests are observed, if `metrics` is given.
        sleep: Waits between two looks at the requests.

    Raises:
        ConfigurationError: An argument is wrong, or a model has a table for each period.
        TableNotFoundError: A table does not exist.
        ConnectionLostError: A RegionServer does not answer.
    """
    _check(models, most_rows, seconds)
    tables = [each for model in models for each in _tables(engine, model, most_rows)]
    looks = list(_observed(metrics, seconds, sleep)) if metrics else []
    designs: dict[str, list[TableResult]] = {}
    names: dict[str, str] = {}
    for table in tables:
        shown = _shown(table, looks, seconds, most_rows)
        designs.setdefault(table.design, []).append(shown)
        names[table.design] = table.model
    results = [DesignResult(label, names[label], tuple(own)) for label, own in designs.items()]
    return LabResult(
        shape=None,
        workload=None,
        sampled=sum(each.rows for table in tables for each in table.regions),
        designs=tuple(results),
        verdict=Verdict("", tuple(_sentences(results, has_load=bool(looks)))),
        source=engine.options.url,
    )


def _check(models: Sequence[type[Model]], most_rows: int, seconds: float) -> None:
    if not models:
        raise ConfigurationError("there is no table to show", fix="write live_lab(engine, Order)")
    in_periods = [model for model in models if model.__schema__.layout.table_period is not None]
    if in_periods:
        raise ConfigurationError(
            "the model has a table for each period, and the lab shows single tables",
            model=in_periods[0].__name__,
            fix="declare a model of one of these tables",
        )
    if most_rows < 1 or seconds <= 0:
        raise ConfigurationError(
            "most_rows and seconds must be positive", most_rows=most_rows, seconds=seconds
        )


def _tables(engine: Engine, model: type[Model], most_rows: int) -> list[_Table]:
    runtime, schema = runtime_of(engine), model.__schema__
    usable = schema_in_use(engine, model)
    place = f"{model.__module__}:{model.__qualname__}"
    names = [(usable.table, ""), *((each.table, each.name) for each in usable.indexes)]
    return [
        _Table(schema.model_name, place, name, index, runtime.run(count_regions(name, most_rows)))
        for name, index in names
    ]


def _observed(
    metrics: Sequence[str], seconds: float, sleep: Callable[[float], None]
) -> Iterator[Mapping[str, RegionMetrics]]:
    yield read_metrics(metrics)
    for _ in range(_LOOKS):
        sleep(seconds / _LOOKS)
        yield read_metrics(metrics)


def _shown(
    table: _Table, looks: Sequence[Mapping[str, RegionMetrics]], seconds: float, most_rows: int
) -> TableResult:
    regions = [each.region for each in table.regions]
    names = [encoded_name(table.name, region) for region in regions]
    seen = [[look.get(name, RegionMetrics()) for name in names] for look in looks]
    cell_s = seconds / _LOOKS
    cells = max(1, len(looks) - 1)
    last = seen[-1] if seen else [RegionMetrics()] * len(regions)
    remarks = []
    if not all(each.is_whole for each in table.regions):
        remarks.append(f"at most {count_text(most_rows)} rows were counted in each region")
    if looks and not any(name in looks[-1] for name in names):
        remarks.append("no RegionServer that was named has its regions")
    return TableResult(
        name=table.name,
        index=table.index,
        regions=tuple(KeyRange(region.start, region.stop) for region in regions),
        servers=tuple(region.server for region in regions),
        rows=np.array([each.rows for each in table.regions], dtype=np.float64),
        size_bytes=np.array([each.size_bytes for each in last], dtype=np.float64),
        writes=_rates([[each.writes for each in row] for row in seen], cells, regions, cell_s),
        reads=_rates([[each.reads for each in row] for row in seen], cells, regions, cell_s),
        owners=np.tile(np.arange(len(regions)), (cells, 1)),
        cell_s=cell_s,
        busiest=None,
        splits=(),
        regions_at_first=len(regions),
        remarks=tuple(remarks),
    )


def _rates(
    counts: Sequence[Sequence[int]], cells: int, regions: Sequence[object], cell_s: float
) -> Cells:
    if not counts:
        return np.zeros((cells, len(regions)))
    # A region that moves begins to count at 0 again.
    return np.maximum(np.diff(np.array(counts, dtype=np.float64), axis=0), 0) / cell_s


def _sentences(designs: Sequence[DesignResult], *, has_load: bool) -> Iterator[str]:
    for design in designs:
        for table in design.tables:
            name = f"{design.label}, index {table.index}" if table.index else design.label
            yield _rows_sentence(name, table)
            if has_load:
                yield from _load_sentences(name, table)
    if not has_load:
        yield "Requests are not shown, because Thrift does not count them: name RegionServers."


def _rows_sentence(name: str, table: TableResult) -> str:
    skew, regions = table.skew, len(table.regions)
    if not table.rows.any():
        return f"{name}: the table has no rows, in {regions} regions."
    if regions == 1:
        return f"{name}: one region has all rows, so one server takes every request."
    empty = f", and {skew.empty} have none" if skew.empty else ""
    even = percent_text(1 / regions)
    return (
        f"{name}: the largest of {regions} regions has {percent_text(skew.largest_share)} of the "
        f"rows, where {even} would be even{empty}."
    )


def _load_sentences(name: str, table: TableResult) -> Iterator[str]:
    for amounts, noun in ((table.writes, "writes"), (table.reads, "reads")):
        each = amounts.sum(axis=0)
        total = float(each.sum())
        if not total:
            yield f"{name} had no {noun}."
            continue
        share = float(each.max()) / total
        hot = "; it is a hot spot" if share >= _HOT and len(each) > 1 else ""
        count = count_text(round(total * table.cell_s))
        yield f"The busiest region of {name} took {percent_text(share)} of {count} {noun}{hot}."
