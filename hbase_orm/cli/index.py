"""`hbase-orm index`: build, show, verify, repair and drop indexes of tables in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, Literal

import click

from hbase_orm.cli.chosen_indexes import DIFFERENCES, choose
from hbase_orm.cli.confirm import confirm_at
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Group, answer, note, settings, table
from hbase_orm.cli.index_report import as_json, lines, short_lines, unrepaired
from hbase_orm.cli.model_arguments import IndexTargets, one_index, several_indexes, several_models
from hbase_orm.cli.named_models import labels
from hbase_orm.cli.parameters import INSTANT
from hbase_orm.cli.progress import WaitLines, build_progress, compared_lines
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.session import Engine, IndexStatus, Verification, connect

_Target = tuple[type[Model], str]
_SHOWN_PAIRS: Final = 20

_pairs = click.option(
    "--pairs",
    type=click.IntRange(0),
    default=_SHOWN_PAIRS,
    show_default=True,
    metavar="N",
    help="Show at most this many pairs of a row and an entry that differ.",
)


@click.group(cls=Group)
def index() -> None:
    """Build, show, verify, repair and drop indexes; the tables stay in use."""


@contextmanager
def _engine() -> Iterator[Engine]:
    with connect(settings().require_url()) as engine:
        yield engine


@index.command("list")
@several_models()
def list_(models: tuple[type[Model], ...]) -> None:
    """List the indexes that models declare and those in the catalog."""
    with _engine() as engine:
        statuses = [
            (label, status)
            for model, label in labels(models).items()
            for status in engine.indexes(model).values()
        ]
    shown = [{"model": label, **_plain(status)} for label, status in statuses]
    head = ("model", "index", "state", "table", "remarks")
    rows = [
        (label, status.name, status.state.value, status.table or "-", _remarks(status))
        for label, status in statuses
    ]
    answer(shown, lambda: table(head, rows) if rows else ["there are no indexes"])


@index.command()
@one_index()
def status(target: _Target) -> None:
    """Show the catalog's entry of one index, and the progress of a build."""
    model, name = target
    with _engine() as engine:
        known = engine.indexes(model)
    if name not in known:
        raise click.UsageError(f"{model.__name__} has no index {name!r}; {_there_are(known)}")
    fields = _plain(known[name])
    answer(fields, lambda: [f"{key}: {value}" for key, value in fields.items()])


@index.command()
@one_index()
@click.option("--rebuild", is_flag=True, help="Build it again even if it is readable.")
@click.option(
    "--exclusive",
    is_flag=True,
    help="No other program uses the table: refuse their writes, and do not wait for the gateway.",
)
@click.option(
    "--rows-per-second",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="Process at most this many rows a second, to spare other clients.",
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
def build(
    *,
    target: _Target,
    rebuild: bool,
    exclusive: bool,
    rows_per_second: float | None,
    gateway_timeout: float,
) -> None:
    """Build an index while programs write its table; afterwards queries use it.

    As soon as the build starts, writes of programs that do not declare the index are refused:
    deploy the new code first, then build. An interrupted build continues where it stopped. A build
    takes at least as long as the catalog's lease, the URL's timeout and --gateway-timeout together.

    With --exclusive the build waits only for the lease. By this option you promise that no other
    program has written the table for --gateway-timeout. Writes of others are refused meanwhile.

    \b
    Examples:
      hbase-orm index build shop.models:Order by_customer
      hbase-orm index build shop.models:Order by_customer --rows-per-second 500
    """  # noqa: D301 -- click's mark, not an escape
    model, name = target
    with _engine() as engine, build_progress(exclusive=exclusive) as show_progress:
        built = engine.build_index(
            model,
            name,
            rebuild=rebuild,
            exclusive=exclusive,
            rows_per_second=rows_per_second,
            gateway_timeout_s=gateway_timeout,
            on_progress=show_progress,
        )
    answer(_plain(built), lambda: [f"{name} is {built.state.value}, its table is {built.table}"])


@index.command()
@several_indexes()
@click.option(
    "--source",
    type=click.Choice(["both", "data", "index"]),
    default="both",
    show_default=True,
    help="Look for the entries of each row, for the row of each entry, or both.",
)
@click.option("--since", type=INSTANT, help="Compare only what was written at this time or later.")
@click.option("--until", type=INSTANT, help="Compare only what was written before this time.")
@click.option("--repair", is_flag=True, help="Repair every difference.")
@_pairs
def verify(
    *,
    targets: IndexTargets,
    source: Literal["both", "data", "index"],
    since: datetime | None,
    until: datetime | None,
    repair: bool,
    pairs: int,
) -> int:
    """Compare an index, or all built indexes, with the rows, in both directions or one.

    The counters have the names that Phoenix uses. MISSING and INVALID entries make queries wrong,
    and UNKNOWN rows were not written by this library: in these cases the exit code is 1. It is also
    1 if the model and the catalog have different declarations of an index, which is then not
    compared. Queries skip OLD, EXTRA, EXPIRED and IN_FLIGHT entries, and look up the rows of
    UNVERIFIED entries.

    Times are 2026-01-31 (midnight UTC) or ISO 8601 with an offset.

    With --repair, missing and wrong entries are put, and rows that other programs wrote get guards.
    Entries that rows do not have are deleted, unless they are younger than a minute.
    """

    def compare(engine: Engine, model: type[Model], name: str) -> Verification:
        return engine.verify_index(
            model,
            name,
            source=source,
            since=since,
            until=until,
            repair=repair,
            on_progress=compared_lines(f"{model.__name__}.{name}"),
        )

    return _compared(targets, compare, pairs, repaired=repair)


@index.command("scrutinize")
@several_indexes()
@click.option(
    "--source",
    type=click.Choice(["data", "index"]),
    default="data",
    show_default=True,
    help="Look for the entries of each row, or for the row of each entry.",
)
@_pairs
def verify_one_way(targets: IndexTargets, source: Literal["data", "index"], pairs: int) -> int:
    """Compare an index with its rows in one direction, like 'index verify --source'.

    The exit code is 1 if queries would be wrong.
    """

    def compare(engine: Engine, model: type[Model], name: str) -> Verification:
        show_progress = compared_lines(f"{model.__name__}.{name}")
        return engine.verify_index(model, name, source=source, on_progress=show_progress)

    return _compared(targets, compare, pairs)


@index.command()
@several_indexes()
def repair(targets: IndexTargets) -> int:
    """Repair one index, or all built indexes; safe during writes, safe to repeat.

    The exit code is 1 if an index was left out because the model differs from the catalog.
    """
    with _engine() as engine:
        chosen = choose(engine, targets)
        verifications = {
            each.name if targets.is_one_model else each.label: engine.verify_index(
                each.model,
                each.name,
                repair=True,
                on_progress=compared_lines(each.label),
            )
            for each in chosen.indexes
        }
    shown = {
        label: {
            "missing": each.missing,
            "invalid": each.invalid,
            "stale": each.stale,
            "foreign": each.foreign,
            "repaired": each.repaired,
            "unrepaired": len(each.unrepaired),
        }
        for label, each in verifications.items()
    }
    head = ("index", "missing", "invalid", "stale", "foreign", "repaired", "unrepaired")
    rows = [[name, *counts.values()] for name, counts in shown.items()]
    left = [line for each in verifications.values() for line in unrepaired(each)]
    for line in chosen.differing_lines():
        note(line)
    answer(shown, lambda: [*table(head, rows), *left] if rows else chosen.empty_lines())
    return ExitCode.FAILED if chosen.differing else ExitCode.OK


@index.command()
@one_index()
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(target: _Target, *, yes: bool) -> None:
    """Drop an index and its table, after queries and then writers have stopped using them.

    The command waits twice until no process uses an old catalog entry any more: each time for the
    catalog's lease and the URL's timeout. It shows how much is left. The model need not
    declare the index any more. Repeat the command to finish an interrupted drop.
    """
    model, name = target
    if not yes:
        confirm_at(f"drop index {name} of {model.__name__}", settings().require_url())
    with _engine() as engine:
        dropped = engine.drop_index(model, name, on_wait=WaitLines())
    answer(
        {"dropped": dropped},
        lambda: [f"dropped {each}" for each in dropped] or ["it had no table"],
    )


# --- several indexes ------------------------------------------------------------------------------


def _compared(
    targets: IndexTargets,
    compare: Callable[[Engine, type[Model], str], Verification],
    pairs: int,
    *,
    repaired: bool = False,
) -> ExitCode:
    """Compare indexes with their rows, and print each result as soon as its comparison is finished.

    With `--json` the results are printed together at the end: an object for one named index of one
    model, else a list.
    """
    verifications: dict[str, Verification] = {}
    with _engine() as engine:
        chosen = choose(engine, targets)
        for each in chosen.indexes:
            one = verifications[each.label] = compare(engine, each.model, each.name)
            if not settings().is_json and not targets.is_one_index:
                _print(short_lines(each.label, one, pairs, repaired=repaired))
    if targets.is_one_index:
        (one,) = verifications.values()
        answer(as_json(one, pairs, repaired=repaired), lambda: lines(one, pairs, repaired=repaired))
    else:
        shown = [
            {"model": label.rpartition(".")[0], **as_json(each, pairs, repaired=repaired)}
            for label, each in verifications.items()
        ]
        shown += chosen.differing_as_json()
        last = [*chosen.differing_lines()]
        answer(shown, lambda: last if shown else chosen.empty_lines())
    is_sound = all(each.is_sound for each in verifications.values()) and not chosen.differing
    return ExitCode.OK if is_sound else ExitCode.FAILED


def _print(text: Iterable[str]) -> None:
    for line in text:
        click.echo(line)


# --- what is shown --------------------------------------------------------------------------------


def _plain(index_status: IndexStatus) -> dict[str, Any]:
    return {**asdict(index_status), "state": index_status.state.value}


def _remarks(index_status: IndexStatus) -> str:
    remarks = []
    if index_status.built is not None:
        remarks.append(f"a build is {index_status.built:.0%} done")
    if index_status.is_manual:
        remarks.append("written by builds alone")
    if index_status.difference is not None:
        remarks.append(DIFFERENCES[index_status.difference])
    return ", ".join(remarks)


def _there_are(known: Iterable[str]) -> str:
    return f"there are: {', '.join(known) or 'none'}."
