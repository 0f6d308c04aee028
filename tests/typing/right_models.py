"""Models as users write them; both checkers must accept every line and infer these types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, assert_type

from hbase_orm import (
    Codec,
    Condition,
    Counter,
    CounterExpr,
    Expr,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Order,
    Salt,
    Table,
    codecs,
    column,
    counter,
    key,
    rowkey,
    validators,
)


def utc_now() -> datetime:
    return datetime.now(UTC)


class Score(Model, table="scores"):
    """Two families, an empty qualifier, text values as the shell writes them."""

    grade = Family()
    course = Family()
    name: Key[str] = key()
    level: Mapped[str] = column(grade, "")
    math: Mapped[str | None] = column(course, default=None)
    art: Mapped[str | None] = column(course, default=None)


class Call(Model, table=Table("calls", splits=[b"4", b"8"], durability="ASYNC_WAL")):
    d = Family(versions=3, ttl=timedelta(days=30), compression="GZ", bloom="ROWCOL")
    phone: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.millis(desc=True))
    seconds: Mapped[int] = column(d, "s", codec=codecs.uint32())


class Reading(Model, table="readings"):
    d = Family(ttl=timedelta(days=30), compression="GZ")
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    metric: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    hits: Counter = counter(d, "h")

    __rowkey__ = rowkey(Salt(16, of=[host, metric]), host, metric, at)
    by_unit = Index(unit, at)
    by_value = Index(value, at.desc(), host.asc())


class Event(Model, table="ns:events"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    event: Key[str] = key()
    message: Mapped[str] = column(d, "m")

    __rowkey__ = rowkey(Salt(16), at, host, event)


class Stamped(Model, abstract=True):
    __codecs__: ClassVar[Mapping[type, Codec[Any]]] = {int: codecs.uint64()}
    created_at: Mapped[datetime] = column(default_factory=utc_now)


class Account(Stamped, table="accounts"):
    d = Family()
    number: Key[int] = key()
    region: Key[str] = key(default="eu")
    opened: Key[datetime] = key(codecs.micros(), default_factory=utc_now)
    digest: Key[bytes] = key(codecs.raw(), family=d, qualifier="x")
    nick: Mapped[str | None] = column(d, codec=codecs.text(), default=None)
    level: Mapped[int] = column(d, codec=codecs.uint8(), default=1)
    note: Mapped[str] = column(d, codec=codecs.text(), default_factory=str)
    active: Mapped[bool] = column(d)
    ratio: Mapped[float | None] = column(d)
    views: Counter = counter(d)


assert_type(Reading.host, Expr[str])
assert_type(Reading.unit, Expr[str | None])
assert_type(Reading.hits, CounterExpr)
assert_type(Reading.host == "a", Condition)
assert_type(
    (Reading.metric > 1) & ~(Reading.unit.is_null()) | Reading.at.between(utc_now(), utc_now()),
    Condition,
)
assert_type(Reading.at.desc(), Order)
assert_type(Reading.hits >= 3, Condition)
Reading.host.startswith("web")
Reading.unit.startswith("m")
Reading.metric.in_([1, 2, 3])
Account.active.is_(True)

reading = Reading(host="web-1", metric=7, at=utc_now(), value=0.3)
assert_type(reading.host, str)
assert_type(reading.at, datetime)
assert_type(reading.value, float)
assert_type(reading.unit, str | None)
assert_type(reading.hits, int)
reading.unit = "ms"
reading.unit = None
reading.value = 3
assert_type(reading.to_dict(), dict[str, Any])
assert_type(Reading.from_dict(reading.to_dict()), Reading)
assert_type(Reading.encode_key(host="a", metric=1, at=utc_now()), bytes)
assert_type(Reading.decode_key(b""), Mapping[str, Any])
assert_type(Reading.describe_key(), str)

account = Account(number=1, digest=b"", active=True, ratio=None)
assert_type(account.created_at, datetime)
assert_type(account.region, str)
assert_type(account.digest, bytes)
assert_type(account.ratio, float | None)
Account(
    number=1,
    digest=b"",
    active=True,
    ratio=None,
    region="us",
    nick="x",
    level=2,
    note="",
    created_at=utc_now(),
)


# --- validators, onupdate, repr --------------------------------------------------------------------


def is_even(value: int) -> None:
    if value % 2:
        raise ValueError("must be even")


class Review(Model, table="reviews"):
    d = Family()
    review_id: Key[str] = key()
    stars: Mapped[int] = column(d, "s", codec=codecs.uint8(), validate=validators.between(1, 10))
    mark: Mapped[int | None] = column(
        d, codec=codecs.uint8(), default=None, validate=validators.between(1, 6)
    )
    pair: Mapped[int] = column(d, codec=codecs.uint8(), default=2, validate=is_even)
    size: Mapped[str] = column(d, default="m", validate=validators.one_of("s", "m"))
    code: Mapped[str] = column(d, default_factory=str, validate=validators.matches("[a-z]*"))
    note: Mapped[str] = column(
        d, validate=validators.all_of(validators.min_length(1), validators.max_length(80))
    )
    changed: Mapped[datetime] = column(d, default_factory=utc_now, onupdate=utc_now)
    touched: Mapped[datetime | None] = column(
        d, codec=codecs.millis(), default=None, onupdate=utc_now, repr=False
    )

    @property
    def half(self) -> float:
        return self.stars / 2

    def before_put(self) -> None:
        self.note = self.note.strip()

    def after_load(self) -> None:
        assert_type(self.mark, int | None)


review = Review(review_id="r", stars=3, note="x")
assert_type(review.stars, int)
assert_type(review.mark, int | None)
assert_type(review.changed, datetime)
assert_type(review.half, float)
assert_type(Review.stars, Expr[int])
review.before_put()
