from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import time_events
from examples.time_events import Event
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

T0 = datetime(2024, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)

# 2024-01-01T00:00:00Z is 0x18CC251F400 milliseconds after the epoch; 5, 18, 40 modulo 16 are 5, 2, 8.
AT = b"\x00\x00\x01\x8c\xc2\x51\xf4"
EXPECTED: Rows = {
    b"\x02" + AT + b"\x12web-1\x00\x01login": {b"d:m": b"ann"},
    b"\x02" + AT + b"\x12web-12\x00\x01boot": {b"d:m": b"up"},
    b"\x05" + AT + b"\x05web-1\x00\x01boot": {b"d:m": b"up"},
    b"\x08" + AT + b"\x28web-1\x00\x01halt": {b"d:m": b"down"},
}

MORE = [
    (T0 + ms * MS, host, event)
    for ms in range(1000, 1168)
    for host, event in (
        *(("web-1", "boot"), ("web-12", "boot"), ("web", "-1boot")),
        *(("web-1\x00", "boot"), ("web-1", "boots"), ("", "")),
    )
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> Rows:
    stage.play(time_events)
    return stage.rows("events")


def test_events_stand_in_the_buckets_of_their_times(first: Rows, stage: Stage) -> None:
    assert first == EXPECTED
    assert list(first) == sorted(EXPECTED)
    assert stage.starts("events") == [b"", *(bytes([bucket]) for bucket in range(1, 16))]


@pytest.mark.usefixtures("first")
def test_among_a_thousand_events_those_of_a_time_come_in_order(stage: Stage) -> None:
    stage.load(Event(at=at, host=host, event=event, message="m") for at, host, event in MORE)
    start, stop = T0 + 1020 * MS, T0 + 1100 * MS
    in_time = select(Event).where(Event.at >= start, Event.at < stop)
    wanted = sorted(each for each in MORE if start <= each[0] < stop)
    at_host = select(Event).where(Event.at == T0 + 1040 * MS, Event.host == "web-1")

    found, cost = stage.sent_by(lambda session: session.all(in_time))
    last, _ = stage.sent_by(lambda session: session.all(in_time.order_by(Event.at.desc()).limit(7)))
    of_host, one_bucket = stage.sent_by(lambda session: session.all(at_host))
    one, one_get = stage.sent_by(
        lambda session: session.get(Event, at=T0 + 1040 * MS, host="web-1", event="boot")
    )

    assert [(each.at, each.host, each.event) for each in found] == wanted
    assert (cost.scanners, cost.gets) == (16, 0)
    assert [(each.at, each.host, each.event) for each in last] == wanted[:-8:-1]
    assert [each.event for each in of_host] == ["boot", "boots"]
    assert one_bucket.scanners == 1
    assert one is not None
    assert one_get == Sent(gets=1, rows=1)
