"""Counters of moving rows that are deleted, older than their TTL, or sent for under an old lease."""

from __future__ import annotations

import time
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import Engine, func, select
from hbase_orm.errors import ConnectionLostError, RetryableError, SchemaDriftError
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.ops import Increment, Operation
from tests.support.backends import Backend
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    Revision,
    Saved,
    with_short_lease,
    with_short_waits,
)
from tests.support.moved_pages import (
    ROWS,
    Beside,
    StandsStill,
    check,
    count,
    filled,
    moved,
    new_class,
    old_class,
    phase,
    place,
)
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")

FEWEST_REQUESTS = 4


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"pages_{uuid4().hex[:8]}"


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("is_old", [False, True], ids=["new class", "old class"])
def test_an_increment_that_stood_still_goes_on_although_another_thread_renewed_the_lease(
    tables: Engine, name: str, *, is_old: bool
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    made, operation = Revision(tables, (old,), (new,)), RekeyTable(name, new_table=f"{name}_2")
    saved = Saved()
    with pytest.raises(MigrationStoppedError):
        operation.run(made.migration(stop_before="prepared", gateway_timeout_s=0.0), saved)

    def meanwhile() -> None:
        time.sleep(SHORT_LEASE_S)
        operation.run(made.migration(gateway_timeout_s=0.0), saved)
        with program.session() as session:
            if is_old:
                with pytest.raises(SchemaDriftError):
                    session.get(old, **place(2))
            else:
                session.get(new, **place(2))

    program = with_short_lease(through(StandsStill(gateway_of(tables), meanwhile), tables))
    with program.session() as session:
        if is_old:
            with pytest.raises(SchemaDriftError):
                session.increment(old, old.hits.by(5), **place(2))
        else:
            assert list(session.increment(new, new.hits.by(5), **place(2))) == [ledger[2][0] + 5]


def test_deleted_rows_begin_again_without_counters_in_every_phase(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    after = with_short_lease(backend.another(tables))
    seen: dict[str, int] = {}

    def act(report: int) -> None:
        time.sleep(SHORT_LEASE_S)
        now = phase(tables, f"{name}_2")
        n = report % ROWS
        if now == "none":
            return
        with after.session() as session:
            row = session.get(new, **place(n))
            assert row is not None
            session.delete(row)
            session.flush()
            assert session.get(new, **place(n)) is None
            session.add(new(**place(n), title=f"t{n % 4}"))
            session.flush()
        with after.session() as session:
            again: Any = session.get(new, **place(n))
            assert [again.hits, again.errors] == [0, 0]
            ledger[n] = [0, 0]
            count(after, new, ledger, n, 50)
            counted = select(func.count(), func.sum(new.hits)).allow_full_scan()
            assert session.all(counted) == [(ROWS, sum(hits for hits, _ in ledger.values()))]
        seen[now] = n

    moved(Revision(tables, (old,), (new,)), name, Beside(act))

    assert seen.keys() >= {"INDEXING", "PREPARED", "MOVING"}
    time.sleep(SHORT_LEASE_S)
    check(after, new, ledger)


class LosesAnswers(RecordsRequests):
    """Executes some requests before an increment, and then loses every answer until it."""

    left: int

    def execute(self, request: Operation[R], /) -> R:
        self.left -= 1
        answer = super().execute(request)
        if self.left < 0 and not isinstance(request, Increment):
            raise ConnectionLostError("no answer")
        return answer


@pytest.mark.only_on("memory")
def test_no_lost_request_before_an_increment_makes_its_outcome_unknown(
    tables: Engine, name: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    failures: dict[str, int] = {}

    def failures_of(row: int) -> int:
        """Increment a counter until every request is answered; return how often one was not."""
        failed = 0
        while True:
            gateway = LosesAnswers(gateway_of(tables))
            gateway.left = failed
            with with_short_lease(through(gateway, tables)).session() as session:
                try:
                    values = session.increment(new, new.hits.by(5), **place(row))
                except RetryableError:
                    failed += 1
                else:
                    ledger[row][0] += 5
                    assert list(values) == [ledger[row][0]]
                    return failed

    def act(report: int) -> None:
        now = phase(tables, f"{name}_2")
        if now != "none":
            failures[now] = max(failures.get(now, 0), failures_of(ROWS - 1 - report % ROWS))

    moved(Revision(tables, (old,), (new,)), name, Beside(act))

    assert failures.keys() >= {"INDEXING", "PREPARED", "MOVING"}
    assert failures["MOVING"] >= FEWEST_REQUESTS
    check(with_short_lease(through(gateway_of(tables), tables)), new, ledger)
