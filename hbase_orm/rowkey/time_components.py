"""Components made of a time: its period, its offset in the period, and a table per period."""

from __future__ import annotations

from typing import Any, Literal

from hbase_orm.codecs import Codec
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey.components import Component, KeySource, checked_codec, single_source
from hbase_orm.rowkey.periods import UNITS, check_unit


class Period(Component):
    """The start of the hour, day or month, in UTC, that a time falls in.

    Attributes:
        unit: "minute", "hour", "day", "month" or "year".
        of: The key field that holds the time.
        codec: How the start is written; None means as the field is.
    """

    kind = "period"

    def __init__(
        self,
        unit: str,
        /,
        *,
        of: KeySource,
        codec: Codec[Any] | None = None,
    ) -> None:
        """Declare a period.

        Raises:
            SchemaError: The unit is unknown, or `of` is no field.
        """
        check_unit(unit)
        self.unit = unit
        self.of = single_source(self.kind, of)
        self.codec = checked_codec(self.kind, codec)


class Offset(Component):
    """The time since the start of the hour, day or month; with the `Period` it gives the time.

    Attributes:
        unit: "minute", "hour", "day", "month" or "year".
        of: The key field that holds the time.
        resolution: What a codec of numbers counts: "micros", "millis" or "seconds".
        codec: How it is written: a codec of ints (counted in `resolution`), of timedelta, of time
            (unit "day"), or of datetime (`strftime` of the smaller fields). None means 4 bytes
            where the unit fits them, else 8.
    """

    kind = "offset"

    def __init__(
        self,
        unit: str,
        /,
        *,
        of: KeySource,
        resolution: Literal["micros", "millis", "seconds"] = "millis",
        codec: Codec[Any] | None = None,
    ) -> None:
        """Declare an offset.

        Raises:
            SchemaError: The unit or the resolution is unknown, or `of` is no field.
        """
        check_unit(unit)
        if resolution not in ("micros", "millis", "seconds"):
            raise SchemaError(
                "no resolution has this name",
                resolution=resolution,
                known=("micros", "millis", "seconds"),
            )
        self.unit = unit
        self.of = single_source(self.kind, of)
        self.resolution = resolution
        self.codec = checked_codec(self.kind, codec)


class TablePerPeriod:
    """A table for each day, month or year of a time, named after it.

    Attributes:
        name: The tables' name with `strftime` fields, e.g. "payments_%Y%m%d".
        of: The name of the key field that holds the time.
        period: "hour", "day", "month" or "year".
        create: Whether writing to a table that does not exist makes it; it raises
            `TableNotFoundError` otherwise.
    """

    def __init__(self, name: str, /, *, of: str, period: str, create: bool = False) -> None:
        """Declare tables per period.

        Raises:
            SchemaError: The period is unknown, or the name does not distinguish the periods.
        """
        check_unit(period)
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

    def __repr__(self) -> str:
        """Return the declaration."""
        made = ", create=True" if self.create else ""
        return f"TablePerPeriod({self.name!r}, of={self.of!r}, period={self.period!r}{made})"
