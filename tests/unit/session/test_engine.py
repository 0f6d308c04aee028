"""Engines, the streams they give, and the waits that keep a put from sharing a delete's moment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import EngineOptions
from hbase_orm.binding.write_clock import TIE_S
from hbase_orm.errors import (
    ConfigurationError,
    CorruptRowError,
    SchemaDriftError,
    SchemaError,
    StreamInterruptedError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    MutateRow,
    MutateRows,
    OpenScanner,
    Put,
    RowMutation,
    TableDescriptor,
)
from hbase_orm.reading.stream import Stream
from tests.support.recording import RecordsRequests, gateway_of

MEMORY = EngineOptions(scheme="memory")


class Plain(Model, table="plain"):
    d = Family()
    name: Key[str] = key()
    n: Mapped[int | None] = column(d, default=None)


class Guarded(Model, table="guarded"):
    d = Family()
    name: Key[str] = key()
    n: Mapped[int | None] = column(d, default=None)
    by_n = Index(n)


class WithoutThrift2(RecordsRequests):
    """Can do what Thrift1 can."""

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset()


# --- engines ---------------------------------------------------------------------------------------


def test_an_engine_prints_what_it_is_connected_to() -> None:
    assert repr(connect("memory://")) == "Engine('memory://')"


def test_tables_are_made_once_and_dropped_once() -> None:
    engine = connect("memory://")

    assert engine.create_tables(Plain, Guarded) == [
        *("plain", "hbase_orm_catalog", "guarded_ix_by_n", "guarded"),
    ]
    assert engine.create_tables(Plain, Guarded) == []
    assert engine.drop_tables(Plain, Guarded) == ["plain", "guarded", "guarded_ix_by_n"]
    assert engine.drop_tables(Plain, Guarded) == []


def test_a_namespace_of_the_url_is_made_and_used() -> None:
    engine = connect("memory:///ns")

    assert engine.create_tables(Plain) == ["ns:plain"]


def test_the_state_of_a_table_is_what_the_catalog_says() -> None:
    engine = connect("memory://")
    states = [engine.table_state(Guarded)]

    engine.create_tables(Guarded)
    states += [engine.table_state(Guarded), engine.table_state(Plain)]

    assert states == [None, TableState.NEW, None]


def test_a_model_with_indexes_needs_thrift2_at_its_first_use() -> None:
    engine = Engine(WithoutThrift2(MemoryGateway()), MEMORY)

    with pytest.raises(ConfigurationError) as caught:
        engine.session().add(Guarded(name="x"))

    assert caught.value.model == "Guarded"
    assert "thrift2=" in caught.value.fix


def test_a_table_of_others_is_refused_for_a_model_with_indexes() -> None:
    engine = connect("memory://")
    gateway_of(engine).execute(CreateTable(TableDescriptor("guarded", (FamilyDescriptor(b"d"),))))

    with pytest.raises(SchemaError, match="family for the guards") as caught:
        engine.create_tables(Guarded)

    assert "add_guard_family" in caught.value.fix


def test_the_guards_family_is_added_once_however_often_it_is_asked_for() -> None:
    engine = connect("memory://")
    gateway_of(engine).execute(CreateTable(TableDescriptor("guarded", (FamilyDescriptor(b"d"),))))

    engine.add_guard_family(Guarded)
    engine.add_guard_family(Guarded)

    families = gateway_of(engine).execute(DescribeTable("guarded")).families
    assert [family.name for family in families] == [b"_", b"d"]


def test_the_guards_family_is_not_added_to_a_table_that_does_not_exist() -> None:
    engine = connect("memory://")

    with pytest.raises(TableNotFoundError):
        engine.add_guard_family(Guarded)


def test_a_table_with_rows_of_another_row_key_is_refused() -> None:
    class Salted(Model, table="keyed"):
        d = Family()
        name: Key[str] = key()
        __rowkey__ = rowkey(Salt(4), name)

    class Unsalted(Model, table="keyed"):
        d = Family()
        extra = Family()
        name: Key[str] = key()

    engine = connect("memory://")
    engine.create_tables(Salted)
    assert engine.create_tables(Salted) == []

    with pytest.raises(SchemaDriftError) as caught:
        engine.create_tables(Unsalted)

    key_of, extra = caught.value.differences
    assert "row key" in key_of
    assert "recorded rowkey(Salt(4), name), declared rowkey(name)" in key_of
    assert extra == "family extra: not recorded, declared Family()"


def test_a_repair_deletes_entries_that_no_row_has() -> None:
    engine = connect("memory://")
    engine.create_tables(Guarded)
    index = Guarded.__schema__.indexes[0]
    dead = RowMutation(codecs.int64().encode(5) + b"nobody", (Put(ENTRY_COLUMN, b"", 5),))
    gateway_of(engine).execute(MutateRows(index.table, (dead,)))

    first = engine.repair_indexes(Guarded)[index.name]
    second = engine.repair_indexes(Guarded)[index.name]

    assert (first.stale, first.repaired, second.scanned) == (1, 1, 0)


def test_the_in_process_gateway_has_no_happybase_connection() -> None:
    with pytest.raises(ConfigurationError):
        connect("memory://").raw()


def test_a_closed_engine_sends_nothing() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Plain)

    with pytest.raises(ConfigurationError):
        engine.session().get(Plain, name="x")


# --- streams ---------------------------------------------------------------------------------------


@pytest.fixture
def sent() -> RecordsRequests:
    return RecordsRequests(MemoryGateway())


@pytest.fixture
def engine(sent: RecordsRequests) -> Engine:
    engine = Engine(sent, MEMORY)
    engine.create_tables(Plain)
    with engine.session() as session:
        session.add_all(Plain(name=f"{n:03}", n=n) for n in range(100))
    sent.requests.clear()
    return engine


def scanners(sent: RecordsRequests) -> tuple[int, int]:
    kinds = [type(request) for request in sent.requests]
    return kinds.count(OpenScanner), kinds.count(CloseScanner)


def test_a_stream_sends_nothing_before_it_is_read(engine: Engine, sent: RecordsRequests) -> None:
    engine.session().stream(select(Plain).allow_full_scan())

    assert sent.requests == []


def test_a_stream_that_is_read_to_its_end_closes_its_scanner(
    engine: Engine, sent: RecordsRequests
) -> None:
    found = list(engine.session().stream(select(Plain).allow_full_scan().caching(7)))

    assert [obj.n for obj in found] == list(range(100))
    assert scanners(sent) == (1, 1)


def test_a_stream_that_is_left_early_closes_its_scanner_and_ends(
    engine: Engine, sent: RecordsRequests
) -> None:
    with engine.session().stream(select(Plain).allow_full_scan().caching(7)) as found:
        first = next(found)
    rest = list(found)

    assert (first.n, rest, scanners(sent)) == (0, [], (1, 1))


def test_a_limit_ends_the_reading(engine: Engine, sent: RecordsRequests) -> None:
    statement = select(Plain).where(Plain.n > 10).allow_full_scan().limit(3).caching(5)

    found = engine.session().all(statement)

    assert [obj.n for obj in found] == [11, 12, 13]
    assert scanners(sent) == (1, 1)


def test_a_row_that_does_not_decode_closes_the_stream(
    engine: Engine, sent: RecordsRequests
) -> None:
    sent.execute(MutateRow("plain", RowMutation(b"050", puts=(Put(b"d:n", b"?"),))))
    found = engine.session().stream(select(Plain).allow_full_scan().caching(7))

    with pytest.raises(CorruptRowError) as caught:
        list(found)
    with pytest.raises(StreamInterruptedError):
        next(found)

    assert (caught.value.row, caught.value.field) == (b"050", "n")
    assert scanners(sent) == (1, 1)


def test_closing_a_stream_twice_is_fine() -> None:
    closed = []

    def items() -> Iterator[int]:
        yield from range(3)

    stream: Stream[int] = Stream(items(), lambda: closed.append(1))
    stream.close()
    stream.close()

    assert list(stream) == []
    assert closed


# --- ties ------------------------------------------------------------------------------------------


class Clock:
    """A clock that moves when somebody sleeps, or is told to."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runtime(clock: Clock) -> Runtime:
    gateway = MemoryGateway()
    return Runtime(gateway, parallel=1, monotonic_s=lambda: clock.now_s, sleep=clock.sleep)


ROW = ("t", b"row")


def test_a_put_waits_until_the_delete_of_its_row_is_past(runtime: Runtime, clock: Clock) -> None:
    runtime.clock.note_deletes([ROW])
    clock.now_s += 0.0005

    runtime.run(runtime.clock.wait_out_tombstone_tie([("t", b"other"), ROW]))

    assert clock.slept == [TIE_S - 0.0005]


def test_every_put_of_the_row_waits_not_only_the_first(runtime: Runtime, clock: Clock) -> None:
    runtime.clock.note_deletes([ROW])

    runtime.run(runtime.clock.wait_out_tombstone_tie([ROW]))
    clock.now_s -= 0.001  # another thread, which asks before the first one has waited
    runtime.run(runtime.clock.wait_out_tombstone_tie([ROW]))

    assert clock.slept == [TIE_S, 0.001]


def test_other_rows_and_later_puts_do_not_wait(runtime: Runtime, clock: Clock) -> None:
    runtime.clock.note_deletes([ROW])
    runtime.run(runtime.clock.wait_out_tombstone_tie([("t", b"other"), ("other", b"row")]))
    clock.now_s += TIE_S

    runtime.run(runtime.clock.wait_out_tombstone_tie([ROW]))

    assert clock.slept == []


def test_rows_deleted_long_ago_are_forgotten(runtime: Runtime, clock: Clock) -> None:
    for number in range(50):
        runtime.clock.note_deletes([("t", b"%d" % number)])
        clock.now_s += 1

    assert len(runtime.clock._deleted) == 1


def test_a_closed_session_refuses_work_instead_of_losing_it() -> None:
    engine = connect("memory://")
    engine.create_tables(Plain)
    with engine.session() as session:
        session.add(Plain(name="x"))

    with pytest.raises(ConfigurationError, match="closed"):
        session.add(Plain(name="y"))
    with pytest.raises(ConfigurationError, match="closed"):
        session.all(select(Plain).allow_full_scan())
