"""Declarations for a time in the row key: its period, and its offset in the period.

`TablePerPeriod` declares one table for each period; the table's name then holds the period.
"""

from __future__ import annotations

from typing import Any, Literal

from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.components import Component, KeySource, checked_codec, single_source
from hbase_orm.rowkey.periods import UNITS, unit_of


class Period(Component):
    """The start of the period, such as an hour or a day in UTC, that contains a time.

    Attributes:
        unit: "minute", "hour", "day", "month" or "year".
        every: The number of minutes or hours of a period: `Period("minute", every=5, of=at)`. It
            must divide 60 (minutes) or 24 (hours). The first period begins with the hour, or with
            the day in UTC.
        of: The key field that holds the time.
        codec: The codec of the start; None means the codec of the field.
    """

    kind = "period"

    def __init__(
        self,
        unit: str,
        /,
        *,
        of: KeySource,
        every: int = 1,
        codec: Codec[Any] | None = None,
    ) -> None:
        """Declare a period.

        Raises:
            SchemaError: The unit is unknown, `every` does not divide 60 minutes or 24 hours, `of`
                is not a field, or `codec` is not a codec.
        """
        unit_of(unit, every)
        self.unit = unit
        self.every = every
        self.of = single_source(self.kind, of)
        self.codec = checked_codec(self.kind, codec)


class Offset(Component):
    """The time since the start of a period.

    An offset and the `Period` with the same `unit` and `every` together give the whole time.

    Attributes:
        unit: The period: "minute", "hour", "day", "month" or "year".
        every: The number of minutes or hours of a period, as in `Period`.
        of: The key field that holds the time.
        resolution: The unit of an offset that is a number: "micros", "millis" or "seconds".
        codec: The codec of the offset. None means an unsigned integer of 4 bytes if every offset
            fits, else of 8 bytes. A codec must have one of these types:

            - int, counted in `resolution`,
            - timedelta,
            - time, for the unit "day",
            - datetime: a `strftime` codec with the units smaller than `unit`.
    """

    kind = "offset"

    def __init__(
        self,
        unit: str,
        /,
        *,
        of: KeySource,
        every: int = 1,
        resolution: Literal["micros", "millis", "seconds"] = "millis",
        codec: Codec[Any] | None = None,
    ) -> None:
        """Declare an offset.

        Raises:
            SchemaError: The unit or the resolution is unknown, `every` does not divide 60 minutes
                or 24 hours, `of` is not a field, or `codec` is not a codec.
        """
        unit_of(unit, every)
        if resolution not in ("micros", "millis", "seconds"):
            raise SchemaError(
                "no resolution has this name",
                resolution=resolution,
                known=("micros", "millis", "seconds"),
            )
        self.unit = unit
        self.every = every
        self.of = single_source(self.kind, of)
        self.resolution = resolution
        self.codec = checked_codec(self.kind, codec)


class TablePerPeriod:
    """A declaration of one table for each hour, day, month or year.

    Attributes:
        name: The pattern of the tables' names with `strftime` fields, e.g. "payments_%Y%m%d".
        of: The name of the key field that holds the time.
        period: "hour", "day", "month" or "year".
        create: Whether a write creates a missing table; otherwise it raises `TableNotFoundError`.
        foreign: Whether other programs own the tables, as for `Table(..., foreign=True)`.
    """

    def __init__(
        self, name: str, /, *, of: str, period: str, create: bool = False, foreign: bool = False
    ) -> None:
        """Declare a table for each period.

        Raises:
            SchemaError: The period is not allowed, or `of` is not a name. Or the pattern lacks or
                repeats a unit, or has them in the wrong order.
        """
        unit_of(period)
        if period == "minute":
            raise SchemaError(
                'the period of a table must be "hour", "day", "month" or "year"',
                period=period,
                fix='write period="hour", and Period("minute", of=...) in the row key',
            )
        if not isinstance(of, str):
            raise SchemaError("of= must be the name of the field", of=of, fix='write of="at"')
        UNITS[period].check_pattern(name)
        self.name = name
        self.of = of
        self.period = period
        self.create = create
        self.foreign = foreign

    def __repr__(self) -> str:
        """Return the declaration."""
        options = ", create=True" if self.create else ""
        options += ", foreign=True" if self.foreign else ""
        return f"TablePerPeriod({self.name!r}, of={self.of!r}, period={self.period!r}{options})"
