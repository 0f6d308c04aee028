"""Row keys with derived parts as users write them; both checkers must accept every line."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, assert_type

from hbase_orm import (
    Bucket,
    Computed,
    Digest,
    Engine,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Session,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    key,
    rowkey,
    select,
)

T0 = datetime(2024, 1, 1, tzinfo=UTC)


def first_letter(host: str) -> str:
    return host[:1]


class Log(Model, table="logs"):
    d = Family()
    host: Key[str] = key()
    event: Key[str] = key(family=d, qualifier="e")
    at: Key[datetime] = key(codecs.millis())
    number = Substitute(of=host, dictionary="hosts", codec=codecs.uint32())
    month = Period("month", of=at, codec=codecs.strftime("%Y-%m"))
    __rowkey__ = rowkey(
        Salt(4, of=[number]),
        Computed(first_letter, of=host, codec=codecs.text(width_bytes=1), values=list("ab")),
        number,
        Digest(of=event),
        month,
        Offset("month", of=at),
    )


class Visit(Model, table=TablePerPeriod("visits_%Y%m", of="at", period="month", create=True)):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key()
    __rowkey__ = rowkey(RandomSalt(4, form="text"), host, at)


class Event(Model, table="events"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    __rowkey__ = rowkey(Bucket(8, of=at), at, HashPrefix(2, of=host, form="hex"), host)


class Record(Model, table="records"):
    d = Family()
    customer: Key[str] = key()
    __rowkey__ = rowkey(customer, RecordType())


class Customer(Record, record_type="C"):
    name: Mapped[str] = column(Record.d)


class Order(Record, record_type="O"):
    order: Key[int] = key(codecs.uint64())


def use(engine: Engine, session: Session) -> None:
    assert_type(engine.create_tables(Visit, periods=(T0, T0 + timedelta(31))), list[str])
    assert_type(engine.row_keys(Log, host="a", event="b", at=T0), tuple[bytes, ...])
    assert_type(engine.decode_key(Log, b""), Mapping[str, Any])
    engine.regions(Visit, at=T0)
    session.add(Order(customer="ann", order=1))
    session.add_all([Customer(customer="ann", name="Ann"), Order(customer="ann", order=2)])
    assert_type(session.get(Order, customer="ann", order=1), Order | None)
    assert_type(session.all(select(Record).where(Record.customer == "ann")), list[Record])
    assert_type(session.all(select(Order).where(Record.customer == "ann")), list[Order])
    for record in session.all(select(Record).where(Record.customer == "ann")):
        match record:
            case Customer():
                assert_type(record.name, str)
            case Order():
                assert_type(record.order, int)
            case _:
                pass
