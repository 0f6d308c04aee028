"""The first use of a table reads the catalog once, and then once a lease: no session, thread or verb
reads it again. A foreign table is used without it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, Table, column, key, select
from hbase_orm.errors import (
    AccessDeniedError,
    ConnectionLostError,
    RejectedError,
    RetryableError,
    TableDisabledError,
)
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.index.catalog.lease import LEASE_S
from hbase_orm.ops import GetRows, Operation
from tests.support.recording import FailsBeforeSending, RecordsRequests
from tests.support.store import Store, load

THREADS = 8


class Note(Model, table="first_notes"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


class Marked(Model, table="first_marks"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    by_text = Index(text)


class Others(Model, table=Table("first_others", foreign=True)):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


def prepare(engine: Engine) -> None:
    engine.create_tables(Note, Marked, Others)
    with engine.session() as session:
        session.add_all([Note(name="a", text="x"), Marked(name="a", text="x")])


class SteppedClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def program(store: Store) -> Store:
    """Return another program, which has used no table yet."""
    return store.another()


def is_of_catalog(request: Operation[Any]) -> bool:
    tables = (getattr(request, "table", ""), getattr(getattr(request, "scan", None), "table", ""))
    return CATALOG_TABLE in tables


def catalog_requests(program: Store) -> list[Operation[Any]]:
    return [request for request in program.sent.requests if is_of_catalog(request)]


def records_read(program: Store) -> int:
    """Return how often the record of a table was read."""
    return sum(
        isinstance(request, GetRows) and RECORD_COLUMN in request.columns
        for request in catalog_requests(program)
    )


def set_clock(engine: Engine, clock: Callable[[], float]) -> None:
    catalog = engine._runtime.catalog
    catalog.monotonic_s = catalog.leases._monotonic_s = clock


def use_all(engine: Engine, model: Any, name: str) -> None:
    """Use a table by every kind of verb, each in a session of its own."""
    with engine.session() as session:
        session.add(model(name=name, text="x"))
        session.flush()
    with engine.session() as session:
        assert load(session, model, name=name).text == "x"
        assert session.get_many(model, [(name,), (f"{name}?",)])[1] is None
    with engine.session() as session:
        assert session.all(select(model).where(model.name == name))
        with session.stream(select(model).where(model.name >= name)) as rows:
            assert next(iter(rows)).name == name
        assert session.page(select(model).where(model.name == name), size=1).items
        assert session.count(select(model).where(model.name == name)) == 1
    with engine.session() as session:
        session.replace(model(name=name, text="x"))
        with session.bulk() as bulk:
            bulk.add(model(name=f"{name}-bulk", text="x"))
        session.delete_row(model, name=f"{name}-bulk")


def test_any_number_of_sessions_and_verbs_read_the_record_once(program: Store, host: str) -> None:
    for number in range(20):
        use_all(program.engine, Note, f"{host}{number}")

    assert records_read(program) == 1
    assert len(catalog_requests(program)) == 1


def test_a_guarded_table_is_compared_by_the_same_request(program: Store, host: str) -> None:
    for number in range(5):
        use_all(program.engine, Marked, f"{host}{number}")
        with program.engine.session() as session:
            session.all(select(Marked).where(Marked.text == "x").using(Marked.by_text))

    assert len(catalog_requests(program)) == 1


@pytest.mark.parametrize("model", [Note, Marked])
def test_the_record_is_read_again_once_each_lease(program: Store, host: str, model: Any) -> None:
    clock = SteppedClock()
    set_clock(program.engine, clock)
    for lease in range(1, 4):
        for part in range(4):
            use_all(program.engine, model, f"{host}{part}")
            clock.now_s += LEASE_S / 4

        assert records_read(program) == lease


class AnswersSlowly(RecordsRequests):
    """Takes a while to answer what the catalog is asked."""

    def execute(self, operation: Operation[Any], /) -> Any:
        answer = super().execute(operation)
        if is_of_catalog(operation):
            time.sleep(0.05)
        return answer


@pytest.mark.parametrize("verb", ["get", "flush", "bulk", "stream"])
@pytest.mark.parametrize("model", [Note, Marked])
def test_threads_that_use_a_table_first_at_one_time_read_its_record_once(
    store: Store, host: str, model: Any, verb: str
) -> None:
    slow = AnswersSlowly(store.sent.inner)
    engine = store.through(slow)
    start = threading.Barrier(THREADS)

    def use(number: int) -> None:
        start.wait()
        with engine.session() as session:
            if verb == "get":
                assert load(session, model, name="a").text == "x"
            elif verb == "stream":
                assert list(session.stream(select(model).where(model.name == "a")))
            elif verb == "bulk":
                with session.bulk() as bulk:
                    bulk.add(model(name=f"{host}{number}", text="x"))
            else:
                session.add(model(name=f"{host}{number}", text="x"))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(use, range(THREADS)))

    assert records_read(Store(engine, slow)) == 1


def test_a_foreign_table_is_used_without_the_catalog(store: Store, host: str) -> None:
    program = store.another()
    program.engine.create_tables(Others)
    use_all(program.engine, Others, host)

    assert catalog_requests(program) == []


def test_a_foreign_table_is_dropped_and_made_without_the_catalog(store: Store) -> None:
    program = store.another()

    assert program.engine.drop_tables(Others) == [program.table(Others)]
    assert program.engine.create_tables(Others) == [program.table(Others)]

    assert catalog_requests(program) == []


# --- without permission ---------------------------------------------------------------------------


def denied(request: Operation[Any]) -> Exception | None:
    if not is_of_catalog(request):
        return None
    return AccessDeniedError("access is denied", table=CATALOG_TABLE, fix="ask for it")


@pytest.fixture
def without_permission(store: Store) -> Store:
    return store.failing(denied)


def test_without_permission_for_the_catalog_plain_tables_are_read_after_one_warning(
    without_permission: Store, caplog: pytest.LogCaptureFixture
) -> None:
    engine, clock = without_permission.engine, SteppedClock()
    set_clock(engine, clock)

    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            for _ in range(5):
                with engine.session() as session:
                    assert session.get(Note, name="a")
                    assert session.all(select(Note).where(Note.name == "a"))
            clock.now_s += LEASE_S

    (warning,) = caplog.messages
    assert "first_notes" in warning
    assert "access is denied" in warning
    assert records_read(without_permission) == 3  # once a lease


def test_without_permission_for_the_catalog_nothing_is_written(
    without_permission: Store, host: str
) -> None:
    engine = without_permission.engine
    for model in (Note, Marked):
        for _ in range(3):
            with engine.session() as session, pytest.raises(RejectedError) as caught:
                session.replace(model(name=host, text="y"))

            assert caught.value.text == "access is denied"
    assert without_permission.sent.writes == []


def test_without_permission_for_the_catalog_foreign_tables_are_written(
    without_permission: Store, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        use_all(without_permission.engine, Others, host)

    assert caplog.messages == []


def test_a_granted_permission_is_used_after_the_lease_and_a_later_refusal_is_reported_again(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    is_denied = True
    program = store.failing(lambda request: denied(request) if is_denied else None)
    clock = SteppedClock()
    set_clock(program.engine, clock)

    with caplog.at_level(logging.WARNING):
        for is_denied in (True, True, False, False, True, True):  # noqa: B007 - the closure reads it
            with program.engine.session() as session:
                assert session.get(Note, name="a")
            clock.now_s += LEASE_S

    assert len(caplog.messages) == 2


def test_a_model_that_was_compared_is_used_so_when_the_catalog_is_refused_later(
    store: Store,
) -> None:
    is_denied = False
    program = store.failing(lambda request: denied(request) if is_denied else None)
    clock = SteppedClock()
    set_clock(program.engine, clock)
    with program.engine.session() as session:
        assert session.get(Note, name="a")
    compared = program.engine._bound_of(Note)

    is_denied = True
    clock.now_s += LEASE_S
    with program.engine.session() as session:
        assert session.get(Note, name="a")

    assert program.engine._bound_of(Note) is compared


def test_a_catalog_that_is_enabled_again_lets_the_next_write_pass(store: Store, host: str) -> None:
    errors: list[Exception] = [TableDisabledError("the table is disabled", table=CATALOG_TABLE)] * 2

    def error_of(request: Operation[Any]) -> Exception | None:
        return errors.pop() if errors and is_of_catalog(request) else None

    program = store.failing(error_of)
    with program.engine.session() as session:
        with pytest.raises(TableDisabledError):
            session.replace(Note(name=host, text="y"))

        session.replace(Note(name=host, text="y"))


def test_a_catalog_that_does_not_answer_is_asked_again_by_the_next_use(store: Store) -> None:
    errors: list[Exception] = [ConnectionLostError("no answer")]

    def error_of(request: Operation[Any]) -> Exception | None:
        return errors.pop() if errors and is_of_catalog(request) else None

    program = Store(store.through(FailsBeforeSending(store.sent.inner, error_of)), store.sent)
    with program.engine.session() as session:
        with pytest.raises(RetryableError):
            session.get(Note, name="a")

        assert session.get(Note, name="a")
