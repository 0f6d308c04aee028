"""Row keys and codecs of records as users read them."""

from __future__ import annotations

from datetime import datetime

from hbase_orm import (
    Bucket,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Salt,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.record.notation import codec_notation, key_notation
from hbase_orm.record.snapshots import rows_of


class Point(Model, table="points"):
    d = Family()
    host: Key[str] = key()
    site: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    number: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(
        *(Salt(4, of=[host]), HashPrefix(2, of=[host, site]), host, site),
        *(Bucket(8, of=number), at, number),
    )
    value: Mapped[float] = column(d, codec=codecs.get("bytes.float64"))
    unit: Mapped[str] = column(d, codec=codecs.code({"metre": b"m", "second": b"s"}))


class Hourly(Model, table="hourly"):
    d = Family()
    name: Key[str] = key(codecs.text(width_bytes=8))
    at: Key[datetime] = key(codecs.millis())
    __rowkey__ = rowkey(name, Period("hour", of=at), Offset("hour", of=at))
    value: Mapped[int] = column(d)


def test_a_row_key_is_shown_part_by_part() -> None:
    assert key_notation(rows_of(Point.__schema__)) == (
        "[salt 4 of host][hash 2 md5 of host, site][host text][site text][bucket 8 of number]"
        "[at millis desc][number uint32]"
    )


def test_periods_and_offsets_name_their_unit() -> None:
    shown = key_notation(rows_of(Hourly.__schema__))

    assert shown.startswith("[name text(width_bytes=8, ")
    assert "[period hour of at][offset hour(" in shown


def test_codes_are_shown_with_their_bytes() -> None:
    columns = rows_of(Point.__schema__).columns

    assert codec_notation(columns[b"d:unit"].codec) == "code('metre'=6d, 'second'=73)"
    assert codec_notation(columns[b"d:value"].codec) == "bytes.float64"
