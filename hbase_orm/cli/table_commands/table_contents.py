"""`hbase-orm tables truncate` and `adopt`: empty tables, and write records for existing tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from hbase_orm.cli.confirm import confirm_at
from hbase_orm.cli.frame import Command, answer, note, settings
from hbase_orm.cli.model_arguments import several_models
from hbase_orm.cli.parameters import INSTANT
from hbase_orm.cli.progress import NO_OLD_ENTRY, WorkLines
from hbase_orm.errors import SchemaDriftError
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.record.notation import key_notation
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import Adoption, connect
from hbase_orm.table_admin.live_tables import MAX_SAMPLED_ROWS, SAMPLED_ROWS

_Models = tuple[type[Model], ...]
_Periods = tuple[datetime, datetime] | None


def periods_option(verb: str) -> Callable[[Any], Any]:
    """Return the option `--periods`, which limits a command to the tables of some periods."""
    return click.option(
        "--periods",
        nargs=2,
        type=INSTANT,
        metavar="FIRST AFTER_LAST",
        help=f"{verb} only the tables of these periods, of models with a table for each period. "
        "Times are written as for 'tables create'.",
    )


def confirm_loss(what: str, models: _Models, periods: _Periods, *, yes: bool) -> None:
    """Ask whether the rows of models may be lost; return only if the answer is yes.

    Args:
        what: What is done, with a pair of braces for the names of the tables.
        models: The models.
        periods: The periods whose tables lose their rows; None for all tables.
        yes: Whether `--yes` was given, so that nothing is asked.

    Raises:
        click.UsageError: `--yes` was given, but no model was named.
        ConfigurationError: Standard input is not a terminal.
        DeclinedError: The answer is no.
    """
    names = tables_texts(models, periods)
    is_named = not settings().is_without_model
    if not yes:
        fix = "give --yes" if is_named else "name the models, and give --yes"
        confirm_at(what.format(names), settings().require_url(), fix=fix)
    elif not is_named:
        text = what.format(names).removesuffix(" with all rows")
        raise click.UsageError(f"--yes needs a MODEL; without it, this would {text}.")


def tables_texts(models: _Models, periods: _Periods = None) -> str:
    """Return a text that names the tables of models, each once."""
    return ", ".join(dict.fromkeys(tables_text(model, periods) for model in models))


def tables_text(model: type[Model], periods: _Periods = None) -> str:
    """Return a text that names the tables of a model, and the models that share its table.

    For a model with a table for each period, the text names the pattern of the tables' names.
    """
    schema, base = model.__schema__, base_of(model)
    if schema.layout.table_period is not None:
        if periods is None:
            return f"every table {schema.table}"
        first, after_last = (at.isoformat() for at in periods)
        return f"the tables {schema.table} from {first} to before {after_last}"
    return schema.table if base is None else f"{schema.table} (all kinds of {base.__name__})"


@click.command(cls=Command)
@several_models()
@periods_option("Empty")
@click.option(
    "--exclusive",
    is_flag=True,
    help="No other program uses the tables: do not wait for the gateway.",
)
@click.option(
    "--gateway-timeout",
    type=click.FloatRange(0),
    default=GATEWAY_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long the Thrift2 gateway itself may retry a request: its "
    "hbase.client.operation.timeout.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def truncate(
    models: _Models, periods: _Periods, *, exclusive: bool, gateway_timeout: float, yes: bool
) -> None:
    """Delete all rows of the models' tables; splits, options and records stay.

    Tables with indexes take at least as long as the catalog's lease, the URL's timeout and
    --gateway-timeout together. Until they are empty, writes to them are refused, and no query uses
    their indexes. If the command was interrupted, repeat it. With --exclusive it waits only for the
    lease; you promise that no other program has written the tables for --gateway-timeout.

    Without MODEL, the tables of all models in pyproject.toml are emptied, but not with --yes.
    """
    url = settings().require_url()
    confirm_loss("delete all rows of {}", models, periods, yes=yes)
    until = f"{NO_OLD_ENTRY}; writes are refused meanwhile"
    work = WorkLines(f"emptying {tables_texts(models, periods)}", until)
    with connect(url) as engine, work:
        emptied = engine.truncate_tables(
            *models,
            periods=periods,
            exclusive=exclusive,
            gateway_timeout_s=gateway_timeout,
            on_wait=work,
        )
    answer(
        {"truncated": emptied},
        lambda: [f"emptied {name}" for name in emptied] or ["there was no table to empty"],
    )


@click.command(cls=Command)
@several_models()
@click.option(
    "--rows",
    type=click.IntRange(1, MAX_SAMPLED_ROWS),
    default=SAMPLED_ROWS,
    show_default=True,
    metavar="N",
    help="Decode about this many rows of each table, from the start of each region.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def adopt(models: _Models, *, rows: int, yes: bool) -> None:
    """Write the record of a table that other programs made, after decoding a sample of its rows.

    A program whose models contradict the record stops before it misreads or hides rows. A table
    needs a record if it was not made by 'tables create', if it replaced an earlier table of its
    name, or if its record is damaged. All models of a table with several kinds of rows must be
    named.
    """
    url = settings().require_url()
    with connect(url) as engine:
        try:
            with WorkLines(f"reading rows of {tables_texts(models)}"):
                seen = engine.adopt_tables(*models, rows=rows, dry_run=True)
        except SchemaDriftError as error:
            raise _with_notes(error) from error
        wanted = [each for each in seen if each.record is not None]
        if wanted and not yes:
            for line in _lines(seen):
                note(line)
            confirm_at(f"write the record of {', '.join(each.table for each in wanted)}", url)
        if wanted:
            with WorkLines(f"adopting {tables_texts(models)}"):
                seen = engine.adopt_tables(*models, rows=rows)
    answer(
        [_as_json(each) for each in seen], lambda: _outcome(seen, is_shown=bool(wanted and not yes))
    )


def _with_notes(error: SchemaDriftError) -> SchemaDriftError:
    """Print the differences in an error, each on its own line; return the error without them."""
    details = dict(error.details)
    for difference in details.pop("differences", ()):
        note(difference)
    return SchemaDriftError(error.text, fix=error.fix, **details)


def _outcome(adopted: Sequence[Adoption], *, is_shown: bool) -> Iterator[str]:
    if not is_shown:
        yield from _lines(adopted)
    for each in adopted:
        if each.record is not None:
            yield f"recorded {each.table}"


def _lines(adoptions: Sequence[Adoption]) -> Iterator[str]:
    for each in adoptions:
        yield from _of_adoption(each)


def _of_adoption(adoption: Adoption) -> Iterator[str]:
    if adoption.record is None:
        yield f"{adoption.table} is recorded already, and {', '.join(adoption.models)} fits"
        return
    count = "" if adoption.tables == (adoption.table,) else f" in {len(adoption.tables)} tables"
    yield f"{adoption.table} has {adoption.reason}"
    rows = "there are no rows" if not adoption.sampled else f"{adoption.sampled} rows decode"
    yield f"  {rows}{count}, as {', '.join(adoption.models)}"
    for kind in adoption.record.current.rows:
        yield f"  row key: {key_notation(kind)}"
        if kind.anchor is not None:
            yield f"  a row exists if it has {to_string_binary(kind.anchor)}"
    for column, number in adoption.undeclared.items():
        yield f"  {_rows(number)} {to_string_binary(column)}, which no model declares"
    for column, number in adoption.lacking.items():
        yield (
            f"  {_rows(number, 'lack')} {to_string_binary(column)}, which a model requires: it is "
            "recorded as not required"
        )
    if not adoption.has_id:
        yield "  Thrift1 cannot set an id: only the age of its regions ties the table to the record"


def _rows(number: int, verb: str = "have") -> str:
    singular = {"have": "has", "lack": "lacks"}[verb]
    return f"1 row {singular}" if number == 1 else f"{number} rows {verb}"


def _as_json(adoption: Adoption) -> dict[str, Any]:
    return {
        "table": adoption.table,
        "models": list(adoption.models),
        "reason": adoption.reason,
        "tables": list(adoption.tables),
        "sampled": adoption.sampled,
        "undeclared": _counts(adoption.undeclared),
        "lacking": _counts(adoption.lacking),
        "is_written": adoption.record is not None,
        "has_id": adoption.has_id,
    }


def _counts(columns: Mapping[bytes, int]) -> dict[str, int]:
    return {to_string_binary(column): number for column, number in columns.items()}
