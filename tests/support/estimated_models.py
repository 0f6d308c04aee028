"""Thirteen models of very different rows, and objects of each, for estimates of their sizes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from hbase_orm import (
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    counter,
    dynamic,
    key,
    rowkey,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("order", "parcel", "of", "the", "north", "late", "paid", "and", "city", "return", "by")


class Metric(Model, table="metrics"):
    d = Family("d")
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[float] = column(d, "v")


class LongNames(Model, table="long_names"):
    measurements = Family("measurements")
    customer_identifier: Key[str] = key()
    temperature_celsius: Mapped[float] = column(measurements)
    humidity_percent: Mapped[int] = column(measurements)
    barometric_pressure: Mapped[float | None] = column(measurements)


class Hashed(Model, table="hashed"):
    d = Family("d")
    digest: Key[bytes] = key(codecs.raw(width_bytes=16))
    size: Mapped[int] = column(d, "s", codec=codecs.uint32())


class Wide(Model, table="wide"):
    d = Family("d")
    number: Key[int] = key(codecs.uint32())
    c00: Mapped[int] = column(d)
    c01: Mapped[int] = column(d)
    c02: Mapped[int] = column(d)
    c03: Mapped[int] = column(d)
    c04: Mapped[int] = column(d)
    c05: Mapped[int] = column(d)
    c06: Mapped[int] = column(d)
    c07: Mapped[int] = column(d)
    c08: Mapped[int] = column(d)
    c09: Mapped[int] = column(d)


class Article(Model, table="articles"):
    d = Family("d")
    number: Key[UUID] = key()
    title: Mapped[str] = column(d, "t")
    body: Mapped[str] = column(d, "b")


class TwoFamilies(Model, table="two_families"):
    a = Family("a")
    b = Family("b", bloom="ROWCOL", block_size_bytes=16_384)
    number: Key[int] = key()
    name: Mapped[str] = column(a)
    note: Mapped[str | None] = column(b)
    score: Mapped[int | None] = column(b)


class Salted(Model, table="salted"):
    d = Family("d", bloom="NONE")
    at: Key[datetime] = key(codecs.millis())
    sensor: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(8), at, sensor)
    value: Mapped[Decimal] = column(d, "v")


class Indexed(Model, table="indexed"):
    d = Family("d")
    number: Key[int] = key()
    email: Mapped[str] = column(d, "e")
    city: Mapped[str] = column(d, "c")
    by_email = Index(email)
    by_city = Index(city)


class Texts(Model, table="texts"):
    cf = Family("cf")
    account: Key[str] = key(codecs.text(width_bytes=20))
    amount: Mapped[str] = column(cf)
    currency: Mapped[str] = column(cf)
    booked: Mapped[str] = column(cf)


class Sparse(Model, table="sparse"):
    d = Family("d")
    number: Key[int] = key(codecs.uint64())
    a: Mapped[int] = column(d)
    b: Mapped[str | None] = column(d)
    c: Mapped[str | None] = column(d)
    e: Mapped[bytes | None] = column(d)


class Photo(Model, table="photos"):
    d = Family("d")
    owner: Key[int] = key(codecs.uint32())
    number: Key[int] = key(codecs.uint32())
    caption: Mapped[str] = column(d, "c")
    image: Mapped[bytes] = column(d, "i")


class Tagged(Model, table="tagged"):
    d = Family("d")
    name: Key[str] = key()
    kind: Mapped[str] = column(d, "k")
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")


class Counted(Model, table="counted"):
    d = Family("d")
    page: Key[str] = key()
    title: Mapped[str] = column(d, "t")
    views: Counter = counter(d, "v")
    likes: Counter = counter(d, "l")


def _text(chance: Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def _or_none(chance: Random, value: Any) -> Any:
    return None if chance.random() < 0.5 else value


MAKERS: dict[type[Model], Callable[[int, Random], dict[str, Any]]] = {
    Metric: lambda n, chance: {
        "host": f"web-{n % 50:03}.example.com",
        "at": START + timedelta(seconds=n // 50),
        "value": chance.gauss(20, 3),
    },
    LongNames: lambda n, chance: {
        "customer_identifier": f"customer-{chance.getrandbits(40):011}-{n}",
        "temperature_celsius": round(chance.gauss(20, 3), 1),
        "humidity_percent": chance.randrange(100),
        "barometric_pressure": _or_none(chance, round(chance.gauss(1013, 9), 1)),
    },
    Hashed: lambda n, chance: {
        "digest": hashlib.md5(str(n).encode(), usedforsecurity=False).digest(),
        "size": chance.randrange(1 << 20),
    },
    Wide: lambda n, chance: {
        "number": n,
        **{f"c{place:02}": chance.randrange(1000) for place in range(10)},
    },
    Article: lambda n, chance: {
        "number": UUID(int=chance.getrandbits(128)),
        "title": f"{_text(chance, 4)} {n}",
        "body": _text(chance, chance.randrange(20, 200)),
    },
    TwoFamilies: lambda n, chance: {
        "number": n,
        "name": _text(chance, 3),
        "note": _or_none(chance, _text(chance, 12)),
        "score": _or_none(chance, n % 7),
    },
    Salted: lambda n, chance: {
        "at": START + timedelta(milliseconds=40 * n),
        "sensor": n % 300,
        "value": Decimal(chance.randrange(10_000)) / 100,
    },
    Indexed: lambda n, chance: {
        "number": n,
        "email": f"{chance.choice(WORDS)}.{n}@example.com",
        "city": chance.choice(WORDS),
    },
    Texts: lambda n, chance: {
        "account": f"DE{n:018}",
        "amount": f"{chance.randrange(10**6) / 100:.2f}",
        "currency": "EUR",
        "booked": (START + timedelta(minutes=n)).isoformat(),
    },
    Sparse: lambda n, chance: {
        "number": chance.getrandbits(63),
        "a": n,
        "b": _or_none(chance, _text(chance, 2)),
        "c": _or_none(chance, "x" * chance.randrange(40)),
        "e": _or_none(chance, chance.randbytes(24)),
    },
    Photo: lambda n, chance: {
        "owner": n // 9,
        "number": n % 9,
        "caption": _text(chance, 6),
        "image": chance.randbytes(chance.randrange(5_000, 150_000)),
    },
    Tagged: lambda n, chance: {"name": f"{chance.choice(WORDS)}-{n:07}", "kind": "host"},
    Counted: lambda n, _: {"page": f"/articles/{n % 97}/{n}.html", "title": f"Article {n}"},
}
"""The arguments of an object's constructor, by the number of the object."""


LARGEST_LOADS = {Photo: 2_000}
"""How many rows of a model are loaded at most: those of 100,000 photos have 8 GB."""


@dataclass(frozen=True)
class EstimatedObjects:
    """The objects of a model, the same ones at each call."""

    model: type[Model]
    rows: int

    def __iter__(self) -> Iterator[Any]:
        chance, make = Random(7), MAKERS[self.model]
        for n in range(self.rows):
            made = self.model(**make(n, chance))
            if isinstance(made, Tagged):
                made.tags = {name: _text(chance, 2) for name in chance.sample(WORDS, n % 8)}
            yield made


def load(engine: Engine, model: type[Model], rows: int) -> None:
    """Write the objects of a model, and increment its counters."""
    with engine.session() as session:
        with session.bulk() as bulk:
            bulk.add_all(EstimatedObjects(model, rows))
        if model is Counted:
            for each in EstimatedObjects(model, rows):
                amounts = (Counted.views.by(7), Counted.likes.by(1))
                session.increment(Counted, *amounts[: 1 + len(each.page) % 2], page=each.page)
