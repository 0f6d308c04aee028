"""The typed way to name a codec, `codecs.uint32(desc=True)`, and the codecs of annotations."""

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
    """Return UTF-8; within a row key it ends with `separator` or, without one, escaped.

    Args:
        separator: Ends the text; values that hold it are refused.
        width_bytes: One width instead: shorter text is padded, longer text refused.
        pad: The ASCII character that pads; values that have it at their own end are refused.
        side: Where it pads.
        digit_reversed: Store the text backwards. It does not sort then.
        desc: Sort the other way round.

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
    """Return bytes as they are, of any length or of exactly one."""
    return Raw(desc=desc) if width_bytes is None else FixedRaw(width_bytes=width_bytes, desc=desc)


def digits(width_bytes: int, *, digit_reversed: bool = False, desc: bool = False) -> Codec[int]:
    """Return a natural number as decimal digits with leading zeros.

    Args:
        width_bytes: How many digits.
        digit_reversed: Last digit first: consecutive numbers lie far apart, and do not sort.
        desc: Sort the other way round.
    """
    return Digits(width_bytes=width_bytes, digit_reversed=digit_reversed, desc=desc)


def boolean(*, desc: bool = False) -> Codec[bool]:
    """Return one byte, 00 or 01."""
    return Boolean(desc=desc)


def uint8(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 1 byte."""
    return UInt8(desc=desc)


def uint16(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 2 bytes."""
    return UInt16(desc=desc)


def uint32(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 4 bytes."""
    return UInt32(desc=desc)


def uint64(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 8 bytes."""
    return UInt64(desc=desc)


def int8(*, desc: bool = False) -> Codec[int]:
    """Return a signed integer of 1 byte, sign bit flipped."""
    return Int8(desc=desc)


def int16(*, desc: bool = False) -> Codec[int]:
    """Return a signed integer of 2 bytes, sign bit flipped."""
    return Int16(desc=desc)


def int32(*, desc: bool = False) -> Codec[int]:
    """Return a signed integer of 4 bytes, sign bit flipped."""
    return Int32(desc=desc)


def int64(*, desc: bool = False) -> Codec[int]:
    """Return a signed integer of 8 bytes, sign bit flipped."""
    return Int64(desc=desc)


def float64(*, desc: bool = False) -> Codec[float]:
    """Return a double in 8 bytes that sort."""
    return Float64(desc=desc)


def millis(*, desc: bool = False) -> Codec[datetime]:
    """Return milliseconds since the epoch; descending, Long.MAX minus them."""
    return Millis(desc=desc)


def micros(*, desc: bool = False) -> Codec[datetime]:
    """Return microseconds since the epoch: lossless."""
    return Micros(desc=desc)


def seconds(*, width_bytes: Literal[4, 8] = 8, desc: bool = False) -> Codec[datetime]:
    """Return seconds since the epoch; in 4 bytes until 2106."""
    return Seconds(width_bytes=width_bytes, desc=desc)


def strftime(format: str, /, *, desc: bool = False) -> Codec[datetime]:  # noqa: A002 - its name
    """Return the UTC time as text, of %Y %m %d %j %H %M %S %f %% and other ASCII text.

    Raises:
        SchemaError: The format holds something else, or leaves a unit out.
    """
    return Strftime(format=format, desc=desc)


def date_(*, desc: bool = False) -> Codec[date]:
    """Return days since 1970-01-01 in 4 bytes."""
    return Date(desc=desc)


def millis_of_day(*, desc: bool = False) -> Codec[time]:
    """Return milliseconds since midnight in 4 bytes."""
    return MillisOfDay(desc=desc)


def minute_of_day(*, desc: bool = False) -> Codec[time]:
    """Return minutes since midnight in 2 bytes."""
    return MinuteOfDay(desc=desc)


def timedelta_(*, desc: bool = False) -> Codec[timedelta]:
    """Return microseconds, signed, in 8 bytes."""
    return Span(desc=desc)


def uuid(*, desc: bool = False) -> Codec[UUID]:
    """Return the 16 bytes of a UUID."""
    return Uuid(desc=desc)


def decimal(*, desc: bool = False) -> Codec[Decimal]:
    """Return a Decimal of at most 31 digits in bytes that sort, those of `ordered.numeric`."""
    return SortedDecimal(desc=desc)


def ipv4(*, desc: bool = False) -> Codec[IPv4Address]:
    """Return the 4 bytes of an address."""
    return IPv4(desc=desc)


def ipv6(*, desc: bool = False) -> Codec[IPv6Address]:
    """Return the 16 bytes of an address."""
    return IPv6(desc=desc)


def enum(type_: type[E], /, *, desc: bool = False) -> Codec[E]:
    """Return the members of an enum by their values, with the default codec of the values.

    Raises:
        SchemaError: No enum, or its values are of several types, or of one without a default codec.
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
            "the values of the members do not have the same type, so no single codec stores "
            "them all",
            codec=Enumerated.name,
            enum=type_.__name__,
            fix="give all members values of the same type, or write codecs.code({...})",
        )
    return Enumerated(type_=type_, inner=inner, desc=desc)


def code(values: Mapping[T, bytes], /, *, desc: bool = False) -> Codec[T]:
    """Return each of a few values as its own short code.

    Raises:
        SchemaError: An empty code, or one that another one starts with.
    """
    return code_of(values, desc=desc)


def json(
    type_: type[T], /, *, version: int = 1, upgrades: Mapping[int, Upgrade] | None = None
) -> Codec[T]:
    """Return JSON of dataclasses, lists, sets, dicts, attrs and pydantic values.

    Args:
        type_: What is stored, also `list[Line]`.
        version: The version that is written.
        upgrades: For each earlier version, what makes the next one's fields of its fields.

    Raises:
        SchemaError: The type cannot be packed, or an upgrade is missing.
    """
    return Json(type_=type_, version=version, upgrades=dict(upgrades or {}))


def msgpack(
    type_: type[T], /, *, version: int = 1, upgrades: Mapping[int, Upgrade] | None = None
) -> Codec[T]:
    """Return MessagePack of what `json` takes; smaller, and it knows NaN and bytes.

    Args:
        type_: What is stored, also `list[Line]`.
        version: The version that is written.
        upgrades: For each earlier version, what makes the next one's fields of its fields.

    Raises:
        SchemaError: The type cannot be packed, or an upgrade is missing.
    """
    return MsgPack(type_=type_, version=version, upgrades=dict(upgrades or {}))


def default_codecs() -> Mapping[type, Codec[Any]]:
    """Return the codecs of fields that name none, by the type of their annotation."""
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
    """Return the codec of a field that names none; enums are stored by their values.

    Raises:
        SchemaError: An enum whose values have no codec in common.
    """
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return enum(annotation)
    return _DEFAULTS.get(annotation)
