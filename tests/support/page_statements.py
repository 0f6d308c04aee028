"""Statements whose pages, joined, must be their rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from hbase_orm import (
    Engine,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RandomSalt,
    Salt,
    Select,
    Session,
    TablePerPeriod,
    codecs,
    column,
    key,
    rowkey,
    select,
)

DAY = datetime(2026, 1, 31, tzinfo=UTC)
COUNT = 23


class Plain(Model, table="plain"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())


class Salted(Model, table="salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Salt(4), host, n)


class Scattered(Model, table="scattered"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(RandomSalt(3), host, n)


class Indexed(Model, table="indexed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    by_v = Index(v)


class Daily(Model, table=TablePerPeriod("daily_%Y%m%d", of="at", period="day")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(HashPrefix(1, of=host), host, Offset("day", of=at))


class Packed(Model, table="packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, Offset("hour", of=at), codec=codecs.uint8())
    __rowkey__ = rowkey(host, Period("hour", of=at))


NUMBERED = (Plain, Salted, Scattered, Indexed)
TIMED = (Daily, Packed)


def at(number: int) -> datetime:
    return DAY + timedelta(hours=4 * number, minutes=number)


def load(engine: Engine) -> None:
    """Write 23 rows of hosts a and b in each table."""
    engine.create_tables(*NUMBERED, Packed)
    engine.create_tables(Daily, periods=(at(0), at(COUNT)))
    with engine.session() as session:
        for model in NUMBERED:
            session.add_all(model(host="ab"[n % 2], n=n, v=n % 5) for n in range(COUNT))
        for timed in TIMED:
            session.add_all(timed(host="a", at=at(n), v=n % 5) for n in range(COUNT))


STATEMENTS: dict[str, Callable[[], Select[Any]]] = {
    "scan": lambda: select(Plain).where(Plain.host == "a"),
    "backwards": lambda: select(Plain).where(Plain.host == "a").order_by(Plain.n.desc()),
    "ranges": lambda: select(Plain).where(Plain.host.in_(["a", "b"]), Plain.n > 4),
    "checked by the client": lambda: select(Plain).where(Plain.v != 2).allow_full_scan(),
    "gets": lambda: select(Plain).where(Plain.host == "b", Plain.n.in_(range(30))),
    "buckets": lambda: select(Salted).where(Salted.n > 3).allow_full_scan(),
    "buckets backwards": lambda: select(Salted).where(Salted.host == "a").order_by(Salted.n.desc()),
    "random buckets": lambda: select(Scattered).allow_full_scan(),
    "index": lambda: select(Indexed).where(Indexed.v.in_([1, 2, 4])).using(Indexed.by_v),
    "index backwards": lambda: (
        select(Indexed).where(Indexed.v > 1).order_by(Indexed.v.desc()).using(Indexed.by_v)
    ),
    "tables": lambda: select(Daily).where(Daily.host == "a", Daily.at >= at(1), Daily.at < at(20)),
    "tables backwards": lambda: (
        select(Daily)
        .where(Daily.host == "a", Daily.at >= at(1), Daily.at < at(20))
        .order_by(Daily.at.desc())
    ),
    "cells": lambda: select(Packed).where(Packed.host == "a", Packed.at > at(1)),
    "cells backwards": lambda: select(Packed).where(Packed.host == "a").order_by(Packed.at.desc()),
    "limited": lambda: select(Plain).where(Plain.host == "a").limit(7),
    "empty": lambda: select(Plain).where(Plain.host == "z"),
    "contradiction": lambda: select(Plain).where(Plain.host == "a", Plain.host == "b"),
}


def pages_of(session: Session, statement: Select[Any], size: int) -> list[list[Any]]:
    """Return the pages of a statement, each asked with the token of the one before."""
    found = []
    token = None
    while True:
        page = session.page(statement, size=size, token=token)
        assert (page.token is None) is (page.reason in {"exhausted", "limit"})
        found.append(page.items)
        if page.token is None:
            return found
        assert len(page.items) == size
        token = page.token
