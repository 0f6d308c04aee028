from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import phone_log
from examples.phone_log import Call
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

T0 = datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)
MS = timedelta(milliseconds=1)

EXPECTED: Rows = {
    b"87654321831\x7f\xff\xfe\xba\x09\x7e\x65\x9f": {b"d:s": b"\x00\x00\x00\x3d"},
    b"87654321831\x7f\xff\xfe\xba\x09\x7f\x4f\xff": {b"d:s": b"\x00\x00\x00\x3c"},
    b"97654321831\x7f\xff\xfe\xba\x09\x7f\x4f\xff": {b"d:s": b"\x00\x00\x00\x07"},
}

# Numbers that are one away at either end of their digits, times one step within and outside of the
# ends of the ranges that are asked for.
PHONES = ("13812345678", "13812345677", "23812345678", "03812345678", "88765432183")
OFFSETS = sorted({*range(-2000, 2000, 20), -1001, -999, 999, 1001} - {0})
MORE = [(phone, T0 + ms * MS, ms + 2000) for phone in PHONES for ms in OFFSETS]


@pytest.fixture(scope="module")
def first(stage: Stage) -> Rows:
    assert "refused: the statement would read the whole table" in stage.play(phone_log)
    return stage.rows("calls")


def test_numbers_stand_backwards_and_times_descend(first: Rows) -> None:
    assert first == EXPECTED
    assert list(first) == sorted(EXPECTED)


@pytest.mark.usefixtures("first")
def test_among_a_thousand_calls_those_of_a_phone_and_a_time_are_found(stage: Stage) -> None:
    stage.load(Call(phone=phone, at=at, seconds=seconds) for phone, at, seconds in MORE)
    mine = [(at, seconds) for phone, at, seconds in MORE if phone == "13812345678"]
    mine = sorted([*mine, (T0, 60), (T0 + 60_000 * MS, 61)], reverse=True)
    of_phone = select(Call).where(Call.phone == "13812345678")
    in_time = of_phone.where(Call.at >= T0 - 1000 * MS, Call.at < T0 + 1000 * MS)

    calls, cost = stage.sent_by(lambda session: session.all(of_phone))
    some, _ = stage.sent_by(lambda session: session.all(in_time))
    newest, _ = stage.sent_by(lambda session: session.all(of_phone.limit(30)))
    one, one_get = stage.sent_by(lambda session: session.get(Call, phone="13812345678", at=T0))

    assert [(call.at, call.seconds) for call in calls] == mine
    assert cost.scanners == 1
    assert [(call.at, call.seconds) for call in some] == [
        (at, seconds) for at, seconds in mine if T0 - 1000 * MS <= at < T0 + 1000 * MS
    ]
    assert [(call.at, call.seconds) for call in newest] == mine[:30]
    assert one is not None
    assert (one.seconds, one_get) == (60, Sent(gets=1, rows=1))
