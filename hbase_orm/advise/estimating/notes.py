"""What an estimate leaves out, or knows badly: said with its result."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from hbase_orm.advise.estimating.csv_objects import first_line
from hbase_orm.advise.estimating.samples import TableSample
from hbase_orm.model import Model
from hbase_orm.session.engine import Engine

_FEW = 1_000


def notes_of(
    model: type[Model],
    samples: Sequence[TableSample],
    sample: Path | Engine | None,
    given: Collection[str],
) -> Iterator[str]:
    """Yield sentences about an estimate.

    Args:
        model: The model.
        samples: The sampled tables; the first one is that of the model.
        sample: Where the rows come from; None means that they are made up.
        given: The fields whose values the caller gave for made-up rows.
    """
    schema = model.__schema__
    rows = len(samples[0].rows)
    if rows < _FEW:
        were = "1 row is" if rows == 1 else f"{rows} rows are"
        yield f"{were} too few to see how well blocks compress"
    if sample is None:
        yield "values are made up; real ones compress less"
    if isinstance(sample, Path):
        given = first_line(sample)
        unknown = [name for name in given if name not in inspect.signature(model).parameters]
        yield from _named("columns of the file that are no fields", unknown)
    if not isinstance(sample, Engine):
        left = [name for name in _optional_fields(model) if name not in given]
        yield from _named("with their defaults, None in no cell", left)
        unseen = {each.name for each in schema.counters} | {each.name for each in schema.dynamics}
        yield from _named("not counted, as only a sample of the table has them", unseen)
    for each in schema.families:
        if each.versions > 1:
            yield (
                f"family {each.name.decode()} keeps {each.versions} versions of a column, of "
                "which the newest is counted"
            )


def _optional_fields(model: type[Model]) -> list[str]:
    parameters = inspect.signature(model).parameters.items()
    return [name for name, each in parameters if each.default is not inspect.Parameter.empty]


def _named(what: str, names: Collection[str]) -> Iterator[str]:
    if names:
        yield f"{what}: {', '.join(sorted(names))}"
