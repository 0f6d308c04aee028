"""Models of readings whose rows are translated from the one to the other."""

from __future__ import annotations

from typing import Any

from hbase_orm import (
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    connect,
    dynamic,
    key,
    rowkey,
)
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_moves.row_translation import row_translation
from hbase_orm.moving.layouts import RowTranslation
from hbase_orm.ops import Cell


def bound(model: type[Model]) -> BoundModel:
    return connect("memory://")._bound_of(model)


def between(old: type[Model], new: type[Model]) -> RowTranslation:
    return row_translation(bound(old), bound(new))


def cells(**values: bytes) -> dict[bytes, Cell]:
    """Return cells of the family d; the first has the timestamp 1, the next 2 and so on."""
    return {
        b"d:" + name.encode(): Cell(value, ms) for ms, (name, value) in enumerate(values.items(), 1)
    }


def u32(number: int) -> bytes:
    return codecs.uint32().encode(number)


def i64(number: int) -> bytes:
    return codecs.int64().encode(number)


class Reading(Model, table="readings"):
    """The old table: by host and number."""

    d = Family(versions=3)
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, qualifier="v", codec=codecs.uint32())
    region: Mapped[str | None] = column(d, default=None)
    note: Mapped[str | None] = column(d, default=None)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")
    __rowkey__ = rowkey(Salt(4), host, number)


class NumberedReading(Model, table="numbered_readings"):
    """By number first, without a salt; wider values; the host is a column too."""

    d = Family(versions=3)
    host: Key[str] = key(family=d)
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, qualifier="value", codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    tags: Dynamic[str, str] = dynamic(d, prefix="tag_")
    __rowkey__ = rowkey(number, host)


class RegionalReading(Model, table="regional_readings"):
    """By region, host and number; the region is not in a column any more."""

    d = Family()
    region: Key[str] = key()
    host: Key[str] = key()
    number: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, qualifier="v", codec=codecs.uint32())
    __rowkey__ = rowkey(Salt(8), region, host, number)


def key_of(model: type[Model], **values: Any) -> bytes:
    return model.__schema__.layout.encode(values)


OLD_KEY = key_of(Reading, host="a", number=7)
NUMBERED_KEY = key_of(NumberedReading, host="a", number=7)
REGIONAL_KEY = key_of(RegionalReading, region="north", host="a", number=7)


class NullableReading(Model, table="nullable_readings"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)


class MarkedReading(Model, table="marked_readings"):
    e = Family()
    host: Key[str] = key()
    note: Mapped[str | None] = column(e, default=None)


class Renamed(Model, table="renamed"):
    d = Family()
    host: Key[str] = key()
    first: Mapped[str] = column(d, qualifier="b")
    __rowkey__ = rowkey(host)


class Plain(Model, table="plain"):
    d = Family()
    host: Key[str] = key()
    first: Mapped[str] = column(d, qualifier="a")
    __rowkey__ = rowkey(host)
