"""What a program holds prints well in an interpreter, in a log and in a debugger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    CellVersion,
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Page,
    Related,
    Salt,
    Select,
    StoredCell,
    column,
    connect,
    counter,
    dynamic,
    func,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import StreamInterruptedError
from hbase_orm.schema import Table

NOON = datetime(2024, 1, 5, 12, tzinfo=UTC)


class Buyer(Model, table="buyers"):
    d = Family()
    id: Key[str] = key()


class Order(Model, table="orders"):
    d = Family()
    city: Key[str] = key()
    at: Key[datetime] = key()
    total: Mapped[float] = column(d)
    buyer_id: Mapped[str] = column(d)
    hits: Counter = counter(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")
    buyer: Related[Buyer] = related(id=buyer_id)
    by_total = Index(total)
    __rowkey__ = rowkey(Salt(4, of=[city]), city, at)


OF_X = select(Order).where(Order.city == "x")

STATEMENTS: dict[str, Select[Any]] = {
    "select(Order)": select(Order),
    "select(Order).where(Order.city == 'x').limit(3)": OF_X.limit(3),
    "select(Order).where(Order.city == 'x', Order.total > 2.0)": OF_X.where(Order.total > 2.0),
    "select(Order.city, func.count()).group_by(Order.city)": select(
        Order.city, func.count()
    ).group_by(Order.city),
    "select(func.max(Order.total))": select(func.max(Order.total)),
    "select(Order).order_by(Order.city.asc(), Order.at.desc())": select(Order).order_by(
        Order.city, Order.at.desc()
    ),
    "select(Order).sort_in_memory(Order.total.asc(), max_rows=9)": select(Order).sort_in_memory(
        Order.total, max_rows=9
    ),
    "select(Order).using(Order.by_total)": select(Order).using(Order.by_total),
    "select(Order).using(None)": select(Order).using(None),
    "select(Order).load_related(Order.buyer)": select(Order).load_related(Order.buyer),
    "select(Order).columns_between(Order.tags, 'a', 'f', limit=2)": select(Order).columns_between(
        Order.tags, "a", "f", limit=2
    ),
    "select(Order).as_of(2024-01-05 12:00:00+00:00)": select(Order).as_of(NOON),
    "select(Order).between_timestamps(2024-01-05 12:00:00+00:00, 2024-01-05 13:00:00+00:00)": (
        select(Order).between_timestamps(NOON, NOON + timedelta(hours=1))
    ),
    'select(Order).consistency("timeline")': select(Order).consistency("timeline"),
    "select(Order).allow_full_scan().caching(7)": select(Order).caching(7).allow_full_scan(),
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_prints_as_it_is_written(text: str) -> None:
    assert repr(STATEMENTS[text]) == text


DECLARED: dict[str, Callable[[], object]] = {
    "rowkey(Salt(4), Order.city, Order.at)": lambda: Order.__rowkey__,
    "Family('d')": lambda: Order.d,
    "Family()": Family,
    "Family('d', versions=3, ttl=datetime.timedelta(days=1))": lambda: Family(
        "d", versions=3, ttl=timedelta(days=1)
    ),
    "Family('d', block_cache=False, attributes={'A': 'b'})": lambda: Family(
        "d", block_cache=False, attributes={"A": "b"}
    ),
    "Table('t')": lambda: Table("t"),
    "Table('t', splits=4, attributes={'A': 'b'}, foreign=True)": lambda: Table(
        "t", splits=4, attributes={"A": "b"}, foreign=True
    ),
}


@pytest.mark.parametrize("text", DECLARED)
def test_a_declaration_prints_with_what_is_not_usual(text: str) -> None:
    assert repr(DECLARED[text]()) == text


def test_an_engine_prints_its_url() -> None:
    assert repr(connect("memory:///shop?on_drift=warn")) == (
        "Engine('memory:///shop?on_drift=warn')"
    )


@pytest.mark.parametrize(
    "url",
    [
        "hbase://a:9090",
        "hbase://a:9090,[::1]:9091/shop?thrift2=b:9091,c:9092&timeout_s=2.5&pool=3&clean_up=deferred",
        "memory://",
    ],
)
def test_the_url_of_options_has_all_that_is_not_usual(url: str) -> None:
    options = parse_url(url)

    assert options.url == url
    assert parse_url(options.url).servers or url == "memory://"


def test_a_session_a_stream_and_a_bulk_writer_print_their_state() -> None:
    engine = connect("memory://")
    engine.create_tables(Order)
    session = engine.session()
    stream = session.stream(OF_X)

    assert repr(session) == "Session(loaded=0, pending=0)"
    assert repr(stream) == "Stream(select(Order).where(Order.city == 'x'), open)"
    stream.close()
    assert repr(stream).endswith("closed)")
    with session.bulk(batch_rows=2) as bulk:
        for hour in range(3):
            bulk.add(Order(city="x", at=NOON + timedelta(hours=hour), total=1.0, buyer_id="b"))
        assert repr(bulk).startswith("Bulk(open, written=")
        assert repr(bulk).endswith("waiting=1)")
    assert repr(bulk) == "Bulk(closed, written=3, waiting=0)"
    session.close()
    assert repr(session) == "Session(closed)"


def test_a_stream_that_an_error_ended_prints_so() -> None:
    engine = connect("memory://")
    engine.create_tables(Order)
    stream = engine.session().stream(OF_X)
    engine.drop_tables(Order)
    with pytest.raises(Exception, match="table"):
        next(stream)

    assert repr(stream).endswith("interrupted)")
    with pytest.raises(StreamInterruptedError):
        next(stream)


def test_a_plan_prints_as_its_tree() -> None:
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Order)
        plan = session.explain(select(Order).where(Order.city == "x", Order.at == NOON))

    assert repr(plan) == str(plan)
    assert repr(plan).splitlines() == [
        "Get orders",
        r"├─ get \x03x\x00\x01\x80\x06\x0E1\x96jP\x00",
        "├─ check on the client: Order.city == 'x' and Order.at == 2024-01-05 12:00:00+00:00",
        "├─ order: at most one row",
        "└─ requests: 1 get",
    ]


def test_a_page_prints_its_first_results_and_why_it_ends() -> None:
    assert repr(Page([1, 2], "abc", "size")) == "Page(items=[1, 2], token='abc', reason='size')"
    assert repr(Page([], stale=True)) == (
        "Page(items=[], token=None, reason='exhausted', stale=True)"
    )
    assert repr(Page([*range(99)])).startswith("Page(items=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...], ")


def test_cells_and_versions_print_in_short() -> None:
    cell = StoredCell(b"d:a", 7, "put", b"x" * 1_000_000)

    assert repr(CellVersion(1.5, 7)) == "CellVersion(value=1.5, timestamp_ms=7)"
    assert repr(replace(cell, value=b"x")) == (
        "StoredCell(column=b'd:a', timestamp_ms=7, kind='put', value=b'x')"
    )
    assert max(len(repr(cell)), len(repr(CellVersion("x" * 1_000_000, 7)))) < 200


@pytest.mark.parametrize(
    "statement",
    [
        select(Order).where(*[Order.total > n for n in range(5000)]),
        select(Order).where(Order.city == "x" * 100_000),
        select(Order).where(Order.city.in_(["x" * 100_000] * 1000)),
        select(Order).columns_between(Order.tags, "a" * 30_000, "b"),
    ],
    ids=["many", "long", "many long", "columns"],
)
def test_a_large_statement_prints_in_short(statement: Select[Any]) -> None:
    assert len(repr(statement)) < 2000


def test_a_plan_of_long_keys_prints_in_short() -> None:
    cities = [letter * 30_000 for letter in "abcdefg"]
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Order)
        plans = [
            session.explain(select(Order).where(Order.city.in_(cities))),
            session.explain(select(Order).where(Order.city.in_(cities), Order.at == NOON)),
        ]

    for plan in plans:
        assert "bytes in all" in repr(plan)
        assert len(repr(plan)) < 5000


def test_a_verification_prints_counts_and_no_rows() -> None:
    engine = connect("memory://")
    engine.create_tables(Order)
    with engine.session() as session:
        session.add(Order(city="x", at=NOON, total=1.0, buyer_id="b"))

    assert repr(engine.verify_index(Order, "by_total")) == (
        "Verification('by_total', is_sound=True, rows={'VALID': 1}, entries={'VALID': 1})"
    )
