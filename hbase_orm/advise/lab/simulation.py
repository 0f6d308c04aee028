"""`lab`: simulates designs side by side, and says which is better and why. Nothing is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from hbase_orm.advise.lab.designs import Design, design_of
from hbase_orm.advise.lab.lab_results import DesignResult, LabResult, TableResult
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.sampled_rows import DEFAULT_SAMPLE, SampledRows
from hbase_orm.advise.lab.load.workload_files import read_workload
from hbase_orm.advise.lab.load.workloads import Workload
from hbase_orm.advise.lab.region_growth import grow
from hbase_orm.advise.lab.region_reads import reads_by_region
from hbase_orm.advise.lab.statement_costs import (
    LabStatement,
    StatementOf,
    StatementReads,
    is_of_model,
    statement_reads,
)
from hbase_orm.advise.lab.verdicts import verdict_on
from hbase_orm.advise.sizes import REGION_BYTES
from hbase_orm.errors import ConfigurationError
from hbase_orm.model import Model
from hbase_orm.model.discovery import has_table

_LEAST_REGION_BYTES = 1 << 20


def lab(
    *models: type[Model],
    rows: int | None = None,
    rate_per_s: float | None = None,
    seconds: float | None = None,
    regions: int | None = None,
    workload: str | Workload = "time-ordered",
    statements: Mapping[str, StatementOf] | None = None,
    reads_per_s: float = 1.0,
    region_bytes: float = REGION_BYTES,
    sample: int = DEFAULT_SAMPLE,
    seed: int = 1,
) -> LabResult:
    """Simulate a load of each model, and return how its regions are written and read.

    Nothing is sent. The keys of at most `sample` rows are computed by the models' codecs; each of
    them stands for the rows between. Equal arguments give equal results.

    Args:
        models: The designs: models of the same rows with other row keys. Fields with the same name
            have the same values in all of them.
        rows: The number of rows; 10,000,000, or those of the CSV file, if nothing else is given.
        rate_per_s: The rows that are written in a second.
        seconds: How long the load takes; an hour if nothing else is given.
        regions: The number of regions of each new table. None means those that `create_tables`
            makes.
        workload: "time-ordered", "zipf", "uniform", a file that ends in .toml or .csv, or a value.
        statements: Statements by their names. Each is a statement, or a function of a model, or of
            a model and a row that was written.
        reads_per_s: How many times in a second each statement is run.
        region_bytes: The size at which HBase splits a region; 10 GiB by default.
        sample: The most rows whose keys are computed.
        seed: The seed of everything random.

    Raises:
        ConfigurationError: An argument is wrong, or values do not fit a model.
    """
    _check(models, regions, region_bytes, sample, reads_per_s)
    chosen = read_workload(workload) if isinstance(workload, str) else workload
    if chosen.recorded is not None and rows is None and (rate_per_s is None or seconds is None):
        rows = len(chosen.recorded)
    _check_fields(chosen, models)
    shape = LoadShape.of(rows=rows, rate_per_s=rate_per_s, seconds=seconds)
    sampled = SampledRows(shape, chosen, sample, seed)
    named = [LabStatement(name, of, reads_per_s) for name, of in (statements or {}).items()]
    _check_statements(named, models)
    designs = [
        design_of(model, label, sampled, regions) for model, label in _labelled(models).items()
    ]
    results = [_result(design, named, shape, region_bytes) for design in designs]
    return LabResult(
        shape=shape,
        workload=chosen,
        sampled=len(sampled),
        designs=tuple(results),
        verdict=verdict_on(results, shape),
    )


def _check(
    models: Sequence[object],
    regions: int | None,
    region_bytes: float,
    sample: int,
    reads_per_s: float,
) -> None:
    if not models:
        raise ConfigurationError("there is no design to simulate", fix="write lab(Order)")
    wrong = next((each for each in models if not has_table(each)), None)
    if wrong is not None:
        raise ConfigurationError(
            "the argument is not a model with a table",
            got=wrong,
            fix='name classes such as class Order(Model, table="orders")',
        )
    limits = (
        ("regions", 1 if regions is None else regions, 1, 2000),
        ("region_bytes", region_bytes, _LEAST_REGION_BYTES, float("inf")),
        ("sample", sample, 1, 5_000_000),
        ("reads_per_s", reads_per_s, 0, 1e9),
    )
    for name, number, least, most in limits:
        if not least <= number <= most:
            raise ConfigurationError(
                "the number is out of range",
                name=name,
                got=number,
                least=least,
                most=most,
                fix=f"give a number from {least:,} to {most:,}",
            )


def _check_fields(workload: Workload, models: Sequence[type[Model]]) -> None:
    """Refuse a workload that describes a field which no model has: its name may be misspelt."""
    known = {name for model in models for name in model.__schema__.codecs}
    unknown = [name for name in workload.fields if name not in known]
    if unknown:
        raise ConfigurationError(
            "the workload describes fields that no model has",
            workload=workload.name,
            fields=tuple(unknown),
            known=tuple(sorted(known)),
            fix="correct the names",
        )


def _check_statements(statements: Sequence[LabStatement], models: Sequence[type[Model]]) -> None:
    for each in statements:
        _ = each.arguments  # refuses what is no statement
        if not is_of_model(each, models):
            raise ConfigurationError(
                "a statement is of a model that is not simulated",
                statement=each.name,
                models=tuple(model.__name__ for model in models),
                fix="name its model, too, or give a function of the model: "
                "def newest(model): return select(model)...",
            )


def _labelled(models: Iterable[type[Model]]) -> dict[type[Model], str]:
    every = tuple(dict.fromkeys(models))
    times = Counter(model.__name__ for model in every)
    return {
        m: m.__name__ if times[m.__name__] == 1 else f"{m.__module__}:{m.__name__}" for m in every
    }


def _result(
    design: Design, statements: Sequence[LabStatement], shape: LoadShape, region_bytes: float
) -> DesignResult:
    reads = [statement_reads(design, each) for each in statements]
    own: list[StatementReads] = [each for each in reads if each is not None]
    tables: list[TableResult] = []
    for number, table in enumerate(design.tables):
        history = grow(table, shape, region_bytes)
        tables.append(TableResult.of(history, reads_by_region(history, number, own)))
    return DesignResult(
        label=design.label,
        model=f"{design.model.__module__}:{design.model.__qualname__}",
        tables=tuple(tables),
        costs=tuple(each.cost for each in own),
    )
