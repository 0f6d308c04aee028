"""One program uses a table exclusively: others read on, their writes are refused."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    counter,
    key,
    select,
    version,
)
from hbase_orm.errors import ConnectionLostError, FlushError, RejectedError, TableHeldError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, read_entry
from hbase_orm.index.catalog.entry import CatalogEntry, IndexState, TableHold, TableState
from hbase_orm.index.catalog.table_hold import renew_hold
from hbase_orm.ops import CheckAndMutate, MutateRows, Operation, Put, RowMutation
from tests.support.recording import FailsBeforeSending, RecordsRequests
from tests.support.shop_processes import OPTIONS, Clock, CrashError, Process, engine_on
from tests.support.thrift1_only import DoesWhatThrift1Does

LEASE_S = 30.0
NOON = datetime(2024, 1, 5, 12, tzinfo=UTC)


OTHER_HOLD = CatalogEntry(1, TableState.EXCLUSIVE, hold=TableHold("other", "another", 0))
PUT_OTHER_HOLD = MutateRows(
    CATALOG_TABLE, (RowMutation(b"notes", (Put(CATALOG_COLUMN, OTHER_HOLD.encode()),)),)
)


class Note(Model, table="notes"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    text: Mapped[str] = column(d)


class IndexedNote(Model, table="notes"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    text: Mapped[str] = column(d)
    by_text = Index(text)


class VersionedNote(Model, table="notes"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    text: Mapped[str] = column(d)
    changes: Version = version(d)


class CountedNote(Model, table="notes"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    text: Mapped[str] = column(d)
    reads: Counter = counter(d)


class MonthlyNote(Model, table=TablePerPeriod("notes_%Y%m", of="at", period="month")):
    d = Family()
    at: Key[datetime] = key(codecs.seconds())
    text: Mapped[str] = column(d)


AnyNote = type[Note] | type[IndexedNote] | type[VersionedNote]
MODELS: tuple[AnyNote, ...] = (Note, IndexedNote, VersionedNote)
KINDS = pytest.mark.parametrize(
    ("model", "is_guarded"),
    [(Note, True), (Note, False), (IndexedNote, True), (IndexedNote, False), (VersionedNote, True)],
    ids=["plain", "plain, Thrift1", "indexed", "indexed, without guards", "versioned"],
)


class Shop:
    """Two programs on one table and one clock."""

    def __init__(self, model: AnyNote = Note, *, is_guarded: bool = True) -> None:
        self.memory = MemoryGateway()
        self.clock = Clock()
        self.model = model
        self._is_guarded = is_guarded
        self.one, self.two = self.engine(), self.engine()
        # Thrift1 cannot make a plain table with all its attributes.
        (engine_on(self.memory, self.clock) if model is Note else self.one).create_tables(model)
        for engine in (self.one, self.two):
            self.put(engine, 1, "first")
        self._begun_s = self.clock.now_s

    def engine(self) -> Engine:
        gateway = self.memory if self._is_guarded else DoesWhatThrift1Does(self.memory)
        return engine_on(gateway, self.clock)

    def put(self, engine: Engine, number: int, text: str) -> None:
        model: Any = self.model
        with engine.session() as session:
            session.add(model(number=number, text=text))

    def texts(self, engine: Engine) -> dict[int, str]:
        model: Any = self.model
        with engine.session() as session:
            rows = session.all(select(model.number, model.text).allow_full_scan())
        return dict(rows)

    @property
    def waited_s(self) -> float:
        """Return how long anybody has waited since the first rows were written."""
        return round(self.clock.now_s - self._begun_s, 1)

    @property
    def entry(self) -> CatalogEntry | None:
        return self.one._runtime.run(read_entry("notes"))

    def let_leases_end(self) -> None:
        self.clock.now_s += LEASE_S


def refusal_of(write: Callable[[], object]) -> TableHeldError:
    """Return the error of a write that another program's exclusive use refuses."""
    with pytest.raises((TableHeldError, FlushError)) as caught:
        write()
    if isinstance(caught.value, TableHeldError):
        return caught.value
    assert caught.value.unknown == []
    ((_, _, reason),) = caught.value.not_written
    assert isinstance(reason, TableHeldError)
    return reason


# --- who may write --------------------------------------------------------------------------------


@KINDS
def test_other_writers_are_refused_readers_and_the_engine_itself_go_on(
    model: AnyNote, *, is_guarded: bool
) -> None:
    shop = Shop(model, is_guarded=is_guarded)

    with shop.one.exclusive(model):
        held = refusal_of(lambda: shop.put(shop.two, 2, "by another"))
        shop.put(shop.one, 3, "by the holder")
        during = shop.texts(shop.two)
        refusal_of(lambda: shop.put(shop.two, 2, "again"))

    assert during == {1: "first", 3: "by the holder"}
    assert f"process {os.getpid()}" in held.holder
    shop.put(shop.two, 2, "afterwards")
    assert shop.texts(shop.one) == {1: "first", 2: "afterwards", 3: "by the holder"}


WRITES: dict[str, Callable[[Session], object]] = {
    "insert": lambda session: session.insert(Note(number=7, text="new")),
    "replace": lambda session: session.replace(Note(number=1, text="new")),
    "delete": lambda session: session.delete_row(Note, number=1),
    "delete where": lambda session: session.delete_where(select(Note).where(Note.number < 9)),
    "increment": lambda session: session.increment(CountedNote, CountedNote.reads.by(1), number=1),
    "bulk": lambda session: bulk_of(session, insert_only=False),
    "new rows in bulk": lambda session: bulk_of(session, insert_only=True),
}


def bulk_of(session: Session, *, insert_only: bool) -> None:
    with session.bulk(insert_only=insert_only) as bulk:
        bulk.add(Note(number=7, text="new"))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_every_kind_of_write_of_a_plain_row_is_refused(
    write: Callable[[Session], object],
) -> None:
    shop = Shop()

    with shop.one.exclusive(Note):
        with pytest.raises((TableHeldError, FlushError), match="uses the table exclusively"):
            write(shop.two.session())
        assert shop.texts(shop.one) == {1: "first"}

    write(shop.two.session())


def test_a_writer_that_read_the_catalog_before_is_waited_for() -> None:
    """The other program writes until its lease ends, which is when the block begins."""
    shop = Shop()
    written: list[float] = []
    refused: list[float] = []

    def write() -> None:
        try:
            shop.put(shop.two, 2, f"at {shop.waited_s}")
        except FlushError:
            refused.append(shop.waited_s)
        else:
            written.append(shop.waited_s)

    shop.clock.on_sleep.append(write)

    with shop.one.exclusive(Note):
        begun_s = shop.waited_s
        text = shop.texts(shop.one)[2]

    assert begun_s == LEASE_S
    assert (min(written), max(written)) == (1.0, LEASE_S - 1)
    assert refused == [LEASE_S]
    assert text == f"at {max(written)}"


def test_all_tables_of_a_model_with_a_table_for_each_period_are_used() -> None:
    gateway, clock = MemoryGateway(), Clock()
    one, two = engine_on(gateway, clock), engine_on(gateway, clock)
    one.create_tables(MonthlyNote, periods=(NOON, NOON.replace(month=3)))

    def write(engine: Engine, month: int) -> None:
        with engine.session() as session:
            session.add(MonthlyNote(at=NOON.replace(month=month), text="new"))

    with one.exclusive(MonthlyNote):
        for month in (1, 2):
            refusal_of(lambda month=month: write(two, month))  # type: ignore[misc]  # bound at once
            write(one, month)

    write(two, 1)


def test_a_forked_child_is_another_program() -> None:
    shop = Shop()

    with shop.one.exclusive(Note):
        child = os.fork()
        if not child:
            try:
                refusal_of(lambda: shop.put(shop.one, 2, "by the child"))
            except BaseException:  # noqa: BLE001  # the child must not go on with the test
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        shop.put(shop.one, 3, "by the parent")

    assert status == 0


# --- the block ------------------------------------------------------------------------------------


@KINDS
def test_the_catalog_is_as_before_after_the_block(model: AnyNote, *, is_guarded: bool) -> None:
    shop = Shop(model, is_guarded=is_guarded)
    before = shop.entry

    with shop.one.exclusive(model):
        assert shop.one.table_state(model) is TableState.EXCLUSIVE

    assert shop.entry == before


def test_blocks_of_one_engine_are_nested_and_wait_once() -> None:
    shop = Shop()

    with shop.one.exclusive(Note), shop.one.exclusive(Note):
        assert shop.waited_s == LEASE_S
        with shop.one.exclusive(Note):
            pass
        refusal_of(lambda: shop.put(shop.two, 2, "too early"))

    shop.put(shop.two, 2, "afterwards")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_table_is_released_when_the_block_ends_with_an_error(error: type[BaseException]) -> None:
    shop = Shop()

    with pytest.raises(error), shop.one.exclusive(Note):
        raise error

    shop.put(shop.two, 2, "afterwards")


def test_a_table_is_released_when_the_wait_is_interrupted() -> None:
    shop = Shop()

    def interrupt() -> None:
        if shop.waited_s >= LEASE_S / 2:
            raise KeyboardInterrupt

    shop.clock.on_sleep.append(interrupt)
    with pytest.raises(KeyboardInterrupt), shop.one.exclusive(Note):
        pytest.fail("the block began before the wait was over")

    shop.put(shop.two, 2, "afterwards")


def test_a_table_of_a_catalog_that_does_not_exist_is_used() -> None:
    """Other programs made the table; this library has no entry and no catalog."""
    shop = Shop()
    shop.one.drop_tables(Note)
    gateway = MemoryGateway()
    engine = engine_on(gateway, Clock())

    with engine.exclusive(Note):
        assert engine.table_state(Note) is TableState.EXCLUSIVE

    assert engine.table_state(Note) is None


def test_an_engine_in_memory_does_not_wait() -> None:
    known = threading.enumerate()
    engine = connect("memory://")
    engine.create_tables(Note)

    with engine.exclusive(Note), engine.session() as session:
        session.add(Note(number=1, text="new"))

        assert renewing(known) == []


def test_tables_are_created_within_the_block() -> None:
    shop = Shop()

    with shop.one.exclusive(Note):
        shop.one.create_tables(Note)
        shop.one.create_tables(CountedNote)
        shop.two.create_tables(Note)  # which has nothing to do

    assert shop.entry is None


def test_a_plain_table_takes_the_place_of_a_dropped_one_with_an_index() -> None:
    shop = Shop(IndexedNote)
    shop.one.drop_tables(IndexedNote)

    shop.one.create_tables(Note)

    assert shop.one.table_state(Note) is TableState.DROPPED  # of the index there is only the epoch


def test_a_model_gets_its_first_index_within_the_block() -> None:
    shop = Shop()
    shop.one.add_guard_family(IndexedNote)
    shop.two.session().get(Note, number=1)

    with shop.one.exclusive(Note):
        shop.one.create_tables(IndexedNote)
        shop.one.build_index(IndexedNote, "by_text", exclusive=True)
        refusal_of(lambda: shop.put(shop.two, 2, "by another"))

    assert shop.waited_s == LEASE_S
    assert shop.one.indexes(IndexedNote)["by_text"].state is IndexState.READABLE


# --- holders that were killed or suspended --------------------------------------------------------


def killed_holder(shop: Shop, model: AnyNote) -> Engine:
    """Return an engine that was killed while it used the table exclusively."""
    killed: list[bool] = []

    def before(_: int) -> None:
        if killed:
            raise CrashError

    engine = engine_on(Process(shop.memory, before), shop.clock)
    with pytest.raises(CrashError), engine.exclusive(model):
        killed.append(True)
    killed.clear()
    return engine


@pytest.mark.parametrize("model", MODELS)
def test_the_next_exclusive_use_takes_over_the_table_of_a_killed_program(model: AnyNote) -> None:
    shop = Shop(model)
    before = shop.entry
    killed_holder(shop, model)
    shop.let_leases_end()
    refusal_of(lambda: shop.put(shop.two, 2, "too early"))
    begun_s = shop.waited_s

    with shop.two.exclusive(model):
        shop.put(shop.two, 2, "by the second holder")

    assert shop.waited_s - begun_s == 2 * LEASE_S  # one to see that the first is dead
    shop.put(shop.one, 3, "afterwards")
    assert shop.texts(shop.one) == {1: "first", 2: "by the second holder", 3: "afterwards"}
    entry = shop.entry
    assert (entry is None) is (before is None)
    if entry is not None and before is not None:
        assert entry == replace(before, epoch=before.epoch + 1)


@pytest.mark.parametrize("model", MODELS)
def test_a_suspended_holder_is_refused_after_it_lost_the_table(model: AnyNote) -> None:
    shop = Shop(model)

    with pytest.raises(TableHeldError, match="ended too early"):  # noqa: SIM117, PT012  # in order
        with shop.one.exclusive(model), shop.two.exclusive(model):
            refusal_of(lambda: shop.put(shop.one, 2, "by the suspended"))
            shop.put(shop.two, 3, "by the second holder")

    assert shop.texts(shop.one) == {1: "first", 3: "by the second holder"}


def renew(engine: Engine, hold_id: str) -> None:
    engine._runtime.run(renew_hold("notes", hold_id))


def test_a_program_that_runs_keeps_its_table() -> None:
    """Its thread renews the hold, many times a lease."""
    shop = Shop()
    with shop.one.exclusive(Note):
        entry = shop.entry
        assert entry is not None
        assert entry.hold is not None
        hold_id = entry.hold.id
        shop.clock.on_sleep.append(lambda: renew(shop.one, hold_id))

        with (
            pytest.raises(TableHeldError, match="exclusive use, process"),
            shop.two.exclusive(Note),
        ):
            pytest.fail("both programs use the table")

        shop.put(shop.one, 2, "by the holder")
    assert shop.texts(shop.two) == {1: "first", 2: "by the holder"}


class Renewals(RecordsRequests):
    """Lets a test wait until a hold was renewed so often; `errors` are raised first."""

    def __init__(self, inner: MemoryGateway, errors: int = 0) -> None:
        super().__init__(inner)
        self.renewed = threading.Semaphore(0)
        self.errors = errors
        self.is_watched = False

    def execute(self, operation: Operation[Any], /) -> Any:
        if not self.is_watched or not isinstance(operation, CheckAndMutate):
            return super().execute(operation)
        if self.errors:
            self.errors -= 1
            raise RejectedError("the catalog refuses")
        answer = super().execute(operation)
        self.renewed.release()
        return answer


def renewing(known: Collection[threading.Thread]) -> list[threading.Thread]:
    """Return the threads that renew holds; other tests may have left some in this process."""
    threads = [each for each in threading.enumerate() if each not in known]
    return [each for each in threads if "_renew_on" in each.name]


def test_a_thread_renews_the_hold_until_the_block_ends(caplog: pytest.LogCaptureFixture) -> None:
    known = threading.enumerate()
    shop = Shop()
    gateway = Renewals(shop.memory, errors=1)
    engine = Engine(gateway, replace(OPTIONS, lease_s=0.02))

    with caplog.at_level(logging.WARNING), engine.exclusive(Note):
        gateway.is_watched = True
        assert all(gateway.renewed.acquire(timeout=30) for _ in range(3))
        gateway.is_watched = False

    assert "was not renewed: the catalog refuses" in caplog.text
    assert shop.entry is None
    assert renewing(known) == []


def test_the_thread_ends_when_the_table_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    known = threading.enumerate()
    shop = Shop()
    engine = Engine(shop.memory, replace(OPTIONS, lease_s=0.02))

    with (  # noqa: PT012  # the error comes at the end of the block
        caplog.at_level(logging.WARNING),
        pytest.raises(TableHeldError, match="ended too early"),
        engine.exclusive(Note),
    ):
        (thread,) = renewing(known)
        shop.memory.execute(PUT_OTHER_HOLD)
        thread.join(30)
        assert not thread.is_alive()

    assert "another program took over: the exclusive use of the table notes" in caplog.text


# --- a table that cannot be released --------------------------------------------------------------


class Cut(FailsBeforeSending):
    """Loses each request to the catalog while it is cut."""

    def __init__(self, inner: MemoryGateway) -> None:
        super().__init__(inner, self._error)
        self.is_cut = False

    def _error(self, operation: Operation[Any]) -> Exception | None:
        is_lost = self.is_cut and getattr(operation, "table", "") == CATALOG_TABLE
        return ConnectionLostError("cut") if is_lost else None


def test_a_table_that_was_not_released_is_taken_over(caplog: pytest.LogCaptureFixture) -> None:
    shop = Shop()
    gateway = Cut(shop.memory)
    engine = engine_on(gateway, shop.clock)

    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(ConnectionLostError),
        engine.exclusive(Note),
    ):
        gateway.is_cut = True

    assert "table notes may still be in exclusive use" in caplog.text
    refusal_of(lambda: shop.put(shop.two, 2, "too early"))
    with shop.two.exclusive(Note):
        pass
    shop.put(shop.two, 2, "afterwards")


def test_the_error_of_a_block_is_not_hidden_by_a_failed_release() -> None:
    gateway = Cut(Shop().memory)
    engine = engine_on(gateway, Clock())

    with pytest.raises(ValueError, match="own"), engine.exclusive(Note):  # noqa: PT012  # as above
        gateway.is_cut = True
        raise ValueError("the block's own")
