"""`hbase-orm tables check` and `alter`: compare tables with their models, and alter them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import click

from hbase_orm.cli.confirm import confirm_at
from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Command, answer, note, settings, table
from hbase_orm.cli.model_arguments import several_models
from hbase_orm.cli.parameters import INSTANT
from hbase_orm.errors import cut
from hbase_orm.model import Model
from hbase_orm.session import (
    AlterationProgress,
    Drift,
    TableChange,
    TableCheck,
    TableDifference,
    connect,
)

_Models = tuple[type[Model], ...]
_Periods = tuple[datetime, datetime] | None


def _periods() -> Callable[[Any], Any]:
    return click.option(
        "--periods",
        nargs=2,
        type=INSTANT,
        metavar="FIRST AFTER_LAST",
        help="For models with a table for each period: the tables of these periods, which must "
        "exist; without the option, all that exist. Times are written as for 'tables create'.",
    )


@click.command(cls=Command)
@several_models()
@_periods()
def check(models: _Models, periods: _Periods) -> int:
    """Compare tables with what the models declare; nothing is changed.

    Families with all their options, options of tables, index tables, and the records in the catalog
    are compared. The exit code is 1 if a table differs. Notes do not count: split keys at which no
    region begins, columns that old rows lack, and what Thrift1 does not show.
    """
    with connect(settings().require_url()) as engine:
        checks = engine.check_tables(*models, periods=periods)
    answer([_check_as_json(each) for each in checks], lambda: _lines(checks))
    return ExitCode.FAILED if any(each.has_drift for each in checks) else ExitCode.OK


@click.command(cls=Command)
@several_models()
@_periods()
@click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
@click.option("--yes", is_flag=True, help="Do not ask, even if a change loses data.")
def alter(models: _Models, periods: _Periods, *, dry_run: bool, yes: bool) -> int:
    """Change tables so that they are as the models declare; the tables stay in use.

    Missing families are added, and options are changed; nothing is ever dropped. The command shows
    the changes and asks first. It ends when all regions use the new options. If it is interrupted,
    run it again: it makes the changes that are left.

    The exit code is 1 if a table differs afterwards; the command shows what is left, why, and what
    to do.
    """
    url = settings().require_url()
    with connect(url) as engine:
        changes = engine.table_changes(*models, periods=periods)
        if changes and not dry_run:
            if not yes:
                _ask(changes, url)
            loses = yes or any(change.loss for change in changes)
            changes = engine.alter_tables(
                *models, periods=periods, allow_data_loss=loses, on_progress=_show_progress
            )
        left = [] if dry_run else [*_left(engine.check_tables(*models, periods=periods))]
    shown = {
        "changes": [_change_as_json(change) for change in changes],
        "dry_run": dry_run,
        "left": [_difference_as_json(each) | {"fix": _how_to_go_on(each)} for each in left],
    }
    answer(shown, lambda: _altered(changes, left, dry_run=dry_run))
    return ExitCode.FAILED if left else ExitCode.OK


def _ask(changes: Iterable[TableChange], url: str) -> None:
    tables = {change.table: None for change in changes}
    for change in changes:
        note(_planned(change))
    confirm_at(f"alter {', '.join(tables)}", url)


def _show_progress(progress: AlterationProgress) -> None:
    for number, change in enumerate(progress.changes, progress.made + 1):
        note(f"{number}/{progress.total} {change}")


def _planned(change: TableChange) -> str:
    return f"{change}; LOSES DATA: {change.loss}" if change.loss else str(change)


def _left(checks: Iterable[TableCheck]) -> Iterator[TableDifference]:
    """Yield the drift that remains after an alteration."""
    for each in checks:
        yield from (difference for difference in each.differences if difference.drift.is_drift)


def _altered(
    changes: Iterable[TableChange], left: Iterable[TableDifference], *, dry_run: bool
) -> Iterator[str]:
    counts = Counter(change.table for change in changes)
    lines = [f"altered {name}: {_counted(count)}" for name, count in counts.items()]
    if dry_run:
        lines = [_planned(change) for change in changes]
    yield from lines or ["nothing to alter"]
    for difference in left:
        yield f"left {difference}; {_how_to_go_on(difference)}"


def _how_to_go_on(difference: TableDifference) -> str:
    """Return why an alteration has left a difference, and what removes it."""
    if difference.is_alterable:
        return "another program has changed the table meanwhile: run the command again"
    return f"no alteration removes this: {difference.fix or 'declare what exists'}"


def _counted(count: int) -> str:
    return "1 change" if count == 1 else f"{count} changes"


# --- the comparison -------------------------------------------------------------------------------


def _lines(checks: Iterable[TableCheck]) -> Iterator[str]:
    for each in checks:
        state = "differs" if each.has_drift else "as declared"
        yield f"{each.table} ({', '.join(each.models)}): {state}"
        if each.differences:
            head = ("difference", "actual", "declared", "what to do")
            rows = [_row(each.table, difference) for difference in each.differences]
            yield from (f"  {line}" for line in table(head, rows))


def _row(own_table: str, difference: TableDifference) -> tuple[str, str, str, str]:
    is_other = difference.table != own_table
    subject = f"{difference.table}: {difference.subject}" if is_other else difference.subject
    actual, declared = (cut(text or "-") for text in (difference.actual, difference.declared))
    return subject, actual, declared, _to_do(difference)


def _to_do(difference: TableDifference) -> str:
    text = difference.fix
    if difference.change is not None:
        loss = difference.change.loss
        text = f"hbase-orm tables alter; LOSES DATA: {loss}" if loss else "hbase-orm tables alter"
    if difference.drift.is_drift:
        return text
    word = "undecided" if difference.drift is Drift.UNDECIDED else "only a note"
    return f"{word}: {text}" if text else word


def _check_as_json(check: TableCheck) -> dict[str, Any]:
    return {
        "table": check.table,
        "models": list(check.models),
        "has_drift": check.has_drift,
        "differences": [_difference_as_json(each) for each in check.differences],
    }


def _difference_as_json(difference: TableDifference) -> dict[str, Any]:
    return {
        "table": difference.table,
        "subject": difference.subject,
        "actual": difference.actual,
        "declared": difference.declared,
        "drift": difference.drift.value,
        "is_alterable": difference.is_alterable,
        "loss": "" if difference.change is None else difference.change.loss,
        "fix": difference.fix,
    }


def _change_as_json(change: TableChange) -> dict[str, Any]:
    return {
        "table": change.table,
        "kind": change.kind,
        "subject": change.subject,
        "text": str(change),
        "loss": change.loss,
    }
