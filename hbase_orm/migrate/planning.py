"""Which steps an upgrade or a downgrade runs, and what they will take. Deciding sends nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from hbase_orm.migrate.errors import (
    EditedRevisionError,
    InterruptedRevisionError,
    IrreversibleStepError,
    RevisionGraphError,
)
from hbase_orm.migrate.graph import RevisionGraph
from hbase_orm.migrate.history import MigrationHistory, Position
from hbase_orm.migrate.operations.operation import (
    CheckedOperation,
    Estimate,
    Irreversible,
    Operation,
    has_changed_nothing,
)
from hbase_orm.migrate.revisions import Direction, Revision
from hbase_orm.migrate.targets import downgrade_target, upgrade_targets

_TURNED: Final = "turned "
"""How the members of a checkpoint begin that belong to a run in the other direction."""


@dataclass(frozen=True, slots=True)
class RevisionStep:
    """One step of a revision.

    Attributes:
        revision: The revision.
        direction: Whether it is applied or undone.
        index: The number of the operation, from 0 in the order of an upgrade.
        operation: What is run; for a downgrade the reverse of the revision's operation.
    """

    revision: Revision
    direction: Direction
    index: int
    operation: Operation

    @property
    def number(self) -> int:
        """The number for people: from 1, in the order of an upgrade."""
        return self.index + 1

    @property
    def count(self) -> int:
        """How many steps the revision has."""
        return len(self.revision.operations)


@dataclass(frozen=True, slots=True)
class RevisionWork:
    """What is left to do for one revision.

    Attributes:
        revision: The revision.
        direction: Whether it is applied or undone.
        steps: The steps that are left, in the order in which they run.
        checkpoint: The position within the first of them; empty if it has none.
        is_continued: Whether an interrupted run is continued.
    """

    revision: Revision
    direction: Direction
    steps: tuple[RevisionStep, ...]
    checkpoint: Mapping[str, str] = field(default_factory=dict[str, str])
    is_continued: bool = False


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a plan.

    Attributes:
        step: The step.
        estimate: What it will do and take.
        irreversible: What cannot be undone, in words; empty if everything can.
        is_continued: Whether the step was interrupted, and continues.
    """

    step: RevisionStep
    estimate: Estimate
    irreversible: str = ""
    is_continued: bool = False


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """What an upgrade or a downgrade will do.

    Attributes:
        revisions: The revisions, in the order in which they are applied or undone.
        steps: Their steps, in the same order.
    """

    revisions: tuple[Revision, ...]
    steps: tuple[PlannedStep, ...]

    @property
    def irreversible(self) -> tuple[PlannedStep, ...]:
        """The steps that cannot be undone."""
        return tuple(each for each in self.steps if each.irreversible)


def upgrade_work(
    graph: RevisionGraph, history: MigrationHistory, target: str
) -> list[RevisionWork]:
    """Return what an upgrade to a target runs; an interrupted revision first.

    Raises:
        MigrationError: The target means none or several; or an applied revision was edited, or is
            missing; or another revision is half done.
    """
    refuse_edited(graph, history)
    position = history.position
    half_done = frozenset(() if position is None else (position.revision,))
    applied = history.applied.keys() - half_done
    wanted = graph.with_ancestors(upgrade_targets(graph, applied, target)) - applied
    if not half_done <= wanted:
        raise _half_done(position, "upgrade")
    return _works(graph.in_order(wanted), Direction.UPGRADE, position)


def downgrade_work(
    graph: RevisionGraph, history: MigrationHistory, target: str
) -> list[RevisionWork]:
    """Return what a downgrade to a target runs; an interrupted revision first.

    Raises:
        MigrationError: The target means none or several; or an applied revision was edited, or is
            missing; or another revision is half done; or a step cannot be undone.
    """
    refuse_edited(graph, history)
    position = history.position
    half_done = frozenset(() if position is None else (position.revision,))
    applied = history.applied.keys() | half_done
    undone: AbstractSet[str] = half_done
    if not half_done or target != "-1":  # else also where another branch is current
        kept = downgrade_target(graph, applied, target)
        undone = applied if kept is None else graph.with_descendants([kept]) & applied - {kept}
    if not half_done <= undone:
        raise _half_done(position, "downgrade")
    return _works(graph.in_order(undone)[::-1], Direction.DOWNGRADE, position)


def refuse_edited(graph: RevisionGraph, history: MigrationHistory) -> None:
    """Raise an error if the file of an applied revision is missing, or was edited.

    Raises:
        RevisionGraphError: It is missing.
        EditedRevisionError: It was edited.
    """
    position = history.position
    for name in (*history.applied, *(() if position is None else (position.revision,))):
        if name not in graph.revisions:
            raise RevisionGraphError(
                "a revision that was applied has no file here",
                revision=name,
                fix="get the file from where the revision was applied, for example another branch",
            )
    half_done = None if position is None else position.revision
    for name in edited(graph, history):
        if name == half_done:  # its function may be corrected, see below
            continue
        raise EditedRevisionError(
            "the file of an applied revision, or the records beside it, were edited",
            revision=name,
            file=str(graph.revisions[name].path),
            applied=history.applied[name].checksum,
            actual=graph.revisions[name].checksum,
            fix="restore the file, and make the change in a new revision; if only comments or the "
            "layout changed, record the file as it is: hbase-orm stamp "
            + " ".join(graph.heads_of(history.applied.keys())),
        )
    if position is not None:
        _refuse_edited_steps(graph.revisions[position.revision], position)


def edited(graph: RevisionGraph, history: MigrationHistory) -> list[str]:
    """Return the applied revisions whose files differ from what was applied."""
    return [
        name
        for name, applied in history.applied.items()
        if name in graph.revisions and graph.revisions[name].checksum != applied.checksum
    ]


def steps_of(revision: Revision, direction: Direction) -> tuple[RevisionStep, ...]:
    """Return the steps of a revision in the order in which they run.

    Raises:
        IrreversibleStepError: A step cannot be undone.
    """
    steps = [_step(revision, direction, index) for index in range(len(revision.operations))]
    return tuple(steps if direction is Direction.UPGRADE else reversed(steps))


def _step(revision: Revision, direction: Direction, index: int) -> RevisionStep:
    operation = revision.operations[index]
    if direction is Direction.UPGRADE:
        return RevisionStep(revision, direction, index, operation)
    reverse = operation.reverse()
    if isinstance(reverse, Irreversible):
        raise IrreversibleStepError(
            "a step of the revision cannot be undone, so nothing was undone",
            revision=revision.id,
            step=index + 1,
            operation=operation.describe(),
            reason=reverse.reason,
            fix="go back to a later revision; or restore a snapshot of the tables, and then set "
            "the revision with 'hbase-orm stamp'",
        )
    return RevisionStep(revision, direction, index, reverse)


def _works(
    revisions: Iterable[Revision], direction: Direction, position: Position | None
) -> list[RevisionWork]:
    works = [_work(each, direction, position) for each in revisions]
    return sorted(works, key=lambda work: not work.is_continued)


def _work(revision: Revision, direction: Direction, position: Position | None) -> RevisionWork:
    """Return what is left of a revision. A step that is interrupted is run, or undone, too."""
    if position is None or position.revision != revision.id:
        return RevisionWork(revision, direction, steps_of(revision, direction))
    checkpoint = position.checkpoint
    indices = range(position.step, len(revision.operations))
    if direction is Direction.DOWNGRADE:
        indices = range(position.step, -1, -1)
    if position.direction is not direction:
        checkpoint = _turned(checkpoint)
        if _has_nothing_to_undo(revision.operations[position.step], checkpoint):
            indices, checkpoint = indices[1:], {}
    # Of the other steps nothing must be undone, so they may be irreversible.
    left = tuple(_step(revision, direction, index) for index in indices)
    return RevisionWork(revision, direction, left, checkpoint, is_continued=True)


def _has_nothing_to_undo(operation: Operation, checkpoint: Mapping[str, str]) -> bool:
    """Return whether an interrupted run in the other direction has changed nothing in its step."""
    _, interrupted = own_position(checkpoint)
    if interrupted is None or not isinstance(operation, CheckedOperation):
        return False
    return has_changed_nothing(interrupted)


def _turned(checkpoint: Mapping[str, str]) -> dict[str, str]:
    """Return the checkpoint of a step for a run in the other direction, which has none of its own.

    The other direction's position stays in it, until the run has saved one: without it nobody would
    know which rows of a table the interrupted run has changed.
    """
    own, interrupted = own_position(checkpoint)
    if interrupted is not None:
        return dict(interrupted)
    return {_TURNED: "", **{f"{_TURNED}{name}": value for name, value in own.items()}}


def own_position(
    checkpoint: Mapping[str, str],
) -> tuple[Mapping[str, str], Mapping[str, str] | None]:
    """Return a step's own position, and that of an interrupted run in the other direction."""
    if _TURNED not in checkpoint:
        return checkpoint, None
    turned = {name.removeprefix(_TURNED): value for name, value in checkpoint.items()}
    return {}, {name: value for name, value in turned.items() if name}


def _refuse_edited_steps(revision: Revision, position: Position) -> None:
    """Raise an error if steps that have run, or the one that is interrupted, are others now."""
    present = tuple(operation.describe() for operation in revision.operations)
    is_up = position.direction is Direction.UPGRADE
    is_other = (
        present[: position.step + 1] != position.operations[: position.step + 1]
        if is_up
        else present != position.operations
    )
    if is_other:
        raise EditedRevisionError(
            "the revision is half done, and its steps were edited",
            revision=revision.id,
            step=position.step + 1,
            file=str(revision.path),
            begun=list(position.operations),
            actual=list(present),
            fix="restore the steps up to this one; later ones may be changed. To change this step, "
            "restore the file, go back with 'hbase-orm downgrade -1', and edit it then",
        )


def _half_done(position: Position | None, command: str) -> InterruptedRevisionError:
    if position is None:
        raise AssertionError(command)
    return InterruptedRevisionError(
        "a revision is half done, and this command would leave it so",
        revision=position.revision,
        step=position.step + 1,
        direction=position.direction.value,
        fix=f"finish it: hbase-orm upgrade {position.revision}; or go back: hbase-orm downgrade -1",
    )
