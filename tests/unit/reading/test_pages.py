from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.errors import PageTokenError, QueryError
from hbase_orm.ops import CloseScanner, DropTable, FetchRows, OpenScanner
from tests.support.page_statements import DAY, STATEMENTS, Daily, Plain, Scattered, load, pages_of
from tests.support.recording import RecordsRequests, gateway_of, through


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = connect("memory://")
    load(engine)
    return engine


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("name", STATEMENTS)
def test_pages_joined_are_the_rows(engine: Engine, name: str, size: int) -> None:
    statement = STATEMENTS[name]()
    with engine.session() as session:
        rows = session.all(statement)
        pages = pages_of(session, statement, size)

    assert [row for page in pages for row in page] == rows
    assert bool(rows) is (name not in {"empty", "contradiction"})
    assert len(pages) == max(1, -(-len(rows) // size))


def key_of(obj: Scattered) -> bytes:
    assert obj.__state__.row is not None
    return obj.__state__.row.key


def test_one_key_under_two_salts_is_given_twice_wherever_a_page_ends() -> None:
    engine = connect("memory://")
    engine.create_tables(Scattered)
    for _ in range(60):  # draws of three salts: they are never all alike
        with engine.session() as session:
            session.add(Scattered(host="a", n=1, v=1))
    everything = select(Scattered).allow_full_scan()
    with engine.session() as session:
        salts = [key_of(row) for row in session.all(everything)]
        paged = [key_of(row) for page in pages_of(session, everything, 1) for row in page]

    assert len(salts) > 1
    assert paged == salts


def test_a_page_closes_its_scanners() -> None:
    recorded = RecordsRequests(gateway_of(connect("memory://")))
    engine = through(recorded, connect("memory://"))
    load(engine)
    recorded.requests.clear()
    with engine.session() as session:
        session.page(STATEMENTS["buckets"](), size=2)

    opened = [r for r in recorded.requests if isinstance(r, OpenScanner)]
    closed = [r for r in recorded.requests if isinstance(r, CloseScanner)]
    assert len(opened) == len(closed) == 4


def test_reasons_say_why_a_page_ends(engine: Engine) -> None:
    with engine.session() as session:
        assert session.page(STATEMENTS["limited"](), size=7).reason == "limit"
        assert session.page(STATEMENTS["limited"](), size=6).reason == "size"
        assert session.page(STATEMENTS["scan"](), size=12).reason == "exhausted"
        assert session.page(STATEMENTS["scan"](), size=11).reason == "size"


def test_objects_of_a_page_belong_to_the_session(engine: Engine) -> None:
    with engine.session() as session:
        (one,) = session.page(STATEMENTS["scan"](), size=1).items

        assert session.get(Plain, host=one.host, n=one.n) is one


@pytest.mark.parametrize(
    "other", ["backwards", "limited", "ranges", "index", "buckets", "checked by the client"]
)
def test_a_token_of_another_statement_is_refused(engine: Engine, other: str) -> None:
    with engine.session() as session:
        token = session.page(STATEMENTS["scan"](), size=2).token

        with pytest.raises(PageTokenError, match="belongs to another statement"):
            session.page(STATEMENTS[other](), size=2, token=token)


@pytest.mark.parametrize("token", ["", "x", "????", "ü", "AAAA", b"AAAA", 7, "A" * 400])
def test_what_is_no_token_is_refused(engine: Engine, token: Any) -> None:
    with engine.session() as session, pytest.raises(PageTokenError) as caught:
        session.page(STATEMENTS["scan"](), size=2, token=token)

    assert caught.value.fix


@pytest.mark.parametrize("size", [0, -1, True, 1.5, None, "3"])
def test_a_page_has_a_positive_size(engine: Engine, size: Any) -> None:
    with (
        engine.session() as session,
        pytest.raises(QueryError, match="size= must be a positive integer"),
    ):
        session.page(STATEMENTS["scan"](), size=size)


def test_rows_written_behind_the_page_show_in_the_next(engine: Engine) -> None:
    engine = connect("memory://")
    load(engine)
    with engine.session() as session:
        first = session.page(STATEMENTS["scan"](), size=3)
        with engine.session() as other:
            other.add_all([Plain(host="a", n=5, v=0), Plain(host="a", n=0, v=9)])
        second = session.page(STATEMENTS["scan"](), size=3, token=first.token)

    assert [row.n for row in first.items] == [0, 2, 4]
    assert [row.n for row in second.items] == [5, 6, 8]


@pytest.mark.parametrize("name", ["scan", "tables"])
def test_a_token_that_was_cut_or_changed_is_refused(engine: Engine, name: str) -> None:
    statement = STATEMENTS[name]()
    with engine.session() as session:
        token = session.page(statement, size=2).token
        assert token is not None
        spoilt = [token[:end] for end in range(len(token))]
        spoilt += [token + junk for junk in ("A", "AAAA", "=", "!", " ", "\n")]
        spoilt += ["!" + token, token[:5] + "*" + token[5:], token.swapcase()]

        for one in spoilt:
            with pytest.raises(PageTokenError, match="not a page token"):
                session.page(statement, size=2, token=one)
        assert session.page(statement, size=2, token=token).items


def test_a_forged_token_is_refused(engine: Engine) -> None:
    statement = STATEMENTS["tables"]()
    with engine.session() as session:
        token = session.page(statement, size=2).token
        assert token is not None
        packed = urlsafe_b64decode(token + "=" * (-len(token) % 4))[4:]
        forged = packed.replace(b"2026", b"20x6")
        checksum = blake2b(forged, digest_size=4).digest()

        assert forged != packed
        with pytest.raises(PageTokenError, match="not a page token"):
            session.page(
                statement, size=2, token=urlsafe_b64encode(checksum + forged).decode().rstrip("=")
            )


class Reign(Model, table=TablePerPeriod("reigns_%Y", of="began", period="year")):
    d = Family()
    began: Key[datetime] = key(codecs.micros())
    name: Mapped[str] = column(d)


def test_a_page_ends_in_a_table_of_an_early_year() -> None:
    engine = connect("memory://")
    times = [datetime(year, 3, 1, tzinfo=UTC) for year in (7, 999, 2024)]
    for time in times:
        engine.create_tables(Reign, periods=(time, time + timedelta(days=1)))
    with engine.session() as session:
        session.add_all(Reign(began=time, name="x") for time in times)
    with engine.session() as session:
        pages = pages_of(session, select(Reign).allow_full_scan(), 1)

    assert [[row.began for row in page] for page in pages] == [[time] for time in times]


@pytest.mark.parametrize("gone", [(0,), (0, 1), (0, 1, 2), (1,)])
@pytest.mark.parametrize("falls", [False, True])
def test_pages_go_on_behind_a_table_that_was_dropped(
    gone: tuple[int, ...],
    falls: bool,  # noqa: FBT001 - of the table
) -> None:
    engine = connect("memory://")
    days = [DAY + timedelta(days=number) for number in range(4)]
    engine.create_tables(Daily, periods=(days[0], days[-1] + timedelta(days=1)))
    with engine.session() as session:
        session.add_all(Daily(host="a", at=day, v=1) for day in days)
    if falls:
        days.reverse()
    order = Daily.at.desc() if falls else Daily.at.asc()
    statement = select(Daily).where(Daily.host == "a").order_by(order).allow_full_scan()
    with engine.session() as session:
        first = session.page(statement, size=1)
        for number in gone:
            name = f"daily_{days[number]:%Y%m%d}"
            gateway_of(engine).execute(DropTable(name))
        second = session.page(statement, size=9, token=first.token)

    assert [row.at for row in first.items] == days[:1]
    left = [day for number, day in enumerate(days) if number and number not in gone]
    assert [row.at for row in second.items] == left


@pytest.mark.parametrize(("size", "fetched"), [(1, 2), (3, 4), (200, 100)])
def test_a_page_asks_for_no_more_rows_than_it_may_need(size: int, fetched: int) -> None:
    engine = connect("memory://")
    engine.create_tables(Plain)
    sent = RecordsRequests(gateway_of(engine))

    with through(sent, engine).session() as session:
        session.page(select(Plain).where(Plain.host == "a"), size=size)

    assert [r.count for r in sent.requests if isinstance(r, FetchRows)] == [fetched]
