from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from examples import table_per_day
from examples.table_per_day import Hits, Payment, recompute
from hbase_orm import select
from tests.support.example_stages import Rows, Sent, Stage

pytestmark = pytest.mark.hbase

DAY_1 = datetime(2024, 1, 1, tzinfo=UTC)
DAY, MINUTE, MS = timedelta(days=1), timedelta(minutes=1), timedelta(milliseconds=1)

# `printf '\0\0\0\7' | md5sum` begins with 679e, that of 8 with c47b.
SEVEN, EIGHT = b"\x67\x9e", b"\xc4\x7b"
LAST_MS = b"\x05\x26\x5b\xff"
EXPECTED: dict[str, Rows] = {
    "payments_20240101": {
        SEVEN + b"\x00\x00\x00\x00" + b"\x00\x00\x00\x07": {b"d:c": b"\x00\x00\x00\x64"},
        SEVEN + LAST_MS + b"\x00\x00\x00\x07": {b"d:c": b"\x00\x00\x00\xc8"},
    },
    "payments_20240102": {
        SEVEN + b"\x00\x00\x00\x00" + b"\x00\x00\x00\x07": {b"d:c": b"\x00\x00\x01\x2c"},
        EIGHT + b"\x00\x00\x00\x00" + b"\x00\x00\x00\x08": {b"d:c": b"\x00\x00\x01\xf4"},
    },
    "payments_20240103": {
        SEVEN + LAST_MS + b"\x00\x00\x00\x07": {b"d:c": b"\x00\x00\x01\x90"},
    },
    "hits_20240101": {
        b"\x00\x00\x00\x01\x00\x00": {b"d:n": b"\x00\x00\x00\x06"},
        b"\x00\x00\x00\x01\x05\x9f": {b"d:n": b"\x00\x00\x00\x07"},
    },
}

# Accounts of bytes alike; the first and last milliseconds of each day.
TIMES = sorted(
    {
        *(DAY_1 + 10 * MS + n * timedelta(minutes=19) for n in range(200)),
        *(DAY_1 + n * DAY - 2 * MS for n in (1, 2, 3)),
        *(DAY_1 + n * DAY + MS for n in (0, 1, 2)),
    }
)
MORE = [(account, at) for account in (17, 18, 16, 17 << 8, 17 << 24) for at in TIMES]


@pytest.fixture(scope="module")
def first(stage: Stage) -> tuple[list[str], dict[str, Rows]]:
    stage.play(table_per_day)
    return stage.tables(), {table: stage.rows(table) for table in EXPECTED}


def test_three_days_are_three_tables(first: tuple[list[str], dict[str, Rows]]) -> None:
    assert first[0] == [
        *("hits_20240101", "payments_20240101", "payments_20240102", "payments_20240103")
    ]


@pytest.mark.parametrize("table", EXPECTED)
def test_the_key_is_the_hash_and_the_time_of_day(
    first: tuple[list[str], dict[str, Rows]], table: str
) -> None:
    assert first[1][table] == EXPECTED[table]


@pytest.mark.usefixtures("first")
def test_among_a_thousand_payments_those_of_an_account_and_a_time_are_found(
    stage: Stage,
) -> None:
    stage.load(Payment(account=account, at=at, cents=account) for account, at in MORE)
    start, stop = DAY_1 + DAY - 2 * MS, DAY_1 + 2 * DAY + MS
    of_account = select(Payment).where(Payment.account == 17)
    in_time = of_account.where(Payment.at >= start, Payment.at < stop)
    fortnight = of_account.where(Payment.at >= DAY_1, Payment.at < DAY_1 + 3 * DAY)

    some, three_tables = stage.sent_by(lambda session: session.all(in_time))
    every, _ = stage.sent_by(lambda session: session.all(fortnight))
    one, one_get = stage.sent_by(lambda session: session.get(Payment, account=17, at=TIMES[0]))
    none, _ = stage.sent_by(
        lambda session: session.get(Payment, account=17, at=TIMES[0] + 30 * DAY)
    )

    assert len(MORE) >= 1000
    assert [payment.at for payment in some] == [at for at in TIMES if start <= at < stop]
    assert [payment.at for payment in every] == TIMES
    assert {payment.account for payment in (*some, *every)} == {17}
    assert three_tables.scanners == 3
    assert one is not None
    assert (one.cents, one_get, none) == (17, Sent(gets=1, rows=1), None)


@pytest.mark.usefixtures("first")
def test_a_recomputed_day_leaves_no_old_row(stage: Stage) -> None:
    day = DAY_1 + 9 * DAY
    stage.engine.create_tables(Hits, periods=(day, day + DAY))
    recompute(
        stage.engine, day, {(series, day + n * MINUTE): 1 for series in (1, 2) for n in range(500)}
    )
    recompute(stage.engine, day, {(2, day + n * MINUTE): 2 for n in range(0, 1440, 480)})

    assert stage.rows("hits_20240110") == {
        b"\x00\x00\x00\x02\x00\x00": {b"d:n": b"\x00\x00\x00\x02"},
        b"\x00\x00\x00\x02\x01\xe0": {b"d:n": b"\x00\x00\x00\x02"},
        b"\x00\x00\x00\x02\x03\xc0": {b"d:n": b"\x00\x00\x00\x02"},
    }
