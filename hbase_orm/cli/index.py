"""`hbase-orm index`: build, show, verify, repair and drop indexes of tables in use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal

import click

from hbase_orm.cli.confirm import confirm
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Group, answer, settings, table
from hbase_orm.cli.parameters import INSTANT, MODEL
from hbase_orm.index.catalog.differences import Difference
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.index_admin.admin import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import BuildProgress, Engine, IndexStatus, Verification, connect

_STEPS: Final = 1000
_SHOWN_PAIRS: Final = 20
_PHASES: Final = {
    "rows": "rows",
    "wait": "waiting for other processes",
    "check": "comparing rows with entries",
}

_DIFFERENCES: Final[Mapping[Difference, str]] = MappingProxyType(
    {
        "not in the model": "not declared by the model",
        "declared otherwise": "declared otherwise by the model",
        "another row key": "the model has another row key",
    }
)

_model = click.argument("model", type=MODEL, metavar="MODULE:CLASS")
_index = click.argument("name", metavar="INDEX")
_maybe_index = click.argument("name", metavar="[INDEX]", required=False)
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
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODULE:CLASS…")
def list_(models: tuple[type[Model], ...]) -> None:
    """List the indexes that models declare and those in the catalog."""
    with _engine() as engine:
        statuses = [
            (model, status) for model in models for status in engine.indexes(model).values()
        ]
    shown = [{"model": model.__name__, **_plain(status)} for model, status in statuses]
    head = ("model", "index", "state", "table", "remarks")
    rows = [
        (model.__name__, status.name, status.state.value, status.table or "-", _remarks(status))
        for model, status in statuses
    ]
    answer(shown, lambda: table(head, rows))


@index.command()
@_model
@_index
def status(model: type[Model], name: str) -> None:
    """Show the catalog's entry of one index, and the progress of a build."""
    with _engine() as engine:
        known = engine.indexes(model)
    if name not in known:
        raise click.UsageError(f"{model.__name__} has no index {name!r}; {_there_are(known)}")
    fields = _plain(known[name])
    answer(fields, lambda: [f"{key}: {value}" for key, value in fields.items()])


@index.command()
@_model
@_index
@click.option("--rebuild", is_flag=True, help="Build it again even if it is readable.")
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
    model: type[Model],
    name: str,
    rebuild: bool,
    rows_per_second: float | None,
    gateway_timeout: float,
) -> None:
    """Build an index while programs write its table; afterwards queries use it.

    As soon as the build starts, writes of programs that do not declare the index are refused:
    deploy the new code first, then build. An interrupted build continues where it stopped. A build
    takes at least as long as the catalog's lease, the URL's timeout and --gateway-timeout together.

    \b
    Examples:
      hbase-orm index build shop.models:Order by_customer
      hbase-orm index build shop.models:Order by_customer --rows-per-second 500
    """  # noqa: D301 -- click's mark, not an escape
    with _engine() as engine, _bar() as show_progress:
        built = engine.build_index(
            model,
            name,
            rebuild=rebuild,
            rows_per_second=rows_per_second,
            gateway_timeout_s=gateway_timeout,
            on_progress=show_progress,
        )
    answer(_plain(built), lambda: [f"{name} is {built.state.value}, its table is {built.table}"])


@index.command()
@_model
@_index
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
    model: type[Model],
    name: str,
    source: Literal["both", "data", "index"],
    since: datetime | None,
    until: datetime | None,
    repair: bool,
    pairs: int,
) -> int:
    """Compare an index with its rows, in both directions or one.

    The counters have the names that Phoenix uses. MISSING and INVALID entries make queries wrong,
    and UNKNOWN rows were not written by this library: in these cases the exit code is 1. Queries
    skip OLD, EXTRA, EXPIRED and IN_FLIGHT entries, and look up the rows of UNVERIFIED entries.

    Times are 2026-01-31 (midnight UTC) or ISO 8601 with an offset.

    With --repair, missing and wrong entries are put, and rows that other programs wrote get guards.
    Entries that rows do not have are deleted, unless they are younger than a minute.
    """
    with _engine() as engine:
        verification = engine.verify_index(
            model, name, source=source, since=since, until=until, repair=repair
        )
    _show(verification, pairs, repaired=repair)
    return ExitCode.OK if verification.is_sound else ExitCode.FAILED


@index.command("scrutinize")
@_model
@_index
@click.option(
    "--source",
    type=click.Choice(["data", "index"]),
    default="data",
    show_default=True,
    help="Look for the entries of each row, or for the row of each entry.",
)
@_pairs
def verify_one_way(
    model: type[Model], name: str, source: Literal["data", "index"], pairs: int
) -> int:
    """Compare an index with its rows in one direction, like 'index verify --source'.

    The exit code is 1 if queries would be wrong.
    """
    with _engine() as engine:
        verification = engine.verify_index(model, name, source=source)
    _show(verification, pairs)
    return ExitCode.OK if verification.is_sound else ExitCode.FAILED


@index.command()
@_model
@_maybe_index
def repair(model: type[Model], name: str | None) -> None:
    """Repair one index, or all built indexes; safe during writes, safe to repeat."""
    with _engine() as engine:
        names = [name] if name else _repairable(engine.indexes(model).values())
        verifications = [engine.verify_index(model, each, repair=True) for each in names]
    shown = {
        each.index: {
            "missing": each.missing,
            "invalid": each.invalid,
            "stale": each.stale,
            "foreign": each.foreign,
            "repaired": each.repaired,
            "unrepaired": len(each.unrepaired),
        }
        for each in verifications
    }
    head = ("index", "missing", "invalid", "stale", "foreign", "repaired", "unrepaired")
    rows = [[name, *counts.values()] for name, counts in shown.items()]
    left = [line for each in verifications for line in _unrepaired(each)]
    answer(shown, lambda: [*table(head, rows), *left])


@index.command()
@_model
@_index
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(model: type[Model], name: str, *, yes: bool) -> None:
    """Drop an index and its table, after queries and then writers have stopped using them.

    The command waits twice until no process uses an old catalog entry any more. The model need not
    declare the index any more. Repeat the command to finish an interrupted drop.
    """
    if not yes:
        confirm(f"drop index {name} of {model.__name__}")
    with _engine() as engine:
        dropped = engine.drop_index(model, name)
    answer(
        {"dropped": dropped},
        lambda: [f"dropped {each}" for each in dropped] or ["it had no table"],
    )


# --- what is shown --------------------------------------------------------------------------------


@contextmanager
def _bar() -> Iterator[Callable[[BuildProgress], None]]:
    """Print a build's progress to standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=_STEPS, file=sys.stderr, width=30) as bar:

        def show_progress(progress: BuildProgress) -> None:
            bar.label = f"{progress.rows} rows, {_PHASES.get(progress.phase, progress.phase)}"
            bar.update(int(progress.fraction * _STEPS) - bar.pos)
            bar.render_progress()  # an update by nothing shows nothing

        yield show_progress


def _plain(index_status: IndexStatus) -> dict[str, Any]:
    return {**asdict(index_status), "state": index_status.state.value}


def _remarks(index_status: IndexStatus) -> str:
    remarks = []
    if index_status.built is not None:
        remarks.append(f"a build is {index_status.built:.0%} done")
    if index_status.is_manual:
        remarks.append("written by builds alone")
    if index_status.difference is not None:
        remarks.append(_DIFFERENCES[index_status.difference])
    return ", ".join(remarks)


def _there_are(known: Iterable[str]) -> str:
    return f"there are: {', '.join(known) or 'none'}."


def _repairable(known: Iterable[IndexStatus]) -> list[str]:
    usable = {IndexState.READABLE, IndexState.WRITE_ONLY}
    return [each.name for each in known if each.is_declared and each.state in usable]


def _show(verification: Verification, pairs: int, *, repaired: bool = False) -> None:
    shown = [
        {
            "finding": pair.finding.name,
            "row": to_string_binary(pair.row),
            "row_ms": pair.row_ms,
            "entry": to_string_binary(pair.entry),
            "entry_ms": pair.entry_ms,
        }
        for pair in verification.pairs[:pairs]
    ]
    counters = verification.counters()
    whole: dict[str, Any] = {
        "index": verification.index,
        **counters,
        "foreign": verification.foreign,
        "pairs": shown,
    }
    if verification.newer_epoch:
        whole["newer_epoch"] = verification.newer_epoch
    if repaired:
        whole["repaired"] = verification.repaired
        whole["unrepaired"] = {
            to_string_binary(row): why for row, why in verification.unrepaired.items()
        }
    answer(whole, lambda: _lines(verification, counters, shown, repaired=repaired))


def _unrepaired(verification: Verification) -> Iterator[str]:
    for row, why in verification.unrepaired.items():
        yield f"not repaired: {to_string_binary(row)}: {why}"


def _lines(
    verification: Verification,
    counters: dict[str, dict[str, int]],
    pairs: list[dict[str, Any]],
    *,
    repaired: bool,
) -> Iterator[str]:
    names = list(counters["rows"])
    yield from table(
        ("", "from rows", "from entries"),
        [(name, counters["rows"][name], counters["entries"][name]) for name in names],
    )
    if verification.foreign:
        yield f"rows written by other programs: {verification.foreign}"
    if verification.newer_epoch:
        epoch = verification.newer_epoch
        yield f"the catalog is older than rows of epoch {epoch}: create its tables"
    if repaired:
        yield f"repaired: {verification.repaired}"
    yield from _unrepaired(verification)
    if pairs:
        yield ""
        yield from table(tuple(pairs[0]), [tuple(pair.values()) for pair in pairs])
    for kind in dict.fromkeys(pair["finding"] for pair in pairs):
        yield f"{kind}: {Finding[kind].value}"
