"""`hbase-orm upgrade`, `downgrade` and `stamp`: what changes the history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from hbase_orm.cli.confirm import confirm_at
from hbase_orm.cli.frame import Command, answer, note, settings
from hbase_orm.cli.migration_commands.folder import scripts
from hbase_orm.cli.migration_commands.plan_table import plan_as_json, plan_lines
from hbase_orm.cli.migration_commands.progress import Waits, shown_steps
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.migrate import (
    Current,
    Direction,
    Finished,
    MigrationOptions,
    MigrationPlan,
    Migrations,
)
from hbase_orm.migrate.runner import OnStep
from hbase_orm.session import connect

_OPTIONS: Final = (
    click.option("--plan", "is_plan", is_flag=True, help="Only show the steps; change nothing."),
    click.option(
        "--rows-per-second",
        type=click.FloatRange(0, min_open=True),
        metavar="N",
        help="Process at most this many rows a second, to spare other clients.",
    ),
    click.option(
        "--exclusive",
        is_flag=True,
        help="No other program uses the tables: do not wait for the gateway's own time limit.",
    ),
    click.option(
        "--gateway-timeout",
        type=click.FloatRange(0),
        default=GATEWAY_TIMEOUT_S,
        show_default=True,
        metavar="SECONDS",
        help="How long the Thrift2 gateway itself may retry a request: its "
        "hbase.client.operation.timeout.",
    ),
    click.option(
        "--stop-before",
        metavar="PHASE",
        help="Stop before this phase of a long step, as moving; the next run continues there.",
    ),
    click.option("--yes", is_flag=True, help="Do not ask, even if a step cannot be undone."),
)

_Run = Callable[[Migrations, MigrationOptions, Callable[[MigrationPlan], None], OnStep], Finished]


def _run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command(cls=Command)
@click.argument("revision", default="head")
@_run_options
def upgrade(*, revision: str, **given: Any) -> None:
    """Apply revisions up to REVISION; an interrupted run continues exactly where it stopped.

    REVISION is head (the default), heads (of all branches), +N (the next N), or a revision or the
    beginning of its name. Programs may use the tables meanwhile, as the steps allow.

    \b
    Examples:
      hbase-orm upgrade --plan
      hbase-orm upgrade --rows-per-second 500
      hbase-orm upgrade +1 --stop-before moving
    """  # noqa: D301 -- click's mark, not an escape

    def run(
        migrations: Migrations,
        options: MigrationOptions,
        confirm: Callable[[MigrationPlan], None],
        on_step: OnStep,
    ) -> Finished:
        return migrations.upgrade(revision, options=options, confirm=confirm, on_step=on_step)

    _ran(Direction.UPGRADE, revision, run, given)


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})  # -1 is none
@click.argument("revision")
@_run_options
def downgrade(*, revision: str, **given: Any) -> None:
    """Undo the applied revisions after REVISION, the last one first; REVISION itself stays.

    REVISION is -N (undo the last N), base (undo all), or a revision or the beginning of its name.
    If a step cannot be undone, nothing is undone.

    \b
    Examples:
      hbase-orm downgrade -1 --plan
      hbase-orm downgrade 19ac
    """  # noqa: D301 -- click's mark, not an escape

    def run(
        migrations: Migrations,
        options: MigrationOptions,
        confirm: Callable[[MigrationPlan], None],
        on_step: OnStep,
    ) -> Finished:
        return migrations.downgrade(revision, options=options, confirm=confirm, on_step=on_step)

    _ran(Direction.DOWNGRADE, revision, run, given)


@click.command(cls=Command)
@click.argument("revisions", metavar="REVISION...", nargs=-1, required=True)
def stamp(revisions: tuple[str, ...]) -> None:
    """Record exactly these revisions, and those before them, as applied; nothing is run.

    REVISION is head, heads, base (nothing is applied), or a revision or the beginning of its name.
    The position of an interrupted run is forgotten, and edited files are recorded as they are.
    """
    with migrations_of_project() as migrations:
        current = migrations.stamp(*revisions)
    answer({"current": list(current.heads)}, lambda: [current_line(current)])


@contextmanager
def migrations_of_project() -> Iterator[Migrations]:
    """Provide the migrations of the project's folder at the URL."""
    with connect(settings().require_url()) as engine:
        yield Migrations(engine, scripts(), on_wait=Waits())


def current_line(current: Current) -> str:
    """Return a line with the applied heads."""
    return f"current: {', '.join(current.heads) or 'nothing is applied'}"


def _ran(direction: Direction, revision: str, run: _Run, given: dict[str, Any]) -> None:
    options = MigrationOptions(
        rows_per_second=given["rows_per_second"],
        exclusive=given["exclusive"],
        gateway_timeout_s=given["gateway_timeout"],
        stop_before=given["stop_before"],
    )
    with migrations_of_project() as migrations:
        if given["is_plan"]:
            plan = migrations.plan(direction, revision, options=options)
            answer(plan_as_json(plan, direction), lambda: plan_lines(plan, direction))
            return
        confirm = _confirming(direction, yes=given["yes"])
        with shown_steps() as on_step:
            finished = run(migrations, options, confirm, on_step)
        _answer(direction, finished, migrations.current())


def _confirming(direction: Direction, *, yes: bool) -> Callable[[MigrationPlan], None]:
    """Return a function that asks, if a step of the plan cannot be undone."""

    def confirm(plan: MigrationPlan) -> None:
        if yes or not plan.irreversible:
            return
        for line in plan_lines(plan, direction):
            note(line)
        steps = {f"{each.step.revision.id} step {each.step.number}" for each in plan.irreversible}
        question = f"{direction.value}, although these steps cannot be undone: "
        confirm_at(question + ", ".join(sorted(steps)), settings().require_url())

    return confirm


def _answer(direction: Direction, finished: Finished, current: Current) -> None:
    stopped = finished.stopped
    shown = {
        "direction": direction.value,
        "revisions": [each.id for each in finished.revisions],
        "stopped": None if stopped is None else {"text": str(stopped), **stopped.details},
        "current": list(current.heads),
    }

    def lines() -> Iterator[str]:
        if stopped is not None:
            yield f"stopped: {stopped}"
        elif not finished.revisions:
            yield "nothing to do"
        yield current_line(current)

    answer(shown, lines)
