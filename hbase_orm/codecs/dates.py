"""Codecs that store datetimes, dates, times of day and timedeltas as numbers of fixed width.

Times that are finer than a codec's unit are rounded down. Dates and timedeltas are signed numbers.
Their sign bit is flipped, so that negative numbers sort first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope, guarded
from hbase_orm.codecs.times import (
    EPOCH,
    MICROS_PER_SECOND,
    SIGNED,
    UNSIGNED,
    Instant,
    units_source,
)
from hbase_orm.errors import SchemaError

_SECONDS_WIDTHS = (4, 8)
_SHORT = struct.Struct(">I")
_SHORT_LAST_YEAR = 2105  # the last year of which every second fits 4 bytes
_SECOND = timedelta(seconds=1)
_LONG_MAX = (1 << 63) - 1
_DAY_ZERO = date(1970, 1, 1).toordinal()
_DAYS_SIGN = 1 << 31
_SPAN_SIGN = 1 << 63
_MICROSECOND = timedelta(microseconds=1)
_MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
_SHORTEST = timedelta(microseconds=-_SPAN_SIGN)
_LONGEST = timedelta(microseconds=_SPAN_SIGN - 1)


@dataclass(frozen=True, slots=True)
class Seconds(Instant):
    """Datetimes as seconds since 1970, in 4 or 8 bytes.

    If descending, the stored number is the largest number minus the seconds. The largest number is
    Long.MAX with 8 bytes, and 0xFFFFFFFF with 4 bytes.

    Attributes:
        width_bytes: The width in bytes: 4, which suffices until 2106, or 8.
    """

    name: ClassVar[str] = "seconds"

    width_bytes: int = 8

    def __post_init__(self) -> None:
        """Raise an error for a width other than 4 or 8."""
        if self.width_bytes not in _SECONDS_WIDTHS:
            raise SchemaError(
                "the width of seconds must be 4 or 8 bytes",
                codec=self.name,
                width_bytes=self.width_bytes,
            )

    @property
    def minimum(self) -> datetime:
        """The beginning of 1970."""
        return EPOCH

    @property
    def maximum(self) -> datetime | None:
        """The last second that fits 4 bytes; None with 8 bytes."""
        return EPOCH + timedelta(seconds=self._last) if self.width_bytes == 4 else None  # noqa: PLR2004 - the short width

    @property
    def _last(self) -> int:
        return _LONG_MAX if self.width_bytes == 8 else (1 << 32) - 1  # noqa: PLR2004 - the long width

    def normalize(self, value: datetime, /) -> datetime:
        """Return `value` in UTC, rounded down to the second.

        Raises:
            CodecError: As for `encode`.
        """
        self.encode(value)
        return value.astimezone(UTC).replace(microsecond=0)

    def encode(self, value: datetime, /) -> bytes:
        """Return 4 or 8 bytes; fractions of a second are rounded down.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is out of range.
        """
        seconds = self.checked_micros(value) // MICROS_PER_SECOND
        if not 0 <= seconds <= self._last:
            raise self.refuse(
                value, "the time is out of range", minimum=EPOCH, maximum=self.maximum
            )
        return (self._last - seconds if self.desc else seconds).to_bytes(self.width_bytes, "big")

    def decode(self, data: bytes, /) -> datetime:
        """Return the datetime, in UTC.

        Raises:
            CodecError: The encoding has another width, or the time is after year 9999.
        """
        seconds = int.from_bytes(data, "big")
        if len(data) != self.width_bytes or seconds > self._last:
            raise self.corrupt(data)
        try:
            return EPOCH + timedelta(seconds=self._last - seconds if self.desc else seconds)
        except OverflowError:
            raise self.corrupt(data) from None

    @property
    def _layout(self) -> struct.Struct:
        if self.width_bytes == _SHORT.size:
            return _SHORT
        return SIGNED if self.desc else UNSIGNED  # beyond Long.MAX nothing packs or overflows not

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the seconds, and fails if they are out of range."""
        seconds = self.inline_units(value, scope, MICROS_PER_SECOND)
        pack = scope.bind(self._layout.pack, "pack")
        return self.inline_utc(
            value, scope, f"{pack}({self._last} - {seconds})" if self.desc else f"{pack}{seconds}"
        )

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that adds the seconds to 1970, and fails after year 9999."""
        packed = f"{scope.bind(self._layout.unpack, 'unpack')}({data})[0]"
        seconds = f"({self._last} - {packed})" if self.desc else packed
        return f"({scope.bind(EPOCH, 'epoch')} + {scope.bind(_SECOND, 'second')} * {seconds})"

    def inline_settled(self, value: str, scope: Scope) -> str:
        """Return the source of a test for UTC times of whole seconds.

        The test is false before 1970. It is also false in years of which some seconds do not fit
        the width.
        """
        last_year = _SHORT_LAST_YEAR if self.width_bytes == _SHORT.size else MAXYEAR
        return self.inline_whole(
            value, scope, MICROS_PER_SECOND, first_year=EPOCH.year, last_year=last_year
        )


@dataclass(frozen=True, slots=True)
class Date(Codec[date]):
    """Dates as days since 1970-01-01, in 4 bytes with the sign bit flipped."""

    name: ClassVar[str] = "date"
    python_type: ClassVar[type] = date

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 4 bytes."""
        return 4

    def accepts_type(self, value: Any, /) -> bool:
        """Return whether the value is a date and not a datetime, which is a subclass of date."""
        return isinstance(value, date) and not isinstance(value, datetime)

    def encode(self, value: date, /) -> bytes:
        """Return 4 bytes.

        Raises:
            CodecError: The value is not a date, or is a datetime.
        """
        if not self.accepts_type(value):
            raise self.refuse(
                value,
                "the value is not a date",
                expected="date",
                fix="convert a datetime with its date() method",
            )
        data = (value.toordinal() - _DAY_ZERO + _DAYS_SIGN).to_bytes(4, "big")
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> date:
        """Return the date.

        Raises:
            CodecError: The encoding does not have 4 bytes, or is a day outside years 1 to 9999.
        """
        days = int.from_bytes(invert(data) if self.desc else data, "big") - _DAYS_SIGN
        try:
            day = date.fromordinal(days + _DAY_ZERO)
        except (ValueError, OverflowError):
            raise self.corrupt(data) from None
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        return day

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the days since 1970."""
        day, pack = f"{value}.toordinal()", scope.bind(_SHORT.pack, "pack")
        since = _DAYS_SIGN - _DAY_ZERO
        number = f"{_DAYS_SIGN - 1 + _DAY_ZERO} - {day}" if self.desc else f"{day} + {since}"
        return guarded(value, date, f"{pack}({number})", self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that adds the days to 1970, and fails outside years 1 to 9999."""
        packed = f"{scope.bind(_SHORT.unpack, 'unpack')}({data})[0]"
        last = _DAYS_SIGN - 1 + _DAY_ZERO
        day = f"{last} - {packed}" if self.desc else f"{packed} - {_DAYS_SIGN - _DAY_ZERO}"
        return f"{scope.bind(date.fromordinal, 'day')}({day})"


@dataclass(frozen=True, slots=True)
class _TimeOfDay(Codec[time]):
    """The base of codecs that store a naive time of day as whole units since midnight.

    Attributes:
        unit_micros: The unit in microseconds.
        width: The width of every encoding in bytes.
    """

    python_type: ClassVar[type] = time
    unit_micros: ClassVar[int]
    width: ClassVar[int]

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        return self.width

    @property
    def coarse(self) -> bool:
        return True

    def compares(self, value: Any, /) -> bool:
        """Return whether the value is a time without a time zone."""
        return isinstance(value, time) and value.utcoffset() is None

    def normalize(self, value: time, /) -> time:
        return self.decode(self.encode(value))

    def encode(self, value: time, /) -> bytes:
        if not isinstance(value, time):
            raise self.refuse(value, "the value is not a datetime.time", expected="time")
        if value.tzinfo is not None:
            raise self.refuse(
                value,
                "the time of day has a time zone",
                fix="give it without tzinfo: value.replace(tzinfo=None)",
            )
        minutes = value.hour * 60 + value.minute
        micros = (minutes * 60 + value.second) * MICROS_PER_SECOND + value.microsecond
        data = (micros // self.unit_micros).to_bytes(self.width, "big")
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> time:
        units = int.from_bytes(invert(data) if self.desc else data, "big")
        if len(data) != self.width or units * self.unit_micros >= _MICROS_PER_DAY:
            raise self.corrupt(data)
        return (EPOCH + timedelta(microseconds=units * self.unit_micros)).time()


@dataclass(frozen=True, slots=True)
class MillisOfDay(_TimeOfDay):
    """Times of day as milliseconds since midnight, in 4 bytes."""

    name: ClassVar[str] = "millis_of_day"
    unit_micros: ClassVar[int] = 1000
    width: ClassVar[int] = 4


@dataclass(frozen=True, slots=True)
class MinuteOfDay(_TimeOfDay):
    """Times of day as minutes since midnight, in 2 bytes."""

    name: ClassVar[str] = "minute_of_day"
    unit_micros: ClassVar[int] = 60 * MICROS_PER_SECOND
    width: ClassVar[int] = 2


@dataclass(frozen=True, slots=True)
class Span(Codec[timedelta]):
    """Timedeltas of up to 292,000 years: microseconds in 8 bytes with the sign bit flipped."""

    name: ClassVar[str] = "timedelta"
    python_type: ClassVar[type] = timedelta

    @property
    def canonical(self) -> bool:
        """Always True: each value has only one encoding."""
        return True

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 8 bytes."""
        return 8

    @property
    def minimum(self) -> timedelta:
        """About -292,000 years."""
        return _SHORTEST

    @property
    def maximum(self) -> timedelta:
        """About 292,000 years."""
        return _LONGEST

    def encode(self, value: timedelta, /) -> bytes:
        """Return 8 bytes.

        Raises:
            CodecError: The value is not a timedelta, or is out of range.
        """
        if not isinstance(value, timedelta):
            raise self.refuse(value, "the value is not a timedelta", expected="timedelta")
        if not _SHORTEST <= value <= _LONGEST:
            raise self.refuse(
                value, "the timedelta is out of range", minimum=_SHORTEST, maximum=_LONGEST
            )
        data = (value // _MICROSECOND + _SPAN_SIGN).to_bytes(8, "big")
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> timedelta:
        """Return the timedelta.

        Raises:
            CodecError: The encoding does not have 8 bytes.
        """
        if len(data) != self.width_bytes:
            raise self.corrupt(data)
        micros = int.from_bytes(invert(data) if self.desc else data, "big") - _SPAN_SIGN
        return timedelta(microseconds=micros)

    def inline_encode(self, value: str, scope: Scope) -> str:
        """Return an expression that packs the microseconds, and fails if they are out of range."""
        micros, pack = units_source(value, value, 1), scope.bind(UNSIGNED.pack, "pack")
        number = f"{_SPAN_SIGN - 1} - {micros}" if self.desc else f"{micros} + {_SPAN_SIGN}"
        return guarded(value, timedelta, f"{pack}({number})", self.encode, scope)

    def inline_decode(self, data: str, scope: Scope) -> str:
        """Return an expression that multiplies one microsecond by the stored number."""
        packed = f"{scope.bind(UNSIGNED.unpack, 'unpack')}({data})[0]"
        micros = f"({_SPAN_SIGN - 1} - {packed})" if self.desc else f"({packed} - {_SPAN_SIGN})"
        return f"({scope.bind(_MICROSECOND, 'micro')} * {micros})"


CODECS: tuple[type[Codec[Any]], ...] = (Seconds, Date, MillisOfDay, MinuteOfDay, Span)
