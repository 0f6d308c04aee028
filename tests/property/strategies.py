"""Random key fields: codecs, what each can store, and what its values sort by.

Values come from small pools, so that rows collide, neighbour and match; the pools hold what is
hard: zeros of both signs, texts that are each other's prefixes, NUL bytes, the ends of the ranges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.codecs import Codec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = (
    "",
    "a",
    "ab",
    "abc",
    "a_",
    "a\x00",
    "a\x00\x01",
    "a\x01",
    "b",
    "ä",
    "\uffff",
    "\U0001f600",
)
BYTES = (b"", b"\x00", b"\x00\x01", b"\x00\xff", b"a", b"ab", b"\xff", b"\xff\xff")
FLOATS = (-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.5, math.inf)
TIMES = tuple(EPOCH + timedelta(milliseconds=ms) for ms in (0, 1, 5, 6, 7, 1_400_000_000_000))
BETWEEN_TIMES = (
    EPOCH - timedelta(microseconds=1),
    *(EPOCH + timedelta(microseconds=us) for us in (5_500, 5_001, 6_999)),
)


@dataclass(frozen=True)
class Kind:
    """A codec with what it can store, and what it can only be compared with."""

    codec: Codec[Any]
    python_type: type
    values: tuple[Any, ...]
    foreign: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"{self.codec!r}"


def _integers(codec: Codec[int], *more: int) -> Kind:
    low, high = codec.minimum or 0, codec.maximum or 0
    values = (low, low + 1, *more, high - 1, high)
    return Kind(codec, int, tuple(dict.fromkeys(values)), (low - 1, high + 1))


def _texts(codec: Codec[str], separator: str | None = None) -> Kind:
    fits = [t for t in TEXTS if separator is None or separator not in t]
    return Kind(codec, str, tuple(fits), tuple(t for t in TEXTS if t not in fits))


def _kinds(*, desc: bool) -> tuple[Kind, ...]:
    return (
        _integers(codecs.uint8(desc=desc), 2, 5),
        _integers(codecs.uint16(desc=desc), 255, 256),
        _integers(codecs.uint32(desc=desc), 7),
        _integers(codecs.uint64(desc=desc), 1 << 63),
        _integers(codecs.int64(desc=desc), -5, -1, 0, 1, 255),
        Kind(codecs.float64(desc=desc), float, FLOATS, (0, 2, 2**53 + 1)),
        Kind(codecs.boolean(desc=desc), bool, (False, True)),
        Kind(codecs.millis(desc=desc), datetime, TIMES, BETWEEN_TIMES),
        Kind(codecs.micros(desc=desc), datetime, TIMES + BETWEEN_TIMES),
        _texts(codecs.text(desc=desc)),
        _texts(codecs.text(separator=b"\x00", desc=desc), "\x00"),
        _texts(codecs.text(separator=b"_", desc=desc), "_"),
        Kind(codecs.get("raw", desc=desc), bytes, BYTES),
    )


KINDS = (*_kinds(desc=False), *_kinds(desc=True))
kinds = st.sampled_from(KINDS)


class Falling:
    """A value that sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Falling) -> bool:
        return bool(self.value > other.value)

    def __gt__(self, other: Falling) -> bool:
        return bool(self.value < other.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Falling) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]  # only ever compared


def rank(value: Any, *, desc: bool = False) -> Any:
    """Return something that sorts as stored values do: None, then -0.0 before 0.0, NaN last."""
    if isinstance(value, float):
        value = (1, 0.0, 0.0) if math.isnan(value) else (0, value, math.copysign(1, value))
    value = (0,) if value is None else (1, value)
    return Falling(value) if desc else value


def part_rank(codec: Codec[Any], value: Any, *, is_last: bool, ends: bool = False) -> Any:
    """Return what a part of a key sorts by: its value, or its bytes where a separator decides.

    Args:
        codec: The part's codec.
        value: Its value.
        is_last: Whether the key ends with it.
        ends: Whether it is ended even in the last place, as in an index entry.
    """
    separator = getattr(codec, "separator", None)
    if separator not in {None, b"\x00"} and not (is_last and not codec.desc and not ends):
        return rank(value.encode() + separator, desc=codec.desc)
    return rank(value, desc=codec.desc)


# --- times that share periods, and codecs whose bytes need not sort --------------------------------

NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
CLOSE_TIMES = (
    NEW_YEAR - timedelta(seconds=1),
    NEW_YEAR,
    NEW_YEAR + timedelta(seconds=1),
    NEW_YEAR + timedelta(hours=1),
    NEW_YEAR + timedelta(hours=1, minutes=1),
    NEW_YEAR + timedelta(days=1),
    NEW_YEAR + timedelta(days=31),
)
"""Some in one minute, hour, day and month, others at the very ends."""
FAR_TIMES = (EPOCH, datetime(2037, 12, 31, 23, 59, 59, tzinfo=UTC))
BESIDE_TIMES = tuple(
    at + timedelta(microseconds=us) for at in CLOSE_TIMES[:4] for us in (-1, 500, 1000)
)


def _is_exact(codec: Codec[Any], value: Any) -> bool:
    return bool(codec.normalize(value) == value)


def _times(codec: Codec[datetime]) -> Kind:
    beside = tuple(at for at in BESIDE_TIMES if _is_exact(codec, at))
    foreign = tuple(at for at in BESIDE_TIMES if at not in beside)
    return Kind(codec, datetime, CLOSE_TIMES + beside[:3], foreign + FAR_TIMES)


def _times_of(*, desc: bool) -> tuple[Kind, ...]:
    return (
        _times(codecs.millis(desc=desc)),
        _times(codecs.micros(desc=desc)),
        _times(codecs.seconds(desc=desc)),
        _times(codecs.seconds(width_bytes=4, desc=desc)),
        _times(codecs.strftime("%Y%m%d%H%M%S", desc=desc)),
        _times(codecs.get("phoenix.timestamp", desc=desc)),
    )


def _others_of(*, desc: bool) -> tuple[Kind, ...]:
    letters = tuple(text for text in TEXTS if text.isalpha())
    numbers = (-129, -128, -1, 0, 1, 127, 128)
    days = tuple(date(2024, 2, day) for day in (1, 2, 28, 29))
    return (
        Kind(codecs.get("ordered.utf8", desc=desc), str, letters),
        Kind(codecs.get("ordered.int32", desc=desc), int, numbers, (1 << 31,)),
        Kind(codecs.get("phoenix.bigint", desc=desc), int, numbers, (1 << 63,)),
        Kind(codecs.get("phoenix.varchar", desc=desc), str, letters),
        Kind(codecs.get("bytes.int32", desc=desc), int, numbers, (1 << 31,)),
        Kind(codecs.digits(3, desc=desc), int, (0, 1, 9, 10, 99, 100, 999), (-1, 1000)),
        Kind(codecs.digits(3, digit_reversed=True, desc=desc), int, (0, 1, 10, 100), (-1, 1000)),
        Kind(codecs.text(width_bytes=4, desc=desc), str, ("", "a", "ab", "abcd"), ("abcde",)),
        Kind(codecs.text(digit_reversed=True, desc=desc), str, ("a", "ab", "ba", "b")),
        Kind(codecs.date_(desc=desc), date, days, (date(2024, 3, 1),)),
    )


TIME_KINDS = (*_times_of(desc=False), *_times_of(desc=True))
OTHER_KINDS = (
    *(kind for kind in KINDS if kind.python_type is not datetime),
    *_others_of(desc=False),
    *_others_of(desc=True),
)
