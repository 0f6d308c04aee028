"""Models whose rows the commands of the command line read and write in tests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    Salt,
    Select,
    TablePerPeriod,
    codecs,
    column,
    counter,
    dynamic,
    func,
    key,
    rowkey,
    select,
)


class Unit(Enum):
    KELVIN = "K"
    VOLT = "V"


@dataclass
class Place:
    town: str
    floor: int


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d)
    unit: Mapped[Unit | None] = column(d, default=None)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    note: Mapped[str | None] = column(d, default=None, deferred=True)
    by_unit = Index(unit, at)


def _not_negative(value: int) -> None:
    if value < 0:
        raise ValueError("less than nothing")


class Meter(Model, table="meters"):
    d = Family()
    t = Family()
    number: Key[int] = key(codecs.uint16())
    name: Mapped[str] = column(d, "n")
    count: Mapped[int] = column(d, "c", default=0, validate=_not_negative)
    place: Mapped[Place | None] = column(d, "p", codec=codecs.json(Place), default=None)
    tags: Dynamic[str, int] = dynamic(t, prefix="t:", codec=codecs.uint32())
    reads: Counter = counter(d, "r")


class Manual(Model, table="manuals"):
    d = Family()
    title: Key[str] = key()
    text: Mapped[str] = column(d, deferred=True)
    pages: Mapped[int] = column(d, default=1)


class Salted(Model, table="salted"):
    d = Family()
    n: Key[int] = key(codecs.uint16())
    value: Mapped[int] = column(d, default=0)
    __rowkey__ = rowkey(Salt(4), n)


class Event(Model, table="events"):
    d = Family()
    n: Key[int] = key(codecs.uint16())
    host: Mapped[str] = column(d, default="")
    __rowkey__ = rowkey(n, RecordType())


class Boot(Event, record_type="B"):
    kernel: Mapped[str] = column(Event.d, default="6.1")


class Crash(Event, record_type="C"):
    signal: Mapped[int] = column(Event.d, default=9)


class Sample(Model, table=TablePerPeriod("samples_%Y%m", of="at", period="month", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    level: Mapped[int] = column(d, Offset("hour", of=at), codec=codecs.uint8())
    __rowkey__ = rowkey(host, Period("hour", of=at))


MODELS: tuple[type[Model], ...] = (Reading, Meter, Manual, Salted, Event)

OF_WEB_1 = select(Reading).where(Reading.host == "web-1")
PERHAPS_STALE = OF_WEB_1.consistency("timeline")
IN_JANUARY = OF_WEB_1.as_of(datetime(2026, 1, 31, tzinfo=UTC))
LOUDEST = select(Reading.host, func.count(), func.max(Reading.value)).group_by(Reading.host)


def values_of_web_1() -> Select[Any]:
    return select(Reading.value).where(Reading.host == "web-1")
