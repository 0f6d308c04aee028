"""What an estimate leaves out, or knows badly: said with its result."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from hbase_orm.advise.estimating.csv_objects import first_line
from hbase_orm.advise.estimating.samples import TableSample
from hbase_orm.advise.estimating.store_files import COMPRESSIONS
from hbase_orm.advise.sizes import count_text, time_text
from hbase_orm.model import Model
from hbase_orm.ops import FamilyDescriptor
from hbase_orm.session.engine import Engine

_FEW = 1_000


def notes_of(
    model: type[Model],
    samples: Sequence[TableSample],
    sample: Path | Engine | None,
    given: Collection[str],
    *,
    rows: int,
    rows_per_s: float,
) -> Iterator[str]:
    """Yield sentences about an estimate.

    Args:
        model: The model.
        samples: The sampled tables; the first one is that of the model.
        sample: Where the rows come from; None means that they are made up.
        given: The fields whose values the caller gave for made-up rows.
        rows: The number of rows for which sizes are estimated.
        rows_per_s: How many rows are written in a second.
    """
    schema = model.__schema__
    sampled = len(samples[0].rows)
    if sampled < _FEW:
        were = "1 row is" if sampled == 1 else f"{sampled} rows are"
        yield f"{were} too few to see how well blocks compress"
    if sample is None:
        yield "values are made up; real ones compress less"
    if isinstance(sample, Path):
        given = first_line(sample)
        names = inspect.signature(model).parameters
        unknown = [name or "one without a name" for name in given if name not in names]
        yield from _named("columns of the file that are no fields", unknown)
    if not isinstance(sample, Engine):
        left = [name for name in _optional_fields(model) if name not in given]
        yield from _named("fields with their defaults, of which None takes no cell", left)
        unseen = {each.name for each in schema.counters} | {each.name for each in schema.dynamics}
        yield from _named("not counted, as only a sample of the table has them", unseen)
    if schema.layout.table_period is not None:
        yield "the tables of all periods are estimated as one; each of them has a region or more"
    if schema.layout.lookups:
        yield "the dictionaries, whose numbers stand in row keys, are not counted"
    for family in schema.families:
        yield from _of_family(family, rows, rows_per_s)


def _of_family(family: FamilyDescriptor, rows: int, rows_per_s: float) -> Iterator[str]:
    name = f"family {family.name.decode()}"
    if family.versions > 1:
        yield (
            f"{name} keeps {family.versions} versions of a column, of which the newest is counted"
        )
    if family.compression not in COMPRESSIONS:
        yield (
            f"{name} is declared with {family.compression}, and measured with GZ: Snappy and LZ4 "
            "take more, ZSTD about as much"
        )
    if family.ttl_s is not None and rows > family.ttl_s * rows_per_s:
        yield (
            f"cells of {name} live for {time_text(family.ttl_s)}, in which "
            f"{count_text(round(family.ttl_s * rows_per_s))} rows are written; all "
            f"{count_text(rows)} are counted"
        )
    if family.mob_enabled:
        yield (
            f"{name} has MOB files: large values are counted as if they were in store files, "
            "though they split no region"
        )


def _optional_fields(model: type[Model]) -> list[str]:
    parameters = inspect.signature(model).parameters.items()
    return [name for name, each in parameters if each.default is not inspect.Parameter.empty]


def _named(what: str, names: Collection[str]) -> Iterator[str]:
    if names:
        yield f"{what}: {', '.join(sorted(names))}"
