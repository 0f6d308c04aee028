"""`hbase-orm current`, `heads`, `history` and `check`: what there is, and what is applied."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from hbase_orm.cli.errors import ExitCode
from hbase_orm.cli.frame import Command, answer, settings
from hbase_orm.cli.migration_commands.folder import scripts
from hbase_orm.cli.migration_commands.runs import migrations_of_project
from hbase_orm.cli.model_arguments import project_models
from hbase_orm.migrate import Current, MigrationHistory, Migrations, Revision, RevisionGraph
from hbase_orm.migrate.comparison import compare
from hbase_orm.migrate.planning import edited
from hbase_orm.session import connect


@click.command(cls=Command)
def current() -> None:
    """Show the applied revisions that no other follows, and where a run was interrupted."""
    with migrations_of_project() as migrations:
        now = migrations.current()
    graph = scripts().graph()
    answer(_current_as_json(graph, now), lambda: _current_lines(graph, now))


@click.command(cls=Command)
def heads() -> None:
    """Show the revisions that no other follows; nothing is sent."""
    graph = scripts().graph()
    named = [graph.revisions[each] for each in graph.heads]
    answer([_revision_as_json(each) for each in named], lambda: [str(each) for each in named])


@click.command(cls=Command)
@click.option("-i", "--indicate-current", is_flag=True, help="Show what is applied in HBase.")
def history(*, indicate_current: bool) -> None:
    """Show all revisions, the newest first; nothing is sent without --indicate-current."""
    graph = scripts().graph()
    applied = None
    if indicate_current:
        with migrations_of_project() as migrations:
            applied = migrations.history()
    named = [*graph.revisions.values()][::-1]
    answer(
        [{**_revision_as_json(each), **_applied(graph, each, applied)} for each in named],
        lambda: [_history_line(graph, each, applied) for each in named],
    )


@click.command(cls=Command)
def check() -> int:
    """Check that everything is applied, and that the models are what the last revision says.

    The exit code is 1 if revisions are not applied, a run was interrupted, the file of an applied
    revision was edited, or 'revision --autogenerate' would write a step. Nothing is changed.
    """
    models = project_models()
    graph = scripts().graph()
    with connect(settings().require_url()) as engine:
        now = Migrations(engine, scripts()).current()
        steps = [each.describe() for each in compare(engine, models).operations]
    position = now.history.position
    problems = {
        "missing": list(now.missing),
        "pending": [each for each in graph.revisions if each not in now.history.applied],
        "interrupted": None if position is None else position.revision,
        "edited": edited(graph, now.history),
        "steps": steps,
    }
    answer(problems, lambda: _problem_lines(graph, problems))
    return ExitCode.FAILED if any(problems.values()) else ExitCode.OK


def _problem_lines(graph: RevisionGraph, problems: dict[str, Any]) -> Iterator[str]:
    if not any(problems.values()):
        yield "no problems: everything is applied, and the models need no revision"
    for name in problems["missing"]:
        yield f"{name} is applied, but has no file here"
    for name in problems["pending"]:
        yield f"not applied: {graph.revisions[name]}"
    if problems["interrupted"]:
        yield f"interrupted: {problems['interrupted']}; 'hbase-orm current' shows where"
    for name in problems["edited"]:
        yield f"edited after it was applied: {graph.revisions[name]}"
    for step in problems["steps"]:
        yield f"the models need a revision: {step}"


def _current_as_json(graph: RevisionGraph, now: Current) -> dict[str, Any]:
    position, lock = now.history.position, now.history.lock
    return {
        "revisions": [
            {"revision": name, "is_head": name in graph.heads, "has_file": name not in now.missing}
            for name in now.heads
        ],
        "interrupted": None
        if position is None
        else {
            "revision": position.revision,
            "direction": position.direction.value,
            "step": position.step + 1,
            "steps": len(position.operations),
            "what": position.operations[position.step],
            "checkpoint": dict(position.checkpoint),
        },
        "lock": None
        if lock is None or not lock.is_held
        else {"holder": lock.holder, "since": _time(lock.since_ms)},
    }


def _current_lines(graph: RevisionGraph, now: Current) -> Iterator[str]:
    for name in now.heads:
        shown = str(graph.revisions[name]) if name in graph.revisions else f"{name} (no file here)"
        yield shown + (" (head)" if name in graph.heads else "")
    if not now.heads:
        yield "nothing is applied"
    position, lock = now.history.position, now.history.lock
    if position is not None:
        where = f"step {position.step + 1} of {len(position.operations)}"
        what = position.operations[position.step]
        yield f"half done: {position.direction.value} of {position.revision}, {where}: {what}"
        saved = ", ".join(f"{name}={value}" for name, value in position.checkpoint.items())
        yield f"  checkpoint: {saved or 'none'}"
    if lock is not None and lock.is_held:
        yield f"a runner has the lock: {lock.holder}, since {_time(lock.since_ms)}"


def _revision_as_json(revision: Revision) -> dict[str, Any]:
    return {
        "revision": revision.id,
        "down_revision": list(revision.parents),
        "message": revision.message,
        "file": str(revision.path),
        "steps": [each.describe() for each in revision.operations],
    }


def _applied(
    graph: RevisionGraph, revision: Revision, known: MigrationHistory | None
) -> dict[str, Any]:
    if known is None:
        return {}
    applied = known.applied.get(revision.id)
    if applied is None:
        return {"applied": None}
    return {
        "applied": {
            "at": _time(applied.at_ms),
            "by": applied.by,
            "is_stamped": applied.is_stamped,
            "is_edited": revision.id in edited(graph, known),
        }
    }


def _history_line(graph: RevisionGraph, revision: Revision, known: MigrationHistory | None) -> str:
    marks = [
        ("branchpoint", len(graph.children(revision.id)) > 1),
        ("mergepoint", len(revision.parents) > 1),
        ("head", revision.id in graph.heads),
    ]
    if known is not None:
        marks.append(("current", revision.id in graph.heads_of(known.applied.keys())))
        marks.append(("edited", revision.id in edited(graph, known)))
    shown = "".join(f" ({name})" for name, is_shown in marks if is_shown)
    return f"{', '.join(revision.parents) or '<base>'} -> {revision.id}{shown}, {revision.message}"


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
