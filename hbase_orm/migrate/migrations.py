"""The migrations of one engine: upgrade, downgrade, stamp, and what was applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import MigrationError, TableNotFoundError
from hbase_orm.migrate.graph import RevisionGraph
from hbase_orm.migrate.history import (
    AppliedRevision,
    Change,
    MigrationHistory,
    history_table,
    read_history,
)
from hbase_orm.migrate.operations.operation import (
    Estimate,
    Irreversible,
    MigrationOptions,
    Progress,
)
from hbase_orm.migrate.planning import (
    MigrationPlan,
    PlannedStep,
    RevisionStep,
    RevisionWork,
    downgrade_work,
    upgrade_work,
)
from hbase_orm.migrate.revisions import Direction
from hbase_orm.migrate.runner import (
    Finished,
    OnStep,
    RevisionRunner,
    StepProgress,
    migration_of,
    release_tables,
)
from hbase_orm.migrate.runner_lock import RunnerLock
from hbase_orm.migrate.scripts import Scripts
from hbase_orm.migrate.targets import named_revisions
from hbase_orm.session import Engine
from hbase_orm.session.engine import runtime_of

Decide = Callable[[RevisionGraph, MigrationHistory, str], list[RevisionWork]]
Confirm = Callable[[MigrationPlan], None]

_DECIDED_BY: Mapping[Direction, Decide] = {
    Direction.UPGRADE: upgrade_work,
    Direction.DOWNGRADE: downgrade_work,
}


def _silent_step(_: StepProgress) -> None:
    """Do nothing: the default function for progress."""


def _silent_report(_: Progress) -> None:
    """Do nothing: estimates report nothing."""


def _silent_wait() -> None:
    """Do nothing: the default function for waits."""


def _confirmed(_: MigrationPlan) -> None:
    """Agree: the default."""


@dataclass(frozen=True, slots=True)
class Current:
    """What is applied.

    Attributes:
        heads: The applied revisions that no other applied revision follows; those without a file
            too.
        missing: The applied revisions that have no file.
        history: The history.
    """

    heads: tuple[str, ...]
    missing: tuple[str, ...]
    history: MigrationHistory


class Migrations:
    """The migrations of the tables of one engine."""

    def __init__(
        self, engine: Engine, scripts: Scripts, *, on_wait: Callable[[], None] = _silent_wait
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            engine: The engine. To change anything it needs a Thrift2 gateway.
            scripts: The folder of the revisions.
            on_wait: A function that is called during waits for the lock of another runner.
        """
        self._engine = engine
        self._scripts = scripts
        self._on_wait = on_wait
        self._runner = runtime_of(engine)
        self._table = history_table(engine.options.namespace)

    def upgrade(
        self,
        target: str = "head",
        *,
        options: MigrationOptions | None = None,
        confirm: Confirm = _confirmed,
        on_step: OnStep = _silent_step,
    ) -> Finished:
        """Apply all revisions up to a target; an interrupted run continues where it stopped.

        Args:
            target: "head", "heads", "+N", or a revision or the beginning of its name.
            options: How the operations work.
            confirm: A function that gets the plan, under the lock, before anything is run. It may
                raise an error.
            on_step: A function that is called with the progress.

        Raises:
            LockHeldError: Another runner is at work.
            StepFailedError: A step failed; the next run continues at its checkpoint.
            MigrationError: The revisions or the target are wrong; nothing was run.
        """
        return self._finish(Direction.UPGRADE, target, options, confirm, on_step)

    def downgrade(
        self,
        target: str,
        *,
        options: MigrationOptions | None = None,
        confirm: Confirm = _confirmed,
        on_step: OnStep = _silent_step,
    ) -> Finished:
        """Undo the applied revisions after a target, the last one first; else like `upgrade`.

        Args:
            target: "base", "-N", or a revision or the beginning of its name, which stays.
            options: How the operations work.
            confirm: As for `upgrade`.
            on_step: As for `upgrade`.

        Raises:
            IrreversibleStepError: A step cannot be undone; nothing was undone.
            LockHeldError: Another runner is at work.
            StepFailedError: A step failed; the next run continues at its checkpoint.
            MigrationError: The revisions or the target are wrong; nothing was run.
        """
        return self._finish(Direction.DOWNGRADE, target, options, confirm, on_step)

    def plan(
        self, direction: Direction, target: str, *, options: MigrationOptions | None = None
    ) -> MigrationPlan:
        """Return what an upgrade or a downgrade would do; nothing is changed, no lock is taken.

        Raises:
            MigrationError: As for `upgrade` and `downgrade`.
        """
        works = _DECIDED_BY[direction](self._scripts.graph(), self.history(), target)
        return self._plan(works, options or MigrationOptions())

    def stamp(self, *names: str) -> Current:
        """Record exactly these revisions and those before them as applied; nothing is run.

        An interrupted position is forgotten, and edited files are recorded as they are. Tables that
        its run has left in exclusive use are released.

        Args:
            names: Each is "head", "heads", "base" (nothing is applied) or a revision.

        Raises:
            RevisionGraphError: A name means none or several; nothing was recorded.
            LockHeldError: Another runner is at work.
        """
        graph = self._scripts.graph()
        wanted = graph.with_ancestors(named_revisions(graph, *names))
        with self._lock(f"stamp {' '.join(names)}") as lock:
            known = lock.history.applied
            stamped: dict[str, AppliedRevision | None] = dict.fromkeys(known.keys() - wanted)
            for name in wanted:
                checksum = graph.revisions[name].checksum
                old = known.get(name)
                new = AppliedRevision(checksum, lock.now_ms, lock.holder, is_stamped=True)
                stamped[name] = new if old is None else replace(old, checksum=checksum)
            position = lock.history.position
            if position is not None and position.revision in graph.revisions:
                release_tables(self._engine, graph.revisions[position.revision])
            lock.record(Change(moves=True, applied=stamped))
        return self.current()

    def history(self) -> MigrationHistory:
        """Return the history; it is empty if nothing was ever recorded.

        Raises:
            HistoryError: It is damaged, or of another release.
        """
        return self._runner.run(read_history(self._table))

    def current(self) -> Current:
        """Return what is applied."""
        graph, history = self._scripts.graph(), self.history()
        missing = tuple(name for name in history.applied if name not in graph.revisions)
        return Current((*graph.heads_of(history.applied.keys()), *missing), missing, history)

    def _finish(
        self,
        direction: Direction,
        target: str,
        options: MigrationOptions | None,
        confirm: Confirm,
        on_step: OnStep,
    ) -> Finished:
        graph = self._scripts.graph()
        decide, chosen = _DECIDED_BY[direction], options or MigrationOptions()
        if not decide(graph, self.history(), target):
            return Finished()
        with self._lock(f"{direction.value} {target}") as lock:
            works = decide(graph, lock.history, target)
            confirm(self._plan(works, chosen))
            return RevisionRunner(self._engine, lock, chosen, on_step).finish(works)

    def _lock(self, purpose: str) -> RunnerLock:
        return RunnerLock(
            self._runner, self._table, purpose, now_ms=wall_clock_ms, on_wait=self._on_wait
        )

    def _plan(self, works: list[RevisionWork], options: MigrationOptions) -> MigrationPlan:
        steps: list[PlannedStep] = []
        for work in works:
            for number, step in enumerate(work.steps):
                is_continued = work.is_continued and not number
                estimate = self._estimate(step, options, is_first=not steps and not is_continued)
                steps.append(_planned(step, estimate, is_continued=is_continued))
        return MigrationPlan(tuple(work.revision for work in works), tuple(steps))

    def _estimate(
        self, step: RevisionStep, options: MigrationOptions, *, is_first: bool
    ) -> Estimate:
        """Return what a step will do and take; nothing is known of what a step before it makes."""
        migration = migration_of(self._engine, step, replace(options, dry_run=True), _silent_report)
        try:
            return step.operation.estimate(migration)
        except (MigrationError, TableNotFoundError):
            if is_first:
                raise
            return Estimate((), None, None, None)


def _planned(step: RevisionStep, estimate: Estimate, *, is_continued: bool) -> PlannedStep:
    reverse = step.operation.reverse()
    reason = reverse.reason if isinstance(reverse, Irreversible) else ""
    return PlannedStep(step, estimate, estimate.irreversible or reason, is_continued)
