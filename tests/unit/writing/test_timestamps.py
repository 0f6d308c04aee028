"""TTLs and timestamps of single writes, and models whose cells the client stamps."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    column,
    connect,
    key,
    version,
)
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import ConnectionLostError, FlushError, SchemaError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import GetVersions, MutateRow, MutateRows, Operation, Put, RowMutation
from tests.support.recording import LosesAnswers, RecordsRequests, through

HOUR_MS = 3_600_000


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def __call__(self) -> int:
        return self.ms


class Note(Model, table="notes"):
    d = Family(versions=3)
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    more: Mapped[str | None] = column(d, default=None)


class Own(Model, table="own", timestamps="client"):
    d = Family(versions=3)
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    more: Mapped[str | None] = column(d, default=None)


class Counted(Model, table="counted"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    revision: Version = version(d)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sent(clock: Clock) -> RecordsRequests:
    return RecordsRequests(MemoryGateway(clock))


@pytest.fixture
def engine(sent: RecordsRequests) -> Iterator[Engine]:
    with Engine(sent, EngineOptions(scheme="memory")) as made:
        made.create_tables(Note, Own, Counted)
        yield made


def text_of(engine: Engine, model: Any, name: str = "a") -> str | None:
    with engine.session() as session:
        found = session.get(model, name=name)
        return None if found is None else str(found.text)


def stamps(sent: RecordsRequests, model: Any, name: str = "a") -> list[int]:
    table = model.__schema__.table
    asked = GetVersions(table, name.encode(), (b"d:text",), max_versions=10)
    return [each.timestamp_ms for each in sent.inner.execute(asked)]


# --- one write -------------------------------------------------------------------------------------


def test_cells_written_with_a_ttl_expire_and_uncover_what_lies_below(
    engine: Engine, clock: Clock
) -> None:
    with engine.session() as session:
        session.add(Note(name="a", text="below"))
        session.flush()
        clock.ms += 10
        session.expunge(session.get(Note, name="a"))  # type: ignore[arg-type]  # it exists
        session.add(Note(name="a", text="above"), ttl=timedelta(seconds=2))
        session.flush()
        with session.bulk() as bulk:
            bulk.add(Note(name="b", text="bulk"), ttl=timedelta(seconds=2))
            bulk.add(Note(name="c", text="bulk"))

    clock.ms += 1_000
    assert [text_of(engine, Note, name) for name in "abc"] == ["above", "bulk", "bulk"]
    clock.ms += 2_000
    assert [text_of(engine, Note, name) for name in "abc"] == ["below", None, "bulk"]


def test_a_ttl_is_for_one_write_alone(engine: Engine, clock: Clock) -> None:
    with engine.session() as session:
        note = Note(name="a", text="x", more="m")
        session.add(note, ttl=timedelta(seconds=2))
        session.flush()
        clock.ms += 10
        note.text = "lasting"
        session.flush()

    clock.ms += 3_000
    with engine.session() as session:
        found = session.get(Note, name="a")
    assert found == Note(name="a", text="lasting")


def test_timestamps_by_hand(engine: Engine, sent: RecordsRequests) -> None:
    with engine.session() as session:
        note = Note(name="a", text="new")
        session.add(note, timestamp_ms=200)
        session.flush()
        session.expunge(note)
        old = Note(name="a", text="old")
        session.add(old, timestamp_ms=100)
        session.flush()
        assert text_of(engine, Note) == "new"
        assert stamps(sent, Note) == [200, 100]
        session.delete(old, timestamp_ms=150)
        session.flush()
        assert stamps(sent, Note) == [200]
        session.delete(old, timestamp_ms=200)

    assert text_of(engine, Note) is None


@pytest.mark.parametrize(
    "options",
    [
        {"ttl": timedelta(0)},
        {"ttl": timedelta(microseconds=5)},
        {"ttl": 5},
        {"timestamp_ms": -1},
        {"timestamp_ms": 2**63 - 1},
        {"timestamp_ms": 1.5},
        {"timestamp_ms": True},
    ],
)
def test_options_out_of_range_are_refused(engine: Engine, options: dict[str, Any]) -> None:
    with engine.session() as session:
        with pytest.raises(ValidationError) as caught:
            session.add(Note(name="a", text="x"), **options)
        assert caught.value.fix
        assert session.flush().written == 0


def test_rows_under_a_guard_take_no_options(engine: Engine) -> None:
    counted = Counted(name="a", text="x")
    with engine.session() as session, session.bulk() as bulk:
        writes: list[Callable[[], object]] = [
            lambda: session.add(counted, ttl=timedelta(hours=1)),
            lambda: session.add(counted, timestamp_ms=5),
            lambda: session.delete(counted, timestamp_ms=5),
            lambda: bulk.add(counted, ttl=timedelta(hours=1)),
        ]
        for write in writes:
            with pytest.raises(ValidationError, match="guard"):
                write()

    assert text_of(engine, Counted) is None


def test_a_row_from_the_future_is_warned_of(
    engine: Engine, sent: RecordsRequests, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for name, ahead_ms in (("a", HOUR_MS), ("b", 0)):
        future = Put(b"d:text", b"theirs", clock.ms + ahead_ms)
        sent.inner.execute(MutateRow("notes", RowMutation(name.encode(), (future,))))
    engine._runtime.clock.now_ms = clock

    with caplog.at_level(logging.WARNING), engine.session() as session:
        for name in "ab":
            note = session.get(Note, name=name)
            assert note is not None
            note.more = "mine"

    assert ["b'a'" in record.getMessage() for record in caplog.records] == [True]


# --- the client's own clock ------------------------------------------------------------------------


def test_the_clock_of_the_client_stamps_its_models(engine: Engine, sent: RecordsRequests) -> None:
    with engine.session() as session:
        own, note = Own(name="a", text="1"), Note(name="a", text="1")
        session.add_all([own, note])
        session.flush()
        own.text, own.more = "2", "x"
        session.flush()
        own.more = None
        own.text = "3"
        session.flush()

    first, second, third = reversed(stamps(sent, Own))
    assert first < second < third
    writes = [w for w in sent.writes if w.table == "own"]  # type: ignore[attr-defined]  # they have
    assert all(put.timestamp_ms for w in writes for put in _puts(w))
    assert not any(
        put.timestamp_ms
        for w in sent.writes
        if w.table == "notes"  # type: ignore[attr-defined]  # as above
        for put in _puts(w)
    )


def _puts(write: Operation[Any]) -> list[Put]:
    mutations = write.mutations if isinstance(write, MutateRows) else (write.mutation,)  # type: ignore[attr-defined]  # MutateRow
    return [put for mutation in mutations for put in mutation.puts]


def test_deletes_and_puts_in_one_millisecond_do_not_tie(engine: Engine) -> None:
    with engine.session() as session:
        for number in range(20):
            session.put_row(Own, Own.text.to(str(number)), name="a")
            assert text_of(engine, Own) == str(number)
            session.delete_row(Own, name="a")
            assert text_of(engine, Own) is None
            own = Own(name="a", text="inserted")
            session.insert(own)
            own.text = "replaced"
            session.replace(own)
            assert text_of(engine, Own) == "replaced"
            own.more = "x"
            assert session.put_if(own, Own.text == "replaced")
            session.delete(own)
            session.flush()


def test_a_flush_whose_outcome_is_unknown_is_repeated_exactly(
    engine: Engine, sent: RecordsRequests, clock: Clock
) -> None:
    losing = LosesAnswers(sent.inner, lambda operation: isinstance(operation, MutateRows))
    with through(losing, engine).session() as session:
        own = Own(name="a", text="1")
        session.add(own)
        with pytest.raises(FlushError):
            session.flush()
        losing.loses = lambda _: False
        clock.ms += 50
        session.flush()
        first, second = (w for w in losing.writes if w.table == "own")  # type: ignore[attr-defined]  # they name a table
        assert first == second
        assert len(stamps(sent, Own)) == 1
        own.text = "2"
        losing.loses = lambda operation: isinstance(operation, MutateRows)
        with pytest.raises(FlushError):
            session.flush()
        own.text = "3"
        losing.loses = lambda _: False
        session.flush()

    assert text_of(engine, Own) == "3"
    assert len(stamps(sent, Own)) == 3


def test_the_engine_chooses_for_models_that_do_not_say() -> None:
    with connect("memory://?timestamps=client") as engine:
        engine.create_tables(Note, Counted)
        assert engine._runtime.clock.stamps(Note.__schema__)
        with engine.session() as session:
            session.add_all([Note(name="a", text="x"), Counted(name="a", text="x")])
        assert text_of(engine, Note) == text_of(engine, Counted) == "x"


def test_the_clock_never_goes_back() -> None:
    now, slept = [5_000], list[float]()
    runtime = Runtime(
        MemoryGateway(), parallel=1, fan_out=1, now_ms=lambda: now[0], sleep=slept.append
    )
    first = runtime.run(runtime.clock.stamp())
    now[0] = 4_000
    assert [runtime.run(runtime.clock.stamp()) for _ in range(3)] == [
        first + 1,
        first + 2,
        first + 3,
    ]
    now[0] = 9_000
    assert runtime.run(runtime.clock.stamp()) == 9_000
    assert not slept or max(slept) < 1


def test_writes_far_ahead_of_time_wait_for_it() -> None:
    slept = list[float]()
    runtime = Runtime(
        MemoryGateway(), parallel=1, fan_out=1, now_ms=lambda: 5_000, sleep=slept.append
    )
    for _ in range(50):
        runtime.run(runtime.clock.stamp())

    assert slept


def test_who_stamps_is_declared_in_words_that_are_known() -> None:
    with pytest.raises(SchemaError, match="timestamps= does not have an allowed value"):

        class Wrong(Model, table="wrong", timestamps="mine"):  # type: ignore[arg-type]  # the point
            d = Family()
            name: Key[str] = key()

    with pytest.raises(SchemaError, match="guards"):

        class Guarded(Model, table="guarded", timestamps="client"):
            d = Family()
            name: Key[str] = key()
            unit: Mapped[str] = column(d)
            by_unit = Index(unit)


def test_a_lost_answer_to_a_conditional_write_is_still_unknown(
    engine: Engine, sent: RecordsRequests
) -> None:
    losing = LosesAnswers(sent.inner, lambda operation: "Check" in type(operation).__name__)
    with through(losing, engine).session() as session, pytest.raises(ConnectionLostError):
        session.insert(Own(name="a", text="1"))

    assert text_of(engine, Own) == "1"
