"""`hbase-orm lint`: advice about models and statements, for people and for CI."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import click

from hbase_orm.advise import DEFAULT_ROWS, RULES, Advice, lint
from hbase_orm.advise.reports import github_lines, sarif
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Command, answer, settings, table
from hbase_orm.cli.model_arguments import several_models, statement_option
from hbase_orm.cli.parameters import POSITIVE
from hbase_orm.model import Model
from hbase_orm.query import Select, select
from hbase_orm.session import connect

_WIDTH: Final = 100


@click.command(name="lint", cls=Command)
@several_models(unless="rules")
@statement_option("--statement", help="Judge the plan of this statement, too; repeat for others.")
@click.option(
    "--rows",
    type=POSITIVE,
    default=DEFAULT_ROWS,
    show_default=True,
    metavar="N",
    help="Compute costs for this many rows.",
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Read the first N rows of each table, and measure keys and values. Needs a URL.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for notes, too.")
@click.option("--silenced", is_flag=True, help="Show what the models silence, with the reasons.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "github", "sarif")),
    default="text",
    show_default=True,
    help="Plain text, annotations of GitHub's workflows, or SARIF for code scanning.",
)
@click.option("--rules", is_flag=True, is_eager=True, help="List the rules, and stop.")
def lint_command(
    *,
    models: tuple[type[Model], ...],
    statements: tuple[Select[Any], ...],
    rows: int,
    sample: int | None,
    strict: bool,
    silenced: bool,
    form: str,
    rules: bool,
) -> int:
    """Show what in the models makes HBase slow, large or hot, before it hurts.

    Each advice has what is declared, what it costs with a number for this model, what to declare
    instead, and where the rule comes from. The exit code is 1 if there are warnings; notes are
    costs worth knowing. Nothing is sent without --sample. A model silences a rule with a reason:

    \b
      __lint__ = {"key-monotone": "ten rows a day"}
      __lint__ = {"index-monotone:by_time": "an index of a few admins"}

    docs/lint.md explains the rules.

    \b
    Examples:
      hbase-orm lint shop.models
      hbase-orm lint shop.models:Order --statement shop.reports:open_orders --rows 2000000000
      hbase-orm lint shop.models --format github
      hbase-orm lint shop.models --format sarif > lint.sarif
      hbase-orm --url hbase://127.0.0.1:9090 lint shop.models --sample 1000
    """  # noqa: D301 -- click's mark, not an escape
    if rules:
        _show_rules()
        return ExitCode.OK
    samples = () if sample is None else _samples(models, sample)
    advice = lint(*models, statements=statements, samples=samples, rows=rows)
    counted = [each for each in advice if not each.silenced]
    is_wrong = any(strict or each.is_alarm for each in counted)
    if form == "sarif":
        click.echo(json.dumps(sarif(advice, Path.cwd()), indent=2))
    elif form == "github":
        for line in github_lines(advice, Path.cwd()):
            click.echo(line)
    else:
        shown = advice if silenced else counted
        answer(
            {"models": len(models), "advice": [each.to_dict() for each in advice]},
            lambda: _lines(shown, advice, len(models)),
        )
    return ExitCode.FAILED if is_wrong else ExitCode.OK


def _samples(models: Sequence[type[Model]], count: int) -> list[Model]:
    """Read the first rows of the models' tables; rows of their record types, too."""
    with connect(settings().require_url()) as engine, engine.session() as session:
        return [
            obj
            for model in models
            for obj in session.all(select(model).limit(count).allow_full_scan())
        ]


def _lines(shown: Sequence[Advice], advice: Sequence[Advice], models: int) -> Iterator[str]:
    for each in shown:
        for line in str(each).splitlines():
            indent = "        " if line.startswith(" ") else ""
            yield from textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_on_hyphens=False)
        yield ""
    counts = Counter("silenced" if each.silenced else each.level for each in advice)
    parts = [_counted(counts[kind], kind) for kind in ("warning", "note") if counts[kind]]
    parts += [f"{counts['silenced']} silenced"] if counts["silenced"] else []
    yield f"{_counted(models, 'model')}: {', '.join(parts) or 'nothing to say'}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _show_rules() -> None:
    plain = [
        {"id": rule.id, "level": rule.level, "looks_for": rule.summary, "source": rule.source}
        for rule in RULES.values()
    ]
    answer(
        plain,
        lambda: table(
            ("rule", "level", "looks for"),
            [(rule.id, rule.level, rule.summary) for rule in RULES.values()],
        ),
    )
