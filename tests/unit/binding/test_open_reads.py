"""A read that is dropped: the collector sends nothing and waits for nothing, the next read closes it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    Session,
    column,
    connect,
    key,
    select,
)
from hbase_orm.errors import StreamInterruptedError
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import CloseScanner, GetRows, OpenScanner, Operation
from hbase_orm.query import Select
from hbase_orm.reading.stream import Stream
from tests.support.interrupts import Interrupted
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")


class Row(Model, table="dropped_rows"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key()
    unit: Mapped[str | None] = column(d, default=None)
    by_unit = Index(unit)


class Salted(Model, table="dropped_salted"):
    d = Family()
    salt = Salt(3)
    host: Key[str] = key()
    unit: Mapped[str | None] = column(d, default=None)


class CollectsInside(RecordsRequests):
    """Lets the garbage collector run inside a get, which notes what is asked meanwhile."""

    def __init__(self, inner: Gateway) -> None:
        super().__init__(inner)
        self.asked_meanwhile: list[Operation[Any]] = []
        self._is_inside = False

    def execute(self, operation: Operation[R], /) -> R:
        if self._is_inside:
            self.asked_meanwhile.append(operation)
        if isinstance(operation, GetRows) and not self._is_inside:
            self._is_inside = True
            gc.collect()
            self._is_inside = False
        return super().execute(operation)


@pytest.fixture
def sent() -> Iterator[CollectsInside]:
    engine = connect("memory://?repair_on_read=on")
    engine.create_tables(Row, Salted)
    with engine.session() as session:
        session.add_all(Row(host="a", n=n, unit="s") for n in range(50))
        session.add_all(Salted(host=f"h{n}", unit="s") for n in range(50))
    sent = CollectsInside(gateway_of(engine))
    yield sent
    engine.close()


@pytest.fixture
def engine(sent: CollectsInside) -> Engine:
    return through(sent, connect("memory://?repair_on_read=on"))


STATEMENTS: dict[str, Callable[[], Select[Any]]] = {
    "scan": lambda: select(Row).where(Row.host == "a").caching(5),
    "merged scan": lambda: select(Salted).allow_full_scan().caching(5),
    "index": lambda: select(Row).where(Row.unit == "s").caching(5),
    "past": lambda: (
        select(Row).where(Row.host == "a").as_of(datetime(2100, 1, 1, tzinfo=UTC)).caching(5)
    ),
}


def _is_open(sent: RecordsRequests) -> int:
    kinds = [type(request) for request in sent.requests]
    return kinds.count(OpenScanner) - kinds.count(CloseScanner)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_collector_closes_no_stream_inside_a_request(
    engine: Engine, sent: CollectsInside, statement: str
) -> None:
    session = engine.session()
    session.get(Row, host="a", n=3)  # reads the catalog, which a first use does
    gc.disable()
    try:
        stream = session.stream(STATEMENTS[statement]())
        next(stream)
        cycle: list[Any] = [stream]
        cycle.append(cycle)
        del stream, cycle

        session.get(Row, host="a", n=3)
    finally:
        gc.enable()

    assert sent.asked_meanwhile == []
    assert _is_open(sent) > 0


@pytest.mark.parametrize(
    "read",
    [
        lambda session: session.count(select(Row).where(Row.host == "none")),
        lambda session: session.get(Row, host="none", n=1),
    ],
    ids=["count", "get"],
)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_next_read_closes_what_was_dropped(
    engine: Engine, sent: CollectsInside, statement: str, read: Callable[[Session], Any]
) -> None:
    session = engine.session()
    stream = session.stream(STATEMENTS[statement]())
    next(stream)

    del stream
    were_open = _is_open(sent)
    read(session)

    assert were_open > 0
    assert _is_open(sent) == 0


def test_closing_the_engine_closes_what_was_dropped(engine: Engine, sent: CollectsInside) -> None:
    stream = engine.session().stream(STATEMENTS["scan"]())
    next(stream)

    del stream
    engine.close()

    assert _is_open(sent) == 0


# --- after an exception ----------------------------------------------------------------------------


def _interrupted_after(count: int, error: BaseException) -> Iterator[int]:
    yield from range(count)
    raise error


@pytest.mark.parametrize("error", [Interrupted(), KeyError("x")])
def test_a_stream_that_an_exception_ended_never_looks_complete(error: BaseException) -> None:
    closed: list[bool] = []
    stream: Stream[int] = Stream(_interrupted_after(2, error), lambda: closed.append(True))

    found = [next(stream), next(stream)]
    with pytest.raises(type(error)):
        next(stream)
    with pytest.raises(StreamInterruptedError):
        next(stream)
    with pytest.raises(StreamInterruptedError):
        next(stream)

    assert found == [0, 1]
    assert closed == [True]


def test_a_stream_that_was_closed_after_an_exception_is_at_its_end() -> None:
    stream: Stream[int] = Stream(_interrupted_after(0, Interrupted()), lambda: None)
    with pytest.raises(Interrupted):
        next(stream)

    stream.close()

    assert list(stream) == []
