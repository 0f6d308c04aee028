from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from examples import counters
from examples.counters import Sale, SalesOfSite, Views, summarize
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

T0 = datetime(2024, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)

# 2024-01-01T00:00:00Z is 65920080 seconds after the epoch, in hexadecimal digits.
AT = b"\x65\x92\x00"
EXPECTED: dict[str, Rows] = {
    "views": {
        b"x.org\x00\x01" + AT + b"\x80": {b"c:v": b"\x00\x00\x00\x00\x00\x00\x00\x01"},
        b"x.org.uk\x00\x01" + AT + b"\x80": {
            b"c:v": b"\x00\x00\x00\x00\x00\x00\x00\x07",
            b"c:l": b"\xff\xff\xff\xff\xff\xff\xff\xfe",
        },
    },
    "sales": {
        b"x.org\x00\x01" + AT + b"\x80\x00\x00\x00\x01": {b"d:c": b"\x00\x00\x00\xfa"},
        b"x.org\x00\x01" + AT + b"\x80\x00\x00\x00\x02": {b"d:c": b"\x00\x00\x00\xfa"},
        b"x.org\x00\x01" + AT + b"\x89\x00\x00\x00\x03": {b"d:c": b"\x00\x00\x00\x63"},
        b"x.org.uk\x00\x01" + AT + b"\x85\x00\x00\x00\x04": {b"d:c": b"\x00\x00\x00\x07"},
    },
    "sales_of_site": {
        b"x.org": {
            b"d:n": b"\x00\x00\x00\x00\x00\x00\x00\x03",
            b"d:c": b"\x00\x00\x00\x00\x00\x00\x02\x57",
        },
        b"x.org.uk": {
            b"d:n": b"\x00\x00\x00\x00\x00\x00\x00\x01",
            b"d:c": b"\x00\x00\x00\x00\x00\x00\x00\x07",
        },
    },
}

MORE = [
    (site, T0 + n * SECOND, n, n * 3 % 101)
    for site in ("y", "y.", "y.org", "y\x00", "xz")
    for n in range(210)
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> dict[str, Rows]:
    stage.play(counters)
    return {table: stage.rows(table) for table in EXPECTED}


@pytest.mark.parametrize("table", EXPECTED)
def test_counters_are_eight_bytes_and_sums_are_right(first: dict[str, Rows], table: str) -> None:
    assert first[table] == EXPECTED[table]


@pytest.mark.usefixtures("first")
def test_an_increment_is_one_request_and_adds_to_what_others_counted(stage: Stage) -> None:
    with closing(stage.happybase()) as connection:
        table = connection.table(stage.name_of("views"))
        row = b"counted\x00\x01" + AT + b"\x80"
        table.counter_inc(row, b"c:v", 41)
        [now], cost = stage.sent_by(
            lambda session: session.increment(Views, Views.views.by(1), site="counted", hour=T0)
        )

        assert table.counter_get(row, b"c:v") == now == 42
    assert cost == Sent(writes=1)


@pytest.mark.usefixtures("first")
def test_the_summary_of_a_thousand_sales_is_pythons_and_the_same_run_twice(stage: Stage) -> None:
    stage.load(Sale(site=site, at=at, number=n, cents=cents) for site, at, n, cents in MORE)

    summarize(stage.engine)
    once = stage.rows("sales_of_site")
    summarize(stage.engine)

    assert stage.rows("sales_of_site") == once
    found, cost = stage.sent_by(lambda session: session.all(select(SalesOfSite).allow_full_scan()))
    sites = {site for site, *_ in MORE}
    assert {each.site: (each.sales, each.cents) for each in found} == {
        "x.org": (3, 599),
        "x.org.uk": (1, 7),
        **{site: (210, sum(cents for s, _, _, cents in MORE if s == site)) for site in sites},
    }
    assert cost.scanners == 1
