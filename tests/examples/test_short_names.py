from __future__ import annotations

from typing import Any

import pytest

from examples import short_names
from examples.short_names import Coded, Padded, Separated
from hbase_orm import select
from hbase_orm.errors import HBaseORMError
from tests.support.example_stages import Rows, Stage

pytestmark = pytest.mark.hbase

HOUR = b"\x00\x00\x00\x00\x78\x1c\x53\xea"  # 2015122410
EXPECTED: dict[str, Rows] = {
    "visits_separated": {
        b"host12_" + HOUR: {b"d:v": b"\x00\x00\x00\x04"},
        b"host1_" + HOUR: {b"d:v": b"\x00\x00\x00\x03"},
        b"\xe5\xa4\xa9\xe8\xb2\x93_" + HOUR: {b"d:v": b"\x00\x00\x00\x02"},
        b"\xe6\xb7\x98\xe5\xaf\xb6_" + HOUR: {b"d:v": b"\x00\x00\x00\x01"},
    },
    "visits_padded": {
        b"host12xx" + HOUR: {b"d:v": b"\x00\x00\x00\x04"},
        b"host1xxx" + HOUR: {b"d:v": b"\x00\x00\x00\x03"},
    },
    "visits_coded": {
        b"h1" + HOUR: {b"d:v": b"\x00\x00\x00\x03"},
        b"hc" + HOUR: {b"d:v": b"\x00\x00\x00\x04"},
        b"tb" + HOUR: {b"d:v": b"\x00\x00\x00\x01"},
        b"tm" + HOUR: {b"d:v": b"\x00\x00\x00\x02"},
    },
}


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[str, dict[str, Rows]]:
    printed = stage.play(short_names)
    return printed, {table: stage.rows(table) for table in EXPECTED}


@pytest.mark.parametrize("table", EXPECTED)
def test_names_stand_as_they_were_declared(first: tuple[str, dict[str, Rows]], table: str) -> None:
    assert first[1][table] == EXPECTED[table]
    assert list(first[1][table]) == list(EXPECTED[table])


@pytest.mark.usefixtures("first")
def test_from_host1_to_host2_by_hand_gives_host12_as_well(stage: Stage) -> None:
    by_hand = stage.rows("visits_separated", row_start=b"host1", row_stop=b"host2")

    assert {key.partition(b"_")[0] for key in by_hand} >= {b"host1", b"host12"}


@pytest.mark.usefixtures("first")
@pytest.mark.parametrize(
    ("design", "sites"),
    [
        (Separated, ("host1", "host12", "host", "host1-", "host0")),
        (Padded, ("host1", "host12", "host", "host1-", "host0")),
        (Coded, ("host1", "host12", "淘寶", "天貓")),
    ],
)
def test_host1_never_gives_host12(stage: Stage, design: Any, sites: tuple[str, ...]) -> None:
    more = [(site, hour) for site in sites for hour in range(2016010100, 2016010350)]
    stage.load(design(site=site, hour=hour, visits=hour % 100) for site, hour in more)
    of_host1 = select(design).where(design.site == "host1", design.hour > 2015122410)
    some = of_host1.where(design.hour >= 2016010200, design.hour < 2016010300)

    found, cost = stage.sent_by(lambda session: session.all(of_host1))
    few, _ = stage.sent_by(lambda session: session.all(some))

    assert len(more) >= 1000
    assert [(each.site, each.hour, each.visits) for each in found] == [
        (site, hour, hour % 100) for site, hour in more if site == "host1"
    ]
    assert [each.hour for each in few] == list(range(2016010200, 2016010300))
    assert cost.scanners == 1


@pytest.mark.parametrize(("design", "site"), [(Separated, "a_b"), (Padded, "ax"), (Coded, "x")])
def test_what_is_ambiguous_is_refused_before_a_request(
    stage: Stage, design: Any, site: str
) -> None:
    before = len(stage.gateway.requests)

    with stage.engine.session() as session, pytest.raises(HBaseORMError):
        session.get(design, site=site, hour=1)

    assert stage.gateway.requests[before:] == []


def test_what_is_refused_is_printed(first: tuple[str, dict[str, Rows]]) -> None:
    for start in ("host_1 is refused: ", "box is refused: "):
        assert start in first[0]
