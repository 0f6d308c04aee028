"""Indexes built by the only program that uses the table: one lease is waited for, and no gateway."""

from __future__ import annotations

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import (
    ConflictError,
    FlushError,
    SchemaError,
    TableHeldError,
    UniqueViolationError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import IndexState, TableState
from hbase_orm.index_admin import build as index_build
from hbase_orm.index_admin import pace
from hbase_orm.index_admin.build import BuildProgress
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.support.shop_processes import (
    Clock,
    CrashError,
    OldOrder,
    Order,
    Process,
    crash_at,
    engine_on,
    orders,
)

LEASE_S = 30.0


class UniqueOrder(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    one_each = Index(customer, unique=True)


FEW = 6
OF_C1 = select(Order.number).where(Order.customer == "c1")


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "ROUND_ROWS", 4)
    monkeypatch.setattr(index_build, "LEAST_PAGE_ROWS", 4)


@pytest.fixture
def gateway() -> MemoryGateway:
    return orders()


def assert_sound(gateway: MemoryGateway) -> None:
    """Check that the index is readable and sound, and that every program may write the table."""
    engine = engine_on(gateway, Clock())
    assert engine.table_state(Order) is TableState.READABLE
    assert engine.indexes(Order)["by_customer"].state is IndexState.READABLE
    with engine.session() as session:
        session.add(Order(number=4, customer="c1", state="last"))
        by_scan = session.all(OF_C1.allow_full_scan().using(None))
        assert session.all(OF_C1.using(Order.by_customer)) == by_scan
    found = engine.verify_index(Order, "by_customer")
    assert (found.missing, found.invalid, found.foreign) == (0, 0, 0)


def test_an_exclusive_build_waits_for_one_lease(gateway: MemoryGateway) -> None:
    clock = Clock()
    progress: list[BuildProgress] = []

    engine_on(Process(gateway), clock).build_index(
        Order, "by_customer", exclusive=True, on_progress=progress.append
    )

    assert round(clock.now_s, 1) == LEASE_S
    assert list(dict.fromkeys(each.phase for each in progress)) == ["wait", "rows", "check"]
    assert [each.fraction for each in progress] == sorted(each.fraction for each in progress)
    assert_sound(gateway)


def test_an_exclusive_build_in_memory_waits_for_nothing() -> None:
    engine = connect("memory://")
    engine.create_tables(OldOrder)
    with engine.session() as session:
        session.add(OldOrder(number=1, customer="c1", state="new"))

    engine.build_index(Order, "by_customer", exclusive=True)

    assert engine.session().all(OF_C1) == [1]


class OldProgram:
    """Writes without the index: as long as its lease lasts, then it is refused."""

    def __init__(self, gateway: MemoryGateway, clock: Clock) -> None:
        self.engine = engine_on(gateway, clock)
        self.numbers = iter(range(0x800, 0x10000))
        self.written: list[int] = []
        self.refused: list[type[Exception]] = []

    def write(self, _: object = None) -> None:
        number = next(self.numbers)
        session = self.engine.session()
        session.add(OldOrder(number=number, customer="c1", state="old"))
        try:
            session.flush()
        except FlushError as error:
            self.refused.append(type(error.not_written[0][2]))
        else:
            self.written.append(number)


def test_rows_that_an_old_program_writes_within_its_lease_are_in_the_index(
    gateway: MemoryGateway,
) -> None:
    clock = Clock()
    old = OldProgram(gateway, clock)
    old.write()
    clock.on_sleep.append(old.write)

    engine_on(Process(gateway, old.write), clock).build_index(Order, "by_customer", exclusive=True)

    assert len(old.written) > 20
    assert list(dict.fromkeys(old.refused)) == [TableHeldError, SchemaError]  # it lacks the index
    assert set(old.written) <= set(engine_on(gateway, Clock()).session().all(OF_C1))
    assert_sound(gateway)


def test_queries_go_on_during_an_exclusive_build(gateway: MemoryGateway) -> None:
    clock = Clock()
    reader = engine_on(gateway, clock)
    of_new = select(Order.number).where(Order.state == "new").using(Order.by_state)
    answers: list[int] = []

    def read(_: object = None) -> None:
        answers.append(len(reader.session().all(of_new)))

    clock.on_sleep.append(read)
    engine_on(Process(gateway, read), clock).build_index(Order, "by_customer", exclusive=True)

    assert len(answers) > 50
    assert set(answers) == {30}


def test_a_request_that_a_gateway_held_back_is_found_by_a_verification(
    gateway: MemoryGateway,
) -> None:
    """The promise was broken: a put of a killed program, which knew no guard, is applied late."""
    engine = engine_on(Process(gateway), Clock())
    engine.build_index(Order, "by_customer", exclusive=True)
    puts = (Put(b"d:customer", b"c9", wall_clock_ms() + 1000), Put(b"d:state", b"late"))
    gateway.execute(MutateRows("orders", (RowMutation((77).to_bytes(2, "big"), puts),)))

    found = engine.verify_index(Order, "by_customer")
    engine.verify_index(Order, "by_customer", repair=True, min_age_ms=0)

    assert (found.missing, found.foreign) == (1, 1)
    assert_sound(gateway)


# --- builders that are killed ---------------------------------------------------------------------


def requests_of_a_build() -> int:
    process = Process(orders(FEW))
    engine_on(process, Clock()).build_index(Order, "by_customer", exclusive=True)
    return process.requests


@pytest.mark.parametrize(("rebuild", "step"), [(False, 1), (True, 5)])
def test_a_build_is_finished_by_the_next_one_after_a_crash_before_each_of_its_requests(
    step: int, *, rebuild: bool
) -> None:
    for number in range(0, requests_of_a_build(), step):
        gateway = orders(FEW)
        with pytest.raises(CrashError):
            engine_on(Process(gateway, crash_at(number)), Clock()).build_index(
                Order, "by_customer", exclusive=True
            )

        engine_on(Process(gateway), Clock()).build_index(
            Order, "by_customer", exclusive=True, rebuild=rebuild
        )

        assert_sound(gateway)


def killed_build(gateway: MemoryGateway) -> None:
    with pytest.raises(CrashError):
        engine_on(Process(gateway, crash_at(requests_of_a_build() - 5)), Clock()).build_index(
            Order, "by_customer", exclusive=True
        )


def test_a_build_of_the_usual_kind_and_a_drop_are_refused_while_a_program_has_the_table() -> None:
    gateway = orders(FEW)
    killed_build(gateway)
    engine = engine_on(gateway, Clock())
    before = engine._runtime.run(read_entry("orders"))

    with pytest.raises(TableHeldError, match="build of index by_customer, process"):
        engine.build_index(Order, "by_customer")
    with pytest.raises(TableHeldError):
        engine.drop_index(Order, "by_customer")

    assert engine._runtime.run(read_entry("orders")) == before
    with engine.exclusive(Order):
        engine.drop_index(Order, "by_customer")
    engine.build_index(Order, "by_customer")
    assert_sound(gateway)


def test_a_suspended_builder_that_lost_the_table_does_no_harm() -> None:
    """It goes on after another builder took the table over, before each of its requests."""
    endings: list[str] = []
    for number in range(0, requests_of_a_build(), 2):
        gateway, clock = orders(FEW), Clock()
        second = Suspended(gateway, clock, number)
        first = engine_on(Process(gateway, second), clock)
        try:
            first.build_index(Order, "by_customer", exclusive=True)
        except ConflictError as error:
            endings.append(error.text)  # the index is readable, thanks to the other builder
        except TableHeldError as error:
            endings.append(error.text.partition(":")[0])
        assert second.is_done
        assert_sound(gateway)

    assert set(endings) == {
        "the index is still in use by readers",
        "the exclusive use of the table ended too early",
    }


class Suspended:
    """Suspends a builder before one of its requests, while another one builds the index."""

    def __init__(self, gateway: MemoryGateway, clock: Clock, number: int) -> None:
        self._other = engine_on(Process(gateway), clock)
        self._number = number
        self.is_done = False

    def __call__(self, request: int) -> None:
        if request == self._number and not self.is_done:
            self.is_done = True
            self._other.build_index(Order, "by_customer", exclusive=True)


def test_the_table_is_released_when_a_build_fails(gateway: MemoryGateway) -> None:
    engine = engine_on(gateway, Clock())

    with pytest.raises(UniqueViolationError):
        engine.build_index(UniqueOrder, "one_each", exclusive=True)

    assert engine.table_state(UniqueOrder) is TableState.READABLE
    with engine.session() as session:
        session.add(UniqueOrder(number=40, customer="c40", state="new"))
