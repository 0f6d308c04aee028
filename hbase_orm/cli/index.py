"""`hbase-orm index`: build, look at, verify, repair and drop indexes of tables in use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, Literal

import click

from hbase_orm.cli.confirm import confirm
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Group, answer, settings, table
from hbase_orm.cli.parameters import INSTANT, MODEL
from hbase_orm.index.catalog_entry import IndexState
from hbase_orm.index.verify import Finding
from hbase_orm.model import Model
from hbase_orm.rowkey.notation import to_string_binary
from hbase_orm.session import BuildProgress, Engine, IndexStatus, Verification, connect
from hbase_orm.session.index_admin import GATEWAY_TIMEOUT_S

_STEPS: Final = 1000
_SHOWN_PAIRS: Final = 20
_PHASES: Final = {
    "rows": "rows",
    "wait": "waiting for other processes",
    "check": "comparing rows with entries",
}

_model = click.argument("model", type=MODEL, metavar="MODULE:CLASS")
_index = click.argument("name", metavar="INDEX")
_maybe_index = click.argument("name", metavar="[INDEX]", required=False)
_pairs = click.option(
    "--pairs",
    type=click.IntRange(0),
    default=_SHOWN_PAIRS,
    show_default=True,
    metavar="N",
    help="Show at most so many rows and entries that do not agree.",
)


@click.group(cls=Group)
def index() -> None:
    """Build, look at, verify, repair and drop indexes; the tables stay in use."""


@contextmanager
def _engine() -> Iterator[Engine]:
    with connect(settings().require_url()) as engine:
        yield engine


@index.command("list")
@click.argument("models", nargs=-1, required=True, type=MODEL, metavar="MODULE:CLASS…")
def list_(models: tuple[type[Model], ...]) -> None:
    """List the indexes of models: those declared, and those that the catalog knows."""
    with _engine() as engine:
        found = [(model, status) for model in models for status in engine.indexes(model).values()]
    shown = [{"model": model.__name__, **_plain(status)} for model, status in found]
    head = ("model", "index", "state", "table", "remarks")
    rows = [
        (model.__name__, status.name, status.state.value, status.table or "-", _remarks(status))
        for model, status in found
    ]
    answer(shown, lambda: table(head, rows))


@index.command()
@_model
@_index
def status(model: type[Model], name: str) -> None:
    """Show what the catalog says of one index, and how far a build is."""
    with _engine() as engine:
        known = engine.indexes(model)
    if name not in known:
        raise click.UsageError(f"{model.__name__} has no index {name!r}; {_there_are(known)}")
    found = _plain(known[name])
    answer(found, lambda: [f"{key}: {value}" for key, value in found.items()])


@index.command()
@_model
@_index
@click.option("--rebuild", is_flag=True, help="Build it anew though it is readable.")
@click.option(
    "--rows-per-second",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    help="At most so many rows, so that others are not disturbed.",
)
@click.option(
    "--gateway-timeout",
    type=click.FloatRange(0),
    default=GATEWAY_TIMEOUT_S,
    show_default=True,
    metavar="SECONDS",
    help="How long the Thrift2 gateway may repeat a request by itself: its "
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
    """Build an index under running writers, and let queries use it.

    From its beginning on, programs that do not declare the index are refused when they write: bring
    the new code out first, then build. A build that was interrupted goes on where it stopped. It
    takes at least as long as the lease on the catalog and both time-outs together.

    \b
    Examples:
      hbase-orm index build shop.models:Order by_customer
      hbase-orm index build shop.models:Order by_customer --rows-per-second 500
    """  # noqa: D301 -- click's mark, not an escape
    with _engine() as engine, _bar() as tell:
        built = engine.build_index(
            model,
            name,
            rebuild=rebuild,
            rows_per_second=rows_per_second,
            gateway_timeout_s=gateway_timeout,
            on_progress=tell,
        )
    answer(_plain(built), lambda: [f"{name} is {built.state.value}, its table is {built.table}"])


@index.command()
@_model
@_index
@click.option("--since", type=INSTANT, help="Only what was written then or later.")
@click.option("--until", type=INSTANT, help="Only what was written before.")
@click.option("--repair", is_flag=True, help="Put right what is found.")
@_pairs
def verify(
    *,
    model: type[Model],
    name: str,
    since: datetime | None,
    until: datetime | None,
    repair: bool,
    pairs: int,
) -> int:
    """Compare an index with its rows, in both directions.

    The counters are Phoenix's. MISSING and INVALID make queries wrong, and UNKNOWN is nothing that
    this library writes: then the exit code is 1. OLD, EXTRA, EXPIRED and IN_FLIGHT are entries that
    queries skip, and UNVERIFIED such as are looked up in the row.

    Times are 2026-01-31 (midnight UTC) or ISO 8601 with an offset. With --repair missing and wrong
    entries are put, those that rows do not have are deleted, unless they are younger than a minute,
    and rows that other programs have written are taken over.
    """
    with _engine() as engine:
        found = engine.verify_index(model, name, since=since, until=until, repair=repair)
    _show(found, pairs, repaired=repair)
    return ExitCode.OK if found.is_sound else ExitCode.FAILED


@index.command()
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
def scrutinize(model: type[Model], name: str, source: Literal["data", "index"], pairs: int) -> int:
    """Compare an index with its rows in one direction; change nothing.

    The exit code is 1 where queries would be wrong; see 'index verify'.
    """
    with _engine() as engine:
        found = engine.scrutinize_index(model, name, source=source)
    _show(found, pairs)
    return ExitCode.OK if found.is_sound else ExitCode.FAILED


@index.command()
@_model
@_maybe_index
def repair(model: type[Model], name: str | None) -> None:
    """Put right one index, or all that are built; safe beside writers, safe to repeat."""
    with _engine() as engine:
        names = [name] if name else _repairable(engine.indexes(model).values())
        found = [engine.verify_index(model, each, repair=True) for each in names]
    shown = {
        each.index: {
            "missing": each.missing,
            "invalid": each.invalid,
            "stale": each.stale,
            "foreign": each.foreign,
            "repaired": each.repaired,
            "unrepaired": len(each.unrepaired),
        }
        for each in found
    }
    head = ("index", "missing", "invalid", "stale", "foreign", "repaired", "unrepaired")
    rows = [[name, *counts.values()] for name, counts in shown.items()]
    left = [line for each in found for line in _unrepaired(each)]
    answer(shown, lambda: [*table(head, rows), *left])


@index.command()
@_model
@_index
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(model: type[Model], name: str, *, yes: bool) -> None:
    """Drop an index and its table; queries do without it first, then writers.

    It waits twice until no process acts on what the catalog said before. The model need not declare
    the index any more. A drop that was interrupted is finished by dropping again.
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
    """Show how far a build is, on standard error, if somebody looks at it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(length=_STEPS, file=sys.stderr, width=30) as bar:

        def tell(progress: BuildProgress) -> None:
            bar.label = f"{progress.rows} rows, {_PHASES.get(progress.phase, progress.phase)}"
            bar.update(int(progress.fraction * _STEPS) - bar.pos)
            bar.render_progress()  # an update by nothing shows nothing

        yield tell


def _plain(found: IndexStatus) -> dict[str, Any]:
    return {**asdict(found), "state": found.state.value}


def _remarks(found: IndexStatus) -> str:
    remarks = []
    if found.built is not None:
        remarks.append(f"a build is {found.built:.0%} done")
    if found.is_manual:
        remarks.append("written by builds alone")
    if not found.is_declared:
        remarks.append("not declared so")
    return ", ".join(remarks)


def _there_are(known: Iterable[str]) -> str:
    return f"there are: {', '.join(known) or 'none'}."


def _repairable(known: Iterable[IndexStatus]) -> list[str]:
    usable = {IndexState.READABLE, IndexState.WRITE_ONLY}
    return [each.name for each in known if each.is_declared and each.state in usable]


def _show(found: Verification, pairs: int, *, repaired: bool = False) -> None:
    shown = [
        {
            "finding": pair.finding.name,
            "row": to_string_binary(pair.row),
            "row_ms": pair.row_ms,
            "entry": to_string_binary(pair.entry),
            "entry_ms": pair.entry_ms,
        }
        for pair in found.pairs[:pairs]
    ]
    counters = found.counters()
    whole: dict[str, Any] = {
        "index": found.index,
        **counters,
        "foreign": found.foreign,
        "pairs": shown,
    }
    if found.newer_epoch:
        whole["newer_epoch"] = found.newer_epoch
    if repaired:
        whole["repaired"] = found.repaired
        whole["unrepaired"] = {to_string_binary(row): why for row, why in found.unrepaired.items()}
    answer(whole, lambda: _lines(found, counters, shown, repaired=repaired))


def _unrepaired(found: Verification) -> Iterator[str]:
    for row, why in found.unrepaired.items():
        yield f"not repaired: {to_string_binary(row)}: {why}"


def _lines(
    found: Verification,
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
    if found.foreign:
        yield f"rows written by other programs: {found.foreign}"
    if found.newer_epoch:
        yield f"the catalog is older than rows of epoch {found.newer_epoch}: create its tables"
    if repaired:
        yield f"repaired: {found.repaired}"
    yield from _unrepaired(found)
    if pairs:
        yield ""
        yield from table(tuple(pairs[0]), [tuple(pair.values()) for pair in pairs])
    for kind in dict.fromkeys(pair["finding"] for pair in pairs):
        yield f"{kind}: {Finding[kind].value}"
