"""The demo's models, and how a line of the CSV becomes an object and an object a line."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from examples.flights.data import NOT_AVAILABLE, FlightLine
from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    counter,
    key,
    rowkey,
)

BUCKETS = 8


class Flight(Model, table="demo_flights"):
    """One scheduled departure from New York; all of a plane's flights lie newest first."""

    d = Family()
    tail: Key[str] = key(codecs.text(separator=b"\x00"))  # empty if unknown
    scheduled: Key[datetime] = key(codecs.millis(desc=True))
    carrier: Key[str] = key(codecs.text(separator=b"\x00"))
    number: Key[int] = key(codecs.uint16())
    origin: Mapped[str] = column(d, "from")
    destination: Mapped[str] = column(d, "to")
    departed: Mapped[datetime | None] = column(d, codec=codecs.millis(), default=None)
    miles: Mapped[int] = column(d, codec=codecs.uint16())
    __rowkey__ = rowkey(Salt(BUCKETS), tail, scheduled, carrier, number)
    by_destination = Index(destination, scheduled)


class CarrierTotal(Model, table="demo_carriers"):
    """What one carrier did in the year, as counters."""

    d = Family()
    carrier: Key[str] = key()
    name: Mapped[str] = column(d)
    flights: Counter = counter(d)
    departed: Counter = counter(d)
    miles: Counter = counter(d)


class LoadNote(Model, table="demo_loads"):
    """What a run of the demo has begun to load, and when it was all done."""

    d = Family()
    name: Key[str] = key()
    flights: Mapped[int] = column(d)
    checksum: Mapped[str] = column(d)
    finished: Mapped[datetime | None] = column(d, default=None)


@lru_cache(maxsize=512)
def _time(hour: str) -> datetime:
    return datetime.fromisoformat(hour)


def flight_of(line: FlightLine) -> Flight:
    """Return the object for a line.

    `time_hour` is in UTC already: for every line of the file it is the local year, month, day and
    hour of America/New_York; the scheduled minute is in a column of its own. The actual departure
    is the scheduled one plus the delay, which also is right when it is on the next day.
    """
    scheduled = _time(line.hour) + timedelta(minutes=int(line.minute))
    has_left = line.delay != NOT_AVAILABLE
    return Flight(
        tail="" if line.tail == NOT_AVAILABLE else line.tail,
        scheduled=scheduled,
        carrier=line.carrier,
        number=int(line.number),
        origin=line.origin,
        destination=line.destination,
        departed=scheduled + timedelta(minutes=int(line.delay)) if has_left else None,
        miles=int(line.distance),
    )


def line_of(flight: Flight) -> FlightLine:
    """Return the line that an object was made of."""
    delay = flight.departed and (flight.departed - flight.scheduled) // timedelta(minutes=1)
    return FlightLine(
        tail=flight.tail or NOT_AVAILABLE,
        hour=f"{flight.scheduled:%Y-%m-%dT%H}:00:00Z",
        minute=str(flight.scheduled.minute),
        carrier=flight.carrier,
        number=str(flight.number),
        origin=flight.origin,
        destination=flight.destination,
        delay=NOT_AVAILABLE if delay is None else str(delay),
        distance=str(flight.miles),
    )
