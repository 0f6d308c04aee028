"""Trades by seller and time, by buyer and time, and by number: one model and two indexes.

The design is three tables, `[number]`, `[seller][ts][number]` and `[buyer][ts][number]`, written
together. Choose it where one thing is asked for by different beginnings. Here the two others are
indexes: entries are written before the row and deleted after it, so a writer that dies in between
leaves at most an entry without a row. Readers check each entry against its row and pass over it,
and `repair_indexes` deletes it. No trade is missing, and none is shown that is not there.

It costs a read of the row and two puts for each write, Thrift2, and a multi-get for each hundred
entries read. Three tables written by hand cost less and disagree when their writer dies.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from examples.program import ask, run
from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Select,
    codecs,
    column,
    key,
    select,
)


class Trade(Model, table="trades"):
    """Newest first in both indexes; numbers are text, as those of other systems often are."""

    d = Family()
    number: Key[str] = key()
    seller: Mapped[int] = column(d, "s", codec=codecs.uint32())
    buyer: Mapped[int] = column(d, "b", codec=codecs.uint32())
    at: Mapped[datetime] = column(d, "t", codec=codecs.millis())
    cents: Mapped[int] = column(d, "c", codec=codecs.uint32())

    by_seller = Index(seller, at.desc())
    by_buyer = Index(buyer, at.desc())


T0 = datetime(2024, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
TRADES = [
    ("A-1", 7, 8, T0, 990),
    ("A-2", 7, 9, T0 + HOUR, 1250),
    ("A-3", 70, 8, T0 + HOUR, 100),
    ("A-4", 7, 8, T0 + 2 * HOUR, 5),
]


def three_ways(trade: Trade) -> list[Select[Trade]]:
    """Return the three questions that find a trade: by number, seller and time, buyer and time."""
    return [
        select(Trade).where(Trade.number == trade.number),
        select(Trade).where(Trade.seller == trade.seller, Trade.at == trade.at),
        select(Trade).where(Trade.buyer == trade.buyer, Trade.at == trade.at),
    ]


def show(engine: Engine) -> None:
    """Load four trades; find one in three ways, a seller's and a buyer's of a time; move one."""
    engine.drop_tables(Trade)
    engine.create_tables(Trade)
    with engine.session() as session:
        for number, seller, buyer, at, cents in TRADES:
            session.add(Trade(number=number, seller=seller, buyer=buyer, at=at, cents=cents))
        session.flush()

        trade = session.get(Trade, number="A-2")
        assert trade is not None
        found = [ask(session, "A-2", statement) for statement in three_ways(trade)]
        in_time = (Trade.at >= T0, Trade.at < T0 + 2 * HOUR)
        sold = ask(session, "sold by 7", select(Trade).where(Trade.seller == 7, *in_time))
        bought = ask(session, "bought by 8", select(Trade).where(Trade.buyer == 8, *in_time))

        trade.seller = 70  # its entry moves along
        session.flush()
        left = ask(session, "sold by 7 after a change", select(Trade).where(Trade.seller == 7))

    assert found == [[trade], [trade], [trade]]
    assert [each.number for each in sold] == ["A-2", "A-1"]
    assert [each.number for each in bought] == ["A-3", "A-1"]
    assert [each.number for each in left] == ["A-4", "A-1"]


if __name__ == "__main__":
    run(show)
