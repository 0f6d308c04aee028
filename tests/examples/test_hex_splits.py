from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from examples import hex_splits
from examples.hex_splits import UnevenVisit, Visit
from hbase_orm import select
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

EVEN = [
    *(b"", b"1999999999999999", b"3333333333333332", b"4ccccccccccccccb", b"6666666666666664"),
    *(b"7ffffffffffffffd", b"9999999999999996", b"b33333333333332f", b"ccccccccccccccc8"),
    b"e666666666666661",
]
# The first bytes of what Bytes.split makes, as HBase's reference guide prints them.
UNEVEN = b"06=DKRX_f"
EXPECTED: Rows = {
    digit * 16: {b"d:p": b"/"}
    for digit in (
        *(b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7"),
        *(b"8", b"9", b"a", b"b", b"c", b"d", b"e", b"f"),
    )
}


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, Rows]:
    return stage.play(hex_splits), stage.rows("visits")


def test_the_table_is_cut_by_the_values_of_the_digits(
    first: tuple[str, Rows], stage: Stage
) -> None:
    assert first[1] == EXPECTED
    assert stage.starts("visits") == EVEN


def test_bytes_split_leaves_six_of_ten_regions_idle_and_one_with_a_single_key(
    first: tuple[str, Rows], stage: Stage
) -> None:
    starts = stage.starts("visits_uneven")

    assert b"".join(start[:1] for start in starts) == UNEVEN
    assert (starts[1], starts[9]) == (b"0" * 16, b"f" * 16)
    assert first[0].count(": can never hold a row\n") == 6
    assert first[0].count(": a single key\n") == 1


@pytest.mark.usefixtures("first")
def test_a_thousand_random_keys_reach_ten_regions_or_three(stage: Stage) -> None:
    draw = random.Random(7)
    ids = [f"{draw.randrange(16**16):016x}" for _ in range(1000)]
    stage.load(Visit(visit_id=each, page="more") for each in ids)
    stage.load(UnevenVisit(visit_id=each, page="more") for each in ids)

    def reached(table: str) -> list[int]:
        keys = [row for row, cells in stage.rows(table).items() if cells[b"d:p"] == b"more"]
        ends = [*stage.starts(table), b"\xff"]
        return [sum(start <= key < stop for key in keys) for start, stop in pairwise(ends)]

    low, high = "4ccccccccccccccb", "e666666666666661"
    some = select(Visit.visit_id).where(Visit.visit_id >= low, Visit.visit_id < high)
    found, cost = stage.sent_by(lambda session: session.all(some.where(Visit.page == "more")))

    assert all(70 <= rows <= 130 for rows in reached("visits"))
    assert [rows > 0 for rows in reached("visits_uneven")] == [
        *(False, True, True, False, False, False, False, False, True, False)
    ]
    assert found == sorted(each for each in ids if low <= each < high)
    assert cost.scanners == 1


@pytest.mark.usefixtures("first")
def test_the_report_gives_each_region_a_tenth(first: tuple[str, Rows]) -> None:
    assert len(re.findall(r": 10\.0%\n", first[0])) == 10
