"""Random salts: a get asks every bucket, an object keeps its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import FlushError, MultipleRowsError, RegionUnavailableError, RowKeyError
from hbase_orm.ops import GetRows, Increment, MutateRows
from tests.support.store import Store, rows_written

T0 = datetime(2024, 1, 1, tzinfo=UTC)


class Visit(Model, table="visits"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    page: Mapped[str | None] = column(d, "p", default=None)
    hits: Counter = counter(d, "h")

    __rowkey__ = rowkey(RandomSalt(4), at, host)


def prepare(engine: Engine) -> None:
    engine.create_tables(Visit)


@pytest.fixture
def visitor() -> str:
    return uuid4().hex


SOME, MANY = 40, 200
"""So many draws of four salts are never all alike, and so many give each of them."""


def minutes(count: int) -> datetime:
    return T0 + timedelta(minutes=count)


def twice(store: Store, host: str) -> None:
    """Store one key in two buckets."""
    rest = b"\x00\x00\x01\x8c\xc2\x51\xf4\x00" + host.encode()
    for bucket in (b"\x01", b"\x03"):
        store.write_raw(store.table(Visit), bucket + rest, p=bucket.hex().encode())


def test_a_get_asks_every_bucket_by_one_request(store: Store, visitor: str) -> None:
    store.put(Visit(at=T0, host=visitor, page="a"))

    with store.engine.session() as session:
        found = session.get(Visit, at=T0, host=visitor)

    assert found == Visit(at=T0, host=visitor, page="a")
    rest = b"\x00\x00\x01\x8c\xc2\x51\xf4\x00" + visitor.encode()
    keys = (b"\x00" + rest, b"\x01" + rest, b"\x02" + rest, b"\x03" + rest)
    assert store.sent.requests == [GetRows(store.table(Visit), keys, (b"d",))]


def test_a_random_salt_spreads_objects_that_are_read_back_at_their_positions(
    store: Store, visitor: str
) -> None:
    with store.engine.session() as session:
        session.add_all(Visit(at=minutes(n), host=visitor, page=str(n)) for n in range(MANY))
    salts = {row[0] for row in rows_written(store)}

    with store.engine.session() as session:
        found = session.get_many(Visit, [(minutes(n), visitor) for n in (7, 999, 0, 7)])

    assert salts == {0, 1, 2, 3}
    assert [visit and visit.page for visit in found] == ["7", None, "0", "7"]
    assert found[0] is found[3]


def test_an_object_that_was_read_changes_and_deletes_its_own_row(
    store: Store, visitor: str
) -> None:
    store.put(*(Visit(at=minutes(n), host=visitor, page="a") for n in range(20)))

    with store.engine.session() as session:
        visits = session.all(select(Visit).where(Visit.at >= T0, Visit.host == visitor))
        for visit in visits:
            visit.page = "b"
        session.flush()
        pages = [
            visit.page
            for visit in session.all(select(Visit).where(Visit.at >= T0, Visit.host == visitor))
        ]
        for visit in visits:
            session.delete(visit)
        session.flush()
        left = session.count(select(Visit).where(Visit.at >= T0, Visit.host == visitor))

    assert (pages, left) == (["b"] * 20, 0)


def test_a_new_object_keeps_the_key_that_was_drawn_for_it_over_failures(
    store: Store, visitor: str
) -> None:
    failures = [RegionUnavailableError("moving")] * 3
    failing = store.failing(
        lambda request: failures.pop() if isinstance(request, MutateRows) and failures else None
    )
    visit = Visit(at=T0, host=visitor, page="a")
    session = failing.engine.session()
    session.add(visit)

    for _ in range(3):
        with pytest.raises(FlushError):
            session.flush()
    session.flush()
    visit.page = "b"
    session.flush()
    session.delete(visit)
    session.flush()
    session.add(visit)
    session.flush()

    assert len(rows_written(failing)) == 7
    assert len(set(rows_written(failing))) == 1


def test_one_key_in_two_buckets_is_reported_and_mended_as_the_error_says(
    store: Store, visitor: str
) -> None:
    twice(store, visitor)
    session = store.engine.session()

    with pytest.raises(MultipleRowsError) as caught:
        session.get(Visit, at=T0, host=visitor)
    with pytest.raises(MultipleRowsError) as increment:
        session.increment(Visit, Visit.hits.by(1), at=T0, host=visitor)
    both = session.all(select(Visit).where(Visit.at == T0, Visit.host == visitor))
    session.delete(both[1])
    session.flush()

    assert [row[:1] for row in caught.value.rows] == [b"\x01", b"\x03"]
    assert caught.value.rows == increment.value.rows
    assert "Visit.at == ... and Visit.host == ... and delete all but one" in caught.value.fix
    assert [visit.page for visit in both] == ["01", "03"]
    assert session.get(Visit, at=T0, host=visitor) is both[0]


def test_an_increment_finds_the_row_or_always_makes_the_same(store: Store, visitor: str) -> None:
    store.put(*(Visit(at=minutes(n), host=visitor) for n in range(SOME)))
    key: dict[str, Any] = {"at": minutes(99), "host": visitor}

    with store.engine.session() as session:
        there = [
            session.increment(Visit, Visit.hits.by(n + 1), at=minutes(n), host=visitor)
            for n in range(SOME)
        ]
        rows = [r.row for r in store.sent.requests if isinstance(r, Increment)]
        absent = [session.increment(Visit, Visit.hits.by(2), **key) for _ in range(3)]
        found = session.get_many(Visit, [(minutes(n), visitor) for n in range(SOME)])
        new = session.get(Visit, **key)

    assert there == [[n + 1] for n in range(SOME)]
    assert [visit and visit.hits for visit in found] == list(range(1, SOME + 1))
    assert len({row[0] for row in rows}) > 1  # not all in one bucket, so they were found
    assert (absent, new and new.hits) == ([[2], [4], [6]], 6)


def test_streams_come_in_the_order_behind_the_salt(store: Store, visitor: str) -> None:
    store.put(*(Visit(at=minutes(n % 50), host=f"{visitor}{n}") for n in range(100)))
    statement = select(Visit).where(Visit.at >= minutes(5), Visit.at < minutes(20))
    statement = statement.where(Visit.host.startswith(visitor)).caching(3)

    with store.engine.session() as session:
        with session.stream(statement) as stream:
            rising = [(visit.at, visit.host) for visit in stream]
        falling = session.all(statement.order_by(Visit.at.desc()).limit(4))

    assert len(rising) == 30
    assert rising == sorted(rising)
    assert [visit.at for visit in falling] == [minutes(n) for n in (19, 19, 18, 18)]


def test_a_bulk_writes_an_object_that_comes_twice_to_one_row(store: Store, visitor: str) -> None:
    again = Visit(at=minutes(3), host=visitor, page="first")

    with store.engine.session() as session:
        with session.bulk(batch_rows=4) as bulk:
            bulk.add_all([again, *(Visit(at=minutes(n), host=visitor) for n in range(10, 30))])
            again.page = "second"
            bulk.add(again)
        found = session.all(select(Visit).where(Visit.at >= T0, Visit.host == visitor))

    assert bulk.report.written == 22
    assert [visit.page for visit in found] == ["second", *[None] * 20]


@pytest.mark.parametrize("at", [datetime(2024, 1, 1), None, "2024-01-01"])  # noqa: DTZ001  # what is refused
def test_a_wrong_time_under_a_random_salt_sends_nothing(store: Store, at: Any) -> None:
    store.taken()

    with store.engine.session() as session, pytest.raises(RowKeyError) as caught:
        session.get(Visit, at=at, host="a")

    assert (caught.value.field, bool(caught.value.fix), store.taken()) == ("at", True, {})
