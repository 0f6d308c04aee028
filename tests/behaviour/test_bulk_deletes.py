"""Bulk writers delete rows, of objects and by key, in order with the other writes of these rows."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Bulk,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Select,
    Session,
    Substitute,
    TablePerPeriod,
    Version,
    codecs,
    column,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import (
    FlushError,
    HBaseORMError,
    QueryError,
    RegionUnavailableError,
    RowKeyError,
    UnnamedKeyError,
    ValidationError,
    VersionConflictError,
)
from hbase_orm.ops import MutateRows
from tests.support.recording import FailsBeforeSending, RecordsRequests, gateway_of, through

DAY = datetime(2026, 1, 31, tzinfo=UTC)
COUNT = 12


class Plain(Model, table="bulk_plain"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    w: Mapped[int | None] = column(e, codec=codecs.uint8(), default=None)


class Indexed(Model, table="bulk_indexed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    by_v = Index(v, host)


class Versioned(Model, table="bulk_versioned"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    revision: Version = version(d)


class Salted(Model, table="bulk_salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Salt(4), host, n)


class Scattered(Model, table="bulk_scattered"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(RandomSalt(3), host, n)


class Named(Model, table="bulk_named"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Substitute(of=host, dictionary="bulk_hosts"), n)


class Daily(Model, table=TablePerPeriod("bulk_day_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(host, Offset("day", of=at))


class Packed(Model, table="bulk_packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, Offset("hour", of=at), codec=codecs.uint8())
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Record(Model, table="bulk_records"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(host, n, RecordType())


class Sale(Record, record_type="s"):
    """A record like any other."""


class Hooked(Model, table="bulk_plain"):
    """The rows of `Plain` as a class with hooks."""

    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    calls: ClassVar[list[int]] = []

    def before_delete(self) -> None:
        if self.v == 99:
            raise LookupError(self.n)
        self.calls.append(self.n)

    def after_delete(self) -> None:
        self.calls.append(-self.n)


TIMED = (Daily, Packed)
MODELS = (Plain, Indexed, Versioned, Salted, Scattered, Named, Sale, *TIMED)


def prepare(engine: Engine) -> None:
    engine.create_tables(Plain, Indexed, Versioned, Salted, Scattered, Named, Packed, Record)


def key_of(model: Any, host: str, number: int) -> dict[str, Any]:
    if model in TIMED:
        return {"host": host, "at": DAY + timedelta(hours=20, minutes=40 * number)}
    return {"host": host, "n": number}


def make(model: Any, host: str, number: int, v: int = 1) -> Any:
    return model(**key_of(model, host, number), v=v)


def number_of(obj: Any) -> int:
    if type(obj) in TIMED:
        return int((obj.at - DAY - timedelta(hours=20)) / timedelta(minutes=40))
    number: int = obj.n
    return number


def of(model: Any, host: str) -> Select[Any]:
    stmt = select(model).where(model.host == host)
    if model is Daily:
        stmt = stmt.where(Daily.at >= DAY, Daily.at < DAY + timedelta(days=3))
    return stmt


def put(engine: Engine, model: Any, host: str) -> list[Any]:
    objects = [make(model, host, number) for number in range(COUNT)]
    with engine.session() as session:
        session.add_all(objects)
    return objects


def stored(engine: Engine, model: Any, host: str) -> dict[int, int]:
    """Return the value of each row of a host."""
    with engine.session() as session:
        return {number_of(each): each.v for each in session.stream(of(model, host))}


def delete_all(session: Session, objects: list[Any]) -> None:
    with session.bulk() as bulk:
        for obj in objects:
            bulk.delete(obj)


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_the_rows_of_objects_and_keys_are_deleted(engine: Engine, model: Any, host: str) -> None:
    new = put(engine, model, host)

    with engine.session() as session:
        loaded = session.all(of(model, host))
        with session.bulk(batch_rows=3) as bulk:
            for number in (0, 5, 11):
                bulk.delete(loaded[number])
            bulk.delete(new[1])
            for number in (2, 3, 4):
                bulk.delete_row(model, **key_of(model, host, number))

    assert list(stored(engine, model, host)) == [6, 7, 8, 9, 10]
    assert bulk.report.written == 7


def test_the_index_entries_of_deleted_rows_are_deleted_too(engine: Engine, host: str) -> None:
    put(engine, Indexed, host)

    with engine.session() as session, session.bulk() as bulk:
        for number in range(0, COUNT, 2):
            bulk.delete_row(Indexed, host=host, n=number)

    by_value = select(Indexed).where(Indexed.v == 1, Indexed.host == host).using(Indexed.by_v)
    with engine.session() as session:
        assert [each.n for each in session.all(by_value)] == [1, 3, 5, 7, 9, 11]
    assert engine.verify_index(Indexed, "by_v").is_sound


@pytest.mark.parametrize("seed", [3, 11])
def test_the_writes_of_a_row_keep_their_order(
    engine: Engine, model: Any, host: str, seed: int
) -> None:
    chance, expected = random.Random(seed), dict.fromkeys(range(4), 1)
    # An object keeps its random salt.
    objects = [make(model, host, number) for number in expected]
    with engine.session() as session, session.bulk(batch_rows=2) as bulk:
        bulk.add_all(objects)
        for step in range(2, 26):
            number = chance.randrange(4)
            match chance.randrange(3):
                case 0:
                    bulk.delete(objects[number])
                    expected.pop(number, None)
                case 1:
                    bulk.delete_row(model, **key_of(model, host, number))
                    expected.pop(number, None)
                case _:
                    objects[number].v = expected[number] = step
                    bulk.add(objects[number])

    assert stored(engine, model, host) == dict(sorted(expected.items()))


def test_a_delete_waits_for_objects_whose_names_wait_for_numbers(engine: Engine, host: str) -> None:
    """`add_all` gives numbers to the names of many objects together."""
    with engine.session() as session, session.bulk() as bulk:

        def objects() -> Any:
            yield make(Named, host, 1)
            yield make(Named, host, 2)
            bulk.delete_row(Named, host=host, n=1)

        bulk.add_all(objects())

    assert stored(engine, Named, host) == {2: 1}


def test_a_row_under_a_random_salt_is_looked_up_after_it_was_written(
    engine: Engine, host: str
) -> None:
    with engine.session() as session, session.bulk() as bulk:
        bulk.add_all(make(Scattered, host, number) for number in range(3))
        bulk.delete_row(Scattered, host=host, n=1)

    assert stored(engine, Scattered, host) == {0: 1, 2: 1}


def test_names_whose_numbers_are_not_cached_are_looked_up(
    engine: Engine, backend: Any, host: str
) -> None:
    objects = put(engine, Named, host)
    ways: list[Callable[[Bulk], None]] = [
        lambda bulk: bulk.delete(objects[3]),
        lambda bulk: bulk.delete_row(Named, host=host, n=4),
    ]
    for delete in ways:
        with backend.another(engine).session() as session, session.bulk() as bulk:
            delete(bulk)

    assert sorted(set(range(COUNT)) - stored(engine, Named, host).keys()) == [3, 4]


def test_a_row_whose_name_has_no_number_needs_no_delete(engine: Engine, host: str) -> None:
    with engine.session() as session, session.bulk() as bulk:
        bulk.delete(make(Named, host, 1))
        bulk.delete_row(Named, host=host, n=1)

    assert bulk.report.written == 0


def test_a_row_that_was_written_since_its_object_was_loaded_is_not_deleted(
    engine: Engine, host: str
) -> None:
    put(engine, Versioned, host)
    with engine.session() as session:
        loaded = session.all(of(Versioned, host))
        with engine.session() as other:
            other.put_row(Versioned, Versioned.v.to(7), host=host, n=3)

        with pytest.raises(FlushError) as caught:
            delete_all(session, loaded)

    ((table, _, error),) = caught.value.not_written
    assert table.endswith("bulk_versioned")
    assert isinstance(error, VersionConflictError)
    assert caught.value.written == COUNT - 1
    assert stored(engine, Versioned, host) == {3: 7}


def test_the_sessions_object_of_a_deleted_row_leaves_the_session(
    engine: Engine, model: Any, host: str
) -> None:
    put(engine, model, host)
    with engine.session() as session:
        first, second, third = session.all(of(model, host).limit(3))
        with session.bulk() as bulk:
            bulk.delete(first)
            bulk.delete_row(model, **key_of(model, host, 1))
        first.v = second.v = third.v = 9
        session.flush()

        assert session.get(model, **key_of(model, host, 0)) is None

    assert {0, 1}.isdisjoint(stored(engine, model, host))
    assert stored(engine, model, host)[2] == 9


def test_before_delete_is_called_and_may_refuse_its_object(engine: Engine, host: str) -> None:
    put(engine, Plain, host)
    Hooked.calls.clear()

    with engine.session() as session, session.bulk() as bulk:
        bulk.delete(Hooked(host=host, n=1, v=1))
        with pytest.raises(LookupError):
            bulk.delete(Hooked(host=host, n=2, v=99))
        bulk.delete(Hooked(host=host, n=3, v=1))
        bulk.delete_row(Hooked, host=host, n=4)

    assert Hooked.calls == [1, 3]
    assert sorted(set(range(COUNT)) - stored(engine, Plain, host).keys()) == [1, 3, 4]


def test_a_refused_delete_does_not_affect_other_rows(engine: Engine, host: str) -> None:
    put(engine, Plain, host)
    other = engine.session()
    theirs = other.one(of(Plain, host).where(Plain.n == 1))
    theirs.v = 5

    with engine.session() as session, session.bulk() as bulk:
        with pytest.raises(ValidationError, match="another session"):
            bulk.delete(theirs)
        with pytest.raises(RowKeyError):
            bulk.delete_row(Plain, host=host)
        with pytest.raises(RowKeyError):
            bulk.delete_row(Plain, host=host, n=-1)
        with pytest.raises(RowKeyError):
            bulk.delete_row(Plain, host=host, n=1, v=1)
        with pytest.raises(UnnamedKeyError, match=r"write bulk\.delete_row"):
            bulk.delete_row(Plain, host, 2)  # type: ignore[arg-type]  # what is refused
        for wrong in ("x", Plain):
            with pytest.raises(HBaseORMError):
                bulk.delete(wrong)  # type: ignore[arg-type]  # what is refused
        bulk.delete_row(Plain, host=host, n=2)

    other.close()
    assert sorted(set(range(COUNT)) - stored(engine, Plain, host).keys()) == [2]


@pytest.mark.only_on("memory")
def test_an_object_of_another_engine_is_refused(engine: Engine, backend: Any, host: str) -> None:
    elsewhere = backend.engine()
    prepare(elsewhere)
    put(elsewhere, Plain, host)
    with elsewhere.session() as session:
        theirs = session.first(of(Plain, host))
    assert theirs is not None

    with (
        engine.session() as session,
        session.bulk() as bulk,
        pytest.raises(ValidationError, match="another engine"),
    ):
        bulk.delete(theirs)


@pytest.mark.only_on("memory")
def test_a_load_deletes_nothing(engine: Engine, host: str) -> None:
    put(engine, Plain, host)

    with engine.session() as session, session.bulk(insert_only=True) as bulk:
        with pytest.raises(QueryError, match="deletes no rows"):
            bulk.delete(make(Plain, host, 1))
        with pytest.raises(QueryError, match="deletes no rows"):
            bulk.delete_row(Plain, host=host, n=1)

    assert len(stored(engine, Plain, host)) == COUNT


@pytest.mark.only_on("memory")
def test_deletes_are_sent_in_batches(engine: Engine, host: str) -> None:
    put(engine, Plain, host)
    sent = RecordsRequests(gateway_of(engine))

    with through(sent, engine).session() as session, session.bulk(batch_rows=5) as bulk:
        for number in range(COUNT):
            bulk.delete_row(Plain, host=host, n=number)

    batches = [each for each in sent.requests if isinstance(each, MutateRows)]
    assert sorted(len(each.mutations) for each in batches) == [2, 5, 5]


@pytest.mark.only_on("memory")
def test_a_batch_of_deletes_that_fails_is_named_and_the_session_keeps_its_objects(
    engine: Engine, host: str
) -> None:
    put(engine, Plain, host)

    def refuses(operation: Any) -> Exception | None:
        if isinstance(operation, MutateRows) and operation.table == "bulk_plain":
            return RegionUnavailableError("no region")
        return None

    failing = FailsBeforeSending(gateway_of(engine), refuses)
    with through(failing, engine).session() as session:
        objects = session.all(of(Plain, host).limit(2))
        with pytest.raises(FlushError) as caught:
            delete_all(session, objects)
        assert [session.get(Plain, host=host, n=n) for n in (0, 1)] == objects
        assert session.get(Plain, host=host, n=0) is objects[0]

    keys = [engine.row_keys(Plain, host=host, n=n)[0] for n in (0, 1)]
    named = caught.value.not_written + caught.value.unknown
    assert sorted(row for _, row, _ in named) == keys
