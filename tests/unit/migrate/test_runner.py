"""A run goes step by step, leaves an exact position, and goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import ConfigurationError, MigrationError, TableExistsError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.migrate import (
    Direction,
    EditedRevisionError,
    InterruptedRevisionError,
    IrreversibleStepError,
    LockHeldError,
    LockLostError,
    MigrationOptions,
    MigrationPlan,
    Migrations,
    MigrationStoppedError,
    Operation,
    Position,
    Progress,
    Revision,
    RevisionGraphError,
    RunPython,
    StepFailedError,
    StepProgress,
)
from hbase_orm.migrate.runner_lock import RunnerLock
from hbase_orm.ops import CheckAndMutate
from tests.support.recording import LosesAnswers
from tests.support.revisions import (
    Fails,
    FillRows,
    Listed,
    effects_in,
    engine_of,
    history_in,
    memory,
    recorded_cells,
    revision_of,
    runner_on,
)
from tests.support.shop_processes import Clock, CrashError, Process, crash_at, engine_on

A = revision_of("a", operations=[FillRows("a1"), FillRows("a2", 2)])
B = revision_of(
    "b",
    "a",
    operations=[FillRows("b1", 2, b"new"), RunPython(lambda _: None, lambda _: None)],
)
C = revision_of("c", "b")
LINE = (A, B, C)
ALL = {
    **dict.fromkeys(("a1-0", "a1-1", "a1-2", "a2-0", "a2-1"), b"x"),
    **dict.fromkeys(("b1-0", "b1-1"), b"new"),
}


def applied_in(gateway: Gateway) -> list[str]:
    return sorted(history_in(gateway).applied)


def test_all_steps_run_in_order_and_each_revision_is_recorded() -> None:
    gateway = memory()
    seen: list[tuple[str, int | None]] = []

    def note(progress: StepProgress) -> None:
        if progress.progress is None:
            step = progress.step
            seen.append((progress.revision.id, None if step is None else step.number))

    finished = runner_on(gateway, *LINE).upgrade(on_step=note)

    assert [each.id for each in finished.revisions] == ["a", "b", "c"]
    assert seen == [("a", 1), ("a", 2), ("a", None), ("b", 1), ("b", 2), ("b", None), ("c", None)]
    assert effects_in(gateway) == ALL
    assert applied_in(gateway) == ["a", "b", "c"]
    assert history_in(gateway).position is None
    assert history_in(gateway).applied["a"].by.startswith("upgrade head, process ")


def test_what_is_applied_is_not_run_again() -> None:
    gateway = memory()
    runner_on(gateway, *LINE).upgrade("+1")
    before = recorded_cells(gateway)

    again = runner_on(gateway, *LINE).upgrade("a")

    assert (again.revisions, recorded_cells(gateway)) == ((), before)
    assert runner_on(gateway, *LINE).current().heads == ("a",)
    assert [each.id for each in runner_on(gateway, *LINE).upgrade().revisions] == ["b", "c"]


def test_a_downgrade_undoes_the_last_step_first() -> None:
    gateway = memory()
    runner_on(gateway, *LINE).upgrade()
    seen: list[tuple[str, int, str]] = []

    def note(progress: StepProgress) -> None:
        if progress.step is not None and progress.progress is None:
            step = progress.step
            seen.append((step.revision.id, step.number, step.operation.describe()))

    runner_on(gateway, *LINE).downgrade("base", on_step=note)

    assert [each[:2] for each in seen] == [("b", 2), ("b", 1), ("a", 2), ("a", 1)]
    assert effects_in(gateway) == {}
    assert applied_in(gateway) == []
    assert runner_on(gateway, *LINE).current().heads == ()


def test_up_down_up_ends_as_up() -> None:
    once, thrice = memory(), memory()
    runner_on(once, *LINE).upgrade()

    for act in ("upgrade", "downgrade", "upgrade"):
        runner = runner_on(thrice, *LINE)
        runner.upgrade() if act == "upgrade" else runner.downgrade("base")

    assert effects_in(thrice) == effects_in(once) == ALL
    assert applied_in(thrice) == applied_in(once)


# --- crashes --------------------------------------------------------------------------------------

Act = Callable[[Migrations], Any]


def _up(migrations: Migrations) -> Any:
    return migrations.upgrade()


def _down(migrations: Migrations) -> Any:
    return migrations.downgrade("base")


def _down_one(migrations: Migrations) -> Any:
    return migrations.downgrade("a")


def _state(gateway: Gateway) -> tuple[object, ...]:
    history = history_in(gateway)
    names = {name: each.checksum for name, each in history.applied.items()}
    return effects_in(gateway), names, history.position


def _prepared(before: Act | None) -> MemoryGateway:
    gateway = memory()
    if before is not None:
        before(runner_on(gateway, *LINE))
    return gateway


@pytest.mark.parametrize(
    ("before", "act", "then"),
    [
        (None, _up, _up),
        (_up, _down, _down),
        (None, _up, _down),
        (_up, _down, _up),
        (_up, _down_one, _down_one),
    ],
    ids=["up-up", "down-down", "up-down", "down-up", "one-one"],
)
def test_a_run_that_is_killed_at_any_request_goes_on_from_there(
    before: Act | None, act: Act, then: Act
) -> None:
    expected = _prepared(before)
    act(runner_on(expected, *LINE))
    if then is not act:
        then(runner_on(expected, *LINE))
    at = 0
    while True:
        gateway, clock = _prepared(before), Clock()
        process = Process(gateway, crash_at(at))
        try:
            act(Migrations(engine_on(process, clock), Listed(revisions=LINE)))
        except CrashError:
            at += 1
        else:
            break
        runs: list[str] = []
        try:
            then(_noting(gateway, runs))
        except RevisionGraphError:  # nothing was applied at the crash
            assert then is _down_one
        assert _state(gateway) == _state(expected), at
        assert len(runs) == len(set(runs))
    assert at > 12


def _noting(gateway: Gateway, runs: list[str]) -> Migrations:
    """Return the migrations of the next process, which notes each row that a step fills."""

    def noted(operation: Operation) -> Operation:
        if not isinstance(operation, FillRows):
            return operation
        return replace(operation, before_row=lambda row: runs.append(f"{operation.name}-{row}"))

    revisions = [replace(each, operations=tuple(map(noted, each.operations))) for each in LINE]
    return runner_on(gateway, *revisions)


def test_a_run_that_is_killed_again_and_again_ends_all_the_same() -> None:
    gateway, rounds = memory(), 0
    for rounds in range(1, 100):
        process = Process(gateway, crash_at(16 + rounds % 3))  # a takeover takes 12
        try:
            Migrations(engine_on(process, Clock()), Listed(revisions=LINE)).upgrade()
        except CrashError:
            continue
        break

    assert rounds > 3
    assert effects_in(gateway) == ALL
    assert applied_in(gateway) == ["a", "b", "c"]


def test_a_crash_leaves_the_exact_position() -> None:
    gateway = memory()

    def crash(row: int) -> None:
        if row == 1:
            raise CrashError

    broken = revision_of("a", operations=[FillRows("a1"), FillRows("a2", 2, before_row=crash)])
    with pytest.raises(CrashError):
        runner_on(gateway, broken).upgrade()

    assert history_in(gateway).position == Position(
        "a", Direction.UPGRADE, 1, ("fill a1", "fill a2"), {"next": "1"}
    )
    assert runner_on(gateway, A).plan(Direction.UPGRADE, "head").steps[0].is_continued


def test_lost_answers_of_the_history_do_not_end_a_run() -> None:
    gateway = memory()
    lossy = LosesAnswers(gateway, lambda request: isinstance(request, CheckAndMutate))

    runner_on(lossy, *LINE).upgrade()

    assert _state(gateway)[0] == ALL


# --- failures -------------------------------------------------------------------------------------


def failing(error: Exception) -> Revision:
    return revision_of("b", "a", operations=[FillRows("b1", 1), Fails(error), FillRows("b3", 1)])


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ValueError("no"), "ValueError: no"),
        (
            TableExistsError("the table exists", table="t", fix="drop it"),
            "TableExistsError: the table",
        ),
    ],
)
def test_a_failed_step_is_named_and_runs_again(error: Exception, shown: str) -> None:
    gateway = memory()
    with pytest.raises(StepFailedError, match="step of the migration failed") as caught:
        runner_on(gateway, A, failing(error)).upgrade()
    position = history_in(gateway).position

    details = caught.value
    assert (details.revision, details.step, details.operation) == ("b", 2, "fail")
    assert details.error.startswith(shown)
    assert "run 'hbase-orm upgrade' again" in details.fix
    assert position is not None
    assert (position.revision, position.step) == ("b", 1)

    corrected = revision_of(
        "b", "a", operations=[FillRows("b1", 1), Fails(error), FillRows("b3", 1)]
    )
    with pytest.raises(StepFailedError):
        runner_on(gateway, A, corrected).upgrade()


def test_a_migration_error_of_a_step_gets_its_place() -> None:
    error = MigrationError("the target exists", table="t")

    with pytest.raises(MigrationError, match="the target exists") as caught:
        runner_on(memory(), A, failing(error)).upgrade()

    assert (caught.value.revision, caught.value.step, caught.value.table) == ("b", 2, "t")
    assert type(caught.value) is MigrationError


def test_a_half_done_revision_can_be_undone() -> None:
    gateway = memory()
    with pytest.raises(StepFailedError):
        runner_on(gateway, A, failing(ValueError("no"))).upgrade()

    runner_on(gateway, A, failing(ValueError("no"))).downgrade("-1")

    assert runner_on(gateway, A).current().heads == ("a",)
    assert "b1-0" not in effects_in(gateway)
    assert effects_in(gateway)["undone-0"] == b"x"


def test_later_steps_of_a_half_done_revision_may_be_corrected_and_earlier_ones_not() -> None:
    gateway = memory()
    with pytest.raises(StepFailedError):
        runner_on(gateway, A, failing(ValueError("no"))).upgrade()
    one, two, three = failing(ValueError("no")).operations
    other_first = revision_of("b", "a", operations=[FillRows("other", 1), two, three])
    other_last = revision_of(
        "b", "a", operations=[one, Fails(ValueError("no")), FillRows("other", 1)]
    )

    with pytest.raises(EditedRevisionError, match="half done") as caught:
        runner_on(gateway, A, other_first).upgrade()
    assert (caught.value.revision, caught.value.step) == ("b", 2)
    with pytest.raises(StepFailedError):
        runner_on(gateway, A, other_last).upgrade()


def test_another_target_than_a_half_done_revision_is_refused() -> None:
    gateway = memory()
    other = revision_of("x")
    with pytest.raises(StepFailedError):
        runner_on(gateway, A, failing(ValueError("no"))).upgrade("b")

    acts: tuple[Act, ...] = (
        lambda m: m.upgrade("x"),
        lambda m: m.upgrade("a"),
        lambda m: m.downgrade("b"),
    )
    for act in acts:
        with pytest.raises(InterruptedRevisionError) as caught:
            act(runner_on(gateway, A, failing(ValueError("no")), other))
        assert (caught.value.revision, caught.value.step) == ("b", 2)


def test_a_half_done_revision_is_finished_before_those_of_other_branches() -> None:
    gateway = memory()
    branches = (revision_of("k", operations=[FillRows("k", 1)]), revision_of("z"))
    broken = revision_of("z", operations=[FillRows("z", 1), Fails(ValueError("no"))])
    with pytest.raises(StepFailedError):
        runner_on(gateway, branches[0], broken).upgrade("z")
    corrected = revision_of("z", operations=[FillRows("z", 1), FillRows("z2", 1)])

    # The step that had failed must stay as it was.
    with pytest.raises(EditedRevisionError):
        runner_on(gateway, branches[0], corrected).upgrade("heads")
    plan = runner_on(gateway, branches[0], broken).plan(Direction.UPGRADE, "heads")

    assert [each.id for each in plan.revisions] == ["z", "k"]


def test_an_edited_applied_revision_is_refused_until_it_is_stamped() -> None:
    gateway = memory()
    runner_on(gateway, A, B).upgrade()
    edited = replace(A, checksum="other")

    acts: tuple[Act, ...] = (_up, lambda m: m.downgrade("-1"))
    for act in acts:
        with pytest.raises(EditedRevisionError) as caught:
            act(runner_on(gateway, edited, B, C))
        assert (caught.value.revision, caught.value.applied) == ("a", "c")
    runner_on(gateway, edited, B, C).stamp("b")

    assert [each.id for each in runner_on(gateway, edited, B, C).upgrade().revisions] == ["c"]


def test_an_applied_revision_without_a_file_is_refused() -> None:
    gateway = memory()
    runner_on(gateway, *LINE).upgrade()

    with pytest.raises(RevisionGraphError, match="has no file here") as caught:
        runner_on(gateway, A).upgrade()

    assert caught.value.revision in {"b", "c"}
    assert set(runner_on(gateway, A).current().missing) == {"b", "c"}


def test_a_step_that_cannot_be_undone_stops_a_downgrade_before_anything_is_undone() -> None:
    gateway = memory()
    one_way = revision_of("b", "a", operations=[RunPython(lambda _: None), FillRows("b2", 1)])
    runner_on(gateway, A, one_way).upgrade()
    before = effects_in(gateway)

    with pytest.raises(IrreversibleStepError) as caught:
        runner_on(gateway, A, one_way).downgrade("base")

    assert (caught.value.revision, caught.value.step) == ("b", 1)
    assert "no backward function" in caught.value.reason
    assert effects_in(gateway) == before
    assert applied_in(gateway) == ["a", "b"]


def test_a_step_may_stop_before_a_phase() -> None:
    gateway = memory()

    def move(engine: object, checkpoint: Any) -> None:
        del engine
        checkpoint.save({"phase": "prepared"})
        raise MigrationStoppedError("stopped before the phase", phase="moving")

    stops = revision_of("b", "a", operations=[RunPython(move)])
    finished = runner_on(gateway, A, stops).upgrade(options=MigrationOptions(stop_before="moving"))

    assert [each.id for each in finished.revisions] == ["a"]
    assert finished.stopped is not None
    assert (finished.stopped.revision, finished.stopped.step) == ("b", 1)
    position = history_in(gateway).position
    assert position is not None
    assert position.checkpoint == {"phase": "prepared"}


# --- several runners ------------------------------------------------------------------------------


class ShowsItsLock(Migrations):
    """Migrations whose lock the tests can use as the thread that renews it does."""

    shown: RunnerLock

    def _lock(self, purpose: str) -> RunnerLock:
        self.shown = super()._lock(purpose)
        return self.shown


def showing(gateway: Gateway, *revisions: Revision) -> ShowsItsLock:
    return ShowsItsLock(engine_of(gateway), Listed(revisions=revisions))


def test_a_second_runner_is_refused_while_the_first_works() -> None:
    gateway, clock, refused = memory(), Clock(), list[LockHeldError]()

    def renew() -> None:
        assert first.shown._renew()

    def second(row: int) -> None:
        if row == 1:
            clock.on_sleep = [renew]
            with pytest.raises(LockHeldError) as caught:
                runner_on(gateway, *LINE, clock=clock).upgrade()
            refused.append(caught.value)

    busy = revision_of("a", operations=[FillRows("a1", before_row=second), FillRows("a2", 2)])
    first = showing(gateway, busy, B, C)
    first.upgrade()

    assert [error.holder for error in refused] == [first.shown.holder]
    assert effects_in(gateway) == ALL


def test_a_runner_that_is_paused_through_a_takeover_records_nothing() -> None:
    gateway, after = memory(), list[dict[bytes, tuple[bytes, int]]]()

    def take_over(row: int) -> None:
        if row == 1:  # as if the first runner had been suspended here
            runner_on(gateway, *LINE).upgrade()
            after.append(recorded_cells(gateway))

    paused = revision_of("a", operations=[FillRows("a1", before_row=take_over), FillRows("a2", 2)])
    with pytest.raises(LockLostError) as caught:
        runner_on(gateway, paused, B, C).upgrade()

    assert (caught.value.revision, caught.value.step) == ("a", 1)
    assert [recorded_cells(gateway)] == after
    assert effects_in(gateway) == ALL


def test_a_runner_that_knows_that_it_was_replaced_stops_when_it_reports() -> None:
    gateway, after = memory(), list[str]()

    def work(engine: Any) -> None:
        del engine

    class Reports(RunPython):
        def run(self, migration: Any, checkpoint: Any) -> None:
            del checkpoint
            runner_on(gateway, A).stamp("base")
            migrations.shown._renew()
            migration.report(Progress("rows", 1, None, None))
            after.append("worked on")

    migrations = showing(gateway, revision_of("a", operations=[Reports(work)]))
    with pytest.raises(LockLostError):
        migrations.upgrade()

    assert after == []


# --- plans, stamps, branches ----------------------------------------------------------------------


def test_a_plan_shows_every_step_and_changes_nothing() -> None:
    gateway = memory()
    one_way = revision_of("b", "a", operations=[RunPython(lambda _: None)])

    plan = runner_on(gateway, A, one_way).plan(
        Direction.UPGRADE, "head", options=MigrationOptions(rows_per_second=2.0)
    )

    assert [each.id for each in plan.revisions] == ["a", "b"]
    assert [each.step.operation.describe() for each in plan.steps] == [
        "fill a1",
        "fill a2",
        "run <lambda>",
    ]
    first = plan.steps[0].estimate
    assert (first.tables, first.rows, first.requests, first.seconds) == (("effects",), 3, 6, 1.5)
    assert [each.step.revision.id for each in plan.irreversible] == ["b"]
    assert history_in(gateway).lock is None


def test_a_plan_that_is_not_confirmed_runs_nothing() -> None:
    gateway = memory()

    def refuse(plan: MigrationPlan) -> None:
        assert len(plan.steps) == 4
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner_on(gateway, *LINE).upgrade(confirm=refuse)

    assert (effects_in(gateway), applied_in(gateway)) == ({}, [])
    lock = history_in(gateway).lock
    assert lock is not None
    assert not lock.is_held


def test_a_stamp_records_exactly_the_named_revisions() -> None:
    gateway = memory()
    runner_on(gateway, *LINE).upgrade("a")

    assert runner_on(gateway, *LINE).stamp("c").heads == ("c",)
    assert effects_in(gateway).keys() == {"a1-0", "a1-1", "a1-2", "a2-0", "a2-1"}
    applied = history_in(gateway).applied
    assert {name: each.is_stamped for name, each in applied.items()} == {
        "a": False,
        "b": True,
        "c": True,
    }
    assert runner_on(gateway, *LINE).stamp("base").heads == ()
    assert applied_in(gateway) == []


def test_a_stamp_forgets_an_interrupted_position() -> None:
    gateway = memory()
    with pytest.raises(StepFailedError):
        runner_on(gateway, A, failing(ValueError("no"))).upgrade()

    runner_on(gateway, A, failing(ValueError("no"))).stamp("b")

    assert history_in(gateway).position is None
    assert applied_in(gateway) == ["a", "b"]


def test_branches_are_applied_and_undone_one_by_one() -> None:
    gateway = memory()
    left, right = revision_of("l", "a", operations=[FillRows("l", 1)]), revision_of("r", "a")
    joined = revision_of("m", "l", "r")
    graph = (A, left, right, joined)
    runner_on(gateway, *graph).upgrade("l")

    assert runner_on(gateway, *graph).current().heads == ("l",)
    assert [each.id for each in runner_on(gateway, *graph).upgrade().revisions] == ["r", "m"]
    runner_on(gateway, *graph).downgrade("r")
    assert runner_on(gateway, *graph).current().heads == ("l", "r")
    runner_on(gateway, *graph).downgrade("a")
    assert runner_on(gateway, *graph).current().heads == ("a",)


def test_the_declarations_are_exchanged_for_a_downgrade() -> None:
    seen: list[tuple[Any, Any]] = []

    class Notes(RunPython):
        def run(self, migration: Any, checkpoint: Any) -> None:
            del checkpoint
            seen.append((migration.before, migration.after))

        def reverse(self) -> Operation:
            return self

    one: Any = {"t": 1}
    two: Any = {"t": 2}
    revision = replace(revision_of("a", operations=[Notes(print)]), before=one, after=two)
    gateway = memory()
    runner_on(gateway, revision).upgrade()
    runner_on(gateway, revision).downgrade("base")

    assert seen == [({"t": 1}, {"t": 2}), ({"t": 2}, {"t": 1})]


def test_a_function_may_take_the_checkpoint() -> None:
    gateway, seen = memory(), list[dict[str, str]]()

    def forward(engine: Any, checkpoint: Any) -> None:
        del engine
        seen.append(dict(checkpoint.position))
        if not seen[1:]:
            checkpoint.save({"at": "7"})
            raise ValueError

    revision = revision_of("a", operations=[RunPython(forward)])
    with pytest.raises(StepFailedError):
        runner_on(gateway, revision).upgrade()
    runner_on(gateway, revision).upgrade()

    assert seen == [{}, {"at": "7"}]


def test_a_function_with_other_arguments_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="takes other arguments"):
        RunPython(lambda: None)
    with pytest.raises(ConfigurationError, match="takes other arguments"):
        RunPython(lambda _: None, lambda _a, _b, _c: None)


def test_the_history_is_in_the_namespace_of_the_engine() -> None:
    engine = engine_of(memory())
    engine.options = replace(engine.options, namespace="shop")

    Migrations(engine, Listed(revisions=(C.__class__("c"),))).upgrade()

    (table,) = [each.name for each in engine.tables() if each.kind == "migrations"]
    assert table == "shop:hbase_orm_migrations"
