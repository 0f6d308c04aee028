"""`hbase-orm lab`: simulates designs of row keys side by side, in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hbase_orm.advise.lab import LabResult, lab
from hbase_orm.advise.lab.live.live_regions import OBSERVED_S, live_lab
from hbase_orm.advise.lab.pages.page import page
from hbase_orm.advise.lab.text_report import report_lines
from hbase_orm.cli.errors import one_line
from hbase_orm.cli.frame import Command, answer, note, settings
from hbase_orm.cli.model_arguments import several_models
from hbase_orm.cli.named_models import named_value, search_first
from hbase_orm.cli.parameters import COUNT
from hbase_orm.cli.progress import WorkLines
from hbase_orm.errors import ConfigurationError
from hbase_orm.model import Model
from hbase_orm.session import connect


def _statements(_: click.Context, __: click.Parameter, names: Sequence[str]) -> dict[str, Any]:
    """Return the values with these names, by the part behind the colon."""
    search_first(Path.cwd(), settings().project())
    try:
        return {name.partition(":")[2]: named_value(name) for name in names}
    except ConfigurationError as error:
        raise click.BadParameter(one_line(error)) from error


@click.command(name="lab", cls=Command)
@several_models()
@click.option(
    "--rows", type=COUNT, metavar="N", help="Write this many rows; 10,000,000 by default."
)
@click.option("--rate", type=float, metavar="N", help="Write this many rows in a second.")
@click.option("--seconds", type=float, metavar="N", help="Write for so long; an hour by default.")
@click.option(
    "--regions",
    type=click.IntRange(1, 2000),
    metavar="N",
    help="Split each new table into N regions, instead of as the models declare.",
)
@click.option(
    "--workload",
    default="time-ordered",
    show_default=True,
    metavar="NAME|FILE",
    help="What the rows hold: time-ordered, zipf, uniform; or a file that ends in .toml, which "
    "describes fields, or in .csv, which has the rows.",
)
@click.option(
    "--statement",
    "statements",
    multiple=True,
    callback=_statements,
    metavar="MODULE:NAME",
    help="Compare the cost of this statement, or of this function of (model) or (model, row) that "
    "returns one; repeat for others.",
)
@click.option(
    "--reads",
    type=float,
    default=1.0,
    show_default=True,
    metavar="N",
    help="Run each statement so many times in a second.",
)
@click.option(
    "--region-gib",
    type=click.FloatRange(0.001),
    default=10.0,
    show_default=True,
    metavar="GIB",
    help="Split a region that has grown to this size.",
)
@click.option(
    "--html",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="FILE",
    help="Write a page with heat maps and the verdict.",
)
@click.option(
    "--live",
    is_flag=True,
    help="Show the regions of the tables as they are, instead of a simulation. Needs a URL.",
)
@click.option(
    "--metrics",
    multiple=True,
    metavar="URL",
    help="With --live, show the requests that this RegionServer counts within --seconds, 30 by "
    "default: http://HOST:16030. Repeat for others.",
)
def lab_command(
    *,
    models: tuple[type[Model], ...],
    rows: int | None,
    rate: float | None,
    seconds: float | None,
    regions: int | None,
    workload: str,
    statements: Mapping[str, Any],
    reads: float,
    region_gib: float,
    html: Path | None,
    live: bool,
    metrics: tuple[str, ...],
) -> None:
    """Simulate designs of row keys side by side: regions, hot spots, the cost of statements.

    Each MODEL is a design. All of them get the same rows: fields with the same name have the same
    values. Shown are the writes of each region over time, splits, regions that stay empty, what
    statements read, the tables of indexes, and which design is better and why. Nothing is sent.

    Two of --rows, --rate and --seconds give the third. docs/lab.md explains workloads and results.

    \b
    Examples:
      hbase-orm lab shop.designs --html lab.html
      hbase-orm lab shop.designs:TimeFirst shop.designs:Salted --rate 5000 --seconds 7200
      hbase-orm lab shop.designs --workload zipf --regions 16 --statement shop.designs:newest
      hbase-orm lab shop.designs --workload orders.csv --rows 500000000
      hbase-orm --url hbase://127.0.0.1:9090 lab shop.models --live --html regions.html
    """  # noqa: D301 -- click's mark, not an escape
    if metrics and not live:
        raise click.UsageError("--metrics needs --live: a simulation asks no server.")
    if live:
        with connect(settings().require_url()) as engine:
            with WorkLines("reading regions"):
                seen = live_lab(engine, *models, metrics=metrics, seconds=seconds or OBSERVED_S)
            _show(seen, html)
        return
    with WorkLines("simulating"):
        result = lab(
            *models,
            rows=rows,
            rate_per_s=rate,
            seconds=seconds,
            regions=regions,
            workload=workload,
            statements=statements,
            reads_per_s=reads,
            region_bytes=region_gib * 2**30,
        )
    _show(result, html)


def _show(result: LabResult, html: Path | None) -> None:
    if html is not None:
        try:
            html.write_text(page(result), encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                "the page cannot be written",
                file=str(html),
                reason=error.strerror,
                fix="name a file in a folder that exists",
            ) from error
        note(f"wrote {html}")
    answer(result.to_dict(), lambda: report_lines(result))
