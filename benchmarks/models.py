"""The models measured, and the same rows made and read by hand-written code on happybase.

The hand-written code makes the very bytes that the models make; `check_bytes` holds it to that.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

from hbase_orm import Family, Index, Key, Mapped, Model, Salt, codecs, column, key, rowkey

HOSTS = 20
SALT_BUCKETS = 16
_START = datetime(2024, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_MAX = (1 << 63) - 1
_SIGN = 1 << 63
_UNITS = ("ms", "s", "percent", "bytes")


class _Reading(Model, abstract=True):
    """A measured value: a key of two parts and five cells."""

    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v")
    unit: Mapped[str] = column(d, "u")
    status: Mapped[int] = column(d, "s", codec=codecs.uint16())
    total: Mapped[int] = column(d, "t")
    seen: Mapped[datetime] = column(d, "w", codec=codecs.millis())


class PlainReading(_Reading, table="bench_plain"):
    """Without index: written as plain batches."""


class IndexedReading(_Reading, table="bench_indexed"):
    """With an index: loaded as plain batches that carry their guards."""

    by_unit = Index(_Reading.unit, _Reading.at)


class TwiceIndexedReading(_Reading, table="bench_indexed_2"):
    """With two indexes."""

    by_unit = Index(_Reading.unit, _Reading.at)
    by_status = Index(_Reading.status)


class ThriceIndexedReading(_Reading, table="bench_indexed_3"):
    """With three indexes."""

    by_unit = Index(_Reading.unit, _Reading.at)
    by_status = Index(_Reading.status)
    by_total = Index(_Reading.total)


class SaltedReading(_Reading, table="bench_salted"):
    """Spread over salt buckets."""

    __rowkey__ = rowkey(Salt(SALT_BUCKETS), _Reading.host, _Reading.at)


def reading(table: str, *, is_salted: bool, is_indexed: bool) -> type[Model]:
    """Return a model named Reading: its rows can be moved between tables of such models."""

    class Reading(_Reading, table=table):
        if is_salted:
            __rowkey__ = rowkey(Salt(SALT_BUCKETS), _Reading.host, _Reading.at)
        if is_indexed:
            by_unit = Index(_Reading.unit, _Reading.at)

    return Reading


def salted(table: str, buckets: int) -> type[Model]:
    """Return a model whose rows are spread over so many salt buckets; one bucket is no salt."""

    class Salted(_Reading, table=table):
        if buckets > 1:
            __rowkey__ = rowkey(Salt(buckets, form="byte"), _Reading.host, _Reading.at)

    return Salted


class HandEntry(Model, table="bench_hand_entries"):
    """Makes the table of hand-written index entries."""

    d = Family()
    name: Key[str] = key()
    none: Mapped[str] = column(d, "")


class HandReading(_Reading, table="bench_hand"):
    """Makes the table of rows that hand-written code writes beside its entries."""


class Source(NamedTuple):
    """A reading before it is a row: what an application has at hand."""

    host: str
    at: datetime
    value: float
    unit: str
    status: int
    total: int
    seen: datetime


@dataclass(slots=True)
class HandObject:
    """What hand-written code reads a row into."""

    host: str
    at: datetime
    value: float
    unit: str
    status: int
    total: int
    seen: datetime


read_fields = attrgetter(*Source._fields)
"""Reads all fields of an object, of either kind: none is left encoded."""


def sources(count: int, hosts: int = HOSTS) -> Iterator[Source]:
    """Yield `count` readings of so many hosts in turn, newest last."""
    for number in range(count):
        at = _START + timedelta(seconds=number)
        yield Source(
            host=f"host-{number % hosts:04d}",
            at=at,
            value=number / 7,
            unit=_UNITS[number % len(_UNITS)],
            status=number % 600,
            total=number * 1_000,
            seen=at + timedelta(milliseconds=number % 997),
        )


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def hand_key(source: Source) -> bytes:
    """Return the row key, without a salt."""
    return source.host.encode() + b"\x00" + struct.pack(">q", _LONG_MAX - _ms(source.at))


def hand_cells(source: Source) -> dict[bytes, bytes]:
    """Return the cells as happybase takes them."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", source.value))
    return {
        b"d:v": struct.pack(">Q", bits ^ _SIGN),  # values here are never negative
        b"d:u": source.unit.encode(),
        b"d:s": struct.pack(">H", source.status),
        b"d:t": struct.pack(">Q", source.total + _SIGN),
        b"d:w": struct.pack(">q", _ms(source.seen)),
    }


def hand_entry(source: Source, row: bytes) -> bytes:
    """Return the key of the index entry."""
    at = struct.pack(">q", _LONG_MAX - _ms(source.at))
    return source.unit.encode() + b"\x00\x01" + at + row


def hand_object(row: bytes, cells: dict[bytes, bytes]) -> HandObject:
    """Return the object of a row without a salt, as happybase gives it."""
    host, _, at = row.partition(b"\x00")
    (bits,) = struct.unpack(">Q", cells[b"d:v"])
    return HandObject(
        host=host.decode(),
        at=_EPOCH + timedelta(milliseconds=_LONG_MAX - struct.unpack(">q", at)[0]),
        value=struct.unpack(">d", struct.pack(">Q", bits ^ _SIGN))[0],
        unit=cells[b"d:u"].decode(),
        status=struct.unpack(">H", cells[b"d:s"])[0],
        total=struct.unpack(">Q", cells[b"d:t"])[0] - _SIGN,
        seen=_EPOCH + timedelta(milliseconds=struct.unpack(">q", cells[b"d:w"])[0]),
    )


def check_bytes() -> None:
    """Make sure that hand-written code and models agree on every byte of some rows.

    Raises:
        AssertionError: They do not; nothing that is measured would be comparable.
    """
    for source in sources(1_000):
        model: Any = PlainReading(**source._asdict())
        row, cells = hand_key(source), hand_cells(source)
        assert row == model.encode_key(host=source.host, at=source.at)
        assert cells == model.__mapping__.dehydrate(model.__dict__)
        made = hand_object(row, cells)
        assert all(getattr(made, name) == value for name, value in source._asdict().items())
