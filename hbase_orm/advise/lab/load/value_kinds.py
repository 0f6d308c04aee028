"""The values of one field in a workload: how they are chosen, and what they are.

A choice is a whole number, the number of a value. `value_maker` makes the values of these numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from math import gcd
from typing import Any, Final, Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt

from hbase_orm.codecs import Codec
from hbase_orm.errors import ConfigurationError
from hbase_orm.rowkey.leading import listed_values

Numbers = npt.NDArray[np.int64]
"""Whole numbers, one for each sampled row."""

Kind = Literal["uniform", "zipf", "rising", "unique"]
"""How a field's values are chosen.

- "uniform": each of `distinct` values is equally likely.
- "zipf": the value of rank n is 1 / n ** exponent times as likely as the first one.
- "rising": the time at which the row is written, or its number.
- "unique": each row has a value of its own, in no order.
"""

LOAD_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When a simulated load begins: a fixed time, so that two runs have the same keys."""

_PAST: Final = timedelta(days=30)
_IP_NETWORK: Final = 10 << 24
_HASH_BYTES: Final = 16
_BITS_OF_IPV6_NETWORK: Final = 0xFD << 120
_SECONDS_OF_DAY: Final = 86_400
_MICRO: Final = timedelta(microseconds=1)
_GOLDEN_SECTION: Final = 0.618_033_988_75


@dataclass(frozen=True, slots=True)
class FieldValues:
    """How the values of a field are chosen, and what they are.

    Attributes:
        kind: How they are chosen.
        distinct: The number of values, for "uniform" and "zipf".
        exponent: The exponent of "zipf": with 1.1, the first of 10,000 values has 15 % of the rows.
        first: The first of whole numbers.
        text: The pattern of texts, with `{}` for the number; empty means the field's name.
        late_s: The longest delay in seconds from the time in the row to its write, for "rising".
        choices: Values with their weights, instead of numbered values.
    """

    kind: Kind = "uniform"
    distinct: int = 10_000
    exponent: float = 1.1
    first: int = 0
    text: str = ""
    late_s: float = 0.0
    choices: tuple[tuple[Any, float], ...] = ()


def chosen_numbers(
    values: FieldValues, row_numbers: Numbers, distinct: int, random: np.random.Generator
) -> Numbers:
    """Return the number of each row's value, from 0.

    Args:
        values: How they are chosen; "rising" is not chosen here.
        row_numbers: The numbers of the rows, from 0, in the order in which they are written.
        distinct: The number of values; for "unique" that of all rows, if the codec has so many.
        random: The source of randomness.
    """
    count = len(row_numbers)
    if values.choices:
        weights = np.array([weight for _, weight in values.choices], dtype=np.float64)
        return random.choice(len(weights), size=count, p=weights / weights.sum())
    if values.kind == "unique":
        return _shuffled(row_numbers, distinct)
    if values.kind == "uniform":
        return random.integers(0, distinct, size=count)
    shares = np.arange(1, distinct + 1, dtype=np.float64) ** -values.exponent
    ends = np.cumsum(shares / shares.sum())
    ranks = np.minimum(np.searchsorted(ends, random.random(count), side="right"), distinct - 1)
    # Frequent values are not the first ones in the order of values, and the same in every load.
    return np.random.default_rng(distinct).permutation(distinct)[ranks]


def _shuffled(row_numbers: Numbers, count: int) -> Numbers:
    """Return a number below `count` for each row: another one for each, and in no order.

    Multiples of a number without a common factor differ; the golden section spreads them evenly.
    """
    step = max(1, int(count * _GOLDEN_SECTION))
    while gcd(step, count) != 1:
        step += 1
    return np.array([number * step % count for number in row_numbers.tolist()], dtype=np.int64)


def count_of_values(values: FieldValues, codec: Codec[Any], rows: int) -> int:
    """Return how many values a field has: those that it lists or can store, at most `distinct`.

    Of "unique" there are as many as rows, if the field can store so many.
    """
    listed = listed_values(codec)
    if listed:
        return len(listed)
    most = rows if values.kind == "unique" else values.distinct
    if codec.python_type is int:
        first, last = _int_bounds(values, codec)
        return max(1, min(most, last - first + 1))
    width = codec.width_bytes
    if codec.python_type is str and width is not None:
        return int(min(most, 10**width))
    return most


def value_maker(name: str, values: FieldValues, codec: Codec[Any]) -> Callable[[int], Any]:
    """Return a function that makes the value with a number.

    Raises:
        ConfigurationError: Values of the codec's type cannot be made.
    """
    listed: Sequence[Any] = [value for value, _ in values.choices] or listed_values(codec)
    if listed:
        return lambda number: listed[number % len(listed)]
    kind = codec.python_type
    if kind is int:
        first, last = _int_bounds(values, codec)
        return lambda number: first + number % (last - first + 1)
    if kind is str:
        return _text_maker(name, values, codec)
    make = _MAKERS.get(kind)
    if make is None:
        raise ConfigurationError(
            "the lab cannot make values of this type",
            field=name,
            type=kind.__name__,
            fix="give the rows as a CSV file, or name values with choices= in the workload",
        )
    if kind is bytes:
        width = codec.width_bytes or _HASH_BYTES
        return lambda number: _hash(name, number, width)
    return lambda number: make(name, number)


def rising_maker(name: str, codec: Codec[Any]) -> Callable[[int, int], Any]:
    """Return a function that makes the value of a row from its number and its time.

    The time is in microseconds since `LOAD_START`.
    """
    kind = codec.python_type
    if issubclass(kind, datetime):
        return lambda _, micros: LOAD_START + micros * _MICRO
    if issubclass(kind, date):
        return lambda _, micros: (LOAD_START + micros * _MICRO).date()
    if kind is str:
        return lambda _, micros: (LOAD_START + micros * _MICRO).strftime("%Y%m%dT%H%M%S.%f")
    if kind is not int:
        raise ConfigurationError(
            "values of this type cannot rise with time", field=name, type=kind.__name__
        )
    return _rising_number(name, codec)


def _rising_number(name: str, codec: Codec[Any]) -> Callable[[int, int], int]:
    start_s = int(LOAD_START.timestamp())
    words = name.split("_")
    if not {"ts", "timestamp", "epoch", "at", "time", "ms", "millis", "us"} & set(words):
        return lambda number, _: number
    if "us" in words:
        return lambda _, micros: start_s * 1_000_000 + micros
    most = codec.maximum
    if "s" in words or (most is not None and most < start_s * 1000):
        return lambda _, micros: start_s + micros // 1_000_000
    return lambda _, micros: start_s * 1000 + micros // 1000


def _int_bounds(values: FieldValues, codec: Codec[Any]) -> tuple[int, int]:
    least, most = codec.minimum, codec.maximum
    first = values.first if least is None else max(values.first, int(least))
    last = first + (1 << 62) if most is None else int(most)
    if first > last:
        raise ConfigurationError(
            "the first number of a field is larger than the row key can store",
            first=values.first,
            most=last,
            fix="give a smaller first=",
        )
    return first, last


def _text_maker(name: str, values: FieldValues, codec: Codec[Any]) -> Callable[[int], str]:
    width = codec.width_bytes
    pattern = values.text or f"{name}-{{}}"
    if width is not None and not values.text:
        return lambda number: f"{number % 10**width:0{width}d}"
    return lambda number: pattern.replace("{}", str(number))


def _hash(name: str, number: int, width: int) -> bytes:
    return hashlib.shake_128(f"{name} {number}".encode()).digest(width)


_MAKERS: Final[dict[type, Callable[[str, int], Any]]] = {
    float: lambda _, number: float(number),
    bytes: lambda name, number: _hash(name, number, _HASH_BYTES),
    Decimal: lambda _, number: Decimal(number),
    UUID: lambda name, number: UUID(bytes=_hash(name, number, _HASH_BYTES), version=4),
    IPv4Address: lambda _, number: IPv4Address(_IP_NETWORK + number % (1 << 24)),
    IPv6Address: lambda _, number: IPv6Address(_BITS_OF_IPV6_NETWORK + number),
    timedelta: lambda _, number: timedelta(seconds=number),
    date: lambda _, number: (LOAD_START - timedelta(days=number % _PAST.days)).date(),
    datetime: lambda name, number: LOAD_START - _PAST * (_fraction(name, number)),
    time: lambda _, number: (LOAD_START + timedelta(seconds=number % _SECONDS_OF_DAY)).time(),
}
"""For each type, the function that makes a value of the field's name and a number."""


def _fraction(name: str, number: int) -> float:
    return int.from_bytes(_hash(name, number, 4), "big") / (1 << 32)
