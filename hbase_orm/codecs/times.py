"""Codecs that store datetimes as milliseconds or microseconds since 1970, in 8 bytes.

Datetimes must have a time zone, and are read back in UTC. The numbers are big-endian.

`millis` has the bytes that Java programs usually write: the `long` ms, from 0 to Long.MAX. If
descending, it is Long.MAX - ms. `micros` stores every datetime without loss. Its sign bit is
flipped, so that times before 1970 sort first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope, guarded

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_MAX = (1 << 63) - 1
_INT64_MIN = -(1 << 63)
_WIDTH_BYTES = 8
MICROS_PER_MILLI = 1000
MICROS_PER_SECOND = 1_000_000
_SECONDS_PER_DAY = 86_400
_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_MILLI = timedelta(milliseconds=1)
_MICRO = timedelta(microseconds=1)
SIGNED = struct.Struct(">q")
UNSIGNED = struct.Struct(">Q")


def micros_since_epoch(at: datetime) -> int:
    """Return the exact microseconds from 1970 to the aware datetime `at`."""
    span = at - EPOCH
    return (span.days * _SECONDS_PER_DAY + span.seconds) * MICROS_PER_SECOND + span.microseconds


_FIRST_MICROS = micros_since_epoch(_FIRST)
_LAST_MICROS = micros_since_epoch(_LAST)


@dataclass(frozen=True, slots=True)
class Instant(Codec[datetime]):
    """The base of codecs of aware datetimes, which are read back in UTC."""

    python_type: ClassVar[type] = datetime

    @property
    def canonical(self) -> bool:
        """Always True, because all times are stored in UTC."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 8 bytes, unless a subclass overrides it."""
        return _WIDTH_BYTES

    @property
    def coarse(self) -> bool:
        """Always True, because datetimes of other time zones are read back in UTC."""
        return True

    def compares(self, value: Any, /) -> bool:
        """Return whether the value is an aware datetime."""
        return isinstance(value, datetime) and value.utcoffset() is not None

    def comparable(self, value: Any, /) -> Any:
        """Return `value` in UTC, where no time is ambiguous."""
        try:
            return value.astimezone(UTC)
        except OverflowError:
            return value  # before year 1 or after 9999 in UTC: nothing stored equals it

    def checked_micros(self, value: Any) -> int:
        """Return the microseconds since the epoch.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is outside of years 1 to
                9999.
        """
        if not isinstance(value, datetime):
            raise self.refuse(value, "the value is not a datetime", expected="datetime")
        try:
            micros = micros_since_epoch(value)
        except TypeError:
            raise self.refuse(
                value,
                "the datetime has no time zone",
                fix="give its time zone: datetime(..., tzinfo=UTC)",
            ) from None
        if not _FIRST_MICROS <= micros <= _LAST_MICROS:
            raise self.refuse(value, "the time is out of range", minimum=_FIRST, maximum=_LAST)
        return micros

    def inline_units(self, value: str, scope: Scope, unit_micros: int) -> str:
        """Return the source of the number of whole units from 1970 to an aware datetime."""
        span = scope.local("span")
        first = f"({span} := {value} - {scope.bind(EPOCH, 'epoch')})"
        return units_source(first, span, unit_micros)

    def inline_utc(self, value: str, scope: Scope, packed: str) -> str:
        """Return source that uses `packed` for UTC times, and calls `encode` for other values."""
        is_utc = f"{value}.tzinfo is {scope.bind(UTC, 'utc')}"
        return guarded(value, datetime, packed, self.encode, scope, is_utc)

    def inline_whole(
        self,
        value: str,
        scope: Scope,
        unit_micros: int,
        first_year: int = MINYEAR,
        last_year: int = MAXYEAR,
    ) -> str:
        """Return the source of a test for UTC times of whole units between these years."""
        conditions = [
            f"{value}.__class__ is {scope.bind(datetime, 'kind')}",
            f"{value}.tzinfo is {scope.bind(UTC, 'utc')}",
        ]
        if unit_micros > 1:
            conditions.append(f"not {value}.microsecond % {unit_micros}")
        if (first_year, last_year) != (MINYEAR, MAXYEAR):
            conditions.append(f"{first_year} <= {value}.year <= {last_year}")
        return " and ".join(conditions)


def units_source(first: str, span: str, unit_micros: int) -> str:
    """Return the source of the number of whole units in a timedelta, rounded down.

    Args:
        first: The source of the timedelta, which also assigns it to the variable `span`.
        span: The name of the variable that then holds the timedelta.
        unit_micros: The unit in microseconds: 1, 1,000 or 1,000,000.
    """
    units_per_second = MICROS_PER_SECOND // unit_micros
    terms = [
        f"{first}.days * {_SECONDS_PER_DAY * units_per_second}",
        f"{span}.seconds * {units_per_second}" if units_per_second > 1 else f"{span}.seconds",
    ]
    if units_per_second > 1:
        rounded = f" // {unit_micros}" if unit_micros > 1 else ""
        terms.append(f"{span}.microseconds{rounded}")
    return f"({' + '.join(terms)})"


def _is_whole_utc(value: Any) -> bool:
    """Return whether `value` is a UTC time of whole milliseconds, which is the usual case."""
    return (
        isinstance(value, datetime)
        and value.tzinfo is UTC
        and value.year >= EPOCH.year
        and not value.microsecond % MICROS_PER_MILLI
    )


@dataclass(frozen=True, slots=True)
class Millis(Instant):
    """Datetimes as milliseconds since 1970; fractions of a millisecond are rounded down."""

    name: ClassVar[str] = "millis"

    @property
    def minimum(self) -> datetime:
        """The beginning of 1970."""
        return EPOCH

    def normalize(self, value: datetime, /) -> datetime:
        """Return `value` in UTC, rounded down to the millisecond.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is outside 1970 to 9999.
        """
        if _is_whole_utc(value):
            return value
        self.encode(value)
        utc = value.astimezone(UTC)
        return utc.replace(microsecond=utc.microsecond // MICROS_PER_MILLI * MICROS_PER_MILLI)

    def encode(self, value: datetime, /) -> bytes:
        """Return 8 bytes; fractions of a millisecond are rounded down.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is outside 1970 to 9999.
        """
        ms = self.checked_micros(value) // MICROS_PER_MILLI
        if ms < 0:
            raise self.refuse(value, "the time is before 1970", fix="use codecs.micros()")
        return (_LONG_MAX - ms if self.desc else ms).to_bytes(_WIDTH_BYTES, "big")

    def decode(self, data: bytes, /) -> datetime:
        """Return the datetime, in UTC.

        Raises:
            CodecError: The encoding does not have 8 bytes, or is a time beyond year 9999.
        """
        if len(data) != _WIDTH_BYTES:
            raise self.corrupt(data)
        ms = int.from_bytes(data, "big")
        if ms > _LONG_MAX:
            raise self.corrupt(data)
        try:
            return EPOCH + timedelta(0, 0, 0, _LONG_MAX - ms if self.desc else ms)
        except OverflowError:
            raise self.corrupt(data) from None

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the milliseconds, and fails for times before 1970."""
        ms = self.inline_units(value, scope, MICROS_PER_MILLI)
        pack = scope.bind((SIGNED if self.desc else UNSIGNED).pack, "pack")
        return self.inline_utc(
            value, scope, f"{pack}({_LONG_MAX} - {ms})" if self.desc else f"{pack}({ms})"
        )

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that adds the milliseconds to 1970, and fails after year 9999."""
        unpack = scope.bind((SIGNED if self.desc else UNSIGNED).unpack, "unpack")
        ms = f"({_LONG_MAX} - {unpack}({data})[0])" if self.desc else f"{unpack}({data})[0]"
        return f"({scope.bind(EPOCH, 'epoch')} + {scope.bind(_MILLI, 'milli')} * {ms})"

    def inline_settled(self, value: str, scope: Scope) -> str:
        """Return the source of a test for UTC times of whole milliseconds, from 1970 on."""
        return self.inline_whole(value, scope, MICROS_PER_MILLI, first_year=EPOCH.year)


@dataclass(frozen=True, slots=True)
class Micros(Instant):
    """Datetimes as microseconds since 1970, without loss, with the sign bit flipped."""

    name: ClassVar[str] = "micros"

    def normalize(self, value: datetime, /) -> datetime:
        """Return `value` in UTC.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is outside of years 1 to
                9999.
        """
        self.checked_micros(value)
        return value.astimezone(UTC)

    def encode(self, value: datetime, /) -> bytes:
        """Return 8 bytes.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is outside of years 1 to
                9999.
        """
        data = (self.checked_micros(value) - _INT64_MIN).to_bytes(_WIDTH_BYTES, "big")
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> datetime:
        """Return the datetime, in UTC.

        Raises:
            CodecError: The encoding does not have 8 bytes, or is a time outside years 1 to 9999.
        """
        if len(data) != _WIDTH_BYTES:
            raise self.corrupt(data)
        micros = int.from_bytes(invert(data) if self.desc else data, "big") + _INT64_MIN
        try:
            return EPOCH + timedelta(microseconds=micros)
        except OverflowError:
            raise self.corrupt(data) from None

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the microseconds."""
        micros, pack = self.inline_units(value, scope, 1), scope.bind(UNSIGNED.pack, "pack")
        number = f"{_LONG_MAX} - {micros}" if self.desc else f"{micros} + {-_INT64_MIN}"
        return self.inline_utc(value, scope, f"{pack}({number})")

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that adds microseconds to 1970 and fails outside years 1 to 9999."""
        packed = f"{scope.bind(UNSIGNED.unpack, 'unpack')}({data})[0]"
        micros = f"({_LONG_MAX} - {packed})" if self.desc else f"({packed} - {-_INT64_MIN})"
        return f"({scope.bind(EPOCH, 'epoch')} + {scope.bind(_MICRO, 'micro')} * {micros})"

    def inline_settled(self, value: str, scope: Scope) -> str:
        """Return the source of a test for UTC times."""
        return self.inline_whole(value, scope, 1)
