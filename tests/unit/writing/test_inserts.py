"""An insert of a row that exists is refused, whoever wrote it, however, and in whatever model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, local
from typing import Any, TypeVar

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
    select,
    version,
)
from hbase_orm.errors import DuplicateRowError, ValidationError
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import CheckAndMutate, Operation
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")

THREADS = 8


class Plain(Model, table="inserted_plain"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int] = column(d)


class Loose(Model, table="inserted_loose"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int | None] = column(d, default=None)


class Stamped(Model, table="inserted_stamped", timestamps="client"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int] = column(d)


class Indexed(Model, table="inserted_indexed"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int] = column(d)
    by_level = Index(level)


class Unique(Model, table="inserted_unique"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int] = column(d)
    by_level = Index(level, unique=True)


class Versioned(Model, table="inserted_versioned"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int | None] = column(d, default=None)
    changes: Version = version(d)


class Deferring(Model, table="inserted_deferring"):
    d = Family()
    host: Key[str] = key()
    level: Mapped[int] = column(d, deferred=True)


MODELS = (Plain, Loose, Stamped, Indexed, Unique, Versioned, Deferring)


@pytest.fixture
def engine() -> Engine:
    engine = connect("memory://")
    engine.create_tables(*MODELS)
    return engine


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


def levels(engine: Engine, model: Any, host: str) -> list[Any]:
    with engine.session() as session:
        return session.all(select(model.level).where(model.host == host))


def test_in_the_same_session(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        first = model(host="a", level=1)
        session.insert(first)
        for again in (first, model(host="a", level=2)):
            with pytest.raises(DuplicateRowError, match="row=b'a'"):
                session.insert(again)
        assert session.get(model, host="a") is first

    assert levels(engine, model, "a") == [1]


def test_over_an_object_of_a_row_that_is_gone(engine: Engine, model: Any) -> None:
    """The row is absent, and yet what the held object writes would not know of the new one."""
    with engine.session() as session:
        first = model(host="a", level=1)
        session.insert(first)
        session.delete_row(model, host="a")
        with pytest.raises(ValidationError, match="another object of this row"):
            session.insert(model(host="a", level=2))
        session.expunge(first)
        session.insert(model(host="a", level=3))

    assert levels(engine, model, "a") == [3]


def test_after_a_flush_in_another_session(engine: Engine, model: Any) -> None:
    with engine.session() as one, engine.session() as other:
        one.add(model(host="a", level=1))
        one.flush()
        for level in (1, 2):
            with pytest.raises(DuplicateRowError):
                other.insert(model(host="a", level=level))

    assert levels(engine, model, "a") == [1]


def test_after_a_bulk_and_after_a_put_by_key(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        with session.bulk() as bulk:
            bulk.add(model(host="a", level=1))
        session.put_row(model, model.level.to(2), host="b")
        for host in "ab":
            with pytest.raises(DuplicateRowError):
                session.insert(model(host=host, level=3))

    assert levels(engine, model, "a") + levels(engine, model, "b") == [1, 2]


def test_beside_pending_work_for_the_row(engine: Engine, model: Any) -> None:
    """What is pending is not written yet: the insert is first, and the flush changes its row."""
    with engine.session() as session:
        session.add(model(host="a", level=1))
        session.add(model(host="a", level=2))
        session.insert(model(host="a", level=3))
        assert levels(engine, model, "a") == [3]
        session.flush()
        with pytest.raises(DuplicateRowError):
            session.insert(model(host="a", level=4))

    assert levels(engine, model, "a") == [2]


class MeetsBeforeTheCheck(RecordsRequests):
    """Lets all threads see that the row is absent before the first of them writes it."""

    def __init__(self, inner: Gateway) -> None:
        super().__init__(inner)
        self.together = Barrier(THREADS)
        self.mine = local()

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CheckAndMutate) and not hasattr(self.mine, "has_met"):
            self.mine.has_met = True
            self.together.wait(timeout=10)
        return super().execute(operation)


def test_of_many_at_once_one_wins(engine: Engine, model: Any) -> None:
    racing = through(MeetsBeforeTheCheck(gateway_of(engine)), engine)

    def insert(level: int) -> int | None:
        with racing.session() as session:
            try:
                session.insert(model(host="a", level=level))
            except DuplicateRowError:
                return None
        return level

    with ThreadPoolExecutor(THREADS) as threads:
        won = [level for level in threads.map(insert, range(THREADS)) if level is not None]

    assert levels(engine, model, "a") == won
    assert len(won) == 1
