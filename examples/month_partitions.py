"""Purchases over 120 regions, ten a month: `[partition][yyyy-MM][user][-dd hh:mm:ss]`.

Choose it where a month is what most questions name: a user's month is one scan, everybody's month
ten scans at once. Enumerable parts stand in front, the unbounded name behind them. Users are padded
on the left with ^A, so that all have ten characters; longer names are refused. It costs ten writes'
places in the current month, and the partition must never be computed otherwise.

The worked example of this design takes 20 for the first partition of February and gets 025; its
own map says 000 to 009 for January and 010 to 019 for February, so 014. Java's hashCode may be
negative: the remainder must be the one above zero. And the printed stop row of a user's month lacks
the partition: the scan must end within its region, at "zhangsan." as "." follows "-".
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar

from examples.program import ask, run
from hbase_orm import (
    Computed,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Table,
    codecs,
    column,
    key,
    rowkey,
    select,
)

PER_MONTH = 10


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`, as if it had no sign; for characters of one unit."""
    number = 0
    for character in text:
        number = (31 * number + ord(character)) % 2**32
    return number


def partition(user: str, month: datetime) -> int:
    """Return the region: ten a month, of them one by the hash of user and month."""
    number = java_hash(f"{user}{month:%m}")
    signed = number - 2**32 if number >= 2**31 else number
    return (month.month - 1) * PER_MONTH + signed % PER_MONTH


def partitions(user: str | None, month: datetime | None) -> range | list[int]:
    """Return the regions that are possible where a statement leaves user or month open."""
    if month is None:
        return range(12 * PER_MONTH)
    if user is None:
        return range((month.month - 1) * PER_MONTH, month.month * PER_MONTH)
    return [partition(user, month)]


class Purchase(Model, table=Table("purchases", splits="auto")):
    """Cut between all partitions: `001` to `119`."""

    d = Family()
    user: Key[str] = key(codecs.text(width_bytes=10, pad=b"\x01", side="left"))
    at: Key[datetime] = key(codecs.seconds())
    cents: Mapped[int] = column(d, "c", codec=codecs.uint32())

    month = Period("month", of=at, codec=codecs.strftime("%Y-%m"))
    __rowkey__ = rowkey(
        Computed(partition, of=[user, month], values=partitions, codec=codecs.digits(3)),
        month,
        user,
        Offset("month", of=at, codec=codecs.strftime("-%d %H:%M:%S")),
    )
    __lint__: ClassVar = {
        "number-as-text": "the design's keys are text, as its other programs read them"
    }


DECEMBER, JANUARY = datetime(2021, 12, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC)
PURCHASES = [
    ("zhagnsan", datetime(2022, 2, 14, 12, 34, 45, tzinfo=UTC), 100),
    ("zhangsan", datetime(2021, 12, 1, tzinfo=UTC), 200),
    ("zhangsan", datetime(2021, 12, 31, 23, 59, 59, tzinfo=UTC), 300),
    ("zhangsan", datetime(2022, 1, 1, tzinfo=UTC), 400),
    ("lisi", datetime(2021, 12, 24, 18, tzinfo=UTC), 500),
]


def show(engine: Engine) -> None:
    """Load five purchases; add up what a user, and what everybody, spent in December 2021."""
    engine.drop_tables(Purchase)
    engine.create_tables(Purchase)
    with engine.session() as session:
        session.add_all(Purchase(user=user, at=at, cents=cents) for user, at, cents in PURCHASES)
        session.flush()

        in_month = select(Purchase).where(Purchase.at >= DECEMBER, Purchase.at < JANUARY)
        of_user = in_month.where(Purchase.user == "zhangsan")
        hers = ask(session, "zhangsan's December", of_user)
        everybodys = ask(session, "everybody's December", in_month)

    assert len(engine.regions(Purchase)) == 120
    assert sum(purchase.cents for purchase in hers) == 500
    assert sum(purchase.cents for purchase in everybodys) == 1000


if __name__ == "__main__":
    run(show)
