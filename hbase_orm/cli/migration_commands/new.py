"""`hbase-orm init`, `revision` and `merge`: what writes files."""

from __future__ import annotations

from pathlib import Path

import click

from hbase_orm.cli.frame import Command, answer, note, settings
from hbase_orm.cli.migration_commands.folder import DEFAULT_FOLDER, name_folder, scripts
from hbase_orm.cli.model_arguments import project_models
from hbase_orm.migrate import RevisionGraph
from hbase_orm.migrate.comparison import ModelComparison, compare, refuse_other_state
from hbase_orm.migrate.new_revisions import NewRevision, create_folder, write_revision
from hbase_orm.migrate.targets import named_revisions, only_head
from hbase_orm.session import connect

_message = click.option("-m", "--message", required=True, help="What the revision does.")


@click.command(cls=Command)
@click.argument("folder", metavar="[DIR]", default=DEFAULT_FOLDER)
def init(folder: str) -> None:
    """Create the folder of revisions, and name it in pyproject.toml if it is not 'migrations'."""
    path = Path.cwd() / folder
    is_new = create_folder(path)
    left = name_folder(path)
    if left:
        note(left)
    answer(
        {"folder": str(path), "is_new": is_new, "left": left},
        lambda: [f"created {path}" if is_new else f"{path} exists already"],
    )


@click.command(cls=Command)
@_message
@click.option(
    "--autogenerate",
    is_flag=True,
    help="Compare the models of pyproject.toml with the records of their tables in HBase.",
)
@click.option(
    "--head", "head", metavar="REVISION", help="The revision before; without it the only head."
)
@click.option("--splice", is_flag=True, help="Let the revision before have other children.")
def revision(*, message: str, autogenerate: bool, head: str | None, splice: bool) -> None:
    """Write the files of a new revision: its steps, and the records of the tables beside it.

    Read and change the Python file before you apply it. With --autogenerate nothing is written if
    the models need no step.
    """
    folder = scripts()
    graph = folder.graph()
    parents = _parents(graph, head, splice=splice)
    comparison = _compared(graph) if autogenerate else ModelComparison()
    if autogenerate and not comparison.operations:
        answer({"file": None, "steps": []}, lambda: ["the models need no revision"])
        return
    path = write_revision(
        folder,
        NewRevision(message, parents, comparison.operations, comparison.before, comparison.after),
    )
    steps = [each.describe() for each in comparison.operations]
    answer({"file": str(path), "steps": steps}, lambda: [f"wrote {path}", *steps])


@click.command(cls=Command)
@click.argument("revisions", metavar="[REVISION]...", nargs=-1)
@_message
def merge(revisions: tuple[str, ...], message: str) -> None:
    """Write a revision without steps that joins branches: all heads, or these revisions."""
    folder = scripts()
    graph = folder.graph()
    parents = tuple(sorted(named_revisions(graph, *(revisions or ("heads",)))))
    if len(parents) == 1 or not parents:
        raise click.UsageError("there are no branches to join.")
    path = write_revision(folder, NewRevision(message, parents, (), {}, {}))
    answer({"file": str(path), "down_revision": list(parents)}, lambda: [f"wrote {path}"])


def _parents(graph: RevisionGraph, head: str | None, *, splice: bool) -> tuple[str, ...]:
    if head is None:
        only = only_head(graph)
        return () if only is None else (only,)
    named = tuple(named_revisions(graph, head))
    for each in named:
        if not splice and each not in graph.heads:
            raise click.UsageError(
                f"{each} is not a head; give --splice to begin a branch after it."
            )
    return named


def _compared(graph: RevisionGraph) -> ModelComparison:
    models = project_models()
    with connect(settings().require_url()) as engine:
        refuse_other_state(engine, graph)
        return compare(engine, models)
