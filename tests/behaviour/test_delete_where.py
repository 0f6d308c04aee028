"""Deletes by statements."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Dynamic,
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
    Related,
    Salt,
    Select,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    dynamic,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConnectionLostError,
    FlushError,
    QueryError,
    RejectedError,
    UnboundedScanError,
)
from hbase_orm.ops import CheckAndMutate, FetchRows, MutateRows, Operation
from tests.support.recording import (
    FailsBeforeSending,
    LosesAnswers,
    RecordsRequests,
    gateway_of,
    through,
)

DAY = datetime(2026, 1, 31, tzinfo=UTC)
COUNT = 20


class Plain(Model, table="del_plain"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    w: Mapped[int | None] = column(e, codec=codecs.uint8(), default=None)
    itself: Related[Plain] = related(host=host, n=n)


class Indexed(Model, table="del_indexed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    w: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    by_v = Index(v)


class Salted(Model, table="del_salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Salt(4), host, n)


class Scattered(Model, table="del_scattered"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(RandomSalt(3), host, n)


class Named(Model, table="del_named"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Substitute(of=host, dictionary="del_hosts"), n)


class Tagged(Model, table="del_tagged"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    tags: Dynamic[str, int] = dynamic(d, prefix="t:")


class Daily(Model, table=TablePerPeriod("del_daily_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(host, Offset("day", of=at))


class Packed(Model, table="del_packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, Offset("hour", of=at), codec=codecs.uint8())
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Record(Model, table="del_records"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(host, n, RecordType())


class Sale(Record, record_type="s"):
    """A record like any other."""


class Refund(Record, record_type="r"):
    reason: Mapped[str] = column(Record.d, default="")


TABLES = (Plain, Indexed, Salted, Scattered, Named, Packed, Record, Tagged)


def prepare(engine: Engine) -> None:
    engine.create_tables(*TABLES)


NUMBERED = (Plain, Indexed, Salted, Scattered, Named, Sale, Refund)
TIMED = (Daily, Packed)


def at(number: int) -> datetime:
    return DAY + timedelta(hours=5, minutes=20 * number)


def make(model: Any, host: str, number: int) -> Any:
    if model in TIMED:
        return model(host=host, at=at(number) + timedelta(hours=10), v=number % 3)
    return model(host=host, n=number, v=number % 3)


def put(engine: Engine, model: Any, host: str, *numbers: int) -> None:
    with engine.session() as session:
        session.add_all(make(model, host, number) for number in numbers or range(COUNT))


def left(engine: Engine, model: Any, host: str) -> list[Any]:
    """Return the rows of a host in the order of their keys."""
    stmt = select(model).where(model.host == host)
    if model is Daily:
        stmt = stmt.where(Daily.at >= DAY, Daily.at < DAY + timedelta(days=3))
    with engine.session() as session:
        return sorted(session.all(stmt), key=lambda row: row.at if model in TIMED else row.n)


def some(model: Any, host: str) -> Select[Any]:
    """Return a statement for the rows from 3 on that have 1 in v: the 4th, the 7th …"""
    stmt = select(model).where(model.host == host, model.v == 1)
    if model in TIMED:
        first = at(3) + timedelta(hours=10)
        return stmt.where(model.at >= first, model.at < DAY + timedelta(days=3))
    return stmt.where(model.n >= 3)


MODELS = [*NUMBERED, *TIMED]


@pytest.mark.parametrize("model", MODELS)
def test_exactly_the_rows_selected_are_deleted(engine: Engine, model: Any, host: str) -> None:
    put(engine, model, host)
    put(engine, model, other := uuid4().hex)
    wanted = [make(model, host, n) for n in range(COUNT) if not (n >= 3 and n % 3 == 1)]

    with engine.session() as session:
        deleted = session.delete_where(some(model, host))
        again = session.delete_where(some(model, host))

    assert (deleted, again) == (6, 0)
    assert left(engine, model, host) == wanted
    assert len(left(engine, model, other)) == COUNT


@pytest.mark.parametrize("model", MODELS)
def test_the_limit_and_the_order_hold(engine: Engine, model: Any, host: str) -> None:
    put(engine, model, host)
    stmt = some(model, host).limit(2)
    if model not in (*TIMED, Scattered):
        stmt = stmt.using(None).order_by(model.n.desc())

    with engine.session() as session:
        wanted = session.all(stmt)
        deleted = session.delete_where(stmt)

    rest = left(engine, model, host)
    assert (deleted, len(rest)) == (2, COUNT - 2)
    assert not [row for row in wanted if row in rest]


def test_a_base_of_record_types_deletes_its_rows_of_every_kind(engine: Engine, host: str) -> None:
    put(engine, Sale, host, 1, 2)
    put(engine, Refund, host, 2, 3)

    with engine.session() as session:
        assert session.delete_where(select(Record).where(Record.host == host, Record.n > 1)) == 3

    assert left(engine, Record, host) == [make(Sale, host, 1)]


def test_entries_go_with_their_rows(engine: Engine, host: str) -> None:
    put(engine, Indexed, host)
    sent = RecordsRequests(gateway_of(engine))

    with engine.session() as session:
        stmt = select(Indexed).where(Indexed.v == 1, Indexed.host == host)
        assert session.delete_where(stmt.using(Indexed.by_v)) == 7
    with through(sent, engine).session() as session:
        found = session.all(select(Indexed).where(Indexed.v.in_([0, 1])).using(Indexed.by_v))

    assert [row.n for row in found if row.host == host] == [0, 3, 6, 9, 12, 15, 18]


def test_a_whole_table_is_deleted_only_when_that_is_said(engine: Engine, host: str) -> None:
    put(engine, Salted, host, 1, 2)
    sent = RecordsRequests(gateway_of(engine))

    with through(sent, engine).session() as session, pytest.raises(UnboundedScanError) as caught:
        session.delete_where(select(Salted).where(Salted.v == 1))
    with engine.session() as session:
        before = session.count(select(Salted).where(Salted.v == 2).allow_full_scan())
        deleted = session.delete_where(select(Salted).where(Salted.v == 2).allow_full_scan())

    assert sent.requests == []
    assert "allow_full_scan" in caught.value.fix
    assert (deleted >= 1, deleted) == (True, before)
    assert left(engine, Salted, host) == [make(Salted, host, 1)]


@pytest.mark.parametrize("model", [Plain, Indexed])
def test_a_row_put_after_its_delete_is_there(engine: Engine, model: Any, host: str) -> None:
    for number in range(30):
        with engine.session() as session:
            session.add(make(model, host, number))
            session.flush()
            assert session.delete_where(select(model).where(model.host == host)) == 1
            session.add(make(model, host, number))
        assert left(engine, model, host) == [make(model, host, number)]
        with engine.session() as session:
            session.delete_where(select(model).where(model.host == host))


@pytest.mark.parametrize("model", [Plain, Indexed])
def test_objects_of_deleted_rows_are_plain_and_pending_ones_are_written(
    engine: Engine, model: Any, host: str
) -> None:
    put(engine, model, host, 0, 1, 2)

    with engine.session() as session:
        gone, changed, new = session.all(select(model).where(model.host == host))
        changed.w = 7
        session.delete(new)
        again = make(model, host, 5)
        session.add(again)
        assert session.delete_where(select(model).where(model.host == host, model.n < 9)) == 3
        gone.w = 8
        assert repr(session) == "Session(loaded=2, pending=3)"
        session.flush()

        assert [row.n for row in left(engine, model, host)] == [1, 5]
        assert left(engine, model, host) == [changed, again]
        session.add(gone)
        session.flush()

    assert [(row.n, row.v, row.w) for row in left(engine, model, host)] == [
        *((0, 0, 8), (1, 1, 7), (5, 2, None)),
    ]


def test_objects_with_changed_maps_are_not_written_again(engine: Engine, host: str) -> None:
    with engine.session() as session:
        for n in range(3):
            session.add(row := Tagged(host=host, n=n))
            row.tags["a"] = 1
    everything = select(Tagged).where(Tagged.host == host)

    with engine.session() as session:
        gone, changed, _ = session.all(everything)
        changed.tags["b"] = 2
        assert session.delete_where(everything) == 3
        gone.tags["c"] = 3
        assert session.flush().written == 1

    with engine.session() as session:
        found = session.all(everything)
    assert [(row.n, row.tags) for row in found] == [(1, {"a": 1, "b": 2})]


def many(request: Operation[Any]) -> bool:
    return isinstance(request, MutateRows) and len(request.mutations) > 1


def test_a_batch_without_an_answer_is_unknown_and_may_be_repeated(
    engine: Engine, host: str
) -> None:
    put(engine, Plain, host)
    lost = through(LosesAnswers(gateway_of(engine), many), engine)

    with lost.session() as session, pytest.raises(FlushError) as caught:
        session.delete_where(some(Plain, host))
    with engine.session() as session:
        assert session.delete_where(some(Plain, host)) == 0

    table = engine._bound_of(Plain).schema.table
    keys = [Plain.encode_key(host=host, n=n) for n in (4, 7, 10, 13, 16, 19)]
    assert (caught.value.written, caught.value.not_written) == (0, [])
    assert [each[:2] for each in caught.value.unknown] == [(table, each) for each in keys]
    assert {type(each[2]) for each in caught.value.unknown} == {ConnectionLostError}


def test_of_guarded_rows_each_says_how_it_ended(engine: Engine, host: str) -> None:
    put(engine, Indexed, host)
    refused = Indexed.encode_key(host=host, n=10)

    def error_of(request: Operation[Any]) -> Exception | None:
        is_its = isinstance(request, CheckAndMutate) and request.mutation.row == refused
        return RejectedError("refused for the test") if is_its else None

    failing = through(FailsBeforeSending(gateway_of(engine), error_of), engine)
    with failing.session() as session, pytest.raises(FlushError) as caught:
        session.delete_where(some(Indexed, host))
    with engine.session() as session:
        assert session.delete_where(some(Indexed, host)) == 1

    table = engine._bound_of(Indexed).schema.table
    assert (caught.value.written, caught.value.unknown) == (5, [])
    assert [each[:2] for each in caught.value.not_written] == [(table, refused)]


def test_more_rows_than_a_batch_holds_go_in_several(engine: Engine, host: str) -> None:
    with engine.session() as session, session.bulk() as bulk:
        bulk.add_all(Plain(host=host, n=n, v=0) for n in range(2300))
    sent = RecordsRequests(gateway_of(engine))

    with through(sent, engine).session() as session:
        assert session.delete_where(select(Plain).where(Plain.host == host)) == 2300

    sizes = [len(each.mutations) for each in sent.requests if isinstance(each, MutateRows)]
    assert sizes == [1000, 1000, 300]
    kinds = [type(each) for each in sent.requests]
    first_delete, last_fetch = kinds.index(MutateRows), len(kinds) - kinds[::-1].index(FetchRows)
    assert first_delete < last_fetch  # not read to the end first: memory is bounded


@pytest.mark.parametrize(
    "stmt",
    [
        lambda: select(Plain).where(Plain.host == "a").load_related(Plain.itself),
        lambda: select(Plain).where(Plain.host == "a").sort_in_memory(Plain.v.asc(), max_rows=9),
        lambda: select(Plain.v).where(Plain.host == "a"),
        lambda: Plain,
        lambda: "Plain",
    ],
)
def test_what_is_no_statement_for_whole_rows_is_refused(
    engine: Engine, stmt: Callable[[], Any]
) -> None:
    sent = RecordsRequests(gateway_of(engine))

    with through(sent, engine).session() as session, pytest.raises(QueryError) as caught:
        session.delete_where(stmt())

    assert caught.value.fix
    assert sent.requests == []
