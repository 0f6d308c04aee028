"""Runs the steps of revisions under the lock: runs a step, then records it.

After a crash the history has the exact position: the revision, the step and the step's checkpoint.
The next run continues there. A step that had finished, but was not recorded, is run again from its
last checkpoint. Tables that the killed run used exclusively are released first: the steps that are
left may not need them exclusively.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hbase_orm.errors import HBaseORMError, MigrationError
from hbase_orm.migrate.errors import MigrationStoppedError, StepFailedError
from hbase_orm.migrate.history import AppliedRevision, Change, Position
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Migration, MigrationOptions, Progress
from hbase_orm.migrate.planning import RevisionStep, RevisionWork, own_position
from hbase_orm.migrate.revisions import Direction, Revision
from hbase_orm.migrate.runner_lock import RunnerLock
from hbase_orm.session import Engine


@dataclass(frozen=True, slots=True)
class StepProgress:
    """How far a run is.

    Attributes:
        step: The step that is running; None when a revision was finished.
        revision: The revision.
        direction: Whether it is applied or undone.
        progress: What the step has reported; None when it begins.
    """

    step: RevisionStep | None
    revision: Revision
    direction: Direction
    progress: Progress | None = None


OnStep = Callable[[StepProgress], None]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run has done.

    Attributes:
        revisions: The revisions that were applied or undone, in this order.
        stopped: The error of an operation that stopped before the requested phase; None if all was
            done.
    """

    revisions: tuple[Revision, ...] = ()
    stopped: MigrationStoppedError | None = None


@dataclass(slots=True)
class StepCheckpoint:
    """The checkpoint of the running step; see `Checkpoint`."""

    lock: RunnerLock
    begun: Position
    position: Mapping[str, str] = field(default_factory=dict[str, str])
    interrupted: Mapping[str, str] | None = None

    def save(self, position: Mapping[str, str]) -> None:
        """Save a position in the history.

        Raises:
            LockLostError: Another runner has taken over; nothing was saved.
        """
        saved = dict(position)
        moved = Position(
            self.begun.revision,
            self.begun.direction,
            self.begun.step,
            self.begun.operations,
            saved,
        )
        self.lock.record(Change(moves=True, position=moved))
        self.position, self.interrupted = saved, None


class RevisionRunner:
    """Runs the work on revisions, under a lock that is held."""

    def __init__(
        self, engine: Engine, lock: RunnerLock, options: MigrationOptions, on_step: OnStep
    ) -> None:
        """Prepare; nothing is sent."""
        self._engine = engine
        self._lock = lock
        self._options = options
        self._on_step = on_step

    def finish(self, works: Sequence[RevisionWork]) -> Finished:
        """Run the work on revisions one after the other.

        Raises:
            StepFailedError: A step failed; the next run continues at its checkpoint.
            LockLostError: Another runner has taken over; nothing more was recorded.
        """
        done: list[Revision] = []
        for work in works:
            try:
                self._finish(work)
            except MigrationStoppedError as stopped:
                return Finished(tuple(done), stopped)
            done.append(work.revision)
        return Finished(tuple(done))

    def _finish(self, work: RevisionWork) -> None:
        checkpoint = work.checkpoint
        if work.is_continued:
            release_tables(self._engine, work.revision, self._options, self._report_alive)
        for step in work.steps:
            self._on_step(StepProgress(step, work.revision, work.direction))
            try:
                self._run_step(step, checkpoint)
            except HBaseORMError as error:
                raise _located(error, step) from error
            checkpoint = {}
        self._record(work)
        self._on_step(StepProgress(None, work.revision, work.direction))

    def _report_alive(self, _: Progress) -> None:
        self._lock.check()

    def _run_step(self, step: RevisionStep, checkpoint: Mapping[str, str]) -> None:
        operations = tuple(each.describe() for each in step.revision.operations)
        begun = Position(step.revision.id, step.direction, step.index, operations, checkpoint)
        self._lock.record(Change(moves=True, position=begun))
        migration = migration_of(self._engine, step, self._options, self._report_of(step))
        try:
            own, interrupted = own_position(checkpoint)
            step.operation.run(migration, StepCheckpoint(self._lock, begun, own, interrupted))
        except HBaseORMError:
            raise
        except Exception as error:  # the user's functions may raise anything
            raise _failed(step, error) from error

    def _report_of(self, step: RevisionStep) -> Callable[[Progress], None]:
        def report(progress: Progress) -> None:
            self._lock.check()
            self._on_step(StepProgress(step, step.revision, step.direction, progress))

        return report

    def _record(self, work: RevisionWork) -> None:
        revision = work.revision
        applied = AppliedRevision(revision.checksum, self._lock.now_ms, self._lock.holder)
        is_applied = work.direction is Direction.UPGRADE
        change = Change(moves=True, applied={revision.id: applied if is_applied else None})
        self._lock.record(change)


def _silent(_: Progress) -> None:
    """Do nothing: the default function for progress."""


def release_tables(
    engine: Engine,
    revision: Revision,
    options: MigrationOptions | None = None,
    report: Callable[[Progress], None] = _silent,
) -> None:
    """Release the tables of a revision that an interrupted run has left in exclusive use."""
    chosen = options or MigrationOptions()
    migration = Migration(engine, revision.before, revision.after, chosen, report)
    for table in {**revision.before, **revision.after}:
        purpose = f"release of {table} after an interrupted migration"
        MigratedTable(migration, table).end_interrupted_use(purpose)


def migration_of(
    engine: Engine,
    step: RevisionStep,
    options: MigrationOptions,
    report: Callable[[Progress], None],
) -> Migration:
    """Return what an operation gets; for a downgrade the declarations are exchanged."""
    before, after = step.revision.before, step.revision.after
    if step.direction is Direction.DOWNGRADE:
        before, after = after, before
    return Migration(engine, before, after, options, report)


def _located(error: HBaseORMError, step: RevisionStep) -> HBaseORMError:
    """Return an error that names the revision and the step."""
    if not isinstance(error, MigrationError):
        return _failed(step, error)
    where: dict[str, Any] = {"revision": step.revision.id, "step": step.number}
    return type(error)(error.text, fix=error.fix, **where | error.details)


def _failed(step: RevisionStep, error: Exception) -> StepFailedError:
    fix = error.fix if isinstance(error, HBaseORMError) else ""
    again = f"run 'hbase-orm {step.direction.value}' again: it continues at this step"
    return StepFailedError(
        "a step of the migration failed",
        revision=step.revision.id,
        step=step.number,
        operation=step.operation.describe(),
        error=f"{type(error).__name__}: {error}",
        fix=f"{fix}; then {again}" if fix else again,
    )
