from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import files
from examples.files import FileInfo
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

EXPECTED = {
    b"00000120120902000001": ("中国好声音第1期", "综艺"),
    b"00000120120904000002": ("中国好声音第2期", "综艺"),
    b"00000120120906000003": ("中国好声音外卡赛", "综艺"),
    b"00000120120908000004": ("中国好声音第3期", "综艺"),
    b"00000120120910000005": ("中国好声音第4期", "综艺"),
    b"00000120120914000007": ("中国好声音第5期", "综艺"),
    b"00000220120912000006": ("中国好声音选手采访", "综艺花絮"),
    b"00000220120916000008": ("中国好声音录制花絮", "综艺花絮"),
    b"00000320120918000009": ("张玮独家专访", "花絮"),
    b"00000420120920000010": ("加多宝凉茶广告", "综艺广告"),
}

# Owners one away, days one step outside of the range, names and categories that begin others.
DAY = timedelta(days=1)
START, STOP = datetime(2013, 9, 2, tzinfo=UTC), datetime(2013, 9, 9, tzinfo=UTC)
WORDS = [
    (name, category)
    for name in ("song", "songs 1", "sonG", "so", "xsong")
    for category in ("show", "shows", "sho", "tshow")
]
MORE = [
    (owner, START + day * DAY, 100 + number * 10 + day, name, category)
    for number, (name, category) in enumerate(WORDS)
    for day in range(-1, 9)
    for owner in (1, 2, 10, 100_001, 999_999)
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> Rows:
    stage.play(files)
    return stage.rows("files")


def test_ten_files_stand_by_owner_day_and_number(first: Rows) -> None:
    assert first == {
        key: {b"f:n": name.encode(), b"f:c": category.encode()}
        for key, (name, category) in EXPECTED.items()
    }
    assert list(first) == list(EXPECTED)


def test_the_printed_stop_row_ends_at_file_5(first: Rows, stage: Stage) -> None:
    printed = stage.rows("files", row_start=b"00000120120901", row_stop=b"00000120120914")
    right = stage.rows("files", row_start=b"00000120120901", row_stop=b"00000120121001")

    assert [int(key[-6:]) for key in printed] == [1, 2, 3, 4, 5]
    assert [int(key[-6:]) for key in right] == [1, 2, 3, 4, 5, 7]
    assert len(first) == 10


@pytest.mark.usefixtures("first")
def test_among_a_thousand_files_the_query_gives_what_python_gives(stage: Stage) -> None:
    stage.load(
        FileInfo(owner=owner, created=created, file_id=number, name=name, category=category)
        for owner, created, number, name, category in MORE
    )
    query = select(FileInfo).where(
        FileInfo.owner == 1,
        FileInfo.created >= START,
        FileInfo.created < STOP,
        FileInfo.name.startswith("song"),
        FileInfo.category.startswith("show"),
    )

    found, cost = stage.sent_by(lambda session: session.all(query))
    page, _ = stage.sent_by(lambda session: session.page(query, size=10))
    one, one_get = stage.sent_by(
        lambda session: session.get(FileInfo, owner=1, created=START, file_id=100)
    )

    wanted = sorted(
        (created, number)
        for owner, created, number, name, category in MORE
        if owner == 1
        and START <= created < STOP
        and name.startswith("song")
        and category.startswith("show")
    )
    assert [(each.created, each.file_id) for each in found] == wanted
    assert [(each.created, each.file_id) for each in page.items] == wanted[:10]
    assert cost.scanners == 1
    assert one is not None
    assert (one.name, one_get) == ("song", Sent(gets=1, rows=1))
