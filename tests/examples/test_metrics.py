from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import metrics
from examples.metrics import Reading
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

T0 = datetime(2026, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)

# The salt is 1 and then 31 times itself plus each byte of host and metric, modulo 16.
HOST1 = b"\x01host1\x00\x00\x00\x00\x07\x7f\xff\xfe\x64\x89\x25"
EXPECTED: Rows = {
    b"\x00host1\x00\x00\x00\x00\x08\x7f\xff\xfe\x64\x89\x25\x57\xff": {
        b"d:v": b"\x40\x20\x00\x00\x00\x00\x00\x00"
    },
    HOST1 + b"\x50\x2f": {b"d:v": b"\x3f\xf0\x00\x00\x00\x00\x00\x00"},
    HOST1 + b"\x54\x17": {b"d:v": b"\x3f\xe0\x00\x00\x00\x00\x00\x00"},
    HOST1 + b"\x57\xff": {b"d:v": b"\x00\x00\x00\x00\x00\x00\x00\x00"},
    b"\x01host12\x00\x00\x00\x00\x07\x7f\xff\xfe\x64\x89\x25\x57\xff": {
        b"d:v": b"\x40\x28\x00\x00\x00\x00\x00\x00"
    },
}

# Hosts that begin others; metrics and times one step outside of what is asked for.
OFFSETS = sorted({*range(10_000, 20_000, 140), 11_999, 12_000, 17_999, 18_000})
MORE = [
    (host, metric, T0 + ms * MS, float(ms))
    for host in ("host1", "host12", "host", "host1\x01", "gost1")
    for metric in (6, 7, 8)
    for ms in OFFSETS
]


@pytest.fixture(scope="module")
def first(stage: Stage) -> Rows:
    stage.play(metrics)
    return stage.rows("readings")


def test_the_salt_of_host_and_metric_stands_first(first: Rows, stage: Stage) -> None:
    assert first == EXPECTED
    assert list(first) == sorted(EXPECTED)
    assert stage.starts("readings") == [b"", *(bytes([salt]) for salt in range(1, 16))]


@pytest.mark.usefixtures("first")
def test_among_a_thousand_readings_those_of_a_metric_are_found(stage: Stage) -> None:
    stage.load(Reading(host=host, metric=metric, at=at, value=v) for host, metric, at, v in MORE)
    start, stop = T0 + 12_000 * MS, T0 + 18_000 * MS
    later = select(Reading).where(Reading.at >= T0 + 10_000 * MS)
    of_host = later.where(Reading.host == "host1")
    of_metric = of_host.where(Reading.metric == 7)
    in_time = of_metric.where(Reading.at >= start, Reading.at < stop)
    newest_first = sorted(MORE, key=lambda each: (each[0], each[1], -each[3]))

    some, one_scan = stage.sent_by(lambda session: session.all(in_time))
    newest, _ = stage.sent_by(lambda session: session.all(of_metric.limit(30)))
    host, of_buckets = stage.sent_by(lambda session: session.all(of_host))
    everything, of_all = stage.sent_by(lambda session: session.all(later.allow_full_scan()))
    one, one_get = stage.sent_by(
        lambda session: session.get(Reading, host="host1", metric=7, at=start)
    )

    mine = [each for each in newest_first if each[:2] == ("host1", 7)]
    assert [each.at for each in some] == [at for _, _, at, _ in mine if start <= at < stop]
    assert {(each.host, each.metric) for each in some} == {("host1", 7)}
    assert one_scan.scanners == 1
    assert [each.value for each in newest] == [value for *_, value in mine[:30]]
    assert [(each.metric, each.at) for each in host] == [
        (metric, at) for host, metric, at, _ in newest_first if host == "host1"
    ]
    assert [(each.host, each.metric, each.at, each.value) for each in everything] == newest_first
    assert (of_buckets.scanners, of_all.scanners) == (16, 16)
    assert one is not None
    assert (one.value, one_get) == (12_000.0, Sent(gets=1, rows=1))
