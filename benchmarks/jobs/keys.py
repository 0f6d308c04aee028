"""Row keys and cells without a server: compiled layouts against hand-written concatenation.

The hand-written functions make the same bytes with `struct` and `zlib`, check what these check, and
nothing else. To measure another layout, add a `KeyCase` to `KEY_CASES`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any, NamedTuple
from zlib import crc32

from benchmarks.paired import Variant, compare, pair_by_hand
from benchmarks.results import OWN, Comparison
from hbase_orm import Family, HashPrefix, Key, Mapped, Model, Salt, codecs, column, key, rowkey
from hbase_orm.ops import Cell, Row

COUNT = 5_000
TIMES = 8  # as many repetitions as of a job with a server: each takes milliseconds
BUCKETS = 16
METRICS = 40
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
MICROSECOND = timedelta(microseconds=1)
PREFIX_BYTES = 4
LONG_MAX = (1 << 63) - 1
SIGN = 1 << 63
ALL_BITS = (1 << 64) - 1
UINT32 = struct.Struct(">I")
UINT64 = struct.Struct(">Q")
INT64 = struct.Struct(">q")
DOUBLE = struct.Struct(">d")
TWO = struct.Struct(">QQ")


class _Metric(Model, abstract=True):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    metric: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis(desc=True))
    value: Mapped[float] = column(d, "v")


class CrcMetric(_Metric, table="bench_crc"):
    """Salted by CRC-32."""

    __rowkey__ = rowkey(
        Salt(BUCKETS, of=[_Metric.host, _Metric.metric], hash="crc32"),
        *(_Metric.host, _Metric.metric, _Metric.at),
    )


class PhoenixMetric(_Metric, table="bench_phoenix"):
    """Salted as Apache Phoenix does."""

    __rowkey__ = rowkey(
        Salt(BUCKETS, of=[_Metric.host, _Metric.metric]),
        *(_Metric.host, _Metric.metric, _Metric.at),
    )


class Order(Model, table="bench_order"):
    """Spread by a hash of the user."""

    d = Family()
    user: Key[str] = key(codecs.text(separator=b"\x00"))
    order: Key[int] = key(codecs.uint64())
    at: Key[datetime] = key(codecs.micros())
    value: Mapped[float] = column(d, "v")

    __rowkey__ = rowkey(HashPrefix(PREFIX_BYTES, of=user, form="hex"), user, order, at)


class Sorted(Model, table="bench_sorted"):
    """Five columns whose bytes sort as their values do."""

    d = Family()
    name: Key[str] = key()
    status: Mapped[int] = column(d, "s", codec=codecs.uint32())
    total: Mapped[int] = column(d, "t")
    value: Mapped[float] = column(d, "v")
    seen: Mapped[datetime] = column(d, "w", codec=codecs.millis())
    unit: Mapped[str] = column(d, "u")


class Plain(Model, table="bench_bytes"):
    """The same five as HBase's own class `Bytes` writes them."""

    d = Family()
    name: Key[str] = key()
    status: Mapped[int] = column(d, "s", codec=codecs.uint32())
    total: Mapped[int] = column(d, "t", codec=codecs.get("bytes.int64"))
    value: Mapped[float] = column(d, "v", codec=codecs.get("bytes.float64"))
    seen: Mapped[datetime] = column(d, "w", codec=codecs.millis())
    unit: Mapped[str] = column(d, "u")


@dataclass(slots=True)
class Hand:
    """What hand-written code holds."""

    name: str
    status: int
    total: int
    value: float
    seen: datetime
    unit: str


@dataclass(frozen=True, slots=True)
class KeyCase:
    """A layout and the code that one writes instead of it.

    Attributes:
        title: The components.
        model: Its keys are measured.
        values: The key fields of each row, in the order of their bytes.
        encode: The key of one row by hand.
        decode: Its values by hand.
    """

    title: str
    model: type[Model]
    values: Sequence[tuple[Any, ...]]
    encode: Callable[..., bytes]
    decode: Callable[[bytes], tuple[Any, ...]]


def _hash_31(data: bytes) -> int:
    value = 1
    for byte in data:
        value = 31 * value + (byte if byte < 128 else byte - 256) & 0xFFFFFFFF
    return value if value < 1 << 31 else value - (1 << 32)


def hand_crc_key(host: str, metric: int, at: datetime) -> bytes:
    """Return the key of a `CrcMetric`."""
    name, number = host.encode(), UINT32.pack(metric)
    bucket = crc32(name + number) % BUCKETS
    end = UINT64.pack(LONG_MAX - (at - EPOCH) // MILLISECOND)
    return bytes((bucket,)) + name + b"\x00" + number + end


def hand_phoenix_key(host: str, metric: int, at: datetime) -> bytes:
    """Return the key of a `PhoenixMetric`."""
    name, number = host.encode(), UINT32.pack(metric)
    bucket = abs(_hash_31(name + number)) % BUCKETS
    end = UINT64.pack(LONG_MAX - (at - EPOCH) // MILLISECOND)
    return bytes((bucket,)) + name + b"\x00" + number + end


def hand_metric(row: bytes) -> tuple[str, int, datetime]:
    """Return the fields of either key."""
    name, _, rest = row[1:].partition(b"\x00")
    metric, end = struct.unpack(">IQ", rest)
    return name.decode(), metric, EPOCH + timedelta(milliseconds=LONG_MAX - end)


def hand_order_key(user: str, order: int, at: datetime) -> bytes:
    """Return the key of an `Order`."""
    name = user.encode()
    prefix = md5(name).hexdigest()[:PREFIX_BYTES].encode()  # noqa: S324 - spreads keys only
    return prefix + name + b"\x00" + TWO.pack(order, (at - EPOCH) // MICROSECOND + SIGN)


def hand_order(row: bytes) -> tuple[str, int, datetime]:
    """Return the fields of the key of an `Order`."""
    name, _, rest = row[PREFIX_BYTES:].partition(b"\x00")
    order, micros = TWO.unpack(rest)
    return name.decode(), order, EPOCH + timedelta(microseconds=micros - SIGN)


def _orders() -> list[tuple[str, int, datetime]]:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        (f"user-{n % 977:05d}", 7_919 * n, start + timedelta(microseconds=7_000_001 * n))
        for n in range(COUNT)
    ]


def _metrics() -> list[tuple[str, int, datetime]]:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        (f"host-{n % 97:04d}.example", n % METRICS, start + timedelta(milliseconds=7_001 * n))
        for n in range(COUNT)
    ]


KEY_CASES = (
    KeyCase(
        "salt (CRC-32 of host and metric), text, uint32, millis descending",
        *(CrcMetric, _metrics(), hand_crc_key, hand_metric),
    ),
    KeyCase(
        "salt (Phoenix, of host and metric), text, uint32, millis descending",
        *(PhoenixMetric, _metrics(), hand_phoenix_key, hand_metric),
    ),
    KeyCase(
        "hash prefix (4 hex digits of the user's MD5), text, uint64, micros",
        *(Order, _orders(), hand_order_key, hand_order),
    ),
)


def _hands() -> list[Hand]:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    return [
        Hand(
            name=f"row-{n:06d}",
            status=n % 600,
            total=1_000_003 * (n - COUNT // 2),
            value=(n - COUNT // 3) / 7,
            seen=start + timedelta(milliseconds=997 * n),
            unit=("ms", "s", "percent", "bytes")[n % 4],
        )
        for n in range(COUNT)
    ]


def sorted_cells(hand: Hand) -> dict[bytes, bytes]:
    """Return the cells of a `Sorted`."""
    (bits,) = UINT64.unpack(DOUBLE.pack(hand.value))
    return {
        b"d:s": UINT32.pack(hand.status),
        b"d:t": UINT64.pack(hand.total + SIGN),
        b"d:v": UINT64.pack(bits ^ (ALL_BITS if bits & SIGN else SIGN)),
        b"d:w": UINT64.pack((hand.seen - EPOCH) // MILLISECOND),
        b"d:u": hand.unit.encode(),
    }


def plain_cells(hand: Hand) -> dict[bytes, bytes]:
    """Return the cells of a `Plain`."""
    return {
        b"d:s": UINT32.pack(hand.status),
        b"d:t": INT64.pack(hand.total),
        b"d:v": DOUBLE.pack(hand.value),
        b"d:w": UINT64.pack((hand.seen - EPOCH) // MILLISECOND),
        b"d:u": hand.unit.encode(),
    }


def sorted_hand(row: Row) -> Hand:
    """Return what a `Sorted` row holds."""
    cells = row.cells
    (bits,) = UINT64.unpack(cells[b"d:v"].value)
    bits ^= SIGN if bits & SIGN else ALL_BITS
    return Hand(
        name=row.key.decode(),
        status=UINT32.unpack(cells[b"d:s"].value)[0],
        total=UINT64.unpack(cells[b"d:t"].value)[0] - SIGN,
        value=DOUBLE.unpack(UINT64.pack(bits))[0],
        seen=EPOCH + timedelta(milliseconds=UINT64.unpack(cells[b"d:w"].value)[0]),
        unit=cells[b"d:u"].value.decode(),
    )


def plain_hand(row: Row) -> Hand:
    """Return what a `Plain` row holds."""
    cells = row.cells
    return Hand(
        name=row.key.decode(),
        status=UINT32.unpack(cells[b"d:s"].value)[0],
        total=INT64.unpack(cells[b"d:t"].value)[0],
        value=DOUBLE.unpack(cells[b"d:v"].value)[0],
        seen=EPOCH + timedelta(milliseconds=UINT64.unpack(cells[b"d:w"].value)[0]),
        unit=cells[b"d:u"].value.decode(),
    )


def keys(repetitions: int) -> list[Comparison]:
    """Compare keys, cells and objects with hand-written ones; needs no server."""
    reports = [report for case in KEY_CASES for report in _key_reports(case, repetitions)]
    for title, model, to_cells, to_hand in (
        ("that sort", Sorted, sorted_cells, sorted_hand),
        ("of bytes.*", Plain, plain_cells, plain_hand),
    ):
        reports += _cell_reports(title, model, to_cells, to_hand, repetitions)
    return reports


def _key_reports(case: KeyCase, repetitions: int) -> list[Comparison]:
    layout: Any = case.model.__schema__.layout
    rows = [case.encode(*values) for values in case.values]
    assert rows == [layout.encode_parts(*values) for values in case.values]
    assert [case.decode(row) for row in rows] == [layout.decode_parts(row) for row in rows]
    dicts = [dict(zip(layout.names, values, strict=True)) for values in case.values]
    of_object: Any = case.model.__mapping__.encode_key
    return [
        _compare(
            f"Key of {case.title}",
            _Job(_spread, case.encode, case.values),
            {
                "layout.encode_parts": _Job(_spread, layout.encode_parts, case.values),
                "key of an object": _Job(_each, of_object, dicts),
            },
            repetitions,
        ),
        _compare(
            f"Back from a key of {case.title}",
            _Job(_each, case.decode, rows),
            {"layout.decode_parts": _Job(_each, layout.decode_parts, rows)},
            repetitions,
        ),
    ]


def _cell_reports(
    title: str,
    model: type[Model],
    to_cells: Callable[[Hand], dict[bytes, bytes]],
    to_hand: Callable[[Row], Hand],
    repetitions: int,
) -> list[Comparison]:
    hands = _hands()
    names = [field.name for field in fields(Hand)]
    arguments = [{name: getattr(hand, name) for name in names} for hand in hands]
    objects = [model(**values) for values in arguments]
    mapping: Any = model.__mapping__
    rows = [
        Row(hand.name.encode(), {name: Cell(value, 0) for name, value in to_cells(hand).items()})
        for hand in hands
    ]
    assert [to_cells(hand) for hand in hands] == [mapping.dehydrate(o.__dict__) for o in objects]
    assert [to_hand(row) for row in rows] == hands
    assert [mapping.hydrate(row) for row in rows] == objects
    return [
        _compare(
            f"Five columns {title} to cells",
            _Job(_each, to_cells, hands),
            {"dehydrate": _Job(_each_dict, mapping.dehydrate, objects)},
            repetitions,
        ),
        _compare(
            f"A row of five columns {title} to an object",
            _Job(_each, to_hand, rows),
            {"hydrate": _Job(_each, mapping.hydrate, rows)},
            repetitions,
        ),
        _compare(
            f"A new object of five columns {title}",
            _Job(_named, Hand, arguments),
            {"the model, values checked": _Job(_named, model, arguments)},
            repetitions,
        ),
    ]


class _Job(NamedTuple):
    """A loop, the function it calls, and with what."""

    loop: Callable[[Callable[..., Any], Sequence[Any]], None]
    function: Callable[..., Any]
    items: Sequence[Any]

    def run(self) -> int:
        self.loop(self.function, self.items)
        return len(self.items)


def _each(function: Callable[..., Any], items: Sequence[Any]) -> None:
    for item in items:
        function(item)


def _each_dict(function: Callable[..., Any], items: Sequence[Any]) -> None:
    for item in items:
        function(item.__dict__)


def _spread(function: Callable[..., Any], items: Sequence[Any]) -> None:
    for first, second, third in items:
        function(first, second, third)


def _named(function: Callable[..., Any], items: Sequence[Any]) -> None:
    for item in items:
        function(**item)


def _compare(title: str, by_hand: _Job, others: dict[str, _Job], repetitions: int) -> Comparison:
    variants = pair_by_hand("by hand", by_hand.run)
    variants += [
        Variant(OWN if number == 0 else f"{OWN}-{number + 1}", name, job.run)
        for number, (name, job) in enumerate(others.items())
    ]
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return compare(name, title, "row", variants, repetitions=TIMES * repetitions, seed=5)
