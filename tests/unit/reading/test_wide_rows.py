"""Ranges of wide rows that are cut off, lie in several tables, or are counted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    TablePerPeriod,
    codecs,
    column,
    connect,
    dynamic,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConnectionLostError,
    GatewayError,
    PageTokenError,
    RegionUnavailableError,
    RejectedError,
    RetryableError,
    ScannerExpiredError,
)
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import CloseScanner, FetchRows, OpenScanner, Operation
from hbase_orm.query.statements.slices import slice_of
from hbase_orm.schema import EntryRange
from tests.behaviour.test_wide_rows import NOON, Feed, feed, items, listed, prepare, read
from tests.support.recording import RecordsRequests, through
from tests.support.store import Store


@pytest.fixture
def store() -> Store:
    engine = connect("memory://")
    prepare(engine)
    return Store.on(engine)


@pytest.fixture
def host() -> str:
    return uuid4().hex


class LosesScanners(RecordsRequests):
    """Fails the first fetches of entries, as a gateway whose connection breaks."""

    def __init__(self, inner: Gateway, errors: list[GatewayError]) -> None:
        super().__init__(inner)
        self.errors = errors

    def execute(self, operation: Operation[Any], /) -> Any:
        if isinstance(operation, FetchRows) and self.errors:
            raise self.errors.pop(0)
        return super().execute(operation)


@pytest.mark.parametrize(
    "error", [ScannerExpiredError, ConnectionLostError, RegionUnavailableError]
)
def test_a_lost_scanner_is_opened_again_for_the_same_range(
    store: Store, host: str, error: type[GatewayError]
) -> None:
    store.put(listed(host, 1, 2, 3))
    losing = LosesScanners(store.sent, [error("lost"), error("lost")])

    assert items(Store(through(losing, store.engine), losing), host, 2, 9) == [2, 3]


def test_a_scanner_that_is_always_lost_is_given_up(store: Store, host: str) -> None:
    store.put(listed(host, 1, 2, 3))
    losing = LosesScanners(store.sent, [ConnectionLostError("lost") for _ in range(99)])

    with pytest.raises(ConnectionLostError):
        items(Store(through(losing, store.engine), losing), host, 2, 9)


class Daily(Model, table=TablePerPeriod("days_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    tags: Dynamic[str, str] = dynamic(d)
    __rowkey__ = rowkey(Offset("day", of=at, codec=codecs.uint32()), host)


@pytest.mark.parametrize("is_got", [False, True])
def test_rows_of_several_tables_come_with_their_ranges(
    store: Store, host: str, *, is_got: bool
) -> None:
    made = [Daily(host=host, at=NOON + timedelta(days=day)) for day in range(3)]
    for day, each in enumerate(made):
        each.tags = {"a": "", "b": str(day)}
    store.put(*made)
    times = [each.at for each in made]
    asked = Daily.at.in_(times) if is_got else Daily.at.between(times[0], times[-1])

    found = read(
        store,
        select(Daily).where(asked, Daily.host == host).columns_between(Daily.tags, "b", "c"),
    )

    assert [each.tags["b"] for each in found] == ["0", "1", "2"]


def test_a_token_of_another_range_is_refused(store: Store, host: str) -> None:
    store.put(*(feed(host, n, 3) for n in range(3)))
    stmt = select(Feed).where(Feed.host == host)
    one, other = (stmt.columns_between(Feed.tags, "a", stop) for stop in ("b", "c"))

    with store.engine.session() as session:
        token = session.page(one, size=1).token
        with pytest.raises(PageTokenError):
            session.page(other, size=1, token=token)


def test_no_scanner_is_left_open(store: Store, host: str) -> None:
    store.put(*(feed(host, n, 3) for n in range(6)))
    stmt = select(Feed).where(Feed.host == host).columns_between(Feed.tags, "a", "b")

    with store.engine.session() as session, session.stream(stmt) as stream:
        next(stream)

    opened = [one for one in store.sent.requests if isinstance(one, OpenScanner)]
    closed = [one for one in store.sent.requests if isinstance(one, CloseScanner)]
    assert len(opened) == len(closed) > 1


class Fails(RecordsRequests):
    """Fails one request of a kind, by its number, and counts scanners."""

    def __init__(self, inner: Gateway, kind: type, at: int, error: BaseException) -> None:
        super().__init__(inner)
        self.kind, self.left, self.error = kind, at, error
        self.opened: list[Any] = []
        self.closed: list[Any] = []

    def execute(self, operation: Operation[Any], /) -> Any:
        if isinstance(operation, CloseScanner):
            self.closed.append(operation.scanner)
        if isinstance(operation, self.kind):
            self.left -= 1
            if self.left == 0:
                raise self.error
        answer = super().execute(operation)
        if isinstance(operation, OpenScanner):
            self.opened.append(answer)
        return answer


@pytest.mark.parametrize("error", [RejectedError("no"), RetryableError("x"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_every_scanner_is_closed_once_whatever_fails(
    store: Store, host: str, at: int, error: BaseException
) -> None:
    store.put(*(feed(host, n, 3) for n in range(3)))
    stmt = select(Feed).where(Feed.host == host).columns_between(Feed.tags, "a", "b")
    fails = Fails(store.sent, FetchRows, at, error)

    with through(fails, store.engine).session() as session:
        try:
            assert len(session.all(stmt)) == 3
        except (RejectedError, KeyboardInterrupt) as raised:
            assert raised is error  # noqa: PT017 - only some of the errors come through

    assert fails.opened
    assert sorted(fails.closed, key=repr) == sorted(fails.opened, key=repr)


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_close_that_fails_fails_no_read(store: Store, host: str, at: int) -> None:
    store.put(*(feed(host, n, 3) for n in range(3)))
    stmt = select(Feed).where(Feed.host == host).columns_between(Feed.tags, "a", "b")
    fails = Fails(store.sent, CloseScanner, at, RejectedError("no"))

    with through(fails, store.engine).session() as session:
        assert len(session.all(stmt)) == 3

    assert fails.left <= 0
    assert sorted(fails.closed, key=repr) == sorted(fails.opened, key=repr)


class Hourly(Model, table=TablePerPeriod("hours_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    size: Mapped[int] = column(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    __rowkey__ = rowkey(Offset("day", of=at, codec=codecs.uint32()), host)


def test_the_rows_of_several_tables_are_found_without_their_entries(
    store: Store, host: str
) -> None:
    made = [Hourly(host=host, at=NOON + timedelta(days=day), size=day) for day in range(2)]
    for each in made:
        each.tags = {"a": "x", "b": "y"}
    store.put(*made)
    between = Hourly.at.between(made[0].at, made[1].at)
    stmt = select(Hourly).where(between).columns_between(Hourly.tags, "b", "c")
    store.sent.requests.clear()

    assert [(each.size, each.tags) for each in read(store, stmt)] == [
        (0, {"b": "y"}),
        (1, {"b": "y"}),
    ]

    scans = [one.scan for one in store.sent.requests if isinstance(one, OpenScanner)]
    assert {one.columns for one in scans if one.filter is None} == {(b"d:size",)}


def test_names_before_the_empty_one_are_none() -> None:
    class Odd(Model, table="odd"):
        d = Family()
        host: Key[str] = key()
        tags: Dynamic[str, str] = dynamic(d, name=codecs.get("phoenix.varchar"))

    assert slice_of(Odd.__schema__, EntryRange(Odd.tags, "", "")) is None


def test_an_analysis_counts_rows_without_their_entries(store: Store, host: str) -> None:
    made = [Hourly(host=f"{host}{n}", at=NOON, size=n % 2) for n in range(6)]
    for each in made:
        each.tags = {"a": "x", "b": "y"}
    store.put(*made)
    stmt = select(Hourly).where(Hourly.at == NOON, Hourly.host.startswith(host), Hourly.size == 1)

    with store.engine.session() as session:
        found = session.explain(stmt.columns_between(Hourly.tags, "b", "c"), analyze=True)

    measured = found.measured
    assert measured is not None
    assert (measured.kept, measured.fetched - measured.dropped, measured.stale) == (3, 3, 0)
    assert "and 1 scanner for each row" in str(found)
