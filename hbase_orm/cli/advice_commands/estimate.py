"""`hbase-orm estimate`: what the rows of models take, as HBase stores them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import Any

import click

from hbase_orm.advise.estimating import SizeEstimate, estimate
from hbase_orm.advise.estimating.estimates import DEFAULT_WRITES_PER_S
from hbase_orm.advise.estimating.samples import DEFAULT_SAMPLE_ROWS, DEFAULT_TABLE_ROWS
from hbase_orm.advise.estimating.text_report import as_json, report_lines
from hbase_orm.cli.frame import Command, answer, settings
from hbase_orm.cli.model_arguments import several_models
from hbase_orm.cli.progress import WorkLines
from hbase_orm.model import Model
from hbase_orm.session import connect


@click.command(name="estimate", cls=Command)
@several_models()
@click.option(
    "--rows", type=float, required=True, metavar="N", help="The number of rows, such as 1e9."
)
@click.option(
    "--sample",
    metavar="FILE|table",
    help="Measure the rows of this CSV file, whose first line names the fields; or, with the word "
    "table, rows of the models' tables, which needs a URL.",
)
@click.option(
    "--sample-rows",
    type=int,
    metavar="N",
    help=f"Measure at most so many rows: {DEFAULT_SAMPLE_ROWS:,}, or {DEFAULT_TABLE_ROWS:,} of a "
    "table, by default.",
)
@click.option(
    "--writes-per-second",
    type=float,
    default=DEFAULT_WRITES_PER_S,
    show_default=True,
    metavar="N",
    help="Rows that are written in a second: for the write-ahead log.",
)
@click.option(
    "--old",
    is_flag=True,
    help="Estimate files that were compacted later than five days after the writes: HBase then "
    "drops the numbers of the writes.",
)
def estimate_command(
    *,
    models: tuple[type[Model], ...],
    rows: float,
    sample: str | None,
    sample_rows: int | None,
    writes_per_second: float,
    old: bool,
) -> None:
    """Estimate what rows take: store files, memstores, log, regions, and what would save.

    Sampled rows are stored as the library stores them, with guards and index entries, encoded as
    HBase encodes blocks, and compressed. Without a sample, values are made up: numbers count up,
    and texts are short. Nothing is sent, except to read a sample of a table. docs/estimates.md has
    the formulas.

    \b
    Examples:
      hbase-orm estimate shop.models:Order --rows 1e9
      hbase-orm estimate shop.models:Order --rows 1e9 --sample orders.csv
      hbase-orm --url hbase://127.0.0.1:9090 estimate shop.models --rows 5e8 --sample table
    """  # noqa: D301 -- click's mark, not an escape
    of_table = sample == "table"
    with connect(settings().require_url()) if of_table else nullcontext() as engine:
        options = {
            "rows": rows,
            "sample": engine or sample,
            "sample_rows": sample_rows,
            "writes_per_s": writes_per_second,
            "is_old": old,
        }
        results = (_estimated(model, options) for each in models for model in _with_rows(each))
        # Each model takes seconds, so its lines are printed before the next one is estimated.
        plain = [as_json(each) for each in results] if settings().is_json else []
        answer(plain, lambda: _lines(results))


def _estimated(model: type[Model], options: dict[str, Any]) -> SizeEstimate:
    with WorkLines(f"estimating {model.__name__}"):
        return estimate(model, **options)


def _with_rows(model: type[Model]) -> Iterable[type[Model]]:
    """Return the model, or the record types of a base, which has no rows of its own."""
    kinds = model.__schema__.record_types
    return kinds.models.values() if kinds else (model,)


def _lines(results: Iterable[SizeEstimate]) -> Iterator[str]:
    for place, each in enumerate(results):
        if place:
            yield ""
        yield from report_lines(each)
