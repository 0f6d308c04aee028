"""A table a day: payments by `[2 bytes of a hash][4 bytes: ms of the day]…`, and statistics.

Choose it for data that is dropped by days: dropping a table costs nothing, deleting its rows one by
one does. The day is in the table's name, so the key needs four bytes for the time, to 23:59:59.999
(05265bff). A question of several days asks each day's table; days that have none are empty. It
costs a table's regions a day, so it is for days of many rows.

The hash in front spreads; the time stays as it is, its high bytes first, so that times stand side
by side. Writing it with the low bytes first, to save the hash, loses every range.

Statistics are counted by the minute, two bytes, to 1439 (059f), after four bytes that are sequence
and spread at once. A recomputed day is deleted by its table or by a range, never row by row from
memory: a series that is no longer there leaves no old row.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from examples.program import ask, run
from hbase_orm import (
    Engine,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Offset,
    TablePerPeriod,
    codecs,
    column,
    key,
    rowkey,
    select,
)


class Payment(Model, table=TablePerPeriod("payments_%Y%m%d", of="at", period="day")):
    """The account stands behind the time and makes the key unique."""

    d = Family()
    account: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    cents: Mapped[int] = column(d, "c", codec=codecs.uint32())

    __rowkey__ = rowkey(
        HashPrefix(2, of=account), Offset("day", of=at, codec=codecs.uint32()), account
    )


class Hits(Model, table=TablePerPeriod("hits_%Y%m%d", of="minute", period="day")):
    """`[series][minute of the day]`, six bytes."""

    d = Family()
    series: Key[int] = key(codecs.uint32())
    minute: Key[datetime] = key(codecs.strftime("%Y%m%d%H%M"))
    count: Mapped[int] = column(d, "n", codec=codecs.uint32())

    __rowkey__ = rowkey(series, Offset("day", of=minute, codec=codecs.minute_of_day()))


DAY_1 = datetime(2024, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
MS, MINUTE = timedelta(milliseconds=1), timedelta(minutes=1)
PAYMENTS = [
    (7, DAY_1, 100),
    (7, DAY_1 + DAY - MS, 200),
    (7, DAY_1 + DAY, 300),
    (7, DAY_1 + 3 * DAY - MS, 400),
    (8, DAY_1 + DAY, 500),
]


def recompute(engine: Engine, day: datetime, counts: Mapping[tuple[int, datetime], int]) -> None:
    """Replace the statistics of a day: what was counted before is gone, whatever it was."""
    with engine.session() as session:
        whole = select(Hits).where(Hits.minute >= day, Hits.minute < day + DAY)
        session.delete_where(whole.allow_full_scan())
        for (series, minute), count in counts.items():
            session.add(Hits(series=series, minute=minute, count=count))


def show(engine: Engine) -> None:
    """Load payments of three days; ask for one account's; count a day twice."""
    engine.drop_tables(Payment, Hits)
    engine.create_tables(Payment, periods=(DAY_1, DAY_1 + 3 * DAY))
    engine.create_tables(Hits, periods=(DAY_1, DAY_1 + DAY))
    with engine.session() as session:
        session.add_all(Payment(account=a, at=at, cents=cents) for a, at, cents in PAYMENTS)
        session.flush()
        of_account = select(Payment).where(Payment.account == 7, Payment.at >= DAY_1)
        first_two = of_account.where(Payment.at < DAY_1 + 2 * DAY)
        two_days = ask(session, "account 7, two days", first_two)
        week = ask(
            session, "a week of three tables", of_account.where(Payment.at < DAY_1 + 7 * DAY)
        )

    last = DAY_1 + DAY - MINUTE
    recompute(engine, DAY_1, {(1, DAY_1): 5, (1, last): 7, (2, last): 9})
    recompute(engine, DAY_1, {(1, DAY_1): 6, (1, last): 7})
    with engine.session() as session:
        today = select(Hits).where(Hits.minute >= DAY_1, Hits.minute < DAY_1 + DAY)
        hits = ask(session, "the day as computed again", today.allow_full_scan())

    assert [payment.cents for payment in two_days] == [100, 200, 300]
    assert [payment.cents for payment in week] == [100, 200, 300, 400]
    assert [(each.series, each.count) for each in hits] == [(1, 6), (1, 7)]


if __name__ == "__main__":
    run(show)
