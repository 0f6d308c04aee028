"""Tables truncated beside writers, after crashes anywhere, and with what must stay."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    Table,
    Version,
    codecs,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    FeatureMissingError,
    FlushError,
    RecordError,
    SchemaDriftError,
    SchemaError,
    TableHeldError,
    TableNotFoundError,
    UnboundedScanError,
)
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import (
    CATALOG_TABLE,
    RECORD_COLUMN,
    read_entry,
)
from hbase_orm.index.catalog.entry import IndexState, TableState
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import begin_loading
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DescribeTable,
    DisableTable,
    DropTable,
    GetRows,
    ListRegions,
    ListTables,
    ModifyTable,
    MutateRows,
    Operation,
    Put,
    RowMutation,
    TruncateTable,
    run_protocol,
)
from hbase_orm.record.store import read_record
from tests.support.recording import HoldsBack, RecordsRequests, gateway_of, through
from tests.support.shop_processes import Clock, CrashError, Process, crash_at, engine_on
from tests.support.store import WithoutThrift2

R = TypeVar("R")

REQUESTS_OF_A_WRITE = 7
MOST_REQUESTS = 26


class Note(Model, table=Table("notes", splits=[b"g", b"p"], durability="ASYNC_WAL")):
    d = Family(versions=3)
    name: Key[str] = key()
    text: Mapped[str] = column(d)


class NumberedNote(Model, table="notes"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[int] = column(d)


class Draft(Model, table="drafts"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    text: Mapped[str] = column(d)
    edition: Version = version(d)


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    label: Mapped[str | None] = column(d, default=None)
    weight: Mapped[int] = column(d, codec=codecs.uint16())
    by_city = Index(city, include=[weight])
    by_label = Index(label, unique=True)


class ParcelView(Model, table="parcels"):
    """The parcels as a program sees them that knows none of the indexes."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)


def parcel(number: int) -> Parcel:
    return Parcel(number=number, city=f"c{number % 2}", label=f"l{number}", weight=number)


def parcels() -> MemoryGateway:
    """Return a gateway with ten parcels."""
    gateway = MemoryGateway()
    engine = engine_on(gateway, Clock())
    engine.create_tables(Parcel)
    with engine.session() as session:
        session.add_all(parcel(n) for n in range(10))
    return gateway


@pytest.fixture
def gateway() -> MemoryGateway:
    return parcels()


def stored(session: Session, model: type[Any], **key: object) -> Any:
    return session.get(model, **key)


def truncate(engine: Engine) -> list[str]:
    return engine.truncate_tables(Parcel, gateway_timeout_s=10)


def by_index(engine: Engine, city: str = "c1") -> list[tuple[int, int]]:
    with engine.session() as session:
        found = session.all(select(Parcel).where(Parcel.city == city).using(Parcel.by_city))
        return [(each.number, each.weight) for each in found]


def by_scan(engine: Engine, city: str = "c1") -> list[tuple[int, int]]:
    with engine.session() as session:
        found = session.all(select(Parcel).where(Parcel.city == city).allow_full_scan().using(None))
        return [(each.number, each.weight) for each in found]


def assert_sound(gateway: MemoryGateway) -> None:
    """Check that both indexes are readable, and have exactly what the rows say."""
    engine = engine_on(gateway, Clock())
    for name in ("by_city", "by_label"):
        found = engine.verify_index(Parcel, name)
        assert (found.missing, found.invalid) == (0, 0)
        assert found.rows[Finding.VALID] == found.rows.total()
        assert engine.indexes(Parcel)[name].state is IndexState.READABLE
    assert sorted(by_index(engine)) == by_scan(engine)


def test_a_plain_table_keeps_its_splits_options_attributes_and_record() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Note)
        gateway = gateway_of(engine)
        gateway.execute(ModifyTable("notes", {"attributes": {"owner": "ops"}}))
        described = gateway.execute(DescribeTable("notes"))
        with engine.session() as session:
            session.add(Note(name="a", text="b"))

        assert engine.truncate_tables(Note) == ["notes"]

        assert gateway.execute(DescribeTable("notes")) == described
        assert [each.start for each in gateway.execute(ListRegions("notes"))] == [b"", b"g", b"p"]
        assert run_protocol(read_record("notes"), gateway.execute) is not None
        with engine.session() as session:
            assert session.get(Note, name="a") is None
            session.add(Note(name="a", text="c"))
        with engine.session() as session:
            assert stored(session, Note, name="a").text == "c"


def test_a_table_with_a_version_alone_is_emptied_without_a_wait() -> None:
    clock, gateway = Clock(), MemoryGateway()
    engine = engine_on(gateway, clock)
    engine.create_tables(Draft)
    with engine.session() as session:
        session.add(Draft(number=1, text="a"))

    engine.truncate_tables(Draft)

    assert clock.now_s < 1
    with engine.session() as session:
        assert session.get(Draft, number=1) is None
        session.add(Draft(number=1, text="b"))
        session.flush()
        assert stored(session, Draft, number=1).edition == 1


def test_an_indexed_table_is_empty_by_every_way_and_open_for_new_rows(
    gateway: MemoryGateway,
) -> None:
    engine = engine_on(gateway, Clock())

    truncate(engine)

    assert by_scan(engine) == by_index(engine) == []
    assert engine.table_state(Parcel) is TableState.NEW
    with engine.session() as session:
        session.add_all([parcel(1), parcel(12)])
    assert by_index(engine) == [(1, 1)]
    assert_sound(gateway)


def test_index_tables_keep_the_options_and_splits_they_have_now(gateway: MemoryGateway) -> None:
    engine = engine_on(gateway, Clock())
    old = gateway.execute(DescribeTable("parcels_ix_by_city"))
    gateway.execute(DropTable("parcels_ix_by_city"))
    family = replace(old.families[0], compression="GZ")
    changed = replace(old, families=(family,), attributes={**old.attributes, "owner": "ops"})
    gateway.execute(CreateTable(changed, (b"m",)))

    truncate(engine)

    assert gateway.execute(ListTables()) == [
        "hbase_orm_catalog",
        "parcels",
        "parcels_ix_by_city.2",
        "parcels_ix_by_label.2",
    ]
    assert gateway.execute(DescribeTable("parcels_ix_by_city.2")) == replace(
        changed, name="parcels_ix_by_city.2"
    )
    regions = gateway.execute(ListRegions("parcels_ix_by_city.2"))
    assert [region.start for region in regions] == [b"", b"m"]


def test_writes_and_reads_by_index_are_refused_during_the_wait(gateway: MemoryGateway) -> None:
    clock = Clock()
    engine, other = engine_on(gateway, clock), engine_on(gateway, clock)
    other.session().get(Parcel, number=1)
    refused: list[str] = []

    def try_both() -> None:
        if clock.now_s < 40:  # the lease of the other program
            return
        session = other.session()
        session.add(parcel(20))
        with pytest.raises(FlushError) as of_write:
            session.flush()
        of_c1 = select(Parcel).where(Parcel.city == "c1")
        with pytest.raises(UnboundedScanError) as of_read:
            other.session().all(of_c1)
        refused.extend([str(of_write.value), str(of_read.value)])

    clock.on_sleep.append(try_both)
    truncate(engine)

    of_write, of_read = refused[:2]
    assert "not open for guarded writes" in of_write
    assert "the table is being truncated" in of_read
    assert "tables truncate" in of_write
    assert "tables truncate" in of_read
    assert clock.now_s == 30 + 5 + 10
    assert_sound(gateway)


def test_the_wait_is_announced(gateway: MemoryGateway) -> None:
    left: list[float] = []

    engine_on(gateway, Clock()).truncate_tables(Parcel, gateway_timeout_s=0, on_wait=left.append)

    assert left == [float(seconds) for seconds in range(35, 0, -1)]


class StopsBetweenRequests(RecordsRequests):
    """Does some work before the request of a number, or after it if it changes a row.

    A program sends such a request only under a valid lease, and a truncation waits for it.
    """

    def __init__(self, inner: Gateway, number: int, work: Callable[[], object]) -> None:
        super().__init__(inner)
        self.number = number
        self.work = work

    def execute(self, operation: Operation[R], /) -> R:
        is_now = len(self.requests) == self.number
        is_write = isinstance(operation, CheckAndMutate) and operation.table == "parcels"
        if is_now and not is_write:
            self.work()
        answer = super().execute(operation)
        if is_now and is_write:
            self.work()
        return answer


@pytest.mark.parametrize("number", range(REQUESTS_OF_A_WRITE))
@pytest.mark.parametrize("key_of_row", [1, 21])
def test_a_write_with_an_old_lease_leaves_no_row_without_its_entries(
    gateway: MemoryGateway, number: int, key_of_row: int
) -> None:
    clock = Clock()
    other = engine_on(gateway, clock)
    stops = StopsBetweenRequests(gateway, number, lambda: truncate(other))
    writer = engine_on(stops, clock)
    writer.session().get(Parcel, number=0)  # begins the lease
    stops.requests.clear()
    session = writer.session()
    session.add(Parcel(number=key_of_row, city="c1", label="new", weight=7))
    with suppress(FlushError):  # not written, or unknown: the writer has slept for 45 s
        session.flush()

    assert by_scan(other) in ([], [(key_of_row, 7)])
    assert by_index(other) == by_scan(other)
    assert_sound(gateway)


@pytest.mark.parametrize("at_s", [5, 20, 29, 31])
def test_what_is_written_during_the_wait_is_gone_or_refused(
    gateway: MemoryGateway, at_s: int
) -> None:
    clock = Clock()
    engine, writer = engine_on(gateway, clock), engine_on(gateway, clock)
    with writer.session() as session:
        session.add(parcel(20))  # begins the lease
    refused: list[bool] = []

    def write() -> None:
        if at_s <= clock.now_s < at_s + 1:
            session = writer.session()
            session.add(parcel(21))
            try:
                session.flush()
            except FlushError:
                refused.append(True)
            else:
                refused.append(False)

    clock.on_sleep.append(write)
    truncate(engine)

    assert refused == [at_s > 30]
    assert by_scan(engine) == by_index(engine) == []
    assert_sound(gateway)


@pytest.mark.parametrize("number", range(MOST_REQUESTS))
def test_a_truncation_that_was_killed_is_finished_by_the_next(
    gateway: MemoryGateway, number: int
) -> None:
    clock = Clock()
    killed = Process(gateway, crash_at(number))
    with suppress(CrashError):
        truncate(engine_on(killed, clock))
    _try_to_write_and_read(engine_on(gateway, clock))

    truncate(engine_on(gateway, clock))

    engine = engine_on(gateway, clock)
    assert by_scan(engine) == by_index(engine) == []
    assert len(gateway.execute(ListTables())) == 4
    with engine.session() as session:
        session.add(parcel(1))
    assert by_index(engine) == [(1, 1)]
    assert_sound(gateway)


def test_a_truncation_has_no_more_requests_than_are_tried_above(gateway: MemoryGateway) -> None:
    process = Process(gateway)

    truncate(engine_on(process, Clock()))

    assert process.requests < MOST_REQUESTS


def _try_to_write_and_read(engine: Engine) -> None:
    """Use the table after a kill: what is not refused is right."""
    engine.create_tables(Parcel)
    session = engine.session()
    session.add(parcel(31))
    try:
        session.flush()
        assert sorted(by_index(engine)) == by_scan(engine)
    except FlushError as refused:
        assert "truncate" in str(refused)  # noqa: PT017 -- one of two outcomes


def test_what_was_sent_before_and_arrives_after_is_not_believed(gateway: MemoryGateway) -> None:
    clock = Clock()
    late = HoldsBack(gateway, _verifies_an_entry)
    writer, other = engine_on(late, clock), engine_on(gateway, clock)
    with writer.session() as session:
        session.add(parcel(41))
    assert late.held is not None

    truncate(other)
    with pytest.raises(TableNotFoundError):
        late.send_held()

    assert by_index(other) == by_scan(other) == []
    assert_sound(gateway)


def _verifies_an_entry(operation: Operation[object]) -> bool:
    return isinstance(operation, MutateRows) and any(
        put.column == ENTRY_COLUMN and put.value.startswith(b"v")
        for mutation in operation.mutations
        for put in mutation.puts
    )


def test_an_index_under_construction_is_readable_afterwards(gateway: MemoryGateway) -> None:
    clock = Clock()
    building = engine_on(Process(gateway, crash_at(12)), clock)
    gateway.execute(ModifyTable("parcels_ix_by_city", {"attributes": {"owner": "ops"}}))
    with pytest.raises(CrashError):
        building.build_index(Parcel, "by_city", rebuild=True, gateway_timeout_s=0)

    assert "parcels_ix_by_city.2" in gateway.execute(ListTables())

    truncate(engine_on(gateway, clock))

    described = gateway.execute(DescribeTable("parcels_ix_by_city.3"))
    assert described.attributes["owner"] == "ops"
    assert_sound(gateway)


def test_a_model_without_the_indexes_truncates_them_too(gateway: MemoryGateway) -> None:
    engine_on(gateway, Clock()).truncate_tables(ParcelView, gateway_timeout_s=0)

    assert_sound(gateway)


def test_a_base_that_a_killed_truncation_left_disabled_is_emptied(gateway: MemoryGateway) -> None:
    gateway.execute(DisableTable("parcels"))

    truncate(engine_on(gateway, Clock()))

    assert_sound(gateway)


# --- what is refused ------------------------------------------------------------------------------


def assert_unchanged(gateway: MemoryGateway) -> None:
    engine = engine_on(gateway, Clock())
    assert len(by_scan(engine)) == 5
    assert_sound(gateway)


def test_a_missing_table_is_refused_and_the_others_keep_their_rows(gateway: MemoryGateway) -> None:
    with pytest.raises(TableNotFoundError, match="notes"):
        engine_on(gateway, Clock()).truncate_tables(Parcel, Note)

    assert_unchanged(gateway)


def test_thrift1_alone_truncates_nothing(gateway: MemoryGateway) -> None:
    engine = through(WithoutThrift2(gateway), engine_on(gateway, Clock()))

    with pytest.raises(FeatureMissingError, match="thrift2="):
        engine.truncate_tables(Note)


def test_a_table_that_is_being_loaded_is_refused(gateway: MemoryGateway) -> None:
    truncate(engine_on(gateway, Clock()))
    run_protocol(
        begin_loading("parcels", TableLoader("one"), now_ms=1, nonce=b"12345678"), gateway.execute
    )

    with pytest.raises(ConflictError, match="being loaded"):
        truncate(engine_on(gateway, Clock()))

    entry = run_protocol(read_entry("parcels"), gateway.execute)
    assert entry is not None
    assert entry.state is TableState.LOADING


def test_an_undeclared_index_without_a_table_is_refused(gateway: MemoryGateway) -> None:
    gateway.execute(DropTable("parcels_ix_by_city"))
    engine = engine_on(gateway, Clock())

    with pytest.raises(SchemaError, match="drop_index"):
        engine.truncate_tables(ParcelView)

    truncate(engine)
    assert_sound(gateway)


def test_builds_and_drops_of_indexes_wait_for_the_truncation(gateway: MemoryGateway) -> None:
    clock = Clock()
    engine, other = engine_on(gateway, clock), engine_on(gateway, clock)
    refused: list[str] = []

    def build() -> None:
        for verb in (other.build_index, other.drop_index):
            with pytest.raises((ConflictError, CatalogLeaseError)) as caught:
                verb(Parcel, "by_city")
            refused.append(caught.value.text)

    clock.on_sleep.append(lambda: None if refused else build())
    truncate(engine)

    assert set(refused) == {"the table is being truncated"}
    assert_sound(gateway)


def test_a_truncation_beside_another_one_ends_with_an_error(gateway: MemoryGateway) -> None:
    clock, other_clock = Clock(), Clock()
    clock.on_sleep.append(lambda: clock.on_sleep.clear() or truncate(other))  # type: ignore[func-returns-value,arg-type]
    engine, other = engine_on(gateway, clock), engine_on(gateway, other_clock)

    with pytest.raises(ConflictError, match="at the same time"):
        truncate(engine)

    assert_sound(gateway)


# --- records and exclusive use --------------------------------------------------------------------


def test_thrift1_alone_still_knows_the_truncated_table_as_the_recorded_one() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Note)
        engine.truncate_tables(Note)
        alone = through(WithoutThrift2(gateway_of(engine)), engine)

        with pytest.raises(SchemaDriftError):
            alone.session().get(NumberedNote, name="a")


@pytest.mark.parametrize("value", [b"", b"{", b'{"version":9}'])
def test_a_truncation_needs_no_record_but_refuses_one_that_it_cannot_read(
    gateway: MemoryGateway, value: bytes
) -> None:
    mutation = RowMutation(b"parcels", puts=(Put(RECORD_COLUMN, value),))
    gateway.execute(MutateRows(CATALOG_TABLE, (mutation,)))
    recorder = RecordsRequests(gateway)

    if value:
        with pytest.raises(RecordError):
            truncate(engine_on(recorder, Clock()))
        changes = (CheckAndMutate, CreateTable, TruncateTable)
        assert not any(isinstance(each, changes) for each in recorder.requests)
    else:
        truncate(engine_on(recorder, Clock()))

    (row,) = gateway.execute(GetRows(CATALOG_TABLE, (b"parcels",), (RECORD_COLUMN,)))
    assert row is not None
    assert row.cells[RECORD_COLUMN].value == value


def test_a_table_in_exclusive_use_is_refused() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Note)
        other = through(gateway_of(engine), engine)

        with engine.exclusive(Note), pytest.raises(TableHeldError, match="exclusively"):
            other.truncate_tables(Note)


def test_nobody_uses_a_table_exclusively_while_it_is_truncated(gateway: MemoryGateway) -> None:
    clock = Clock()
    engine, other = engine_on(gateway, clock), engine_on(gateway, clock)
    refused: list[str] = []

    def use() -> None:
        with pytest.raises(ConflictError) as caught, other.exclusive(Parcel):
            pass
        refused.append(caught.value.text)

    clock.on_sleep.append(lambda: None if refused else use())
    truncate(engine)

    assert refused == ["the table is being truncated"]
    assert_sound(gateway)


def test_an_exclusive_truncation_waits_for_the_lease_only(gateway: MemoryGateway) -> None:
    clock = Clock()

    engine_on(gateway, clock).truncate_tables(Parcel, exclusive=True)

    assert clock.now_s == 30
    assert_sound(gateway)
