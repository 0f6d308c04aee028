"""Many guarded rows in one flush: each under a lease that runs, none at the cost of another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import CatalogLeaseError, ConnectionLostError, FlushError, RetryableError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, CatalogView
from hbase_orm.index.catalog.lease import LEASE_S
from hbase_orm.ops import CheckAndMutate, GetRows, MutateRows, Operation
from hbase_orm.writing.send import BATCH_BYTES
from tests.support.recording import FailsBeforeSending, RecordsRequests, batches_of

R = TypeVar("R")

NOTHING: Callable[[Operation[Any]], None] = lambda _: None  # noqa: E731  # a constant


class Part(Model, table="part"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str] = column(d)
    text: Mapped[bytes] = column(d, default=b"")
    by_unit = Index(unit, include=[text])


class Plan(Model, table="plan"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str] = column(d)
    by_unit = Index(unit)


class SlowChanges(RecordsRequests):
    """Takes a second of its own clock for each row change, and asks for leave when one comes."""

    def __init__(self) -> None:
        super().__init__(MemoryGateway())
        self.now_s = 1000.0
        self.catalog = CatalogView(lambda: self.now_s, LEASE_S)
        self.refused: list[float] = []
        self._lock = threading.Lock()

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CheckAndMutate) and operation.table == "part":
            with self._lock:
                self._look()
                self.now_s += 1.0
        return super().execute(operation)

    def _look(self) -> None:
        try:
            self.catalog.permit("part")
        except CatalogLeaseError:
            self.refused.append(self.now_s)


def engine_on(gateway: RecordsRequests) -> Engine:
    engine = Engine(gateway, EngineOptions(scheme="memory"))
    engine.create_tables(Part, Plan)
    return engine


def requests_of_catalog(gateway: RecordsRequests) -> list[type]:
    return [type(each) for each in gateway.requests if getattr(each, "table", "") == CATALOG_TABLE]


def test_no_row_is_changed_after_the_lease_ran_out_however_long_the_others_take() -> None:
    gateway = SlowChanges()
    engine = engine_on(gateway)
    engine._runtime.catalog.leases = gateway.catalog
    engine._runtime.catalog.monotonic_s = lambda: gateway.now_s
    session = engine.session()
    # One at a time here; with more, what is under way may end after the lease, as it always may.
    engine._runtime._driver.parallel = 1
    session.add(Part(name="first", unit="u"))
    session.flush()
    session.add_all(Part(name=f"{n}", unit="u") for n in range(100))

    report = session.flush()

    assert report.written == 100
    assert gateway.now_s == 1101.0
    assert gateway.refused == []


def test_a_flush_reads_the_catalog_once_a_table() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)

    def flush(name: str) -> list[type]:
        session = engine.session()
        session.add_all(Part(name=f"{name}{n}", unit="u") for n in range(50))
        gateway.requests.clear()
        session.flush()
        return requests_of_catalog(gateway)

    new = flush("a")
    known = flush("b")
    engine._runtime.catalog.forget("part")
    run_out = flush("c")

    assert new == [GetRows, CheckAndMutate]  # the second permits guarded writes
    assert known == []
    assert run_out == [GetRows]


def test_only_rows_of_a_table_whose_lease_cannot_be_renewed_stay_unwritten() -> None:
    lost = ConnectionLostError("gone")
    gateway = FailsBeforeSending(MemoryGateway(), NOTHING)
    session = engine_on(gateway).session()
    gateway.error_of = lambda operation: (
        lost if isinstance(operation, GetRows) and operation.keys == (b"plan",) else None
    )
    session.add_all([Plan(name="a", unit="u"), Part(name="a", unit="u"), Plan(name="b", unit="u")])

    with pytest.raises(FlushError) as caught:
        session.flush()

    error = caught.value
    assert [each[:2] for each in error.written] == [("part", b"a")]
    assert [each[:2] for each in error.not_written] == [("plan", b"a"), ("plan", b"b")]
    assert all(isinstance(each[2], RetryableError) for each in error.not_written)


def test_an_unexpected_failure_leaves_every_other_row_told_and_written() -> None:
    broken = UnicodeDecodeError("utf-8", b"", 0, 1, "broken answer")
    gateway = FailsBeforeSending(MemoryGateway(), NOTHING)
    session = engine_on(gateway).session()
    gateway.error_of = lambda operation: (
        broken
        if isinstance(operation, MutateRows)
        and any(b"row105" in each.row for each in operation.mutations)
        else None
    )
    session.add_all(Part(name=f"row{n}", unit="u") for n in range(120))

    with pytest.raises(FlushError) as caught:
        session.flush()

    error = caught.value
    assert (len(error.written), len(error.not_written)) == (119, 0)
    assert [each[:2] for each in error.unknown] == [("part", b"row105")]


@pytest.mark.parametrize("kind", ["replaced", "deleted"])
def test_large_rows_are_read_and_written_few_at_a_time(kind: str) -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    size_bytes = BATCH_BYTES // 11
    for text in (b"1", b"2"):
        session = engine.session()
        gateway.requests.clear()
        session.add_all(Part(name=f"{n}", unit="u", text=text * size_bytes) for n in range(40))
        session.flush()
    if kind == "deleted":
        engine = Engine(gateway, EngineOptions(scheme="memory"))
        session, gateway.requests = engine.session(), []
        for n in range(40):
            session.delete(Part(name=f"{n}", unit="u"))
        session.flush()

    read = [each.keys for each in gateway.requests if isinstance(each, GetRows)]
    puts = [
        sum(len(put.value) for each in batch.mutations for put in each.puts)
        for batch in batches_of(gateway.requests)
    ]
    assert {len(keys) for keys in read if len(keys) > 1} == {10}
    assert max(puts) <= BATCH_BYTES


def test_a_single_row_sends_one_batch_to_an_index_table_before_its_change_and_one_after() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()
    part = Part(name="p", unit="u", text=b"t")
    session.add(part)
    session.flush()
    gateway.requests.clear()
    part.unit = "v"

    session.flush()

    assert [(type(each), getattr(each, "table", "")) for each in gateway.requests] == [
        (GetRows, "part"),
        (MutateRows, "part_ix_by_unit"),
        (CheckAndMutate, "part"),
        (MutateRows, "part_ix_by_unit"),
    ]
    put, verified = batches_of(gateway.requests)
    assert [bool(each.deletes) for each in put.mutations] == [False, False]
    assert [bool(each.deletes) for each in verified.mutations] == [False, True]
