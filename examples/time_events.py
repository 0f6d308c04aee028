"""Events asked for by time alone, in buckets: `[ts % n][ts][host][event]`.

Choose it where time is the only thing that questions name. A key that begins with time sends every
write to the last region; a bucket in front spreads them over n, and a range of time is n scans,
merged by time. It costs those n scanners for each question, however short: take n for the rate of
writes, not more. Where questions name a host too, put the host first and drop the bucket.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from examples.program import ask, run
from hbase_orm import (
    Bucket,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    key,
    rowkey,
    select,
)


class Event(Model, table="events"):
    """The bucket is the millisecond modulo 16; the table is cut between the buckets."""

    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    event: Key[str] = key()
    message: Mapped[str] = column(d, "m")

    __rowkey__ = rowkey(Bucket(16, of=at), at, host, event)


T0 = datetime(2024, 1, 1, tzinfo=UTC)
MS = timedelta(milliseconds=1)
EVENTS = [
    Event(at=T0 + 5 * MS, host="web-1", event="boot", message="up"),
    Event(at=T0 + 18 * MS, host="web-1", event="login", message="ann"),
    Event(at=T0 + 18 * MS, host="web-12", event="boot", message="up"),
    Event(at=T0 + 40 * MS, host="web-1", event="halt", message="down"),
]


def show(engine: Engine) -> None:
    """Load four events; get one, ask for those of a time, forwards and backwards."""
    engine.drop_tables(Event)
    engine.create_tables(Event)
    with engine.session() as session:
        session.add_all(EVENTS)
        session.flush()

        boot = select(Event).where(Event.at == T0 + 5 * MS, Event.host == "web-1")
        in_time = select(Event).where(Event.at >= T0 + 5 * MS, Event.at < T0 + 40 * MS)
        one = ask(session, "all but the name of an event", boot)
        some = ask(session, "35 milliseconds of all hosts", in_time)
        latest = ask(session, "the last two", in_time.order_by(Event.at.desc()).limit(2))

    assert [event.message for event in one] == ["up"]
    assert [(event.host, event.event) for event in some] == [
        ("web-1", "boot"),
        ("web-1", "login"),
        ("web-12", "boot"),
    ]
    assert {event.at for event in latest} == {T0 + 18 * MS}


if __name__ == "__main__":
    run(show)
