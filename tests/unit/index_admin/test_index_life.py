"""Indexes built and dropped beside other processes, and after crashes anywhere."""

from __future__ import annotations

import pytest

from hbase_orm import (
    Engine,
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
from hbase_orm.errors import (
    CatalogLeaseError,
    ConfigurationError,
    ConflictError,
    FlushError,
    QueryError,
    SchemaError,
    UnboundedScanError,
    UniqueViolationError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.index_admin import build as index_build
from hbase_orm.index_admin import pace
from hbase_orm.index_admin.build import BuildProgress
from hbase_orm.ops import DropTable, ListTables, MutateRows, Put, RowMutation
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

OF_C1 = select(Order).where(Order.customer == "c1")
NUMBERS = [n for n in range(30) if n % 4 == 1 and n % 5]


@pytest.fixture
def gateway() -> MemoryGateway:
    return orders()


@pytest.fixture
def engine(gateway: MemoryGateway) -> Engine:
    return engine_on(Process(gateway), Clock())


@pytest.fixture(autouse=True)
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "ROUND_ROWS", 4)
    monkeypatch.setattr(index_build, "LEAST_PAGE_ROWS", 4)


def state_of(engine: Engine) -> IndexState:
    return engine.indexes(Order)["by_customer"].state


def assert_sound(gateway: MemoryGateway) -> None:
    """Check that the index is readable and has exactly what the rows say, but for stale entries."""
    engine = engine_on(gateway, Clock())
    found = engine.verify_index(Order, Order.by_customer)
    assert state_of(engine) is IndexState.READABLE
    assert (found.missing, found.invalid, found.rows[Finding.VALID]) == (0, 0, found.rows.total())
    with engine.session() as session:
        by_scan = session.all(
            select(Order).where(Order.customer == "c1").allow_full_scan().using(None)
        )
        by_index = session.all(OF_C1.using(Order.by_customer))
    assert [o.number for o in by_index] == [o.number for o in by_scan]


# --- an index that is not built -------------------------------------------------------------------


def test_an_index_new_to_a_table_with_rows_is_absent(engine: Engine) -> None:
    made = engine.create_tables(Order)

    assert made == []
    assert state_of(engine) is IndexState.ABSENT


def test_an_index_new_to_a_table_that_nobody_wrote_is_readable_at_once() -> None:
    engine = connect("memory://")
    engine.create_tables(OldOrder)

    made = engine.create_tables(Order)

    assert made == ["orders_ix_by_customer"]
    assert state_of(engine) is IndexState.READABLE


def test_old_and_new_programs_write_a_table_while_the_index_is_absent(
    gateway: MemoryGateway, engine: Engine
) -> None:
    old = engine_on(gateway, Clock())
    for each, model in ((old, OldOrder), (engine, Order), (old, OldOrder)):
        with each.session() as session:
            session.add(model(number=99, customer="c1", state="new"))

    assert state_of(engine) is IndexState.ABSENT


def test_a_query_does_without_an_index_that_is_not_readable_and_says_so(engine: Engine) -> None:
    plan = engine.session().explain(OF_C1.allow_full_scan())

    assert plan.kind == "Scan"
    assert "not used: by_customer: ABSENT, it is not built" in str(plan)
    assert plan.to_dict()["unused_indexes"] == ["by_customer: ABSENT, it is not built"]


def test_a_query_that_needs_the_index_says_what_is_lacking(engine: Engine) -> None:
    with pytest.raises(UnboundedScanError) as caught:
        engine.session().all(OF_C1)

    assert caught.value.unreadable == {"by_customer": "ABSENT, it is not built"}
    assert "build_index" in caught.value.fix


def test_a_query_cannot_name_an_index_that_is_not_readable(engine: Engine) -> None:
    with pytest.raises(QueryError, match="cannot be read now"):
        engine.session().all(OF_C1.using(Order.by_customer).allow_full_scan())


def test_an_index_that_is_not_built_cannot_be_verified(engine: Engine) -> None:
    with pytest.raises(ConfigurationError, match="the index is not built"):
        engine.verify_index(Order, "by_customer")


# --- building -------------------------------------------------------------------------------------


def test_a_built_index_finds_the_rows_that_were_there_before(
    gateway: MemoryGateway, engine: Engine
) -> None:
    status = engine.build_index(Order, Order.by_customer)

    assert (status.state, status.table) == (IndexState.READABLE, "orders_ix_by_customer")
    assert [order.number for order in engine.session().all(OF_C1)] == NUMBERS
    assert_sound(gateway)


def test_building_a_readable_index_does_nothing(engine: Engine) -> None:
    engine.build_index(Order, "by_customer")

    told: list[BuildProgress] = []
    status = engine.build_index(Order, "by_customer", on_progress=told.append)

    assert (told, status.table) == ([], "orders_ix_by_customer")


def test_a_build_tells_how_far_it_is(gateway: MemoryGateway) -> None:
    told: list[BuildProgress] = []
    clock = Clock()

    engine_on(Process(gateway), clock).build_index(
        Order, "by_customer", gateway_timeout_s=2, on_progress=told.append
    )

    phases = list(dict.fromkeys(each.phase for each in told))
    fractions = [each.fraction for each in told]
    assert phases == ["rows", "wait", "check"]
    assert fractions == sorted(fractions)
    assert (fractions[0], fractions[-1], told[-1].rows) == (0.0, 1.0, 30)


def test_a_build_waits_for_leases_and_for_requests_under_way(gateway: MemoryGateway) -> None:
    clock = Clock()

    engine_on(gateway, clock).build_index(Order, "by_customer", gateway_timeout_s=7)

    assert clock.now_s >= 30 + 5 + 7


def test_a_throttled_build_takes_its_time(gateway: MemoryGateway) -> None:
    clock = Clock()

    engine_on(gateway, clock).build_index(
        Order, "by_customer", rows_per_second=0.5, gateway_timeout_s=0
    )

    assert clock.now_s >= 30 / 0.5


def test_an_index_built_anew_has_another_table_and_the_old_one_is_dropped(
    gateway: MemoryGateway, engine: Engine
) -> None:
    engine.build_index(Order, "by_customer")

    status = engine.build_index(Order, "by_customer", rebuild=True)

    names = gateway.execute(ListTables())
    assert status.table == "orders_ix_by_customer.2"
    assert "orders_ix_by_customer" not in names
    assert_sound(gateway)


def test_an_index_whose_table_was_dropped_refuses_writes_and_is_healed_by_a_build(
    gateway: MemoryGateway, engine: Engine
) -> None:
    engine.build_index(Order, "by_customer")
    gateway.execute(DropTable("orders_ix_by_customer"))
    session = engine.session()
    session.add(Order(number=1, customer="c3", state="new"))
    with pytest.raises(FlushError):
        session.flush()
    assert engine.session().one(select(Order.customer).where(Order.number == 1)) == "c1"
    with pytest.raises(SchemaError, match="was dropped"):
        engine.create_tables(Order)

    engine.build_index(Order, "by_customer")

    assert_sound(gateway)


def test_a_table_that_is_being_loaded_is_not_built_upon() -> None:
    engine = connect("memory://")
    engine.create_tables(Order)
    with engine.session().bulk(insert_only=True) as bulk:
        bulk.add(Order(number=1, state="new"))

        with pytest.raises(ConflictError, match="being loaded"):
            engine.build_index(Order, "by_customer", rebuild=True)


def test_a_table_that_the_catalog_does_not_know_is_not_built_upon(gateway: MemoryGateway) -> None:
    class Other(Model, table="others"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        by_city = Index(city)

    with pytest.raises(CatalogLeaseError, match="the catalog has no entry for the table"):
        engine_on(gateway, Clock()).build_index(Other, Other.by_city)


def test_an_unknown_index_is_refused_with_those_there_are(engine: Engine) -> None:
    with pytest.raises(ConfigurationError) as caught:
        engine.build_index(Order, "by_colour")

    assert caught.value.fix == "there are: by_state, by_customer"


def test_another_models_index_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigurationError):
        engine.build_index(Order, OldOrder.by_state)


@pytest.mark.parametrize("wrong", [{"rows_per_second": 0}, {"gateway_timeout_s": -1}])
def test_numbers_out_of_range_are_refused(engine: Engine, wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError):
        engine.build_index(Order, "by_customer", **wrong)  # type: ignore[arg-type]  # either name


def test_two_rows_with_a_unique_value_stop_its_build(gateway: MemoryGateway) -> None:
    class UniqueOrder(Model, table="orders"):
        d = Family()
        number: Key[int] = key(codecs.uint16())
        customer: Mapped[str | None] = column(d, default=None)
        state: Mapped[str] = column(d)
        by_state = Index(state)
        one_each = Index(customer, unique=True)

    engine = engine_on(gateway, Clock())

    with pytest.raises(UniqueViolationError) as caught:
        engine.build_index(UniqueOrder, "one_each")

    assert caught.value.index == "one_each"
    assert engine.indexes(UniqueOrder)["one_each"].state is IndexState.WRITE_ONLY


# --- crashes --------------------------------------------------------------------------------------


FEW = 6


def requests_of_a_build(rows: int) -> int:
    process = Process(orders(rows))
    engine_on(process, Clock()).build_index(Order, "by_customer", rebuild=True)
    return process.requests


def test_a_build_goes_on_after_a_crash_before_each_of_its_requests() -> None:
    for number in range(requests_of_a_build(FEW)):
        gateway = orders(FEW)
        with pytest.raises(CrashError):
            engine_on(Process(gateway, crash_at(number)), Clock()).build_index(Order, "by_customer")

        engine_on(Process(gateway), Clock()).build_index(Order, "by_customer")

        assert_sound(gateway)


def test_a_build_goes_on_where_the_one_before_stopped(gateway: MemoryGateway) -> None:
    whole = requests_of_a_build(30)
    with pytest.raises(CrashError):
        engine_on(Process(gateway, crash_at(whole * 3 // 4)), Clock()).build_index(
            Order, "by_customer"
        )
    told: list[BuildProgress] = []

    engine_on(Process(gateway), Clock()).build_index(Order, "by_customer", on_progress=told.append)

    assert told[0].fraction > 0.3
    assert told[-1].rows < 30


def test_a_drop_goes_on_after_a_crash_before_each_of_its_requests() -> None:
    process = Process(orders(FEW))
    engine_on(process, Clock()).build_index(Order, "by_customer")
    process.requests = 0
    engine_on(process, Clock()).drop_index(Order, "by_customer")
    for number in range(process.requests):
        gateway = orders(FEW)
        engine_on(gateway, Clock()).build_index(Order, "by_customer")
        with pytest.raises(CrashError):
            engine_on(Process(gateway, crash_at(number)), Clock()).drop_index(Order, "by_customer")

        engine = engine_on(gateway, Clock())
        engine.drop_index(Order, "by_customer")

        assert state_of(engine) is IndexState.ABSENT
        assert "orders_ix_by_customer" not in gateway.execute(ListTables())
        engine.build_index(Order, "by_customer")
        assert_sound(gateway)


# --- several processes ----------------------------------------------------------------------------


def test_two_builders_at_once_do_the_same_work(gateway: MemoryGateway) -> None:
    other = engine_on(Process(gateway), Clock())
    begun: list[int] = []

    def before(number: int) -> None:
        if number == 40 and not begun:
            begun.append(number)
            other.build_index(Order, "by_customer")

    engine_on(Process(gateway, before), Clock()).build_index(Order, "by_customer")

    assert begun
    assert_sound(gateway)


@pytest.mark.parametrize("last", range(22, 70, 4))
def test_a_build_ends_when_somebody_drops_the_index(gateway: MemoryGateway, last: int) -> None:
    clock = Clock()
    other = engine_on(gateway, clock)

    def before(number: int) -> None:
        if number == last:
            other.drop_index(Order, "by_customer")

    with pytest.raises(ConflictError, match=r"given up|dropped"):
        engine_on(Process(gateway, before), clock).build_index(Order, "by_customer")

    assert state_of(other) is IndexState.ABSENT


def test_a_drop_ends_when_somebody_builds_the_index(gateway: MemoryGateway) -> None:
    clock = Clock()
    engine = engine_on(gateway, clock)
    engine.build_index(Order, "by_customer")
    other = engine_on(Process(gateway), Clock())

    def build() -> None:
        other.build_index(Order, "by_customer")

    clock.on_sleep.append(build)

    with pytest.raises(ConflictError, match="built it during the drop"):
        engine.drop_index(Order, "by_customer")

    assert_sound(gateway)


class OldProgram:
    """Writes as if the index were not there, as long as it may; then its writes are refused."""

    def __init__(self, gateway: MemoryGateway, clock: Clock) -> None:
        self.engine = engine_on(gateway, clock)
        self.written = 0
        self.refused = 0

    def write(self, number: int) -> None:
        session = self.engine.session()
        made = OldOrder(number=number % 97, customer=f"c{number % 3}", state="old")
        if number % 6 == 5:
            session.delete(made)
        else:
            session.add(made)
        try:
            session.flush()
        except FlushError as error:
            self.refused += isinstance(error.not_written[0][2], SchemaError)
        else:
            self.written += 1


def test_what_an_old_program_writes_during_a_build_is_not_missing(gateway: MemoryGateway) -> None:
    clock = Clock()
    old = OldProgram(gateway, clock)
    clock.on_sleep.append(lambda: old.write(int(clock.now_s * 7)))
    old.write(0)

    engine_on(Process(gateway, old.write), clock).build_index(
        Order, "by_customer", gateway_timeout_s=2
    )

    assert old.written > 20
    assert old.refused > 5
    assert_sound(gateway)


def test_rows_that_an_old_program_adds_behind_the_builder_are_caught_up(
    gateway: MemoryGateway,
) -> None:
    clock = Clock()
    old = engine_on(gateway, clock)
    added = iter(range(100))

    def add() -> None:
        with old.session() as session:
            session.add(OldOrder(number=0x900 + next(added), customer="c1", state="old"))

    add()
    told: list[BuildProgress] = []

    def tell(progress: BuildProgress) -> None:
        told.append(progress)
        if progress.phase == "wait" and clock.now_s < 20:
            add()

    engine_on(Process(gateway), clock).build_index(
        Order, "by_customer", gateway_timeout_s=2, on_progress=tell
    )

    assert next(added) > 10
    assert told[-1].rows > 40
    assert_sound(gateway)


def test_a_late_row_that_a_new_program_changes_before_it_is_caught_up_is_not_missing(
    gateway: MemoryGateway,
) -> None:
    clock = Clock()
    old, new = engine_on(gateway, clock), engine_on(gateway, clock)
    with old.session() as session:
        session.add(OldOrder(number=0x900, customer="c1", state="old"))
    changed: list[int] = []

    def tell(progress: BuildProgress) -> None:
        if progress.phase == "wait" and not changed:
            with old.session() as session:
                session.add(OldOrder(number=0x901, customer="c1", state="old"))
            with new.session() as session:
                order = session.get(Order, number=0x901)
                assert order is not None
                order.state = "changed"
            changed.append(0x901)

    engine_on(Process(gateway), clock).build_index(Order, "by_customer", on_progress=tell)

    assert changed
    assert_sound(gateway)


def test_a_stale_entry_of_a_rebuilt_index_is_repaired_when_it_is_read(
    gateway: MemoryGateway, engine: Engine
) -> None:
    engine.build_index(Order, "by_customer")
    engine.build_index(Order, "by_customer", rebuild=True)
    stale = RowMutation(b"c1\x00\x01\x00\x02", (Put(b"d:", b"", 1),))
    gateway.execute(MutateRows("orders_ix_by_customer.2", (stale,)))
    assert engine.verify_index(Order, "by_customer").stale == 1
    with engine.session() as session:  # its view of the catalog is fresh
        session.add(Order(number=200, customer=None, state="new"))

    engine.session().all(OF_C1)

    assert engine.verify_index(Order, "by_customer").stale == 0


def test_a_write_prepared_before_the_build_does_not_pass_for_one_that_keeps_the_index(
    gateway: MemoryGateway,
) -> None:
    """Another thread of the process refreshes the catalog between a write's two looks at it."""
    clock = Clock()
    process = engine_on(gateway, clock)
    with process.session() as session:  # its view: no index by customer
        session.add(Order(number=50, customer="c1", state="new"))
    begun: list[int] = []

    def before(_: int) -> None:
        if not begun:
            begun.append(1)
            engine_on(Process(gateway), Clock()).build_index(Order, "by_customer")
            process._runtime.run(process._runtime.catalog.leases.refresh("orders"))

    process._runtime.gateway = process._runtime._driver.gateway = Process(gateway, before)
    with process.session() as session:
        session.add(Order(number=51, customer="c1", state="new"))

    assert begun
    assert_sound(gateway)


# --- dropping -------------------------------------------------------------------------------------


def test_a_dropped_index_is_neither_kept_nor_read(engine: Engine) -> None:
    engine.build_index(Order, "by_customer")

    dropped = engine.drop_index(Order, Order.by_customer)

    assert dropped == ["orders_ix_by_customer"]
    assert state_of(engine) is IndexState.ABSENT
    with engine.session() as session:
        session.add(Order(number=77, customer="c1", state="new"))
    assert engine.session().explain(OF_C1.allow_full_scan()).kind == "Scan"


def test_a_drop_waits_for_readers_and_then_for_writers(gateway: MemoryGateway) -> None:
    clock = Clock()
    engine = engine_on(gateway, clock)
    engine.build_index(Order, "by_customer", gateway_timeout_s=0)
    before_s = clock.now_s

    engine.drop_index(Order, "by_customer")

    assert clock.now_s - before_s >= 2 * 30


def test_an_index_that_no_program_declares_any_more_can_be_dropped(
    gateway: MemoryGateway, engine: Engine
) -> None:
    engine.build_index(Order, "by_customer")
    old = engine_on(gateway, Clock())
    assert not old.indexes(OldOrder)["by_customer"].is_declared

    dropped = old.drop_index(OldOrder, "by_customer")

    assert dropped == ["orders_ix_by_customer"]
    with old.session() as session:
        session.add(OldOrder(number=77, customer="c1", state="new"))


def test_an_index_declared_otherwise_must_be_dropped_before_it_is_built(
    gateway: MemoryGateway, engine: Engine
) -> None:
    class Turned(Model, table="orders"):
        d = Family()
        number: Key[int] = key(codecs.uint16())
        customer: Mapped[str | None] = column(d, default=None)
        state: Mapped[str] = column(d)
        by_state = Index(state)
        by_customer = Index(customer.desc())

    engine.build_index(Order, "by_customer")
    other = engine_on(Process(gateway), Clock())
    with pytest.raises(SchemaError) as caught:
        other.build_index(Turned, "by_customer", rebuild=True)
    assert "drop" in caught.value.fix

    other.drop_index(Turned, "by_customer")
    other.build_index(Turned, "by_customer")

    assert other.verify_index(Turned, "by_customer").missing == 0


def test_dropping_what_nobody_knows_is_refused(engine: Engine) -> None:
    with pytest.raises(ConfigurationError):
        engine.drop_index(Order, "by_colour")


def test_dropping_the_table_drops_the_tables_of_rebuilt_indexes(
    gateway: MemoryGateway, engine: Engine
) -> None:
    engine.build_index(Order, "by_customer")
    engine.build_index(Order, "by_customer", rebuild=True)

    engine.drop_tables(Order)

    assert gateway.execute(ListTables()) == ["hbase_orm_catalog"]


# --- by builds alone ------------------------------------------------------------------------------


class ReportedOrder(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    report = Index(customer, maintained="manual")


OF_REPORT = select(ReportedOrder.number).where(ReportedOrder.customer == "c1")


def test_an_index_that_builds_alone_write_shows_the_last_build(
    gateway: MemoryGateway, engine: Engine
) -> None:
    by_report = OF_REPORT.using(ReportedOrder.report)
    with pytest.raises(QueryError, match="cannot be read now"):
        engine.session().all(by_report)
    first = engine.build_index(ReportedOrder, "report")
    with engine.session() as session:
        session.add(ReportedOrder(number=90, customer="c1", state="new"))
        session.delete(ReportedOrder(number=NUMBERS[0], state="gone"))
    before = engine.session().all(by_report)
    old = engine_on(gateway, Clock())
    with old.session() as session:  # a program that does not declare it writes on
        session.add(OldOrder(number=91, customer="c1", state="new"))

    second = engine.build_index(ReportedOrder, "report")

    after = engine.session().all(by_report)
    assert (first.table, second.table) == ("orders_ix_report", "orders_ix_report.2")
    assert before == NUMBERS[1:]
    assert after == [*NUMBERS[1:], 90, 91]
    assert "orders_ix_report" not in gateway.execute(ListTables())


# --- verifying ------------------------------------------------------------------------------------


@pytest.fixture
def built(engine: Engine) -> Engine:
    engine.build_index(Order, "by_customer")
    return engine


def raw_put(
    gateway: MemoryGateway, table: str, row: bytes, cell: bytes, value: bytes = b""
) -> None:
    now_ms = 10**13  # above whatever the library has written
    put = RowMutation(row, (Put(cell, value, now_ms if table == "orders" else None),))
    gateway.execute(MutateRows(table, (put,)))


def test_a_sound_index_shows_nothing(built: Engine) -> None:
    found = built.verify_index(Order, "by_customer")

    counters = found.counters()
    assert found.is_sound
    assert counters["rows"]["SCANNED"] == counters["rows"]["VALID"] == 24
    assert counters["entries"]["SCANNED"] == counters["entries"]["VALID"] == 24
    assert found.pairs == ()


@pytest.mark.usefixtures("built")
def test_a_repair_goes_on_when_its_lease_ends_between_two_requests(
    gateway: MemoryGateway,
) -> None:
    for n in range(3):
        raw_put(gateway, "orders_ix_by_customer", b"c9\x00\x01\x00" + bytes([n]), b"d:")
    clock = Clock()

    def take_time(_: int) -> None:
        clock.now_s += 20

    slow = engine_on(Process(gateway, take_time), clock)
    found = slow.verify_index(Order, "by_customer", repair=True, min_age_ms=-1000)

    assert found.repaired == 3
    assert_sound(gateway)
