"""Counters, and a summary table that is computed from the rows it sums up.

Choose a counter where many writers add to one number and the number is wanted at once: the server
adds, atomically, without a read. It costs exactness when an answer is lost: an increment is never
sent twice, so it may be missing or not known to have been made.

Choose a summary table where questions are of hours or days and rows are of seconds. Here it is
computed from the rows, streamed in constant memory, and put: running it again, after a failure or
for nothing, puts the same cells. Counting while rows arrive would count a repeated row twice.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from examples.program import answer, ask, run
from hbase_orm import (
    Counter,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    counter,
    func,
    key,
    select,
)


class Views(Model, table="views"):
    """`[site][hour]`; a counter is eight bytes, as HBase's shell and Java clients count."""

    c = Family()
    site: Key[str] = key()
    hour: Key[datetime] = key(codecs.seconds(width_bytes=4))
    views: Counter = counter(c, "v")
    likes: Counter = counter(c, "l")


class Sale(Model, table="sales"):
    """`[site][time][number]`."""

    d = Family()
    site: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    number: Key[int] = key(codecs.uint32())
    cents: Mapped[int] = column(d, "c", codec=codecs.uint32())


class SalesOfSite(Model, table="sales_of_site"):
    """The summary: `[site]`."""

    d = Family()
    site: Key[str] = key()
    sales: Mapped[int] = column(d, "n", codec=codecs.uint64())
    cents: Mapped[int] = column(d, "c", codec=codecs.uint64())


T0 = datetime(2024, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SALES = [("x.org", 0, 1, 250), ("x.org", 0, 2, 250), ("x.org", 9, 3, 99), ("x.org.uk", 5, 4, 7)]


def summarize(engine: Engine) -> None:
    """Compute the summary of all sales and put it; the same again changes nothing."""
    sums = select(Sale.site, func.count(), func.sum(Sale.cents)).group_by(Sale.site)
    with engine.session() as session, session.bulk() as bulk:
        for site, sales, cents in session.stream(sums.allow_full_scan()):
            bulk.add(SalesOfSite(site=site, sales=sales, cents=cents))


def show(engine: Engine) -> None:
    """Count views, some of them away; load four sales and sum them up twice."""
    engine.drop_tables(Views, Sale, SalesOfSite)
    engine.create_tables(Views, Sale, SalesOfSite)
    with engine.session() as session:
        first = session.increment(Views, Views.views.by(1), site="x.org", hour=T0)
        both = (Views.views.by(5), Views.likes.by(-2))
        second = session.increment(Views, *both, site="x.org.uk", hour=T0)
        third = session.increment(Views, Views.views.by(2), site="x.org.uk", hour=T0)
        of_hour = ask(session, "views of x.org", select(Views).where(Views.site == "x.org"))
        session.add_all(
            Sale(site=site, at=T0 + s * SECOND, number=number, cents=cents)
            for site, s, number, cents in SALES
        )
    assert (first, second, third) == ([1], [5, -2], [7])
    assert [(each.views, each.likes) for each in of_hour] == [(1, 0)]

    for _ in range(2):
        summarize(engine)
        with engine.session() as session:
            print("\nthe summary")
            found = answer(session.all(select(SalesOfSite).allow_full_scan()))
        assert [(each.site, each.sales, each.cents) for each in found] == [
            ("x.org", 3, 599),
            ("x.org.uk", 1, 7),
        ]


if __name__ == "__main__":
    run(show)
