"""Bulk writing: lazily, in order, in bounded memory, and loads that can be run again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar, TypeVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    FlushReport,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    key,
    select,
)
from hbase_orm.binding.url import EngineOptions
from hbase_orm.codecs.text import Text
from hbase_orm.errors import (
    CorruptRowError,
    DuplicateRowError,
    FlushError,
    QueryError,
    RegionUnavailableError,
    RowKeyError,
    SchemaError,
    UniqueViolationError,
    ValidationError,
)
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.ops import MAX_CELL_BYTES, CheckAndMutate, GetRows, GetVersions, Operation, PutRows
from hbase_orm.writing.bulk_sending import IN_FLIGHT, LOADS_IN_FLIGHT
from hbase_orm.writing.send import BATCH_BYTES
from tests.support.recording import BATCHES, FailsBeforeSending, RecordsRequests, batches_of

R = TypeVar("R")

MEMORY = EngineOptions(scheme="memory")


class Plain(Model, table="plain"):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v", codec=codecs.uint8())
    note: Mapped[str | None] = column(d, default=None)


class Loaded(Model, table="loaded"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str | None] = column(d, "u", default=None)
    value: Mapped[int] = column(d, "v", codec=codecs.uint8(), default=1)
    note: Mapped[str | None] = column(d, default=None)
    by_unit = Index(unit)


class Repeats(Model, table="repeats"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str] = column(d, "u")
    value: Mapped[int | None] = column(d, "v", codec=codecs.uint8(), default=None)
    by_unit = Index(unit, include=[value], covering=True)


class Renamed(Model, table="plain"):
    """The rows of `Plain` as another class."""

    d = Family()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v", codec=codecs.uint8())


class HoldsBatches(RecordsRequests):
    """Lets no batch through before `release` is set."""

    def __init__(self, inner: MemoryGateway) -> None:
        super().__init__(inner)
        self.release = threading.Event()
        self.waiting = 0

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, BATCHES):
            self.waiting += 1
            assert self.release.wait(10)
        return super().execute(operation)


def engine_on(gateway: Any) -> Engine:
    engine = Engine(gateway, MEMORY)
    engine.create_tables(Plain, Loaded)
    return engine


def cells_of(gateway: Any, table: str, row: bytes) -> Any:
    return gateway.execute(GetVersions(table, row, max_versions=9, raw=True))


def test_rows_are_taken_lazily_and_few_batches_are_under_way() -> None:
    gateway = HoldsBatches(MemoryGateway())
    taken = []

    def rows() -> Iterator[Plain]:
        for n in range(100):
            taken.append(n)
            yield Plain(n=n, value=1)

    session = engine_on(gateway).session()
    with session.bulk(batch_rows=5) as bulk:
        adding = threading.Thread(target=bulk.add_all, args=(rows(),))
        adding.start()
        adding.join(0.3)
        taken_while_held, waiting = len(taken), gateway.waiting
        gateway.release.set()
        adding.join()

    assert (taken_while_held, waiting) == (5 * (IN_FLIGHT + 1), IN_FLIGHT)
    assert bulk.report.written == 100


def test_two_writes_of_a_row_in_one_batch_keep_their_order() -> None:
    session = engine_on(MemoryGateway()).session()

    with session.bulk() as bulk:
        bulk.add(Plain(n=1, value=1, note="first"))
        bulk.add_all(Plain(n=1, value=value) for value in range(20))

    assert session.get(Plain, n=1) == Plain(n=1, value=19, note="first")
    assert bulk.report.written == 21


@pytest.mark.parametrize("model", [Plain, Renamed])
def test_a_row_whose_earlier_batch_is_under_way_waits_for_it(model: Any) -> None:
    gateway = HoldsBatches(MemoryGateway())
    session = engine_on(gateway).session()
    with session.bulk(batch_rows=2) as bulk:
        bulk.add_all([Plain(n=1, value=1), Plain(n=2, value=1)])  # full: on its way
        second = threading.Thread(
            target=bulk.add_all, args=([model(n=1, value=2), model(n=3, value=2)],)
        )
        second.start()
        second.join(0.2)
        waiting = gateway.waiting
        gateway.release.set()
        second.join()

    rows = [[m.row[-1] for m in request.mutations] for request in batches_of(gateway.requests)]
    assert waiting == 1
    assert rows == [[1, 2], [1, 3]]


def test_two_models_of_one_table_keep_the_order_of_a_row() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk(batch_rows=2) as bulk:
        bulk.add(Renamed(n=2, value=1))
        bulk.add_all([Plain(n=1, value=1), Renamed(n=1, value=2), Plain(n=1, value=3)])

    values = [
        mutation.puts[0].value[0]
        for request in batches_of(gateway.requests)
        for mutation in request.mutations
        if mutation.row[-1] == 1
    ]
    assert values == [1, 2, 3]


def sizes_of(gateway: RecordsRequests, table: str) -> list[tuple[int, int]]:
    """Return of each batch sent to a table how many rows it has, and how many bytes of values."""
    return [
        (
            len(request.mutations),
            sum(len(put.value) for mutation in request.mutations for put in mutation.puts),
        )
        for request in batches_of(gateway.requests)
        if request.table == table
    ]


def test_a_batch_ends_before_it_is_too_large_and_a_larger_row_travels_alone() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()
    large = "x" * 400_000

    with session.bulk() as bulk:
        bulk.add_all(Plain(n=n, value=1, note=large) for n in range(12))
        bulk.add(Plain(n=98, value=1, note="x" * (BATCH_BYTES + 1)))
        bulk.add(Plain(n=99, value=1))

    sizes = sizes_of(gateway, "plain")
    assert [rows for rows, _ in sizes] == [5, 5, 2, 1, 1]
    assert all(size_bytes < BATCH_BYTES for rows, size_bytes in sizes if rows > 1)
    assert bulk.report.written == 14


def test_the_batches_of_a_load_end_before_they_are_too_large() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk(insert_only=True) as bulk:
        bulk.add_all(Loaded(name=f"r{n}", note="x" * 400_000) for n in range(12))

    assert [rows for rows, _ in sizes_of(gateway, "loaded")] == [5, 5, 2]
    assert all(size_bytes < BATCH_BYTES for _, size_bytes in sizes_of(gateway, "loaded"))


def test_an_object_that_cannot_be_encoded_fails_its_add_and_nothing_else() -> None:
    session = engine_on(MemoryGateway()).session()

    with session.bulk() as bulk:
        bulk.add(Plain(n=1, value=1))
        with pytest.raises(ValidationError) as misfit:
            bulk.add(Plain(n=2, value=300))
        with pytest.raises(RowKeyError) as bad_key:
            bulk.add(Plain(n=-1, value=3))
        bulk.add(Plain(n=3, value=3))

    assert (misfit.value.model, misfit.value.field) == ("Plain", "value")
    assert bad_key.value.field == "n"
    assert [obj.n for obj in session.all(select(Plain).allow_full_scan())] == [1, 3]
    assert bulk.report.written == 2


@pytest.mark.parametrize("insert_only", [True, False])
def test_an_index_entry_that_is_too_long_fails_its_add(*, insert_only: bool) -> None:
    session = engine_on(MemoryGateway()).session()

    with session.bulk(insert_only=insert_only) as bulk:
        with pytest.raises(RowKeyError) as first:
            bulk.add(Loaded(name="x", unit="u" * 40_000))
        bulk.add(Loaded(name="y", unit="s"))
        with pytest.raises(RowKeyError) as later:
            bulk.add(Loaded(name="z", unit="u" * 40_000))

    assert (first.value.index, later.value.index) == ("by_unit", "by_unit")
    assert [obj.name for obj in session.all(select(Loaded).where(Loaded.unit == "s"))] == ["y"]


@dataclass(frozen=True, slots=True)
class ReadsNotAll(Text):
    """Text of which one is written and not read."""

    name: ClassVar[str] = "reads_not_all"

    def decode(self, data: bytes, /) -> str:
        if data == b"unread":
            raise self.corrupt(data)
        return Text.decode(self, data)


class Unread(Model, table="unread"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str] = column(d, codec=ReadsNotAll())
    by_unit = Index(unit)


@pytest.mark.parametrize("insert_only", [False, True])
def test_an_object_whose_indexed_value_is_not_read_back_fails_alone(*, insert_only: bool) -> None:
    engine = Engine(MemoryGateway(), MEMORY)
    engine.create_tables(Unread)
    bad = Unread(name="b", unit="unread")

    failed: Exception | None = None
    with engine.session() as session:
        try:
            with session.bulk(insert_only=insert_only) as bulk:
                bulk.add(Unread(name="a", unit="s"))
                with pytest.raises(CorruptRowError) if insert_only else nullcontext():
                    bulk.add(bad)
        except FlushError as error:
            failed = error

        assert [obj.name for obj in session.all(select(Unread).where(Unread.unit == "s"))] == ["a"]
        assert session.get(Unread, name="b") is None
    assert (failed is None) is insert_only


def test_an_object_that_cannot_be_encoded_begins_no_load() -> None:
    engine = engine_on(MemoryGateway())

    with engine.session().bulk(insert_only=True) as bulk, pytest.raises(ValidationError):
        bulk.add(Loaded(name="x", value=300))

    assert engine.table_state(Loaded) is TableState.NEW


def test_an_exception_in_the_block_sends_nothing_more_and_reports_what_was_sent() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()

    with pytest.raises(ZeroDivisionError), session.bulk(batch_rows=2) as bulk:
        bulk.add_all(Plain(n=n, value=1 // (3 - n)) for n in range(5))

    assert len(gateway.writes) == 1
    assert bulk.report.written == 2


def test_a_failed_batch_stops_the_bulk_and_names_its_rows() -> None:
    moving = RegionUnavailableError("the region moves")
    gateway = FailsBeforeSending(
        MemoryGateway(), lambda op: moving if isinstance(op, BATCHES) else None
    )
    session = engine_on(gateway).session()

    with pytest.raises(FlushError) as caught, session.bulk(batch_rows=1) as bulk:
        bulk.add_all(Plain(n=n, value=1) for n in range(100))

    assert len(gateway.writes) <= IN_FLIGHT + 1
    assert len(caught.value.not_written) == len(gateway.writes) + 1  # one had waited
    assert caught.value.written == bulk.report.written == 0


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        *((name, wrong) for name in ("batch_rows", "parallel") for wrong in (0, -1, "3", True)),
        ("batch_rows", None),
    ],
)
def test_sizes_that_are_no_positive_numbers_are_refused(argument: str, wrong: Any) -> None:
    session = engine_on(MemoryGateway()).session()

    with pytest.raises(QueryError) as caught:
        session.bulk(**{argument: wrong})

    assert caught.value.argument == argument
    assert caught.value.fix


def test_twice_as_many_batches_of_a_load_are_under_way() -> None:
    gateway = HoldsBatches(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk(batch_rows=2, insert_only=True) as bulk:
        objects = [Loaded(name=str(n), unit="m") for n in range(40)]
        adding = threading.Thread(target=bulk.add_all, args=(objects,))
        adding.start()
        adding.join(0.3)
        waiting = gateway.waiting
        gateway.release.set()
        adding.join()

    assert waiting == LOADS_IN_FLIGHT == 2 * IN_FLIGHT
    assert bulk.report.written == 40


@pytest.mark.parametrize("parallel", [1, 5])
def test_as_many_batches_are_under_way_as_is_said(parallel: int) -> None:
    gateway = HoldsBatches(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk(batch_rows=2, parallel=parallel) as bulk:
        adding = threading.Thread(
            target=bulk.add_all, args=([Plain(n=n, value=1) for n in range(40)],)
        )
        adding.start()
        adding.join(0.2)
        waiting = gateway.waiting
        gateway.release.set()
        adding.join()

    assert waiting == parallel
    assert bulk.report.written == 40


def test_progress_is_told_after_each_batch() -> None:
    told: list[int] = []
    session = engine_on(MemoryGateway()).session()

    with session.bulk(batch_rows=4, progress=lambda report: told.append(report.written)) as bulk:
        bulk.add_all(Plain(n=n, value=1) for n in range(10))

    assert told == [4, 8, 10]


def test_what_progress_raises_ends_the_bulk() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()

    def stop(report: FlushReport) -> None:
        raise KeyError(report.written)

    with pytest.raises(KeyError), session.bulk(batch_rows=1, parallel=1, progress=stop) as bulk:
        bulk.add_all(Plain(n=n, value=1) for n in range(100))

    assert len(gateway.writes) <= 3


def test_rows_with_and_without_ttl_keep_their_order() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()
    day = timedelta(days=1)

    with session.bulk() as bulk:
        bulk.add(Plain(n=1, value=1))
        bulk.add(Plain(n=1, value=2), ttl=day)
        bulk.add(Plain(n=1, value=3))
        bulk.add(Plain(n=2, value=4), ttl=day)

    sent = [
        (each.row[-1], each.puts[0].value[0], each.ttl_ms)
        for request in batches_of(gateway.requests)
        for each in request.mutations
    ]
    of_one = [each for each in sent if each[0] == 1]
    assert of_one == [(1, 1, None), (1, 2, 86_400_000), (1, 3, None)]
    assert sorted(sent)[3:] == [(2, 4, 86_400_000)]


def test_a_value_that_only_its_codec_can_encode_is_written() -> None:
    class Number(int):
        """Not of the very class that the generated code knows."""

    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk() as bulk:
        bulk.add_all([Plain(n=1, value=1), Plain(n=2, value=Number(2)), Plain(n=3, value=3)])

    assert [obj.value for obj in session.all(select(Plain).allow_full_scan())] == [1, 2, 3]


def test_rows_of_one_shape_travel_as_flat_rows() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk() as bulk:
        bulk.add_all([Plain(n=1, value=1), Plain(n=2, value=2, note="")])

    (sent,) = [each for each in gateway.requests if isinstance(each, PutRows)]
    assert [row[1:] for row in sent.rows] == [(b"\x01", None), (b"\x02", b"")]


def test_a_cell_that_is_too_large_fails_its_add() -> None:
    session = engine_on(MemoryGateway()).session()
    fits = MAX_CELL_BYTES - CELL_OVERHEAD_BYTES - len(b"....") - len(b"dnote")

    with session.bulk() as bulk:
        bulk.add(Plain(n=1, value=1, note="x" * fits))
        with pytest.raises(ValidationError) as caught:
            bulk.add(Plain(n=2, value=1, note="x" * (fits + 1)))

    assert (caught.value.model, caught.value.field) == ("Plain", "note")
    assert caught.value.row == b"\0\0\0\2"
    assert [obj.n for obj in session.all(select(Plain).allow_full_scan())] == [1]


def test_rows_that_the_client_stamps_have_later_stamps_in_later_batches() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = Engine(gateway, EngineOptions(scheme="memory", timestamps="client"))
    engine.create_tables(Plain)

    with engine.session().bulk(batch_rows=2, parallel=1) as bulk:
        bulk.add_all(Plain(n=n, value=1) for n in range(6))

    stamps = [each.timestamp_ms or 0 for each in gateway.requests if isinstance(each, PutRows)]
    assert 0 < stamps[0] < stamps[1] < stamps[2]


def test_a_row_that_was_just_deleted_or_counted_waits_for_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, slept = engine_on(MemoryGateway()), list[float]()
    session = engine.session()
    monkeypatch.setattr(engine._runtime._driver, "_sleep", slept.append)
    monkeypatch.setattr(engine._runtime.clock, "_monotonic_s", lambda: 100.0)

    def write(n: int) -> int:
        before = len(slept)
        with session.bulk() as bulk:
            bulk.add(Plain(n=n, value=1))
        return len(slept) - before

    session.delete_row(Plain, n=1)
    session.append(Plain, Plain.note, "more", n=2)

    assert [write(n) for n in (1, 2, 3)] == [1, 1, 0]


def test_rows_of_a_table_whose_indexes_the_model_does_not_know_are_not_written() -> None:
    class Unaware(Model, table="loaded"):
        d = Family()
        name: Key[str] = key()
        value: Mapped[int] = column(d, "v", codec=codecs.uint8())

    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    engine.session().insert(Loaded(name="a"))
    gateway.requests.clear()

    with pytest.raises(FlushError) as caught, engine.session().bulk() as bulk:
        bulk.add_all([Unaware(name="b", value=1), Unaware(name="c", value=1)])

    assert [(row, type(error)) for _, row, error in caught.value.not_written] == [
        (b"b", SchemaError),
        (b"c", SchemaError),
    ]
    assert gateway.writes == []


# --- loads -----------------------------------------------------------------------------------------


def loaded_rows() -> list[Loaded]:
    return [Loaded(name=f"r{n}", unit="s" if n % 2 else None, value=n) for n in range(10)]


def test_a_load_reads_no_row_and_opens_the_table_at_its_end() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    gateway.requests.clear()

    with engine.session().bulk(insert_only=True, batch_rows=4) as bulk:
        bulk.add_all(loaded_rows())
        during = engine.table_state(Loaded)

    read = [r for r in gateway.requests if isinstance(r, GetRows) and r.table == "loaded"]
    tables = [request.table for request in gateway.requests if isinstance(request, BATCHES)]
    assert (during, engine.table_state(Loaded)) == (TableState.LOADING, TableState.READABLE)
    assert (read, sorted(tables)) == ([], ["loaded"] * 3 + ["loaded_ix_by_unit"] * 3)


def test_a_load_that_is_broken_off_and_run_again_verifies_what_entries_repeat() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    engine.create_tables(Repeats)
    rows = {f"r{n}": (f"u{n % 3}", n if n % 2 else None) for n in range(20)}
    objects = [Repeats(name=name, unit=unit, value=value) for name, (unit, value) in rows.items()]
    asked = select(Repeats.name, Repeats.unit, Repeats.value).where(Repeats.unit >= "u")

    with suppress(KeyError), engine.session().bulk(insert_only=True, batch_rows=4) as bulk:
        bulk.add_all(objects[:10])
        raise KeyError
    part = engine.session().all(asked)
    with engine.session().bulk(insert_only=True, batch_rows=4) as again:
        again.add_all(objects)
    gateway.requests.clear()
    found = engine.session().all(asked)

    assert {name for name, _, _ in part} == set([*rows][:8])
    assert {name: (unit, value) for name, unit, value in found} == rows
    assert not any(isinstance(request, GetRows) for request in gateway.requests)


def test_a_row_that_stands_twice_in_a_load_is_refused() -> None:
    gateway = HoldsBatches(MemoryGateway())
    session = engine_on(gateway).session()

    with session.bulk(insert_only=True, batch_rows=2) as bulk:
        bulk.add(Loaded(name="a", unit="s"))
        with pytest.raises(DuplicateRowError) as in_the_batch:
            bulk.add(Loaded(name="a", unit="ms"))
        bulk.add(Loaded(name="b", unit="s"))  # full: on its way
        with pytest.raises(DuplicateRowError) as under_way:
            bulk.add(Loaded(name="a", unit="ms"))
        gateway.release.set()

    for caught in (in_the_batch, under_way):
        assert (caught.value.table, caught.value.row) == ("loaded", b"a")
        assert caught.value.fix
    units = [session.count(select(Loaded).where(Loaded.unit == unit)) for unit in ("s", "ms")]
    assert (units, bulk.report.written) == ([2, 0], 2)


def test_entries_are_acknowledged_before_their_rows_are_sent() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    gateway.requests.clear()

    with engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(loaded_rows())

    tables = [request.table for request in gateway.requests if isinstance(request, BATCHES)]
    assert tables == ["loaded_ix_by_unit", "loaded"]


def test_an_interrupted_load_is_finished_by_running_it_again_with_equal_cells() -> None:
    gateway = MemoryGateway()
    engine = engine_on(gateway)
    with suppress(KeyError), engine.session().bulk(insert_only=True, batch_rows=2) as bulk:
        bulk.add_all(loaded_rows()[:5])
        raise KeyError
    interrupted = engine.table_state(Loaded)
    first = cells_of(gateway, "loaded", b"r0")

    with Engine(gateway, MEMORY).session().bulk(insert_only=True) as again:
        again.add_all(loaded_rows())

    session = engine.session()
    assert (interrupted, engine.table_state(Loaded)) == (TableState.LOADING, TableState.READABLE)
    assert cells_of(gateway, "loaded", b"r0") == first
    assert (
        len(
            {
                cell.timestamp_ms
                for n in range(10)
                for cell in cells_of(gateway, "loaded", b"r%d" % n)
            }
        )
        == 1
    )
    assert session.count(select(Loaded).allow_full_scan()) == 10
    assert session.count(select(Loaded).where(Loaded.unit == "s")) == 5


def test_a_load_with_a_failed_batch_stays_open_for_the_next_one() -> None:
    moving = RegionUnavailableError("the region moves")
    gateway = FailsBeforeSending(MemoryGateway(), lambda _: None)
    engine = engine_on(gateway)
    gateway.error_of = lambda op: (
        moving if isinstance(op, BATCHES) and op.table == "loaded" else None
    )
    with pytest.raises(FlushError), engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(loaded_rows())
    state = engine.table_state(Loaded)
    gateway.error_of = lambda _: None

    with engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(loaded_rows())

    assert (state, engine.table_state(Loaded)) == (TableState.LOADING, TableState.READABLE)


def test_a_table_that_somebody_wrote_is_not_loaded_but_checked_row_by_row() -> None:
    gateway = RecordsRequests(MemoryGateway())
    engine = engine_on(gateway)
    with engine.session() as session:
        session.add(Loaded(name="r3", value=200))

    with pytest.raises(FlushError) as caught, engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(loaded_rows())

    assert [row for _, row, _ in caught.value.not_written] == [b"r3"]
    assert bulk.report.written == 9
    assert engine.session().get(Loaded, name="r3") == Loaded(name="r3", value=200)


class Owned(Model, table="owned"):
    d = Family()
    name: Key[str] = key()
    tag: Mapped[str | None] = column(d, default=None)
    by_tag = Index(tag, unique=True)


def test_a_table_with_unique_values_is_not_loaded_but_checked_row_by_row() -> None:
    engine = Engine(MemoryGateway(), MEMORY)
    engine.create_tables(Owned)
    objects = [Owned(name="a", tag="x"), Owned(name="b", tag="y"), Owned(name="c", tag="x")]

    with pytest.raises(FlushError) as caught, engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(objects)

    ((_, row, error),) = caught.value.not_written
    assert isinstance(error, UniqueViolationError)
    assert row in {b"a", b"c"}
    owner = b"c" if row == b"a" else b"a"
    found = engine.session().all(select(Owned).where(Owned.tag == "x").using(Owned.by_tag))
    assert [obj.name.encode() for obj in found] == [owner]


class Covered(Model, table="covered"):
    d = Family()
    name: Key[str] = key()
    tag: Mapped[str] = column(d)
    note: Mapped[str] = column(d)
    by_tag = Index(tag, include=[note])


def test_a_table_whose_entries_repeat_columns_is_not_loaded_but_checked_row_by_row() -> None:
    engine = Engine(MemoryGateway(), MEMORY)
    engine.create_tables(Covered)
    objects = [Covered(name=f"r{n}", tag="x", note=f"n{n}") for n in range(5)]

    with engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(objects)

    stmt = select(Covered).where(Covered.tag == "x").using(Covered.by_tag)
    assert engine.session().all(stmt) == objects
    assert engine.table_state(Covered) is TableState.READABLE


def test_guarded_rows_written_after_a_load_go_through_the_protocol() -> None:
    engine = engine_on(MemoryGateway())
    with engine.session().bulk(insert_only=True) as bulk:
        bulk.add_all(loaded_rows())

    with engine.session() as session:
        found = session.get(Loaded, name="r1")
        assert found is not None
        found.unit = "ms"
        session.flush()
        units = [session.count(select(Loaded).where(Loaded.unit == unit)) for unit in ("s", "ms")]

    assert units == [4, 1]


def test_a_fault_in_one_row_of_a_bulk_leaves_the_others_told_apart() -> None:
    fault = ZeroDivisionError("a fault")
    gateway = FailsBeforeSending(
        MemoryGateway(),
        lambda op: fault if isinstance(op, CheckAndMutate) and op.mutation.row == b"b" else None,
    )
    session = engine_on(gateway).session()

    with pytest.raises(FlushError) as caught, session.bulk() as bulk:
        bulk.add_all(Loaded(name=name, unit="s") for name in "abc")

    assert caught.value.unknown == [("loaded", b"b", fault)]
    assert caught.value.__cause__ is fault
    assert bulk.report.written == 2
