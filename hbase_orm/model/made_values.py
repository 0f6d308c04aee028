"""Made-up values and objects of a model, for tests and estimates: numbered, and all different."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final
from uuid import UUID

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, ConfigurationError
from hbase_orm.rowkey.leading import listed_values

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SECONDS_OF_DAY: Final = 86_400
_DIGEST_BYTES: Final = 16
_IPV4_NETWORK: Final = 10 << 24
_IPV4_ADDRESSES: Final = 1 << 32
_IPV6_NETWORK: Final = 0xFD << 120
_LONGEST_S: Final = int((datetime.max.replace(tzinfo=UTC) - _START).total_seconds())
"""From the first made-up time to the last one that Python knows; later ones begin again."""

_MANY: Final = 1_000_000_000  # values of types that hold some four bytes

_MAKERS: Final[dict[type, Callable[[int], Any]]] = {
    bool: lambda n: n % 2 == 1,
    float: float,
    Decimal: Decimal,
    datetime: lambda n: _START + timedelta(seconds=n % _LONGEST_S),
    date: lambda n: _START.date() + timedelta(days=n % (_LONGEST_S // _SECONDS_OF_DAY)),
    time: lambda n: (_START + timedelta(seconds=n % _SECONDS_OF_DAY)).time(),
    timedelta: lambda n: timedelta(seconds=n % _LONGEST_S),
    UUID: lambda n: UUID(bytes=_digest(n, _DIGEST_BYTES)),
    IPv4Address: lambda n: IPv4Address((_IPV4_NETWORK + n) % _IPV4_ADDRESSES),
    IPv6Address: lambda n: IPv6Address(_IPV6_NETWORK + n),
}


def accepts(codec: Codec[Any], value: object) -> bool:
    """Return whether a codec can store a value."""
    try:
        codec.encode(value)
    except CodecError:
        return False
    return True


def numbered_value(
    name: str, codec: Codec[Any], number: int, validate: Callable[[Any], None] | None = None
) -> Any:
    """Return the value of a field with a number, from 1.

    Values with different numbers are different as far as codec and validator allow so many.

    Raises:
        ConfigurationError: Values of the codec's type cannot be made, or the validator refuses
            those that were tried.
    """
    for value in _candidates(name, codec, number):
        if accepts(codec, value) and not _is_refused(value, validate):
            return value
    raise ConfigurationError(
        "no values of this field can be made",
        field=name,
        type=codec.python_type.__name__,
        codec=codec.name,
        fix=f"give the value of {name}, or a function of its number",
    )


def made_arguments(model: Any, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor's arguments for the object of a model with a number, from 1.

    Args:
        model: The model.
        number: The number.
        given: Values of fields, or functions that get the number and return them. Other fields that
            have no default get made-up values.

    Raises:
        ConfigurationError: Values of a field cannot be made; the error names it.
    """
    made = {name: each(number) if callable(each) else each for name, each in given.items()}
    codecs = model.__schema__.codecs
    for name, parameter in inspect.signature(model).parameters.items():
        if parameter.default is inspect.Parameter.empty and name not in made:
            validate = model.__schema__.fields[name].validate
            made[name] = numbered_value(name, codecs[name], number, validate)
    return made


def _candidates(name: str, codec: Codec[Any], number: int) -> Iterator[Any]:
    """Yield the usual value, then smaller ones, which validators are likelier to accept."""
    for smaller in (number, number % _MANY, number % 100, 1 + number % 10, number % 2):
        value = _numbered(name, codec, smaller)
        if value is not None:
            yield value


def _is_refused(value: object, validate: Callable[[Any], None] | None) -> bool:
    if validate is None:
        return False
    try:
        validate(value)
    except ValueError:
        return True
    return False


def _numbered(name: str, codec: Codec[Any], number: int) -> Any:
    if listed := listed_values(codec):
        return listed[number % len(listed)]
    kind = codec.python_type
    if kind is int:
        low, high = codec.minimum, codec.maximum
        first = 0 if low is None or low <= 0 else low
        return first + number if high is None else first + number % (high - first + 1)
    if kind is str:
        width = codec.width_bytes
        return f"{name}-{number}" if width is None else f"{number:0{width}}"[-width:]
    if kind is bytes:
        return _digest(number, codec.width_bytes or _DIGEST_BYTES)
    if issubclass(kind, dict | list | set | frozenset | tuple):
        return kind()
    make = _MAKERS.get(kind)
    return None if make is None else make(number)


def _digest(number: int, size: int) -> bytes:
    return hashlib.shake_128(number.to_bytes(8, "big")).digest(size)
