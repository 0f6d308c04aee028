"""The well-known designs of HBase tables as models, written as their authors describe them."""

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import Decimal

from hbase_orm import (
    Bucket,
    Computed,
    Digest,
    Dynamic,
    Family,
    HashPrefix,
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
    codecs,
    column,
    dynamic,
    key,
    rowkey,
)


class Score(Model, table="scores"):
    """The shell's walk-through: two families, an empty qualifier, numbers as text."""

    grade = Family()
    course = Family()
    name: Key[str] = key()
    level: Mapped[str] = column(grade, "")
    math: Mapped[str | None] = column(course, default=None)
    art: Mapped[str | None] = column(course, default=None)


class Call(Model, table="calls"):
    """`[reverse(phone)][Long.MAX - ts]`."""

    d = Family()
    phone: Key[str] = key(codecs.text(width_bytes=11, digit_reversed=True))
    at: Key[datetime] = key(codecs.millis(desc=True))
    seconds: Mapped[int] = column(d, "s", codec=codecs.uint32())


class Operation(Model, table="user_ops"):
    """`[reverse(user)][Long.MAX - ts]`, the user as ten digits."""

    d = Family()
    user: Key[int] = key(codecs.digits(10, digit_reversed=True))
    at: Key[datetime] = key(codecs.millis(desc=True))
    action: Mapped[str] = column(d, "a")


class UserOrder(Model, table="user_orders"):
    """`[md5(user)[:4]][user][order]`."""

    d = Family()
    user: Key[str] = key()
    order: Key[int] = key(codecs.uint64())
    total: Mapped[Decimal] = column(d, "t")

    __rowkey__ = rowkey(HashPrefix(4, of=user, form="hex"), user, order)


class Event(Model, table="events"):
    """`[ts % 16][ts][host][event]`."""

    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    event: Key[str] = key()
    message: Mapped[str] = column(d, "m")

    __rowkey__ = rowkey(Bucket(16, of=at), at, host, event)


class FileInfo(Model, table="files"):
    """`user(6) + yyyymmdd(8) + file id(6)`."""

    f = Family()
    owner: Key[int] = key(codecs.digits(6))
    created: Key[datetime] = key(codecs.strftime("%Y%m%d"))
    file_id: Key[int] = key(codecs.digits(6))
    name: Mapped[str] = column(f, "n")
    category: Mapped[str] = column(f, "c")


class Log(Model, abstract=True):
    """What the four designs for log data share."""

    d = Family()
    at: Key[datetime] = key(codecs.millis(desc=True))
    message: Mapped[str] = column(d, "m")


class RawLog(Log, table="log_raw"):
    """`[host][event][reversed ts]`."""

    host: Key[str] = key()
    event: Key[str] = key()
    __rowkey__ = rowkey(host, event, Log.at)


class BucketLog(Log, table="log_bucket"):
    """`[ts % 8][reversed ts][host][event]`."""

    host: Key[str] = key()
    event: Key[str] = key()
    __rowkey__ = rowkey(Bucket(8, of=Log.at), Log.at, host, event)


class DigestLog(Log, table="log_md5"):
    """`[md5(host)][md5(event)][reversed ts]`; the names are columns as well."""

    host: Key[str] = key(family=Log.d, qualifier="h")
    event: Key[str] = key(family=Log.d, qualifier="e")
    __rowkey__ = rowkey(Digest(of=host), Digest(of=event), Log.at)


class SubstituteLog(Log, table="log_ids"):
    """`[id(host)][id(event)][reversed ts]`."""

    host: Key[str] = key()
    event: Key[str] = key()
    __rowkey__ = rowkey(
        Substitute(of=host, dictionary="log_types"),
        Substitute(of=event, dictionary="log_types"),
        Log.at,
    )


class Customer(Model, table="customers"):
    """Customers and orders in three tables."""

    d = Family()
    customer_id: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(d, "n")


class Order(Model, table="orders"):
    """An order names its customer."""

    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    customer_id: Mapped[int] = column(d, "c")


class OrderLine(Model, table="order_lines"):
    """`[order][line]`."""

    d = Family()
    order_id: Key[int] = key(codecs.uint64())
    line: Key[int] = key(codecs.uint16())
    sku: Mapped[str] = column(d, "s")


class Record(Model, table="customer_records"):
    """Customers and orders in one table."""

    d = Family()
    customer: Key[str] = key()
    __rowkey__ = rowkey(customer, RecordType())


class CustomerRecord(Record, record_type="C"):
    """`[customer]C`."""

    name: Mapped[str] = column(Record.d, "n")


class OrderRecord(Record, record_type="O"):
    """`[customer]O[order]`."""

    order: Key[int] = key(codecs.uint64())
    placed: Mapped[datetime] = column(Record.d, "p", codec=codecs.millis())


class ListItem(Model, table="list_tall"):
    """`[user][value id]`: pages start at any value id."""

    d = Family()
    user: Key[str] = key()
    value_id: Key[int] = key(codecs.uint64())
    payload: Mapped[bytes] = column(d, "p")


class ListRow(Model, table="list_wide"):
    """One row a user, value ids as qualifiers."""

    d = Family()
    user: Key[str] = key()
    items: Dynamic[int, bytes] = dynamic(d, name=codecs.uint64(), codec=codecs.raw())


class Headline(Model, table="headlines"):
    """`[salt][newest first]`: what is new over all buckets."""

    d = Family()
    at: Key[datetime] = key(codecs.millis(desc=True))
    number: Key[int] = key(codecs.uint32())
    text: Mapped[str] = column(d, "t")

    __rowkey__ = rowkey(Salt(16), at, number)


def partition(user: str, month: datetime) -> int:
    """Return the region: ten for each month of the year."""
    digest = hashlib.md5(f"{user}{month:%m}".encode(), usedforsecurity=False).digest()
    return (month.month - 1) * 10 + int.from_bytes(digest) % 10


def partitions(user: str | None, month: datetime | None) -> range | list[int]:
    """Return the regions that are possible."""
    if month is None:
        return range(120)
    if user is None:
        return range((month.month - 1) * 10, month.month * 10)
    return [partition(user, month)]


class Purchase(Model, table=Table("purchases", splits="auto")):
    """`[partition][yyyy-MM][user][-dd hh:mm:ss]` over 120 regions."""

    d = Family()
    user: Key[str] = key(codecs.text(width_bytes=10, pad=b"\x01", side="left"))
    at: Key[datetime] = key(codecs.seconds())
    amount: Mapped[Decimal] = column(d, "a")

    month = Period("month", of=at, codec=codecs.strftime("%Y-%m"))
    __rowkey__ = rowkey(
        Computed(partition, of=[user, month], values=partitions, codec=codecs.digits(3)),
        month,
        user,
        Offset("month", of=at, codec=codecs.strftime("-%d %H:%M:%S")),
    )


class Payment(Model, table=TablePerPeriod("payments_%Y%m%d", of="at", period="day")):
    """A table a day; `[2 bytes of a hash][ms of the day][account]`."""

    d = Family()
    account: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    amount: Mapped[Decimal] = column(d, "a")

    __rowkey__ = rowkey(
        HashPrefix(2, of=account), Offset("day", of=at, codec=codecs.uint32()), account
    )


ONE_TABLE_EACH = (
    *(Score, Call, Operation, UserOrder, Event, FileInfo),
    *(RawLog, BucketLog, DigestLog, SubstituteLog),
    *(Customer, Order, OrderLine, Record, Purchase),
)
