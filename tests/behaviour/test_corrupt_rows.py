"""Rows that do not decode: they end a read, are left out and counted, or are given to a function."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

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
    Session,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    dynamic,
    func,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import (
    CorruptRowError,
    FlushError,
    MissingCellError,
    QueryError,
    StreamInterruptedError,
)
from hbase_orm.gateway.thrift.decoding import protocols
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.index.protocol.claims import CLAIM_COLUMN
from hbase_orm.ops import Delete, MutateRow, Put, RowMutation
from tests.support.garbage_bytes import END
from tests.support.recording import gateway_of

DAY = datetime(2026, 1, 31, tzinfo=UTC)
COUNT = 10
BAD = (0, 4, 5, 9)
GOOD = [n for n in range(COUNT) if n not in BAD]
GARBAGE = b"\x00garbage"


class Plain(Model, table="bad_plain"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    before: Mapped[int] = column(d, codec=codecs.uint16(), default=0)
    earlier: Related[Plain] = related(host=host, n=before)


class Indexed(Model, table="bad_indexed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    kind: Mapped[str] = column(d, codec=codecs.text())
    level: Mapped[int] = column(d, codec=codecs.uint8())
    mail: Mapped[str | None] = column(d, default=None)
    by_kind = Index(kind, level)
    by_mail = Index(mail, unique=True)


class Salted(Model, table="bad_salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Salt(4), host, n)


class Scattered(Model, table="bad_scattered"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(RandomSalt(3), host, n)


class Named(Model, table="bad_named"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Substitute(of=host, dictionary="bad_hosts"), n)


class Daily(Model, table=TablePerPeriod("bad_daily_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(host, Offset("day", of=at))


class Packed(Model, table="bad_packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, Offset("hour", of=at), codec=codecs.uint8())
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Record(Model, table="bad_records"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(host, n, RecordType())


class Sale(Record, record_type="s"):
    """A record like any other."""


class Wide(Model, table="bad_wide"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    tags: Dynamic[int, int] = dynamic(d, prefix="t:", name=codecs.uint8(), codec=codecs.uint8())


TIMED = (Daily, Packed)
MODELS = (Plain, Indexed, Salted, Scattered, Named, Sale, Wide, *TIMED)


def prepare(engine: Engine) -> None:
    engine.create_tables(Plain, Indexed, Salted, Scattered, Named, Packed, Record, Wide)


def at(number: int) -> datetime:
    return DAY + timedelta(hours=20, minutes=40 * number)


def make(model: Any, host: str, number: int) -> Any:
    if model in TIMED:
        return model(host=host, at=at(number), v=number)
    more: dict[str, Any] = {"before": number - 1} if model is Plain and number else {}
    if model is Indexed:
        more = {"kind": host, "level": number, "mail": f"{host}{number}"}
    obj = model(host=host, n=number, v=number, **more)
    if model is Wide:
        obj.tags = {1: number, 2: number}
    return obj


def number_of(obj: Any) -> int:
    return round((obj.at - at(0)) / timedelta(minutes=40)) if type(obj) in TIMED else int(obj.n)


def v_of(stmt: Select[Any]) -> Any:
    model: Any = stmt.model
    return model.v


def put(engine: Engine, model: Any, host: str) -> list[Any]:
    """Write the rows of a host, and return their objects."""
    objects = [make(model, host, number) for number in range(COUNT)]
    with engine.session() as session:
        session.add_all(objects)
    return objects


def overwrite(engine: Engine, obj: Any, field: str = "v", value: bytes = GARBAGE) -> bytes:
    """Write other bytes into the cell of a field of an object; return the row key in HBase."""
    bound = engine._bound_of(type(obj)).with_table_of(obj.__dict__)
    object_key: bytes = obj.__state__.row.key
    storage = bound.schema.storage
    column_ = storage.column_of(object_key, bound.schema.column_by_name[field].column)
    row = storage.row_of(object_key)
    mutation = RowMutation(row, (Put(column_, value),))
    gateway_of(engine).execute(MutateRow(bound.schema.table, mutation))
    return object_key


def fill(engine: Engine, model: Any, host: str) -> list[bytes]:
    """Write the rows of a host; those in `BAD` do not decode. Return the keys of these rows."""
    objects = put(engine, model, host)
    return [overwrite(engine, objects[number]) for number in BAD]


def store(engine: Engine, model: Any, row: bytes, column_: bytes, value: bytes) -> None:
    table = engine._bound_of(model).schema.table
    gateway_of(engine).execute(MutateRow(table, RowMutation(row, (Put(column_, value),))))


def of(model: Any, host: str) -> Select[Any]:
    stmt = select(model).where(model.host == host)
    if model is Daily:
        stmt = stmt.where(Daily.at >= DAY, Daily.at < DAY + timedelta(days=3))
    return stmt


def skipping(engine: Engine) -> Engine:
    """Return an engine like `engine` whose URL has `on_corrupt=skip`."""
    options = replace(engine.options, on_corrupt="skip")
    return Engine(gateway_of(engine), options, engine._connections)


@pytest.fixture(params=MODELS, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- how statements are read ------------------------------------------------------------------


def test_without_a_rule_the_rows_before_a_corrupt_one_are_read(
    engine: Engine, model: Any, host: str
) -> None:
    objects = put(engine, model, host)
    key_ = overwrite(engine, objects[2])
    seen: list[int] = []

    with engine.session() as session, session.stream(of(model, host)) as stream:
        with pytest.raises(CorruptRowError) as caught:
            seen.extend(number_of(each) for each in stream)
        with pytest.raises(StreamInterruptedError):
            next(stream)

    error, bound = caught.value, engine._bound_of(model)
    placed = bound.with_table_of(objects[2].__dict__)
    assert seen == [0, 1]
    assert (error.model, error.field, error.table) == (model.__name__, "v", placed.schema.table)
    assert (error.row, error.value) == (key_, GARBAGE)
    assert bytes(error.column).startswith(b"d:")
    assert repr(GARBAGE) in str(error)
    assert 'on_corrupt("skip")' in error.fix


READS: dict[str, Callable[[Session, Select[Any]], list[int]]] = {
    "all": lambda session, stmt: [number_of(each) for each in session.all(stmt)],
    "stream": lambda session, stmt: [number_of(each) for each in session.stream(stmt)],
    "sorted": lambda session, stmt: [
        number_of(each)
        for each in session.all(stmt.sort_in_memory(v_of(stmt).asc(), max_rows=COUNT))
    ],
    "values": lambda session, stmt: session.all(
        replace(stmt, selection=select(v_of(stmt)).selection)
    ),
    "sorted values": lambda session, stmt: session.all(
        replace(stmt, selection=select(v_of(stmt)).selection).sort_in_memory(
            v_of(stmt).asc(), max_rows=COUNT
        )
    ),
}


@pytest.mark.parametrize("read", READS)
def test_the_rows_that_decode_are_read(engine: Engine, model: Any, host: str, read: str) -> None:
    fill(engine, model, host)

    with engine.session() as session:
        before = engine.corrupt_rows
        found = READS[read](session, of(model, host).on_corrupt("skip"))
        with pytest.raises(CorruptRowError):
            READS[read](session, of(model, host))

    assert found == GOOD
    assert engine.corrupt_rows - before == len(BAD)


def test_a_limit_counts_the_rows_that_are_given(engine: Engine, model: Any, host: str) -> None:
    fill(engine, model, host)
    stmt = of(model, host).on_corrupt("skip")

    with engine.session() as session:
        first, limited = session.first(stmt), session.all(stmt.limit(4))
        with session.stream(stmt.limit(3)) as stream:
            streamed = [number_of(each) for each in stream]

    assert number_of(first) == 1
    assert [number_of(each) for each in limited] == GOOD[:4]
    assert streamed == GOOD[:3]
    assert stream.corrupt_rows == 1


@pytest.mark.parametrize("size", [1, 2, 3, 6, 20])
def test_pages_neither_lose_nor_repeat_a_row_beside_a_corrupt_one(
    engine: Engine, model: Any, host: str, size: int
) -> None:
    fill(engine, model, host)
    stmt = of(model, host).on_corrupt("skip")
    found: list[int] = []
    corrupt, token = 0, ""

    with engine.session() as session:
        while True:
            page = session.page(stmt, size=size, token=token or None)
            found += [number_of(each) for each in page.items]
            corrupt += page.corrupt_rows
            assert len(page.items) == size or page.reason == "exhausted"
            if page.token is None:
                break
            token = page.token

    assert (found, corrupt) == (GOOD, len(BAD))


def test_a_page_before_a_corrupt_row_is_returned_without_a_rule_too(
    engine: Engine, model: Any, host: str
) -> None:
    overwrite(engine, put(engine, model, host)[3])
    stmt = of(model, host)

    with engine.session() as session:
        page = session.page(stmt, size=3)
        with pytest.raises(CorruptRowError):
            session.page(stmt, size=3, token=page.token)

    assert [number_of(each) for each in page.items] == [0, 1, 2]
    assert page.reason == "size"
    assert "corrupt" not in repr(page) + page._repr_html_()


def test_a_page_shows_how_many_rows_were_left_out(engine: Engine, host: str) -> None:
    fill(engine, Plain, host)

    with engine.session() as session:
        page = session.page(of(Plain, host).on_corrupt("skip"), size=9)

    assert repr(page).endswith(f"reason='exhausted', corrupt_rows={len(BAD)})")
    assert f"{len(BAD)} corrupt left out" in page._repr_html_()


def test_a_function_gets_each_error_and_its_row_is_left_out(
    engine: Engine, model: Any, host: str
) -> None:
    keys, errors = fill(engine, model, host), list[CorruptRowError]()

    with engine.session() as session:
        found = session.all(of(model, host).on_corrupt(errors.append))

    assert [number_of(each) for each in found] == GOOD
    assert [error.row for error in errors] == keys
    assert {(error.field, error.value) for error in errors} == {("v", GARBAGE)}


def test_an_exception_of_the_function_ends_the_read(engine: Engine, host: str) -> None:
    fill(engine, Plain, host)

    def refuse_second(error: CorruptRowError) -> None:
        if error.row.endswith(b"\x04"):
            raise LookupError(error.row)

    stmt = of(Plain, host).on_corrupt(refuse_second)
    with engine.session() as session, session.stream(stmt) as refused:
        seen = [next(refused).n for _ in range(3)]
        with pytest.raises(LookupError):
            next(refused)

    assert seen == [1, 2, 3]
    assert refused.corrupt_rows == 1


def test_aggregates_are_of_the_rows_that_decode(engine: Engine, host: str) -> None:
    fill(engine, Plain, host)
    whole = select(func.count(), func.sum(Plain.v)).where(Plain.host == host)
    groups = select(Plain.host, func.max(Plain.v)).where(Plain.host == host).group_by(Plain.host)

    with engine.session() as session:
        assert session.one(whole.on_corrupt("skip")) == (len(GOOD), sum(GOOD))
        assert session.all(groups.on_corrupt("skip")) == [(host, 8)]
        assert session.count(of(Plain, host).where(Plain.v >= 3).on_corrupt("skip")) == 4
        assert session.exists(of(Plain, host).where(Plain.v == 3).on_corrupt("skip"))
        assert not session.exists(of(Plain, host).where(Plain.v == 4).on_corrupt("skip"))
        with pytest.raises(CorruptRowError):
            session.one(whole)


def test_a_count_does_not_see_cells_that_it_does_not_read(engine: Engine, host: str) -> None:
    fill(engine, Plain, host)

    with engine.session() as session:
        assert session.count(of(Plain, host)) == COUNT


def test_a_required_field_without_a_cell_is_left_out_where_it_is_selected(
    engine: Engine, host: str
) -> None:
    objects = put(engine, Wide, host)
    mutation = RowMutation(objects[3].__state__.row.key, deletes=(Delete(b"d:v"),))
    table = engine._bound_of(Wide).schema.table
    gateway_of(engine).execute(MutateRow(table, mutation))
    stmt = select(Wide.n, Wide.v, Wide.tags[1]).where(Wide.host == host)
    errors: list[CorruptRowError] = []

    with engine.session() as session:
        found = session.all(stmt.on_corrupt(errors.append))

    assert [n for n, *_ in found] == [n for n in range(COUNT) if n != 3]
    assert [type(error) for error in errors] == [MissingCellError]


@pytest.mark.parametrize("batch_rows", [1, 3, 100])
def test_columns_are_of_the_rows_that_decode(
    engine: Engine, model: Any, host: str, batch_rows: int
) -> None:
    fill(engine, model, host)
    wanted = of(model, host).on_corrupt("skip")
    values = replace(wanted, selection=select(model.v).selection)

    with engine.session() as session:
        for stmt in (wanted, values, wanted.where(model.v > 1)):
            is_filtered = stmt.conditions != wanted.conditions  # perhaps by the server
            with session.arrow(stmt, batch_rows=batch_rows) as reader:
                columns = reader.read_all().to_pydict()
            assert columns["v"] == [n for n in GOOD if n > 1 or not is_filtered]
            assert is_filtered or reader.corrupt_rows == len(BAD)
        with session.arrow(wanted.limit(4), batch_rows=batch_rows) as reader:
            assert reader.read_all().to_pydict()["v"] == GOOD[:4]
        with (
            session.arrow(of(model, host), batch_rows=batch_rows) as reader,
            pytest.raises(CorruptRowError),
        ):
            reader.read_all()


# --- row keys, packed cells, ranges of wide rows, indexes -----------------------------------------


@pytest.mark.parametrize("model", [Plain, Salted, Scattered, Wide], ids=lambda m: m.__name__)
def test_a_row_key_that_does_not_decode_is_left_out(engine: Engine, model: Any, host: str) -> None:
    row = put(engine, model, host)[4].__state__.row.key + b"\x01"
    store(engine, model, row, b"d:v", b"\x01")
    errors: list[CorruptRowError] = []
    stmt = of(model, host).on_corrupt(errors.append)

    with engine.session() as session:
        found = session.all(stmt)
        values = session.all(select(model.n).where(model.host == host).on_corrupt(errors.append))

    assert [number_of(each) for each in found] == list(range(COUNT)) == values
    assert [error.row for error in errors] == [row, row]


def test_a_record_type_that_no_class_declares_is_left_out(engine: Engine, host: str) -> None:
    row = put(engine, Sale, host)[4].__state__.row.key[:-1] + b"X"
    store(engine, Record, row, b"d:v", b"\x01")
    errors: list[CorruptRowError] = []

    with engine.session() as session:
        found = session.all(of(Record, host).on_corrupt(errors.append))
        values = session.all(select(Record.n).where(Record.host == host).on_corrupt(errors.append))

    assert [each.n for each in found] == list(range(COUNT)) == values
    assert [error.row for error in errors] == [row, row]


def test_a_qualifier_that_is_no_offset_is_left_out(engine: Engine, host: str) -> None:
    objects = put(engine, Packed, host)
    row = Packed.__schema__.storage.row_of(objects[3].__state__.row.key)
    store(engine, Packed, row, b"d:" + b"x" * 5, b"\x01")
    errors: list[CorruptRowError] = []

    with engine.session() as session:
        found = session.all(of(Packed, host).on_corrupt(errors.append))
        with pytest.raises(CorruptRowError):
            session.all(of(Packed, host))

    assert [number_of(each) for each in found] == list(range(COUNT))
    assert [(error.row, error.column) for error in errors] == [(row, b"d:xxxxx")]


def test_a_range_of_a_wide_row_is_left_out(engine: Engine, host: str) -> None:
    objects = put(engine, Wide, host)
    overwrite(engine, objects[2])
    store(engine, Wide, objects[6].__state__.row.key, b"d:t:\x01", GARBAGE)
    stmt = of(Wide, host).columns_between(Wide.tags, 0, 2)

    with engine.session() as session:
        compared = session.stream(stmt.where(Wide.v < 5).on_corrupt("skip"))
        assert [each.n for each in compared] == [0, 1, 3, 4]
        found = session.all(stmt.on_corrupt("skip"))
        with pytest.raises(CorruptRowError) as caught:
            session.all(stmt.where(Wide.v < 5))

    assert compared.corrupt_rows == 1
    assert [(each.n, each.tags) for each in found] == [
        (n, {1: n}) for n in range(COUNT) if n not in (2, 6)
    ]
    assert caught.value.column == b"d:v"


@pytest.mark.parametrize("field", ["v", "level"])
def test_a_row_that_an_index_leads_to_is_left_out(engine: Engine, host: str, field: str) -> None:
    objects = put(engine, Indexed, host)
    keys = [overwrite(engine, objects[number], field) for number in BAD]
    errors: list[CorruptRowError] = []
    stmt = select(Indexed).where(Indexed.kind == host).using(Indexed.by_kind)

    with engine.session() as session:
        found = session.all(stmt.on_corrupt(errors.append))
        pages: list[int] = []
        token: str | None = None
        while True:
            page = session.page(stmt.on_corrupt("skip"), size=2, token=token)
            pages += [each.n for each in page.items]
            if (token := page.token) is None:
                break
        with pytest.raises(CorruptRowError):
            session.all(stmt)

    assert [each.n for each in found] == GOOD == pages
    assert [error.row for error in errors] == keys
    column_ = b"d:" + field.encode()
    assert {(e.field, e.column, e.value) for e in errors} == {(field, column_, GARBAGE)}


def test_a_claim_that_does_not_decode_is_left_out(engine: Engine, host: str) -> None:
    put(engine, Indexed, host)
    guarded = engine._bound_of(Indexed).guarded
    assert guarded is not None
    table = next(each.table for each in guarded.indexes if each.unique)
    entry = f"{host}3".encode() + END
    stmt = select(Indexed).where(Indexed.mail == f"{host}3")
    with engine.session() as session:
        assert session.one(stmt).n == 3
    claim = RowMutation(entry, (Put(CLAIM_COLUMN, GARBAGE),))
    gateway_of(engine).execute(MutateRow(table, claim))
    errors: list[CorruptRowError] = []

    with engine.session() as session:
        assert session.all(stmt.on_corrupt(errors.append)) == []

    assert [error.table for error in errors] == [table]


# --- by key, related objects ----------------------------------------------------------------------


def test_gets_raise_or_return_none_by_the_rule_of_the_engine(
    engine: Engine, model: Any, host: str
) -> None:
    keys = fill(engine, model, host)
    names = ("host", "at") if model in TIMED else ("host", "n")
    wanted = [{name: getattr(make(model, host, n), name) for name in names} for n in (1, 0, 3, 9)]
    skips = skipping(engine)

    with skips.session() as session:
        found = session.get_many(model, wanted)
        assert session.get(model, **wanted[1]) is None
        assert number_of(session.get(model, **wanted[0])) == 1
    with engine.session() as session, pytest.raises(CorruptRowError) as caught:
        session.get(model, **wanted[1])

    assert [None if each is None else number_of(each) for each in found] == [1, None, 3, None]
    assert skips.corrupt_rows == 3
    assert caught.value.row == keys[0]
    assert caught.value.table


@pytest.mark.parametrize("way", ["refresh", "history"])
def test_what_is_asked_of_one_row_raises_by_any_rule(engine: Engine, host: str, way: str) -> None:
    obj = put(engine, Plain, host)[3]
    key_ = overwrite(engine, obj)
    ways: dict[str, Callable[[Session], object]] = {
        "refresh": lambda session: session.refresh(obj),
        "history": lambda session: session.history(obj, Plain.v, limit=3),
    }

    with skipping(engine).session() as session, pytest.raises(CorruptRowError) as caught:
        ways[way](session)

    error = caught.value
    assert (error.row, error.column, error.value) == (key_, b"d:v", GARBAGE)
    assert error.table == engine._bound_of(Plain).schema.table


def test_the_rule_of_a_statement_comes_before_the_rule_of_the_engine(
    engine: Engine, host: str
) -> None:
    fill(engine, Plain, host)
    skips = skipping(engine)

    with skips.session() as session:
        assert [each.n for each in session.all(of(Plain, host))] == GOOD
        with pytest.raises(CorruptRowError):
            session.all(of(Plain, host).on_corrupt("raise"))


@pytest.mark.parametrize("way", ["all", "stream", "page"])
def test_a_related_object_whose_row_does_not_decode_is_none(
    engine: Engine, host: str, way: str
) -> None:
    overwrite(engine, put(engine, Plain, host)[4])
    stmt = of(Plain, host).load_related(Plain.earlier)
    ways: dict[str, Callable[[Session, Select[Any]], list[Any]]] = {
        "all": lambda session, each: session.all(each),
        "stream": lambda session, each: list(session.stream(each)),
        "page": lambda session, each: session.page(each, size=9).items,
    }
    read = ways[way]

    with engine.session() as session:
        found = read(session, stmt.where(Plain.n != 4).on_corrupt("skip"))
        with pytest.raises(CorruptRowError):
            read(session, stmt.where(Plain.n > 4))

    assert [each.n for each in found if each.earlier is None] == [5]
    assert len(found) == COUNT - 1


# --- counts and the log ---------------------------------------------------------------------------


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "corrupt" in record.getMessage()]


@pytest.mark.parametrize("way", [*READS, "page", "limit", "get_many", "related"])
def test_a_statement_logs_once_how_many_rows_were_left_out(
    engine: Engine, host: str, caplog: pytest.LogCaptureFixture, way: str
) -> None:
    keys = fill(engine, Plain, host)
    stmt = of(Plain, host).on_corrupt("skip")
    count = len(BAD)
    with caplog.at_level(logging.WARNING, "hbase_orm"), skipping(engine).session() as session:
        if way == "page":
            session.page(stmt, size=20)
        elif way == "limit":
            session.all(stmt.limit(1))
            count = 1
        elif way == "get_many":
            session.get_many(Plain, [(host, number) for number in range(COUNT)])
        elif way == "related":
            session.all(stmt.load_related(Plain.earlier))
            count += 2  # the rows before 1 and 6
        else:
            READS[way](session, stmt)

    (line,) = warnings(caplog)
    assert f"{count} corrupt {'row was' if count == 1 else 'rows were'} left out" in line
    assert "Plain" in line
    assert repr(keys[0]) in line


def test_what_a_function_gets_is_not_logged(
    engine: Engine, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    fill(engine, Plain, host)

    with caplog.at_level(logging.WARNING, "hbase_orm"), engine.session() as session:
        session.all(of(Plain, host).on_corrupt(lambda _: None))

    assert warnings(caplog) == []


def test_analyzing_a_statement_leaves_the_same_rows_out(engine: Engine, host: str) -> None:
    fill(engine, Plain, host)

    with engine.session() as session:
        plan = session.explain(of(Plain, host).on_corrupt("skip"), analyze=True)

    assert f"{COUNT} fetched, {len(GOOD)} kept, 0 dropped by the client, {len(BAD)} corrupt" in str(
        plan
    )


# --- deletions ------------------------------------------------------------------------------------


def left(engine: Engine, model: Any, host: str) -> int:
    with engine.session() as session:
        return session.count(of(model, host))


def test_a_deletion_fails_at_its_end_for_the_rows_that_do_not_decode(
    engine: Engine, model: Any, host: str
) -> None:
    keys = fill(engine, model, host)

    with skipping(engine).session() as session, pytest.raises(FlushError) as caught:
        session.delete_where(of(model, host))

    error = caught.value
    assert error.written == len(GOOD)
    assert [row for _, row, _ in error.not_written] == keys
    assert {type(each) for _, _, each in error.not_written} == {CorruptRowError}
    assert left(engine, model, host) == len(BAD)


def test_a_deletion_may_leave_the_rows_that_do_not_decode(
    engine: Engine, model: Any, host: str
) -> None:
    fill(engine, model, host)
    stmt = of(model, host).on_corrupt("skip")

    with engine.session() as session:
        before = engine.corrupt_rows
        assert session.delete_where(stmt.limit(1)) == 1
        assert engine.corrupt_rows - before == 1
        assert session.delete_where(stmt) == len(GOOD) - 1

    assert left(engine, model, host) == len(BAD)


def test_an_exception_of_the_function_ends_a_deletion(engine: Engine, host: str) -> None:
    fill(engine, Plain, host)

    def refuse(error: CorruptRowError) -> None:
        raise LookupError(error.row)

    with engine.session() as session, pytest.raises(LookupError):
        session.delete_where(of(Plain, host).on_corrupt(refuse))

    assert left(engine, Plain, host) == COUNT


# --- both readers ---------------------------------------------------------------------------------


@pytest.mark.only_on("hbase")
def test_rows_that_python_reads_are_left_out_too(
    backend: Any, engine: Engine, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    keys, errors = fill(engine, Plain, host), list[CorruptRowError]()
    monkeypatch.setattr(protocols, "row_takers", RowPatterns)
    pure = backend.another(engine)
    stmt, values = of(Plain, host), select(Plain.v).where(Plain.host == host)

    with pure.session() as session:
        assert [each.n for each in session.all(stmt.on_corrupt(errors.append))] == GOOD
        assert session.all(values.on_corrupt(errors.append)) == GOOD

    assert [error.row for error in errors] == [*keys, *keys]


# --- rules ----------------------------------------------------------------------------------------


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("rule", ["ignore", None, 1, True, ValueError])
def test_what_is_no_rule_is_refused(engine: Engine, rule: Any) -> None:
    del engine
    with pytest.raises(QueryError, match="not a rule"):
        select(Plain).on_corrupt(rule)


@pytest.mark.only_on("memory")
def test_a_statement_prints_its_rule(engine: Engine) -> None:
    del engine
    assert repr(select(Plain).on_corrupt("skip")) == 'select(Plain).on_corrupt("skip")'
    assert "on_corrupt(warnings)" in repr(select(Plain).on_corrupt(partial(warnings).func))
