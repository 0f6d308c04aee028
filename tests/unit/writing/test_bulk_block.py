"""When a bulk writer takes objects: inside its block, one at a time, and none is lost in silence."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    FlushReport,
    Index,
    Key,
    Mapped,
    Model,
    Session,
    Substitute,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    FlushError,
    QueryError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.gateway.helper_threads import Team
from hbase_orm.ops import CheckAndMutate
from hbase_orm.writing.bulk import Bulk
from tests.support.recording import BATCHES, FailsBeforeSending, gateway_of, through

JOIN_S = 20


class Plain(Model, table="plain"):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, codec=codecs.uint8(), default=1)


class Indexed(Model, table="indexed"):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, codec=codecs.uint8(), default=1)
    by_value = Index(value)


class Hooked(Model, table="hooked"):
    d = Family()
    act: ClassVar[Callable[[], object]]
    n: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, codec=codecs.uint8(), default=1)

    def before_put(self) -> None:
        type(self).act()


class Named(Model, table="named"):
    d = Family()
    name: Key[str] = key()
    value: Mapped[int] = column(d, codec=codecs.uint8(), default=1)
    __rowkey__ = rowkey(Substitute(of=name, dictionary="names"))


MODELS = (Plain, Indexed, Hooked, Named)
EVERY = pytest.mark.parametrize("model", [Plain, Indexed])


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as made:
        made.create_tables(*MODELS)
        yield made


@pytest.fixture
def session(engine: Engine) -> Session:
    return engine.session()


def numbers(engine: Engine, model: type[Any] = Plain) -> list[int]:
    return engine.session().all(select(model.n).allow_full_scan())


def bulk_threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith("hbase-orm-bulk")}


def at_the_end_of(bulk: Bulk) -> FlushError:
    """End a block as if nothing had been raised in it; return what that raises."""
    with pytest.raises(FlushError) as raised:
        bulk.__exit__(None, None, None)
    return raised.value


ADDS: dict[str, Callable[[Bulk, Any], None]] = {
    "add": lambda bulk, obj: bulk.add(obj),
    "add_all": lambda bulk, obj: bulk.add_all([obj]),
    "add_all of nothing": lambda bulk, _: bulk.add_all([]),
}


# --- before and after the block --------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("add", ADDS.values(), ids=ADDS.keys())
def test_before_its_block_a_bulk_takes_no_object(
    add: Callable[[Bulk, Any], None], model: Any, engine: Engine, session: Session
) -> None:
    bulk = session.bulk()

    with pytest.raises(QueryError, match="inside its block") as refused:
        add(bulk, model(n=1))
    with bulk:
        bulk.add(model(n=2))

    assert "with session.bulk()" in refused.value.fix
    assert (numbers(engine, model), bulk.report) == ([2], FlushReport(written=1))


@EVERY
@pytest.mark.parametrize("add", ADDS.values(), ids=ADDS.keys())
def test_after_its_block_a_bulk_takes_no_object(
    add: Callable[[Bulk, Any], None], model: Any, engine: Engine, session: Session
) -> None:
    with session.bulk(batch_rows=1) as bulk:
        bulk.add(model(n=1))

    with pytest.raises(QueryError, match="has ended") as refused:
        add(bulk, model(n=2))

    assert "make a new bulk writer" in refused.value.fix
    assert numbers(engine, model) == [1]


def test_after_a_block_that_an_exception_left_a_bulk_takes_no_object(session: Session) -> None:
    with suppress(ZeroDivisionError), session.bulk() as bulk:
        raise ZeroDivisionError

    with pytest.raises(QueryError, match="has ended"):
        bulk.add(Plain(n=2))


def test_a_bulk_has_one_block_and_the_rows_of_the_first_are_written(
    engine: Engine, session: Session
) -> None:
    bulk = session.bulk()
    with bulk:
        bulk.add(Plain(n=1))
        with (
            pytest.raises(QueryError, match="a bulk writer can be used in only one with block"),
            bulk,
        ):
            pass
        bulk.add(Plain(n=2))
    with pytest.raises(QueryError, match="a bulk writer can be used in only one with block"), bulk:
        pass

    assert numbers(engine) == [1, 2]


def test_a_bulk_without_a_block_has_no_threads(session: Session) -> None:
    of_other_tests = bulk_threads()  # their last threads may still be ending
    session.bulk(parallel=2)
    bulk = session.bulk(batch_rows=1)
    assert bulk_threads() <= of_other_tests

    with bulk:
        bulk.add(Plain(n=1))
        while_open = bulk_threads()

    assert while_open - of_other_tests
    assert bulk_threads() <= of_other_tests


def test_the_end_of_a_block_that_never_began_sends_nothing(session: Session) -> None:
    bulk = session.bulk()

    bulk.__exit__(None, None, None)

    assert bulk.report.written == 0


# --- one object at a time --------------------------------------------------------------------------


@EVERY
def test_the_progress_function_cannot_add_and_every_row_taken_is_named(
    model: Any, engine: Engine, session: Session
) -> None:
    def add_more(_: FlushReport) -> None:
        bulk.add(model(n=99))

    bulk = session.bulk(batch_rows=1, parallel=1, progress=add_more)
    with pytest.raises(QueryError, match="progress function"), bulk:
        bulk.add_all(model(n=n) for n in range(3))

    assert 99 not in numbers(engine, model)


def test_the_progress_function_cannot_end_the_block(session: Session) -> None:
    def leave(_: FlushReport) -> None:
        bulk.__exit__(None, None, None)

    bulk = session.bulk(batch_rows=1, parallel=1, progress=leave)
    with pytest.raises(QueryError, match="cannot end its block"), bulk:
        bulk.add_all(Plain(n=n) for n in range(3))


def test_a_hook_cannot_add_to_the_bulk_that_calls_it_and_its_rows_stay(
    engine: Engine, session: Session
) -> None:
    with session.bulk() as bulk:
        Hooked.act = lambda: None
        bulk.add(Plain(n=1))
        Hooked.act = lambda: bulk.add(Plain(n=2))
        with pytest.raises(QueryError, match="a hook"):
            bulk.add(Hooked(n=3))
        Hooked.act = lambda: None
        bulk.add(Hooked(n=4))

    assert (numbers(engine), numbers(engine, Hooked)) == ([1], [4])


def test_a_hook_that_notes_work_in_the_session_leaves_it_to_the_flush(
    engine: Engine, session: Session
) -> None:
    Hooked.act = lambda: session.add(Plain(n=2))

    with session, session.bulk() as bulk:
        bulk.add(Hooked(n=1))

    assert (numbers(engine), numbers(engine, Hooked)) == ([2], [1])


def test_a_generator_may_add_to_the_bulk_that_reads_it(engine: Engine, session: Session) -> None:
    def rows() -> Iterator[Plain]:
        for n in range(3):
            bulk.add(Plain(n=n, value=10))
            bulk.add_all([Plain(n=10 + n)])
            yield Plain(n=n, value=20)

    with session.bulk(batch_rows=2) as bulk:
        bulk.add_all(rows())

    assert numbers(engine) == [0, 1, 2, 10, 11, 12]
    values = engine.session().all(select(Plain.value).where(Plain.n < 3).allow_full_scan())
    assert values == [20, 20, 20]


def test_what_a_generator_adds_comes_after_the_new_names_it_gave_before(
    engine: Engine, session: Session
) -> None:
    def rows() -> Iterator[Named]:
        yield Named(name="a", value=1)
        bulk.add(Named(name="a", value=2))

    with session.bulk() as bulk:
        bulk.add_all(rows())

    found = engine.session().get(Named, name="a")
    assert found is not None
    assert found.value == 2


def test_a_second_thread_that_adds_at_the_same_time_is_refused(
    engine: Engine, session: Session
) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert go_on.wait(JOIN_S)

    Hooked.act = wait
    with session.bulk() as bulk:
        first = threading.Thread(target=bulk.add, args=(Hooked(n=1),))
        first.start()
        assert inside.wait(JOIN_S)
        with pytest.raises(QueryError, match="another thread"):
            bulk.add(Plain(n=1))
        go_on.set()
        first.join(JOIN_S)
        bulk.add(Plain(n=2))

    assert (numbers(engine), numbers(engine, Hooked)) == ([2], [1])


def test_the_end_of_the_block_waits_for_the_row_that_another_thread_adds(
    engine: Engine, session: Session
) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert go_on.wait(JOIN_S)

    Hooked.act = wait
    with session.bulk() as bulk:
        first = threading.Thread(target=bulk.add, args=(Hooked(n=1),))
        first.start()
        assert inside.wait(JOIN_S)
        timer = threading.Timer(0.05, go_on.set)
        timer.start()

    first.join(JOIN_S)
    timer.join(JOIN_S)
    assert (numbers(engine, Hooked), bulk.report.written) == ([1], 1)


# --- read ahead for names --------------------------------------------------------------------------


def named(engine: Engine) -> list[str]:
    return sorted(engine.session().all(select(Named.name).allow_full_scan()))


def test_a_generator_that_raises_loses_none_of_the_objects_it_gave(
    engine: Engine, session: Session
) -> None:
    def rows() -> Iterator[Named]:
        yield Named(name="a")
        yield Named(name="b")
        raise ZeroDivisionError

    with session.bulk() as bulk:
        with pytest.raises(ZeroDivisionError):
            bulk.add_all(rows())
        bulk.add(Named(name="c"))

    assert named(engine) == ["a", "b", "c"]


def test_an_object_that_does_not_fit_loses_none_of_those_read_with_it(
    engine: Engine, session: Session
) -> None:
    misfit = Named(name="b")
    misfit.__dict__["value"] = 999

    with session.bulk() as bulk, pytest.raises(ValidationError):
        bulk.add_all([Named(name="a"), misfit, Named(name="c"), Named(name="d")])

    assert named(engine) == ["a", "c", "d"]


def test_names_that_cannot_be_numbered_end_the_bulk_which_says_so_at_its_end(
    engine: Engine,
) -> None:
    lost = ConnectionLostError("cut")
    gateway = FailsBeforeSending(
        gateway_of(engine), lambda op: lost if isinstance(op, CheckAndMutate) else None
    )

    bulk = through(gateway, engine).session().bulk().__enter__()
    bulk.add(Plain(n=1))
    with pytest.raises(ConnectionLostError):
        bulk.add_all([Named(name="a"), Named(name="b")])
    raised = at_the_end_of(bulk)

    tables = sorted(table for table, _, _ in raised.not_written)
    assert tables == ["named", "named", "plain"]


# --- errors that end it ----------------------------------------------------------------------------


def refusing(engine: Engine) -> Engine:
    lost = ConnectionLostError("cut")
    gateway = FailsBeforeSending(
        gateway_of(engine), lambda op: lost if isinstance(op, BATCHES) else None
    )
    return through(gateway, engine)


def test_after_a_batch_that_failed_nothing_more_is_taken(engine: Engine) -> None:
    session = refusing(engine).session()

    bulk = session.bulk(batch_rows=1, parallel=1).__enter__()
    with pytest.raises(FlushError):
        bulk.add_all(Plain(n=n) for n in range(9))
    for n in (10, 11):
        with pytest.raises(QueryError, match="an error has ended") as refused:
            bulk.add(Plain(n=n))
        assert isinstance(refused.value.__cause__, FlushError)
    raised = at_the_end_of(bulk)

    rows = [*raised.not_written, *raised.unknown]
    assert sorted(row for _, row, _ in rows) == [b"\0\0\0\0", b"\0\0\0\1"]


@EVERY
def test_a_progress_function_that_raises_ends_the_bulk_and_no_row_is_lost_in_silence(
    model: Any, engine: Engine, session: Session
) -> None:
    def stop(report: FlushReport) -> None:
        raise KeyError(report.written)

    taken = 0
    bulk = session.bulk(batch_rows=2, parallel=1, progress=stop).__enter__()
    for n in range(9):
        with suppress(KeyError, QueryError):
            bulk.add(model(n=n))
            taken += 1
    raised = at_the_end_of(bulk)

    named_rows = {row[-1] for _, row, _ in raised.not_written}
    assert taken < 9
    assert isinstance(raised.__cause__, KeyError)
    assert named_rows | set(numbers(engine, model)) >= set(range(taken))
    assert named_rows.isdisjoint(numbers(engine, model))


def test_an_interrupt_while_a_batch_is_sent_is_not_the_end_of_rows_in_silence(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    bulk = session.bulk(batch_rows=2, parallel=1).__enter__()
    bulk.add(Plain(n=1))
    monkeypatch.setattr(Team, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bulk.add(Plain(n=2))
    monkeypatch.undo()
    raised = at_the_end_of(bulk)

    assert [row[-1] for _, row, _ in raised.not_written] == [1, 2]


# --- sessions, engines and processes that end ------------------------------------------------------


def test_a_closed_session_makes_no_bulk(session: Session) -> None:
    session.close()

    with pytest.raises(ConfigurationError, match="the session is closed"):
        session.bulk()


@EVERY
def test_after_its_session_is_closed_a_bulk_takes_no_object_and_sends_what_it_took(
    model: Any, engine: Engine, session: Session
) -> None:
    with session.bulk() as bulk:
        bulk.add(model(n=1))
        session.close()
        with pytest.raises(ConfigurationError, match="the session is closed"):
            bulk.add(model(n=2))

    assert numbers(engine, model) == [1]


@EVERY
def test_a_bulk_on_a_closed_engine_names_its_rows(model: Any) -> None:
    engine = connect("memory://")
    engine.create_tables(*MODELS)

    bulk = engine.session().bulk().__enter__()
    bulk.add_all(model(n=n) for n in range(3))
    engine.close()
    raised = at_the_end_of(bulk)

    rows = [*raised.not_written, *raised.unknown]
    assert sorted(row[-1] for _, row, _ in rows) == [0, 1, 2]
    assert raised.written == 0


def test_a_forked_child_adds_nothing_and_the_parent_sends_what_it_took(
    engine: Engine, session: Session
) -> None:
    with session.bulk(batch_rows=2) as bulk:
        bulk.add_all(Plain(n=n) for n in range(3))
        pid = os.fork()
        if not pid:
            _exit_with(_refused_in_child(bulk))
        _, status = os.waitpid(pid, 0)
        bulk.add(Plain(n=3))

    assert os.waitstatus_to_exitcode(status) == 0
    assert numbers(engine) == [0, 1, 2, 3]


def _refused_in_child(bulk: Bulk) -> bool:
    try:
        bulk.add(Plain(n=9))
    except QueryError:
        bulk.__exit__(None, None, None)  # returns at once and sends nothing
        return True
    return False


def _exit_with(succeeded: bool) -> None:  # noqa: FBT001 - what the child found out
    os._exit(0 if succeeded else 1)


def test_a_row_key_that_does_not_fit_does_not_end_the_bulk(
    engine: Engine, session: Session
) -> None:
    with session.bulk() as bulk:
        with pytest.raises(RowKeyError):
            bulk.add(Plain(n=-1))
        bulk.add(Plain(n=1))

    assert numbers(engine) == [1]
