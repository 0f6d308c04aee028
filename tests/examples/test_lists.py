from __future__ import annotations

import pytest

from examples import lists
from examples.lists import ListItem, ListPage, ListRow, from_page, from_tall, from_wide, load
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

USERS = ("u", "u1", "u10", "u1\x00", "u2", "t9")


def ids_of(user: str) -> list[int]:
    """The other users hold the very ids of u1, and more on both sides."""
    return list(range(2000, 2180)) if user == "u1" else list(range(1990, 2190))


@pytest.fixture(scope="module")
def first(stage: Stage) -> dict[str, Rows]:
    stage.play(lists)
    return {table: stage.rows(table) for table in ("list_tall", "list_wide", "list_pages")}


@pytest.fixture(scope="module")
def more(first: dict[str, Rows], stage: Stage) -> None:
    assert first
    for user in USERS:
        with stage.engine.session() as session:
            load(session, f"a-{user}", ids_of(user))


def test_tall_rows_are_users_and_ids(first: dict[str, Rows]) -> None:
    tall = first["list_tall"]

    assert len(tall) == 107
    assert list(tall.items())[:7] == [
        (b"u1\x00\x01\x00\x00\x00\x00\x00\x00\x00" + last, {b"d:p": payload})
        for last, payload in (
            *((b"\x00", b"0"), (b"\x01", b"1"), (b"\x02", b"2"), (b"\x03", b"3")),
            *((b"\x04", b"4"), (b"\x05", b"5"), (b"\x06", b"6")),
        )
    ]
    assert tall[b"u10\x00\x01\x00\x00\x00\x00\x00\x00\x03\xde"] == {b"d:p": b"990"}


def test_the_wide_row_has_a_column_for_each_id(first: dict[str, Rows]) -> None:
    wide = first["list_wide"]

    assert list(wide) == [b"u1", b"u10"]
    assert {name: value for name, value in wide[b"u1"].items() if name != b"d:_0"} == {
        b"d:\x00\x00\x00\x00\x00\x00\x00" + last: payload
        for last, payload in (
            *((b"\x00", b"0"), (b"\x01", b"1"), (b"\x02", b"2"), (b"\x03", b"3")),
            *((b"\x04", b"4"), (b"\x05", b"5"), (b"\x06", b"6")),
        )
    }
    assert wide[b"u10"][b"d:\x00\x00\x00\x00\x00\x00\x03\xde"] == b"990"


def test_pages_tell_their_length_and_the_next_page(first: dict[str, Rows]) -> None:
    pages = first["list_pages"]

    assert list(pages) == [
        b"u1\x00\x01\x00\x00\x00\x00",
        b"u10\x00\x01\x00\x00\x00\x00",
        b"u10\x00\x01\x00\x00\x00\x01",
        b"u10\x00\x01\x00\x00\x00\x02",
        b"u10\x00\x01\x00\x00\x00\x03",
    ]
    assert pages[b"u1\x00\x01\x00\x00\x00\x00"] == {
        b"d:i": b'{"v":1,"d":[0,1,2,3,4,5,6]}',
        b"d:l": b"\x00\x07",
    }
    assert pages[b"u10\x00\x01\x00\x00\x00\x03"] == {
        b"d:i": b'{"v":1,"d":[900,910,920,930,940,950,960,970,980,990]}',
        b"d:l": b"\x00\x0a",
    }
    assert pages[b"u10\x00\x01\x00\x00\x00\x02"][b"d:n"] == b"\x00\x00\x00\x03"


def test_without_a_stop_row_thirty_of_u1_are_seven_and_the_next_users(
    first: dict[str, Rows],
) -> None:
    leaked = [row for row in first["list_tall"] if row >= b"u1\x00\x01"][:30]

    assert [row.startswith(b"u10") for row in leaked] == [False] * 7 + [True] * 23


@pytest.mark.usefixtures("more")
def test_the_three_ways_agree_among_a_thousand_values(stage: Stage) -> None:
    for user in USERS:
        ids = ids_of(user)
        with stage.engine.session() as session:
            for start in (0, 1990, 2000, 2007, 2150, 2179, 2180):
                wanted = [n for n in ids if n >= start][:30]
                assert from_tall(session, f"a-{user}", start) == wanted
                assert from_wide(session, f"a-{user}", start) == wanted
            for number in range(6):
                assert from_page(session, f"a-{user}", number) == ids[number * 30 :][:30]


@pytest.mark.usefixtures("more")
def test_a_page_is_one_scanner_a_slice_one_more_and_a_page_row_a_get(stage: Stage) -> None:
    _, tall = stage.sent_by(lambda session: from_tall(session, "a-u1", 2007))
    _, wide = stage.sent_by(lambda session: from_wide(session, "a-u1", 2007))
    _, page = stage.sent_by(lambda session: from_page(session, "a-u1", 2))

    assert tall == Sent(scanners=1)
    assert (wide.gets + wide.scanners, page) == (2, Sent(gets=1, rows=1))


@pytest.mark.usefixtures("more")
def test_pages_of_thirty_end_with_the_users_last_value(stage: Stage) -> None:
    mine = select(ListItem.value_id).where(ListItem.user == "a-u1")
    found: list[list[int]] = []
    token: str | None = None
    while True:
        with stage.engine.session() as session:
            page = session.page(mine, size=50, token=token)
        found.append(page.items)
        token = page.token
        if token is None:
            break

    assert [len(each) for each in found] == [50, 50, 50, 30]
    assert [n for each in found for n in each] == list(range(2000, 2180))


@pytest.mark.usefixtures("more")
def test_pages_are_walked_by_their_next_page(stage: Stage) -> None:
    with stage.engine.session() as session:
        page = session.get(ListPage, user="a-u2", page=0)
        row = session.get(ListRow, user="a-u2")
        ids: list[int] = []
        while page is not None:
            assert page.length == len(page.ids)
            ids += page.ids
            following = page.next_page
            page = None if following is None else session.get(ListPage, user="a-u2", page=following)

    assert row is not None
    assert ids == list(row.items) == list(range(1990, 2190))
