"""Calendar periods in UTC: the start of a time's hour, day or month, and the following period.

A period may also be several minutes or hours long: `unit_of("minute", 5)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

from hbase_orm.codecs.times import EPOCH
from hbase_orm.errors import SchemaError

MONTHS_OF_YEAR: Final = 12
_DIRECTIVE: Final = re.compile(r"%(.)", re.DOTALL)
_PATTERNS: Final[Mapping[str, str]] = MappingProxyType(
    {"Y": r"(?P<Y>\d{4})", "m": r"(?P<m>\d\d)", "d": r"(?P<d>\d\d)", "H": r"(?P<H>\d\d)"}
)


@dataclass(frozen=True, slots=True)
class Unit:
    """A kind of period: a minute, hour, day, month or year, or several minutes or hours.

    Attributes:
        name: "minute", "hour", "day", "month" or "year".
        step: The length of each period; None if periods have different lengths.
        longest: The length of the longest period.
        directives: The letters of the `strftime` fields that a table's name needs to identify a
            period. "?" if there are no tables for this unit.
        every: The number of minutes or hours of a period; 1 for the other units.
    """

    name: str
    step: timedelta | None
    longest: timedelta
    directives: str
    every: int = 1

    def __str__(self) -> str:
        """Return the unit in words: "hour", or "5 minutes"."""
        return self.name if self.every == 1 else f"{self.every} {self.name}s"

    def start(self, at: datetime) -> datetime:
        """Return the start, in UTC, of the period that contains the aware datetime `at`."""
        at = at.astimezone(UTC)
        if self.name == "month":
            return datetime(at.year, at.month, 1, tzinfo=UTC)
        if self.name == "year":
            return datetime(at.year, 1, 1, tzinfo=UTC)
        if self.name == "day":
            return datetime(at.year, at.month, at.day, tzinfo=UTC)
        if self.name == "hour":
            return datetime(at.year, at.month, at.day, at.hour - at.hour % self.every, tzinfo=UTC)
        minute = at.minute - at.minute % self.every
        return datetime(at.year, at.month, at.day, at.hour, minute, tzinfo=UTC)

    def number(self, start: datetime) -> int:
        """Return the number of the period that begins at `start`; numbers are consecutive."""
        if self.step is not None:
            return (start - EPOCH) // self.step
        return start.year if self.name == "year" else start.year * MONTHS_OF_YEAR + start.month

    def following(self, start: datetime) -> datetime | None:
        """Return the start of the next period; None after the last possible datetime."""
        try:
            if self.step is not None:
                return start + self.step
            if self.name == "year" or start.month == MONTHS_OF_YEAR:
                return start.replace(year=start.year + 1, month=1)
            return start.replace(month=start.month + 1)
        except (OverflowError, ValueError):
            return None

    def contains(self, other: Unit) -> bool:
        """Return whether each period of another unit is within one period of this unit."""
        if self.step is None or other.step is None:
            return self.longest >= other.longest
        return self.step % other.step == timedelta()

    def starts(self, first: datetime, last: datetime) -> Iterator[datetime]:
        """Yield the start of each period, from the one that contains `first` to that of `last`."""
        start: datetime | None = self.start(first)
        while start is not None and start <= last:
            yield start
            start = self.following(start)

    def check_pattern(self, pattern: str) -> None:
        """Raise an error if a name with `strftime` fields does not distinguish the periods.

        Raises:
            SchemaError: A field is missing, repeated, unknown, in the wrong order, or finer than
                the period.
        """
        directives = _DIRECTIVE.findall(pattern)
        if directives != list(self.directives):
            needed = "".join(f"%{directive}" for directive in self.directives)
            raise SchemaError(
                "the table's name must have every unit that distinguishes the periods, from "
                "the largest to the smallest",
                name=pattern,
                period=self.name,
                fix=f"use each of {needed or 'the units'} once, in this order",
            )

    def name_of(self, pattern: str, start: datetime) -> str:
        """Return the table name that `pattern` gives to the period that begins at `start`."""
        shown = {"Y": f"{start.year:04}", "m": f"{start.month:02}"}
        shown |= {"d": f"{start.day:02}", "H": f"{start.hour:02}"}
        return _DIRECTIVE.sub(lambda match: shown[match[1]], pattern)

    def start_of(self, pattern: str, name: str) -> datetime | None:
        """Return the start of the period whose table has this name, or None if no period has it."""
        literals = _DIRECTIVE.split(pattern)
        expression = "".join(
            _PATTERNS[piece] if number % 2 else re.escape(piece)
            for number, piece in enumerate(literals)
        )
        match = re.fullmatch(expression, name, re.ASCII)
        if match is None:
            return None
        fields = {"Y": 1970, "m": 1, "d": 1, "H": 0}
        fields |= {directive: int(text) for directive, text in match.groupdict().items()}
        try:
            return datetime(fields["Y"], fields["m"], fields["d"], fields["H"], tzinfo=UTC)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class TablePeriod:
    """The checked declaration of one table for each period.

    Attributes:
        pattern: The pattern of the tables' names, with `strftime` fields.
        field: The key field that holds the time.
        unit: The unit of the periods.
        is_made_by_writes: Whether a write creates a missing table.
    """

    pattern: str
    field: str
    unit: Unit
    is_made_by_writes: bool = False

    def table_of(self, time: datetime) -> str:
        """Return the name of the table that holds the rows of a time."""
        return self.unit.name_of(self.pattern, self.unit.start(time))


UNITS: Final[Mapping[str, Unit]] = MappingProxyType(
    {
        unit.name: unit
        for unit in (
            Unit("minute", timedelta(minutes=1), timedelta(minutes=1), "?"),
            Unit("hour", timedelta(hours=1), timedelta(hours=1), "YmdH"),
            Unit("day", timedelta(days=1), timedelta(days=1), "Ymd"),
            Unit("month", None, timedelta(days=31), "Ym"),
            Unit("year", None, timedelta(days=366), "Y"),
        )
    }
)
"""Every unit of time, by name."""


# A period of an hour or of a day has a name of its own: "hour", "day".
_WHOLES: Final[Mapping[str, int]] = MappingProxyType({"minute": 60, "hour": 24})


def unit_of(name: str, every: int = 1) -> Unit:
    """Return a unit of time, or a period of `every` minutes or hours.

    The periods begin with the hour (minutes) or with the day in UTC (hours), so `every` must divide
    60 or 24.

    Raises:
        SchemaError: The unit is unknown, or `every` does not divide its hour or day; the error
            names the known units, or the allowed numbers.
    """
    if not isinstance(name, str) or name not in UNITS:
        raise SchemaError("no period has this name", unit=name, known=tuple(UNITS))
    whole = _WHOLES.get(name, 1)
    allowed = tuple(number for number in range(1, whole) if whole % number == 0) or (1,)
    if not isinstance(every, int) or isinstance(every, bool) or every not in allowed:
        raise SchemaError(
            "periods of this length do not divide the hour (minutes) or the day (hours)",
            unit=name,
            every=every,
            allowed=allowed,
            fix=_advice(name, every),
        )
    unit = UNITS[name]
    if every == 1 or unit.step is None:
        return unit
    return replace(unit, step=unit.step * every, longest=unit.longest * every, every=every)


def _advice(name: str, every: object) -> str:
    if name not in _WHOLES:
        return 'leave every= out: only "minute" and "hour" have it'
    if every == _WHOLES[name]:
        larger = "hour" if name == "minute" else "day"
        return f'write "{larger}", which has the same length, and leave every= out'
    return "use one of the allowed numbers"
