"""Statements without bounds of time find the months whose rows are still in the old table."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.errors import CatalogLeaseError, RetryableError
from hbase_orm.gateway.base import Gateway
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import SplitTable
from hbase_orm.ops import Increment, ListTables, MutateRow, Operation, Put, RowMutation
from tests.support.migrated_tables import SHORT_LEASE_S, Revision, Saved, with_short_lease
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.split_trips import START, Ledger, Program, filled, monthly_class, old_class

R = TypeVar("R")

OLD, NEW = old_class("trips"), monthly_class("trips_%Y%m")


class Upgrade:
    """The split of a filled table, which goes on from phase to phase."""

    def __init__(self) -> None:
        self.engine = with_short_lease(connect("memory://"))
        self.ledger: Ledger = filled(self.engine, OLD)
        self._made, self._saved = Revision(self.engine, (OLD,), (NEW,)), Saved()

    def until(self, stop_before: str | None = None) -> None:
        options: dict[str, Any] = {"stop_before": stop_before, "gateway_timeout_s": 0.0}
        migration, operation = (
            self._made.migration(**options),
            SplitTable("trips", new_table="trips_%Y%m"),
        )
        if stop_before is None:
            operation.run(migration, self._saved)
            return
        with pytest.raises(MigrationStoppedError):
            operation.run(migration, self._saved)


@pytest.fixture
def upgrade() -> Upgrade:
    return Upgrade()


class AfterListing(RecordsRequests):
    """Goes on with the move when a program has listed the tables, and lets its lease end."""

    def __init__(self, inner: Gateway, upgrade: Upgrade, phases: list[str | None]) -> None:
        super().__init__(inner)
        self.upgrade = upgrade
        self.phases = phases

    def execute(self, operation: Operation[R], /) -> R:
        answer = super().execute(operation)
        if isinstance(operation, ListTables) and self.phases:
            time.sleep(SHORT_LEASE_S)
            self.upgrade.until(self.phases.pop(0))
        return answer


def program(upgrade: Upgrade, *phases: str | None) -> Program:
    gateway = AfterListing(gateway_of(upgrade.engine), upgrade, list(phases))
    return Program(with_short_lease(through(gateway, upgrade.engine)), NEW)


@pytest.mark.parametrize(
    "phases", [("moving",), ("moving", "new"), ("moving", None), ("moving", "new", None)]
)
def test_no_month_is_missed_if_the_move_goes_on_while_the_tables_are_listed(
    upgrade: Upgrade, phases: tuple[str | None, ...]
) -> None:
    upgrade.until("prepared")
    reader = program(upgrade, *phases)

    assert reader.rows() == upgrade.ledger


def test_a_program_whose_lease_ends_at_every_attempt_is_told_so(upgrade: Upgrade) -> None:
    upgrade.until("moving")

    class Slow(RecordsRequests):
        def execute(self, operation: Operation[R], /) -> R:
            if isinstance(operation, ListTables):
                time.sleep(0.06)
            return super().execute(operation)

    engine: Engine = through(Slow(gateway_of(upgrade.engine)), upgrade.engine)
    engine._runtime.catalog.lease_s = 0.05

    with engine.session() as session, pytest.raises(CatalogLeaseError, match="periods that have"):
        session.all(select(NEW).allow_full_scan())


def test_a_write_without_a_guard_is_refused_while_rows_move_to_the_months(upgrade: Upgrade) -> None:
    engine = with_short_lease(upgrade.engine)
    plain = engine._declared_of(NEW).with_table_at(START.replace(day=1, hour=0))
    upgrade.until("moving")
    put = Put(b"d:miles", b"\x00" * 8)
    request = MutateRow(plain.schema.table, RowMutation(b"key", puts=(put,)))

    with pytest.raises(RetryableError, match="have begun to move"):
        engine._runtime.run(engine._runtime.writer.send(request, plain))


class SlowIncrements(RecordsRequests):
    """Answers increments when the lease has ended."""

    def execute(self, operation: Operation[R], /) -> R:
        answer = super().execute(operation)
        if isinstance(operation, Increment):
            time.sleep(SHORT_LEASE_S)
        return answer


@pytest.mark.parametrize("phase", ["new", None])
def test_an_increment_in_the_table_of_a_month_counts_if_its_answer_is_late(
    upgrade: Upgrade, phase: str | None
) -> None:
    upgrade.until(phase)
    gateway = SlowIncrements(gateway_of(upgrade.engine))
    engine = with_short_lease(through(gateway, upgrade.engine))
    (tail, at), (_, _, seats) = next(iter(upgrade.ledger.items()))

    with engine.session() as session:
        session.increment(NEW, NEW.seats.by(7), tail=tail, at=at)
        session.increment(NEW, NEW.seats.by(7), tail="absent", at=at)
        row = session.get(NEW, tail=tail, at=at)

    assert row is not None
    assert row.seats == seats + 7
