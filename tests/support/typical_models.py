"""Models as programs usually declare them, written without the rules of the lint at hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from uuid import UUID, uuid4

from hbase_orm import (
    Bucket,
    Computed,
    Counter,
    Digest,
    Dynamic,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    Salt,
    Substitute,
    Table,
    TablePerPeriod,
    Version,
    codecs,
    column,
    counter,
    dynamic,
    func,
    key,
    rowkey,
    validators,
    version,
)


def now() -> datetime:
    return datetime.now(UTC)


class User(Model, table="users"):
    info = Family()
    user_id: Key[UUID] = key(default_factory=uuid4)
    email: Mapped[str] = column(info)
    name: Mapped[str] = column(info)
    born: Mapped[date | None] = column(info, default=None)
    created_at: Mapped[datetime] = column(info, default_factory=now)
    is_active: Mapped[bool] = column(info, default=True)
    by_email = Index(func.lower(email), unique=True)


class Account(Model, table="accounts"):
    d = Family()
    login: Key[str] = key()
    password_hash: Mapped[bytes] = column(d, "p", repr=False)
    locked: Mapped[bool] = column(d, "l", default=False)
    changes: Version = version(d)


class OrderStatus(Enum):
    NEW = "new"
    PAID = "paid"
    SENT = "sent"
    DONE = "done"


class Order(Model, table="orders"):
    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    customer_id: Mapped[int] = column(d, "c", codec=codecs.uint32())
    status: Mapped[OrderStatus] = column(d, "s")
    total: Mapped[Decimal] = column(d, "t")
    placed_at: Mapped[datetime] = column(d, "p", default_factory=now)
    by_customer = Index(customer_id, placed_at.desc())
    by_status = Index(status, placed_at)


class OrderLine(Model, table="order_lines"):
    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    line: Key[int] = key(codecs.uint16())
    sku: Mapped[str] = column(d, "s")
    quantity: Mapped[int] = column(d, "q", codec=codecs.uint32())


class Product(Model, table="products"):
    d = Family(compression="GZ")
    i = Family()
    sku: Key[str] = key()
    title: Mapped[str] = column(d, "t")
    price: Mapped[Decimal] = column(d, "p")
    attributes: Dynamic[str, str] = dynamic(d, prefix="a:")
    picture: Mapped[bytes | None] = column(i, "i", default=None, deferred=True)


class Cart(Model, table="carts"):
    d = Family(ttl=timedelta(days=30))
    session: Key[str] = key()
    sku: Key[str] = key()
    quantity: Mapped[int] = column(d, "q", codec=codecs.uint16())


class Payment(Model, table=TablePerPeriod("payments_%Y%m", of="at", period="month")):
    d = Family()
    account: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    cents: Mapped[int] = column(d, "c", codec=codecs.int64())
    __rowkey__ = rowkey(account, Offset("month", of=at))


class SensorReading(Model, table="sensor_readings"):
    d = Family(ttl=timedelta(days=365), block_encoding="FAST_DIFF")
    sensor: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v")
    quality: Mapped[int | None] = column(d, "q", codec=codecs.uint8(), default=None)


class Device(Model, table="devices"):
    d = Family()
    serial: Key[str] = key()
    model: Mapped[str] = column(d, "m")
    firmware: Mapped[str] = column(d, "f")
    last_seen: Mapped[datetime | None] = column(d, "l", default=None)
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")


class LogLine(Model, table="log_lines"):
    d = Family(ttl=timedelta(days=14))
    at: Key[datetime] = key(codecs.micros())
    host: Key[str] = key()
    level: Mapped[str] = column(d, "l")
    message: Mapped[str] = column(d, "m")


class AccessLog(Model, table="access_log"):
    d = Family(ttl=timedelta(days=90))
    at: Key[datetime] = key(codecs.millis())
    address: Key[IPv4Address] = key()
    request: Key[UUID] = key(default_factory=uuid4)
    path: Mapped[str] = column(d, "p")
    status: Mapped[int] = column(d, "s", codec=codecs.uint16())
    __rowkey__ = rowkey(Salt(16), at, address, request)


class WebSession(Model, table="web_sessions"):
    d = Family(ttl=timedelta(hours=12))
    token: Key[bytes] = key(codecs.raw(width_bytes=16))
    user_id: Mapped[int] = column(d, "u", codec=codecs.uint64())
    data: Mapped[dict[str, str]] = column(d, "d", codec=codecs.json(dict[str, str]))


class Message(Model, table="messages"):
    d = Family()
    conversation: Key[UUID] = key()
    sent_at: Key[datetime] = key(codecs.millis(desc=True))
    message_id: Key[UUID] = key(default_factory=uuid4)
    sender: Mapped[str] = column(d, "s")
    body: Mapped[str] = column(d, "b", validate=validators.max_length(4000))


class Inbox(Model, table="inbox"):
    d = Family()
    user: Key[str] = key()
    received_at: Key[datetime] = key(codecs.millis(desc=True))
    message: Key[UUID] = key(default_factory=uuid4)
    subject: Mapped[str] = column(d, "s")
    is_read: Mapped[bool] = column(d, "r", default=False)
    __rowkey__ = rowkey(HashPrefix(4, of=user), user, received_at, message)


class Notification(Model, table="notifications"):
    d = Family(ttl=timedelta(days=60))
    user_id: Key[int] = key(codecs.digits(10, digit_reversed=True))
    at: Key[datetime] = key(codecs.millis(desc=True))
    text: Mapped[str] = column(d, "t")


class Metric(Model, table="metrics"):
    d = Family(ttl=timedelta(days=400), compression="GZ")
    metric: Key[str] = key()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    value: Mapped[float] = column(d, "v")
    __rowkey__ = rowkey(Salt(16, of=[metric, host]), metric, host, at)


class Point(Model, table="points"):
    t = Family()
    series: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds(width_bytes=4))
    value: Mapped[float] = column(
        t, Offset("hour", of=at, resolution="seconds", codec=codecs.uint16())
    )
    __rowkey__ = rowkey(
        Substitute(of=series, dictionary="series_ids"),
        Period("hour", of=at, codec=codecs.seconds(width_bytes=4)),
    )


class PageViews(Model, table="page_views"):
    c = Family()
    site: Key[str] = key()
    day: Key[date] = key()
    views: Counter = counter(c, "v")
    visitors: Counter = counter(c, "u")


class DailyReport(Model, table="daily_reports"):
    d = Family()
    day: Key[date] = key()
    report: Key[str] = key()
    body: Mapped[dict[str, float]] = column(d, "b", codec=codecs.json(dict[str, float]))


class Setting(Model, table="settings"):
    d = Family(versions=5)
    name: Key[str] = key()
    value: Mapped[str] = column(d, "v")
    changed_by: Mapped[str] = column(d, "by")


class FeatureFlag(Model, table="feature_flags"):
    d = Family()
    name: Key[str] = key()
    enabled: Mapped[bool] = column(d, default=False)
    share: Mapped[float] = column(d, default=0.0)


class Audit(Model, table="audit"):
    d = Family()
    actor: Key[str] = key()
    at: Key[datetime] = key()
    action: Mapped[str] = column(d, "a")
    target: Mapped[str] = column(d, "t")
    by_time = Index(at)


class Job(Model, table="jobs"):
    d = Family()
    job_id: Key[UUID] = key(default_factory=uuid4)
    queue: Mapped[str] = column(d, "q")
    done: Mapped[bool] = column(d, "d", default=False)
    run_at: Mapped[datetime] = column(d, "r")
    waiting = Index(queue, run_at, where=done == False)  # noqa: E712 -- an expression


class Trip(Model, table="trips"):
    d = Family()
    vehicle: Key[str] = key(codecs.text(width_bytes=8))
    started: Key[datetime] = key(codecs.seconds(width_bytes=4))
    meters: Mapped[int] = column(d, "m", codec=codecs.uint32())
    seconds: Mapped[int] = column(d, "s", codec=codecs.uint32())


class Position(Model, table="positions"):
    d = Family(ttl=timedelta(days=30))
    vehicle: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    latitude: Mapped[float] = column(d, "y")
    longitude: Mapped[float] = column(d, "x")
    __rowkey__ = rowkey(Bucket(8, of=vehicle), vehicle, at)


@dataclass
class Address:
    street: str
    city: str


class Customer(Model, table="customers"):
    customer_id: Key[int] = key(codecs.uint32())
    d = Family()
    m = Family("m", compression="GZ")
    name: Mapped[str] = column(d, "n")
    address: Mapped[Address] = column(d, "a", codec=codecs.json(Address))
    note: Mapped[str | None] = column(m, "t", default=None)


class Url(Model, table="urls"):
    d = Family()
    url: Key[str] = key(family=d, qualifier="u")
    status: Mapped[int] = column(d, "s", codec=codecs.uint16())
    body: Mapped[bytes | None] = column(d, "b", default=None, deferred=True)
    __rowkey__ = rowkey(Digest(of=url))


class Follower(Model, table="followers"):
    d = Family()
    user: Key[int] = key(codecs.uint64())
    follower: Key[int] = key(codecs.uint64())
    since: Mapped[datetime] = column(d, "s", default_factory=now)


class Trade(Model, table=Table("trades", splits="auto")):
    d = Family()
    symbol: Key[str] = key()
    at: Key[datetime] = key(codecs.micros(desc=True))
    number: Key[int] = key(codecs.uint32())
    price: Mapped[Decimal] = column(d, "p")
    volume: Mapped[int] = column(d, "v", codec=codecs.uint32())
    buyer: Mapped[int] = column(d, "b", codec=codecs.uint32())
    by_buyer = Index(buyer, at.desc(), include=[price, volume], covering=True)


class Entity(Model, table="entities"):
    d = Family()
    tenant: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(tenant, RecordType())


class Person(Entity, record_type="P"):
    person: Key[str] = key()
    name: Mapped[str] = column(Entity.d, "n")


class Company(Entity, record_type="C"):
    company: Key[str] = key()
    name: Mapped[str] = column(Entity.d, "n")


class ChatRoom(Model, table="chat_rooms"):
    d = Family()
    room: Key[str] = key()
    members: Dynamic[str, datetime] = dynamic(d, prefix="m:")
    title: Mapped[str] = column(d, "t")


class Invoice(Model, table="invoices"):
    d = Family()
    tenant: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    due: Mapped[date] = column(d, "u")
    paid: Mapped[bool] = column(d, "p", default=False)
    cents: Mapped[int] = column(d, "c", codec=codecs.int64())
    by_due = Index(due)
    by_paid = Index(paid)


def shard(user: str) -> int:
    return sum(user.encode()) % 32


class Event(Model, table="user_events"):
    d = Family()
    user: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    kind: Mapped[str] = column(d, "k")
    __rowkey__ = rowkey(
        Computed(shard, of=[user], values=range(32), codec=codecs.uint8()), user, at
    )


class Upload(Model, table="uploads"):
    d = Family()
    upload_id: Key[UUID] = key(default_factory=uuid4)
    file_name: Mapped[str] = column(d, "n")
    content_type: Mapped[str] = column(d, "t")
    content: Mapped[bytes] = column(d, "c", validate=validators.max_length(20_000_000))


TYPICAL = [
    User, Account, Order, OrderLine, Product, Cart, Payment, SensorReading, Device, LogLine,
    AccessLog, WebSession, Message, Inbox, Notification, Metric, Point, PageViews, DailyReport,
    Setting, FeatureFlag, Audit, Job, Trip, Position, Customer, Url, Follower, Trade, Entity,
    ChatRoom, Invoice, Event, Upload,
]  # fmt: skip
