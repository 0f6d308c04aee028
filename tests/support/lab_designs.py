"""Eight designs of row keys for the same rows, and loads of them as the lab simulates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hbase_orm import (
    Bucket,
    Engine,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Salt,
    Select,
    Table,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.advise.lab.designs import needed_field
from hbase_orm.advise.lab.load.sampled_rows import SampledRows
from hbase_orm.advise.lab.load.value_kinds import LOAD_START, FieldValues
from hbase_orm.advise.lab.load.workloads import ZIPF
from hbase_orm.rowkey.split_algorithms import uniform_split

HOUR = timedelta(hours=1)
WORKLOAD = replace(
    ZIPF,
    fields={"page": FieldValues("zipf", distinct=100), "user": FieldValues(distinct=3000)},
)
"""A hundred pages, of which few have most visits, and 3,000 users."""


def at_minutes(*minutes: int, desc: bool = False) -> list[bytes]:
    """Return split keys at these minutes of the load, ascending."""
    encode = codecs.millis(desc=desc).encode
    return sorted(encode(LOAD_START + timedelta(minutes=minute)) for minute in minutes)


class Visit(Model, abstract=True):
    """A visit of a user to a page."""

    d = Family()
    user: Key[int] = key(codecs.digits(8))
    at: Key[datetime] = key(codecs.millis())
    page: Key[str] = key(codecs.text())
    score: Mapped[int] = column(d, "s", codec=codecs.uint32())


class TimeFirst(Visit, table=Table("lab_time_first", splits=at_minutes(6, 24, 45))):
    """`[time][user][page]`."""

    __rowkey__ = rowkey(Visit.at, Visit.user, Visit.page)


class Salted(Visit, table=Table("lab_salted", splits=5)):
    """`[salt][time][user][page]`, whose buckets are not divided evenly among the regions."""

    __rowkey__ = rowkey(Salt(8), Visit.at, Visit.user, Visit.page)


class HashFirst(Visit, table=Table("lab_hash", splits=uniform_split(6))):
    """`[hash of the user][user][time][page]`."""

    __rowkey__ = rowkey(HashPrefix(2, of=Visit.user), Visit.user, Visit.at, Visit.page)


class RandomFirst(Visit, table=Table("lab_random", splits=[b"\x01", b"\x04", b"\x06"])):
    """`[random number][user][time][page]`."""

    __rowkey__ = rowkey(RandomSalt(8), Visit.user, Visit.at, Visit.page)


class ReversedUser(Visit, table=Table("lab_reversed", splits=[b"2", b"5", b"51", b"9"])):
    """`[digits of the user backwards][time][page]`."""

    user: Key[int] = key(codecs.digits(8, digit_reversed=True))

    __rowkey__ = rowkey(user, Visit.at, Visit.page)


class NewestFirst(Visit, table=Table("lab_newest", splits=at_minutes(5, 20, 50, desc=True))):
    """`[time, newest first][user][page]`."""

    at: Key[datetime] = key(codecs.millis(desc=True))

    __rowkey__ = rowkey(at, Visit.user, Visit.page)


class TimeBucket(Visit, table=Table("lab_bucket", splits=4)):
    """`[time modulo 10][time][user][page]`."""

    __rowkey__ = rowkey(Bucket(10, of=Visit.at), Visit.at, Visit.user, Visit.page)


class PageFirst(
    Visit, table=Table("lab_page", splits=[b"page-2", b"page-40", b"page-4_", b"page-7"])
):
    """`[page with a separator][user of fixed width][time]`."""

    page: Key[str] = key(codecs.text(separator=b"_"))
    by_score = Index(Visit.score, Visit.at, splits=[b"\x00\x00\x01\x00", b"\x00\x00\x10\x00"])

    __rowkey__ = rowkey(page, Visit.user, Visit.at)


DESIGNS: Sequence[type[Visit]] = (
    TimeFirst,
    Salted,
    HashFirst,
    RandomFirst,
    ReversedUser,
    NewestFirst,
    TimeBucket,
    PageFirst,
)


def load(engine: Engine, model: Any, rows: SampledRows) -> None:
    """Create the table of a design, and write every row of a load into it."""
    engine.drop_tables(model)
    engine.create_tables(model)
    names = [*model.__schema__.layout.names, "score"]
    columns = [rows.values(needed_field(model.__schema__, name)) for name in names]
    with engine.session() as session, session.bulk() as bulk:
        for values in zip(*columns, strict=True):
            bulk.add(model(**dict(zip(names, values, strict=True))))


# --- statements -----------------------------------------------------------------------------------


def five_minutes(model: type[Visit], row: Any) -> Select[Visit]:
    end = row.at + timedelta(minutes=5)
    return select(model).where(model.at >= row.at, model.at < end).allow_full_scan()


def of_user(model: type[Visit], row: Any) -> Select[Visit]:
    return select(model).where(model.user == row.user).allow_full_scan()


def of_page(model: type[Visit], row: Any) -> Select[Visit]:
    return select(model).where(model.page == row.page).allow_full_scan().limit(20)


def newest(model: type[Visit]) -> Select[Visit]:
    return select(model).where(model.at >= LOAD_START + HOUR / 2).allow_full_scan().limit(30)


def high_score(model: type[Visit]) -> Select[Visit]:
    return select(model).where(model.score >= 9_000).allow_full_scan()


def one_row(model: type[Visit], row: Any) -> Select[Visit]:
    whole = model.user == row.user, model.at == row.at, model.page == row.page
    return select(model).where(*whole)


STATEMENTS = {
    each.__name__: each for each in (five_minutes, of_user, of_page, newest, high_score, one_row)
}
