"""List data, tall and wide, and what is newest over salt buckets: pages of thirty, exact rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import Engine, Select, connect, select
from hbase_orm.testing import RealHBase
from tests.support.table_designs import Headline, ListItem, ListRow

pytestmark = pytest.mark.hbase

T0 = datetime(2024, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        engine.create_tables(ListItem, ListRow, Headline)
        with engine.session() as session, session.bulk() as bulk:
            # Neighbours on both sides, of which "u10" begins with "u1".
            for user in ("u0", "u1", "u10", "u2"):
                bulk.add_all(ListItem(user=user, value_id=n, payload=b"%d" % n) for n in range(100))
            bulk.add_all(
                Headline(at=T0 + n // 2 * SECOND, number=n, text=f"{n}") for n in range(200)
            )
        with engine.session() as session:
            for user in ("u0", "u1", "u10"):
                row = ListRow(user=user)
                row.items = {n: b"%d" % n for n in range(100)}
                session.add(row)
        yield engine
    hbase.drop_namespace(namespace)


def pages(engine: Engine, stmt: Select[Any], size: int) -> list[list[Any]]:
    """Return the items of all pages; each page is asked for by a session of its own."""
    found, token = [], None
    while True:
        with engine.session() as session:
            page = session.page(stmt, size=size, token=token)
        found.append(page.items)
        token = page.token
        if token is None:
            return found


def test_thirty_of_one_user_go_on_from_any_value_id(engine: Engine) -> None:
    mine = select(ListItem).where(ListItem.user == "u1")

    with engine.session() as session:
        after = session.all(mine.where(ListItem.value_id > 41).limit(30))
        last = session.all(mine.where(ListItem.value_id > 89).limit(30))
        before = session.all(
            mine.where(ListItem.value_id < 41).order_by(ListItem.value_id.desc()).limit(30)
        )

    assert [item.value_id for item in after] == list(range(42, 72))
    assert [item.value_id for item in last] == list(range(90, 100))
    assert [item.value_id for item in before] == list(range(40, 10, -1))
    assert {item.user for item in (*after, *last, *before)} == {"u1"}


def test_pages_of_thirty_backwards_hold_each_item_once(engine: Engine) -> None:
    newest = select(ListItem).where(ListItem.user == "u1").order_by(ListItem.value_id.desc())

    found = pages(engine, newest, 30)

    assert [len(page) for page in found] == [30, 30, 30, 10]
    assert [item.value_id for page in found for item in page] == list(range(99, -1, -1))


def test_thirty_columns_of_a_wide_row(engine: Engine) -> None:
    mine = select(ListRow).where(ListRow.user == "u1")

    with engine.session() as session:
        page = session.one(mine.columns_between(ListRow.items, 42, 2**63, limit=30))
        last = session.one(mine.columns_between(ListRow.items, 90, 2**63, limit=30))
        beyond = session.one(mine.columns_between(ListRow.items, 100, 2**63, limit=30))

    assert page.items == {n: b"%d" % n for n in range(42, 72)}
    assert list(last.items) == list(range(90, 100))
    assert beyond.items == {}


def test_the_newest_thirty_over_all_buckets(engine: Engine) -> None:
    everything = select(Headline).allow_full_scan()

    with engine.session() as session:
        newest = session.all(everything.limit(30))
        oldest = session.all(select(Headline).where(Headline.at < T0 + 2 * SECOND))

    assert [headline.number for headline in newest[:4]] == [198, 199, 196, 197]
    assert [headline.number for headline in newest] == [
        number for start in range(198, 168, -2) for number in (start, start + 1)
    ]
    assert [headline.number for headline in oldest] == [2, 3, 0, 1]


def test_pages_over_all_buckets_hold_each_headline_once(engine: Engine) -> None:
    found = pages(engine, select(Headline).allow_full_scan(), 30)

    assert [len(page) for page in found] == [30] * 6 + [20]
    assert [headline.number for page in found for headline in page] == [
        number for start in range(198, -2, -2) for number in (start, start + 1)
    ]
