"""Functions that return codecs, such as `codecs.uint32(desc=True)`, and default codecs of types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any, Literal
from uuid import UUID

from hbase_orm.codecs.base import Codec, T
from hbase_orm.codecs.choices import E, Enumerated, code_of
from hbase_orm.codecs.dates import Date, MillisOfDay, MinuteOfDay, Seconds, Span
from hbase_orm.codecs.fixed import NUL, Digits, FixedRaw, FixedText, ReversedText, Side
from hbase_orm.codecs.formats import Strftime
from hbase_orm.codecs.identifiers import IPv4, IPv6, Uuid
from hbase_orm.codecs.numbers import (
    Boolean,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from hbase_orm.codecs.ordered_numeric import SortedDecimal
from hbase_orm.codecs.structures import Json, MsgPack, Upgrade
from hbase_orm.codecs.text import Raw, Text
from hbase_orm.codecs.times import Micros, Millis
from hbase_orm.errors import SchemaError


def text(
    *,
    separator: bytes | None = None,
    width_bytes: int | None = None,
    pad: bytes = NUL,
    side: Side = "right",
    digit_reversed: bool = False,
    desc: bool = False,
) -> Codec[str]:
    """Return a codec of UTF-8 text.

    In a row key, text of varying length ends with `separator` if other parts follow it. Without a
    separator it ends with `00 01`, and every `00` in it is escaped. So any text fits.

    Args:
        separator: The bytes that end the text in a row key; values that contain them are refused.
        width_bytes: A fixed width instead of a separator. Shorter text is padded, longer text is
            refused.
        pad: The ASCII character of the padding; values that have it at the padded end are refused.
        side: The side on which padding is added, "left" or "right".
        digit_reversed: Whether the text is stored backwards. The bytes then do not sort like the
            text.
        desc: Whether larger values sort first.

    Raises:
        SchemaError: The parameters contradict each other.
    """
    if width_bytes is None:
        if (pad, side) != (NUL, "right"):
            raise SchemaError(
                "text of varying length cannot have padding",
                codec=Text.name,
                fix="give width_bytes=",
            )
        kind = ReversedText if digit_reversed else Text
        return kind(separator=separator, desc=desc)
    if separator is not None:
        raise SchemaError(
            "text of a fixed width cannot have a separator",
            codec=Text.name,
            fix="leave one of them out",
        )
    return FixedText(
        width_bytes=width_bytes, pad=pad, side=side, digit_reversed=digit_reversed, desc=desc
    )


def raw(*, width_bytes: int | None = None, desc: bool = False) -> Codec[bytes]:
    """Return a codec that stores bytes unchanged.

    With `width_bytes`, all values must have this length. Without it, they may have any length.
    """
    return Raw(desc=desc) if width_bytes is None else FixedRaw(width_bytes=width_bytes, desc=desc)


def digits(width_bytes: int, *, digit_reversed: bool = False, desc: bool = False) -> Codec[int]:
    """Return a codec of natural numbers as decimal digits with leading zeros.

    Args:
        width_bytes: The number of digits.
        digit_reversed: Whether the last digit is stored first. Consecutive numbers are then far
            apart, and the bytes do not sort like the numbers.
        desc: Whether larger values sort first.
    """
    return Digits(width_bytes=width_bytes, digit_reversed=digit_reversed, desc=desc)


def boolean(*, desc: bool = False) -> Codec[bool]:
    """Return a codec of bools in one byte, 00 or 01."""
    return Boolean(desc=desc)


def uint8(*, desc: bool = False) -> Codec[int]:
    """Return a codec of unsigned integers of 1 byte."""
    return UInt8(desc=desc)


def uint16(*, desc: bool = False) -> Codec[int]:
    """Return a codec of unsigned integers of 2 bytes."""
    return UInt16(desc=desc)


def uint32(*, desc: bool = False) -> Codec[int]:
    """Return a codec of unsigned integers of 4 bytes."""
    return UInt32(desc=desc)


def uint64(*, desc: bool = False) -> Codec[int]:
    """Return a codec of unsigned integers of 8 bytes."""
    return UInt64(desc=desc)


def int8(*, desc: bool = False) -> Codec[int]:
    """Return a codec of signed integers of 1 byte, whose bytes sort like the numbers."""
    return Int8(desc=desc)


def int16(*, desc: bool = False) -> Codec[int]:
    """Return a codec of signed integers of 2 bytes, whose bytes sort like the numbers."""
    return Int16(desc=desc)


def int32(*, desc: bool = False) -> Codec[int]:
    """Return a codec of signed integers of 4 bytes, whose bytes sort like the numbers."""
    return Int32(desc=desc)


def int64(*, desc: bool = False) -> Codec[int]:
    """Return a codec of signed integers of 8 bytes, whose bytes sort like the numbers."""
    return Int64(desc=desc)


def float64(*, desc: bool = False) -> Codec[float]:
    """Return a codec of floats as doubles in 8 bytes, which sort like the numbers."""
    return Float64(desc=desc)


def millis(*, desc: bool = False) -> Codec[datetime]:
    """Return a codec of datetimes as milliseconds since 1970.

    If descending, it stores Long.MAX minus the milliseconds, as Java programs usually do.
    """
    return Millis(desc=desc)


def micros(*, desc: bool = False) -> Codec[datetime]:
    """Return a codec of datetimes as microseconds since 1970, without loss."""
    return Micros(desc=desc)


def seconds(*, width_bytes: Literal[4, 8] = 8, desc: bool = False) -> Codec[datetime]:
    """Return a codec of datetimes as seconds since 1970; 4 bytes suffice until 2106."""
    return Seconds(width_bytes=width_bytes, desc=desc)


def strftime(format: str, /, *, desc: bool = False) -> Codec[datetime]:  # noqa: A002 - its name
    """Return a codec of datetimes as text in UTC, in a format such as "%Y%m%d".

    The format may have %Y %m %d %j %H %M %S %f %% and other ASCII text.

    Raises:
        SchemaError: The format has another directive, or repeats a unit. Or it leaves out a unit
            between its largest and its smallest unit.
    """
    return Strftime(format=format, desc=desc)


def date_(*, desc: bool = False) -> Codec[date]:
    """Return a codec of dates as days since 1970-01-01 in 4 bytes."""
    return Date(desc=desc)


def millis_of_day(*, desc: bool = False) -> Codec[time]:
    """Return a codec of times of day as milliseconds since midnight in 4 bytes."""
    return MillisOfDay(desc=desc)


def minute_of_day(*, desc: bool = False) -> Codec[time]:
    """Return a codec of times of day as minutes since midnight in 2 bytes."""
    return MinuteOfDay(desc=desc)


def timedelta_(*, desc: bool = False) -> Codec[timedelta]:
    """Return a codec of timedeltas as signed microseconds in 8 bytes."""
    return Span(desc=desc)


def uuid(*, desc: bool = False) -> Codec[UUID]:
    """Return a codec of UUIDs in 16 bytes."""
    return Uuid(desc=desc)


def decimal(*, desc: bool = False) -> Codec[Decimal]:
    """Return a codec of Decimals with at most 31 digits.

    Its bytes are those of the codec "ordered.numeric".
    """
    return SortedDecimal(desc=desc)


def ipv4(*, desc: bool = False) -> Codec[IPv4Address]:
    """Return a codec of IPv4 addresses in 4 bytes."""
    return IPv4(desc=desc)


def ipv6(*, desc: bool = False) -> Codec[IPv6Address]:
    """Return a codec of IPv6 addresses in 16 bytes."""
    return IPv6(desc=desc)


def enum(type_: type[E], /, *, desc: bool = False) -> Codec[E]:
    """Return a codec that stores each enum member as its value.

    The values are stored by the default codec of their type.

    Raises:
        SchemaError: The argument is not an enum, or its values have several types. Or no default
            codec can store all of its values.
    """
    if not isinstance(type_, type) or not issubclass(type_, Enum):
        raise SchemaError(
            "the argument is not an Enum class",
            codec=Enumerated.name,
            got=type_,
            fix="give a subclass of enum.Enum",
        )
    kinds = {type(member.value) for member in type_}
    inner = _DEFAULTS.get(kinds.pop()) if len(kinds) == 1 else None
    if inner is None:
        raise SchemaError(
            "no default codec stores the values of all members",
            codec=Enumerated.name,
            enum=type_.__name__,
            fix="give all members values of one type that has a default codec, such as str or int, "
            "or write codecs.code({...})",
        )
    return Enumerated(type_=type_, inner=inner, desc=desc)


def code(values: Mapping[T, bytes], /, *, desc: bool = False) -> Codec[T]:
    """Return a codec of a few values, each with its own short code.

    Raises:
        SchemaError: A code is empty or a prefix of another.
    """
    return code_of(values, desc=desc)


def json(
    type_: type[T], /, *, version: int = 1, upgrades: Mapping[int, Upgrade] | None = None
) -> Codec[T]:
    """Return a codec of dataclasses, lists, sets, dicts, attrs and pydantic values as JSON.

    Args:
        type_: The type of the values, for example `list[Line]`.
        version: The version number that is written.
        upgrades: For each earlier version number, a function. It takes a value's fields as a dict,
            and returns the dict of the next version.

    Raises:
        SchemaError: The type cannot be packed, or an upgrade is missing.
    """
    return Json(type_=type_, version=version, upgrades=dict(upgrades or {}))


def msgpack(
    type_: type[T], /, *, version: int = 1, upgrades: Mapping[int, Upgrade] | None = None
) -> Codec[T]:
    """Return a codec of the same types as `json`, which stores them as MessagePack.

    MessagePack is smaller than JSON, stores bytes unchanged, and can store NaN.

    Args:
        type_: The type of the values, for example `list[Line]`.
        version: The version number that is written.
        upgrades: For each earlier version number, a function. It takes a value's fields as a dict,
            and returns the dict of the next version.

    Raises:
        SchemaError: The type cannot be packed, or an upgrade is missing.
    """
    return MsgPack(type_=type_, version=version, upgrades=dict(upgrades or {}))


def default_codecs() -> Mapping[type, Codec[Any]]:
    """Return the default codecs of all types except enums, by type; see `default_codec`."""
    return _DEFAULTS


_DEFAULTS: Mapping[type, Codec[Any]] = MappingProxyType(
    {
        str: Text(),
        int: Int64(),
        float: Float64(),
        bool: Boolean(),
        bytes: Raw(),
        datetime: Micros(),
        date: Date(),
        timedelta: Span(),
        Decimal: SortedDecimal(),
        UUID: Uuid(),
        IPv4Address: IPv4(),
        IPv6Address: IPv6(),
    }
)


def default_codec(annotation: Any) -> Codec[Any] | None:
    """Return the default codec of a type; None if the type has none.

    The default codec of an enum is `enum(annotation)`.

    Raises:
        SchemaError: As for `enum`.
    """
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return enum(annotation)
    return _DEFAULTS.get(annotation)
