"""Migrations are applied and undone step by step, whatever ends a runner."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm import Engine
from hbase_orm.binding.runtime import Runtime
from hbase_orm.gateway.base import Gateway
from hbase_orm.migrate import LockHeldError, Migrations, Revision, RunPython
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import CreateTable, FamilyDescriptor, TableDescriptor
from hbase_orm.session.engine import runtime_of
from tests.support.revisions import (
    EFFECTS,
    TABLE,
    FillRows,
    Listed,
    effects_in,
    history_in,
    revision_of,
)
from tests.support.shop_processes import Clock, CrashError, Process, crash_at
from tests.support.store import Store

LEASE_S = 3.0

LINE = (
    revision_of("a", operations=[FillRows("a1", 2), FillRows("a2", 2)]),
    revision_of(
        "b", "a", operations=[FillRows("b1", 2), RunPython(lambda _: None, lambda _: None)]
    ),
    revision_of("c", "b"),
)
FILLED = ["a1-0", "a1-1", "a2-0", "a2-1", "b1-0", "b1-1"]


def prepare(engine: Engine) -> None:
    name = f"{engine.options.namespace}:{EFFECTS}" if engine.options.namespace else EFFECTS
    table = TableDescriptor(name, (FamilyDescriptor(b"d"),))
    runtime_of(engine).run(create_if_missing(CreateTable(table)))


def runner(store: Store, gateway: Gateway, revisions: tuple[Revision, ...] = LINE) -> Migrations:
    """Return the migrations of another process, with a short lease."""
    options = replace(store.engine.options, lease_s=LEASE_S)
    return Migrations(Engine(gateway, options), Listed(revisions=revisions))


def patient_runner(store: Store, gateway: Gateway) -> Migrations:
    """Return the migrations of another process, whose clock moves only in waits."""
    engine, clock = Engine(gateway, store.engine.options), Clock()
    engine._runtime = Runtime(gateway, parallel=1, monotonic_s=clock, sleep=clock.sleep)
    return Migrations(engine, Listed(revisions=LINE))


def inner(store: Store) -> Process:
    return Process(store.sent.inner)


def filled(store: Store) -> list[str]:
    """Return the rows that the steps of `LINE` have put."""
    return sorted(effects_in(store.sent.inner, store.named(EFFECTS)).keys() & set(FILLED))


def applied(store: Store) -> list[str]:
    return sorted(history_in(store.sent.inner, store.named(TABLE)).applied)


@pytest.fixture(autouse=True)
def at_base(store: Store) -> None:
    """Undo everything: the tests share the tables."""
    patient_runner(store, inner(store)).stamp("head")
    patient_runner(store, inner(store)).downgrade("base")


def test_up_down_up(store: Store) -> None:
    runner(store, inner(store)).upgrade()
    up = filled(store), applied(store)
    runner(store, inner(store)).downgrade("a")
    down = filled(store), applied(store)
    runner(store, inner(store)).upgrade()

    assert up == (FILLED, ["a", "b", "c"])
    assert down == (FILLED[:4], ["a"])
    assert (filled(store), applied(store)) == up


@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_downgrade", [False, True])
def test_a_run_that_is_killed_at_any_request_goes_on(store: Store, *, is_downgrade: bool) -> None:
    def act(migrations: Migrations) -> Any:
        return migrations.downgrade("base") if is_downgrade else migrations.upgrade()

    def prepare_run() -> None:
        if is_downgrade:
            patient_runner(store, inner(store)).upgrade()
        else:
            patient_runner(store, inner(store)).downgrade("base")

    expected = ([], []) if is_downgrade else (FILLED, ["a", "b", "c"])
    at = 0
    while True:
        prepare_run()
        try:
            act(patient_runner(store, Process(store.sent.inner, crash_at(at))))
        except CrashError:
            at += 1
        else:
            break
        act(patient_runner(store, inner(store)))
        assert (filled(store), applied(store)) == expected, at
        assert history_in(store.sent.inner, store.named(TABLE)).position is None
    assert at > 20


def test_of_several_runners_at_once_one_works(store: Store) -> None:
    runs: list[str] = []
    outcomes: list[str] = []

    def noting(name: str) -> Callable[[int], None]:
        return lambda row: runs.append(f"{name}-{row}")

    revisions = (
        revision_of("a", operations=[FillRows("many", 6, before_row=noting("many"))]),
        revision_of("b", "a", operations=[FillRows("more", 2, before_row=noting("more"))]),
        LINE[2],
    )

    def upgrade() -> None:
        try:
            runner(store, inner(store), revisions).upgrade()
        except LockHeldError as error:
            outcomes.append(f"held by {error.holder.partition(',')[0]}")
        else:
            outcomes.append("done")

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert "done" in outcomes
    assert set(outcomes) <= {"done", "held by upgrade head"}
    assert len(runs) == len(set(runs)) == 8
    assert applied(store) == ["a", "b", "c"]
