"""Phoenix's DATE, TIME and TIMESTAMP: milliseconds since 1970, with nanoseconds in a TIMESTAMP.

All of these codecs encode datetimes with a time zone, because even a Phoenix DATE has a time of
day. The unsigned types begin at 1970. DATE and TIME round times down to milliseconds when they are
written. A TIMESTAMP's nanoseconds are rounded down to microseconds when they are read. `desc`
inverts every byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import MINYEAR, UTC, datetime, timedelta
from typing import Any, ClassVar

from hbase_orm.codecs.base import Codec, invert
from hbase_orm.codecs.source import Scope
from hbase_orm.codecs.times import EPOCH, MICROS_PER_MILLI, UNSIGNED, Instant

_MILLIS_BYTES = 8
_TIMESTAMP_BYTES = 12
_SIGN = 1 << 63
_NANOS_PER_MICRO = 1000
_NANOS_PER_MILLI = 1_000_000
_MILLI = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class _PhoenixInstant(Instant):
    is_unsigned: ClassVar[bool] = False

    @property
    def minimum(self) -> datetime | None:
        """The beginning of 1970 if unsigned, else None."""
        return EPOCH if self.is_unsigned else None

    def millis_bytes(self, value: Any) -> tuple[bytes, int]:
        """Return the ascending bytes of the milliseconds, and the remaining microseconds."""
        ms, micros = divmod(self.checked_micros(value), MICROS_PER_MILLI)
        if self.is_unsigned and ms < 0:
            raise self.refuse(value, "the time is before 1970", minimum=EPOCH)
        return (ms if self.is_unsigned else ms + _SIGN).to_bytes(_MILLIS_BYTES, "big"), micros

    def at(self, data: bytes, plain: bytes, micros: int) -> datetime:
        """Return the datetime, in UTC, that an encoding stands for.

        Args:
            data: The whole encoding, for the error.
            plain: The ascending bytes of the milliseconds.
            micros: The remaining microseconds.

        Raises:
            CodecError: The time is outside years 1 to 9999.
        """
        ms = int.from_bytes(plain, "big") - (0 if self.is_unsigned else _SIGN)
        try:
            return EPOCH + timedelta(milliseconds=ms, microseconds=micros)
        except OverflowError:
            raise self.corrupt(data) from None


@dataclass(frozen=True, slots=True)
class PhoenixDate(_PhoenixInstant):
    """DATE: milliseconds since 1970, with the sign bit flipped."""

    name: ClassVar[str] = "phoenix.date"

    def normalize(self, value: datetime, /) -> datetime:
        """Return `value` in UTC, rounded down to the millisecond.

        Raises:
            CodecError: As for `encode`.
        """
        self.encode(value)
        utc = value.astimezone(UTC)
        return utc.replace(microsecond=utc.microsecond // MICROS_PER_MILLI * MICROS_PER_MILLI)

    def encode(self, value: datetime, /) -> bytes:
        """Return 8 bytes; fractions of a millisecond are rounded down.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is out of range.
        """
        data, _ = self.millis_bytes(value)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> datetime:
        """Return the datetime, in UTC.

        Raises:
            CodecError: The encoding does not have 8 bytes, or is a time outside years 1 to 9999.
        """
        if len(data) != _MILLIS_BYTES:
            raise self.corrupt(data)
        return self.at(data, invert(data) if self.desc else data, 0)

    def inline_encode(self, value: str, scope: Scope) -> str | None:
        """Return an expression that packs the milliseconds; None for the unsigned types."""
        if self.is_unsigned:
            return None
        ms, pack = self.inline_units(value, scope, MICROS_PER_MILLI), scope.bind(UNSIGNED.pack, "p")
        number = f"{_SIGN - 1} - {ms}" if self.desc else f"{ms} + {_SIGN}"
        return self.inline_utc(value, scope, f"{pack}({number})")

    def inline_decode(self, data: str, scope: Scope) -> str | None:
        """Return an expression that adds the milliseconds to 1970; None for the unsigned types.

        The expression fails for times outside years 1 to 9999.
        """
        if self.is_unsigned:
            return None
        packed = f"{scope.bind(UNSIGNED.unpack, 'unpack')}({data})[0]"
        ms = f"({_SIGN - 1} - {packed})" if self.desc else f"({packed} - {_SIGN})"
        return f"({scope.bind(EPOCH, 'epoch')} + {scope.bind(_MILLI, 'milli')} * {ms})"

    def inline_settled(self, value: str, scope: Scope) -> str:
        """Return the source of a test for UTC times of whole milliseconds.

        For the unsigned types the test is true only from 1970 on.
        """
        first_year = EPOCH.year if self.is_unsigned else MINYEAR
        return self.inline_whole(value, scope, MICROS_PER_MILLI, first_year=first_year)


@dataclass(frozen=True, slots=True)
class PhoenixTime(PhoenixDate):
    """TIME: the same encoding as DATE."""

    name: ClassVar[str] = "phoenix.time"


@dataclass(frozen=True, slots=True)
class UnsignedDate(PhoenixDate):
    """UNSIGNED_DATE: milliseconds since 1970."""

    name: ClassVar[str] = "phoenix.unsigned_date"
    is_unsigned: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class UnsignedTime(PhoenixDate):
    """UNSIGNED_TIME: the same encoding as UNSIGNED_DATE."""

    name: ClassVar[str] = "phoenix.unsigned_time"
    is_unsigned: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class PhoenixTimestamp(_PhoenixInstant):
    """TIMESTAMP: a DATE, then the remaining nanoseconds in 4 bytes."""

    name: ClassVar[str] = "phoenix.timestamp"

    @property
    def canonical(self) -> bool:
        """Always False, because nanoseconds are rounded down when they are read."""
        return False

    @property
    def width_bytes(self) -> int:
        """The width of every encoding: 12 bytes."""
        return _TIMESTAMP_BYTES

    def normalize(self, value: datetime, /) -> datetime:
        """Return `value` in UTC.

        Raises:
            CodecError: As for `encode`.
        """
        self.encode(value)
        return value.astimezone(UTC)

    def encode(self, value: datetime, /) -> bytes:
        """Return 12 bytes.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is out of range.
        """
        data, micros = self.millis_bytes(value)
        data += (micros * _NANOS_PER_MICRO).to_bytes(_TIMESTAMP_BYTES - _MILLIS_BYTES, "big")
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> datetime:
        """Return the datetime, in UTC, rounded down to the microsecond.

        Raises:
            CodecError: The encoding does not have 12 bytes, or is a time outside years 1 to 9999.
        """
        plain = invert(data) if self.desc else data
        nanos = int.from_bytes(plain[_MILLIS_BYTES:], "big")
        if len(data) != _TIMESTAMP_BYTES or nanos >= _NANOS_PER_MILLI:
            raise self.corrupt(data)
        return self.at(data, plain[:_MILLIS_BYTES], nanos // _NANOS_PER_MICRO)


@dataclass(frozen=True, slots=True)
class UnsignedTimestamp(PhoenixTimestamp):
    """UNSIGNED_TIMESTAMP: a TIMESTAMP from 1970 on, without a flipped sign bit."""

    name: ClassVar[str] = "phoenix.unsigned_timestamp"
    is_unsigned: ClassVar[bool] = True


CODECS: tuple[type[Codec[Any]], ...] = (
    *(PhoenixDate, PhoenixTime, PhoenixTimestamp),
    *(UnsignedDate, UnsignedTime, UnsignedTimestamp),
)
