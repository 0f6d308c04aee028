"""Datetimes as text of fixed width, in UTC and in a format such as `%Y%m%d`.

The format must have every unit between its largest and its smallest unit. Finer times are rounded
down.

A format without the year, such as `-%d %H:%M`, does not store the whole time. It is for a part of a
row key, beside another part that holds the rest of the time. `decode` takes the units that are not
in the format from 1970-01-01 00:00.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from types import MappingProxyType
from typing import ClassVar

from hbase_orm.codecs.base import invert
from hbase_orm.codecs.times import EPOCH, Instant
from hbase_orm.errors import CodecError, SchemaError

_DIRECTIVE = re.compile("%.?", re.DOTALL)
_WIDTHS: Mapping[str, int] = MappingProxyType(
    {"%Y": 4, "%m": 2, "%d": 2, "%j": 3, "%H": 2, "%M": 2, "%S": 2, "%f": 6}
)
_READ: Mapping[str, Callable[[datetime], int]] = MappingProxyType(
    {
        "%Y": lambda at: at.year,
        "%m": lambda at: at.month,
        "%d": lambda at: at.day,
        "%j": lambda at: at.toordinal() - datetime(at.year, 1, 1, tzinfo=UTC).toordinal() + 1,
        "%H": lambda at: at.hour,
        "%M": lambda at: at.minute,
        "%S": lambda at: at.second,
        "%f": lambda at: at.microsecond,
    }
)
_BY_MONTH = ("%Y", "%m", "%d", "%H", "%M", "%S", "%f")
_BY_DAY_OF_YEAR = ("%Y", "%j", "%H", "%M", "%S", "%f")
_ABSENT: Mapping[str, int] = MappingProxyType({"%Y": 1970, "%m": 1, "%d": 1, "%j": 1})


@lru_cache
def _pieces(form: str) -> tuple[str, ...]:
    """Split a format into directives and literal texts."""
    pieces: list[str] = []
    position = 0
    for match in _DIRECTIVE.finditer(form):
        pieces += [form[position : match.start()], match.group()]
        position = match.end()
    return tuple(piece for piece in (*pieces, form[position:]) if piece)


def _width(piece: str) -> int:
    return _WIDTHS.get(piece, len(_literal(piece)))


def _literal(piece: str) -> str:
    return "%" if piece == "%%" else piece


def _printed(piece: str, at: datetime) -> str:
    if piece in _WIDTHS:
        return f"{_READ[piece](at):0{_WIDTHS[piece]}d}"
    return _literal(piece)


@dataclass(frozen=True, slots=True)
class Strftime(Instant):
    """Datetimes as formatted text in UTC.

    Attributes:
        format: The format, with %Y %m %d %j %H %M %S %f %% and other ASCII text.
    """

    name: ClassVar[str] = "strftime"

    format: str = "%Y-%m-%dT%H:%M:%S.%f"

    @property
    def canonical(self) -> bool:
        """Whether the format has the year; without the year, many times have the same text."""
        return self.is_whole

    def __post_init__(self) -> None:
        """Raise an error for a format that is not ASCII or has wrong, repeated or missing units."""
        strange = [p for p in _pieces(self.format) if p[0] == "%" and p not in {*_WIDTHS, "%%"}]
        if not self.format.isascii():
            raise SchemaError(
                "the format has text that is not ASCII",
                codec=self.name,
                format=self.format,
                fix="use ASCII text between the directives",
            )
        if strange:
            raise SchemaError(
                "the format has directives that this codec does not support",
                codec=self.name,
                format=self.format,
                directives=strange,
                fix=f"use only {' '.join(_WIDTHS)} and %%",
            )
        units = _BY_DAY_OF_YEAR if "%j" in self.directives else _BY_MONTH
        present = sorted(self.directives, key=lambda p: units.index(p) if p in units else -1)
        start = units.index(present[0]) if present and present[0] in units else 0
        if not present or tuple(present) != units[start : start + len(present)]:
            raise SchemaError(
                "the format repeats a unit or leaves one out",
                codec=self.name,
                format=self.format,
                fix="give each unit once, from the largest to the smallest, as in %Y%m%d%H",
            )

    @property
    def directives(self) -> tuple[str, ...]:
        """The directives of the format, in their order, without `%%`."""
        return tuple(piece for piece in _pieces(self.format) if piece in _WIDTHS)

    @property
    def is_whole(self) -> bool:
        """Whether the format has the year, so that a datetime can be decoded."""
        return "%Y" in self.directives

    @property
    def beginning(self) -> bytes:
        """The bytes of the text before the first directive, with which every encoding begins."""
        texts = takewhile(lambda piece: piece not in _WIDTHS, _pieces(self.format))
        data = "".join(map(_literal, texts)).encode("ascii")
        return invert(data) if self.desc else data

    @property
    def is_in_order(self) -> bool:
        """Whether larger units come before smaller ones."""
        units = _BY_DAY_OF_YEAR if "%j" in self.directives else _BY_MONTH
        return self.directives == tuple(unit for unit in units if unit in self.directives)

    @property
    def ordered(self) -> bool:
        """Whether the first unit is the year, and larger units come before smaller ones."""
        units = _BY_DAY_OF_YEAR if "%j" in self.directives else _BY_MONTH
        return self.directives == units[: len(self.directives)]

    @property
    def width_bytes(self) -> int:
        """The width of every time in this format."""
        return sum(map(_width, _pieces(self.format)))

    def normalize(self, value: datetime, /) -> datetime:
        """Return `value` in UTC, rounded down to the smallest unit of the format.

        Raises:
            CodecError: As for `encode`. Also if the format has no year.
        """
        if not self.is_whole:
            raise self.refuse(
                value,
                "the format has no year, so the datetime could not be read back",
                format=self.format,
                fix="use this format only in a row key, beside a part that holds the year",
            )
        return self.decode(self.encode(value))

    def encode(self, value: datetime, /) -> bytes:
        """Return the text; times are rounded down to the smallest unit of the format.

        Raises:
            CodecError: The value is not a datetime, has no time zone, or is outside of years 1 to
                9999. Or the format has no year and cannot hold this day, such as 29 February.
        """
        self.checked_micros(value)
        at = value.astimezone(UTC)
        text = "".join(_printed(piece, at) for piece in _pieces(self.format))
        data = text.encode("ascii")
        data = invert(data) if self.desc else data
        if not self.is_whole:
            self._check_day(value, data)
        return data

    def _check_day(self, value: datetime, data: bytes) -> None:
        try:
            self.decode(data)
        except CodecError:
            raise self.refuse(
                value, "without the year, the format cannot hold this day", format=self.format
            ) from None

    def decode(self, data: bytes, /) -> datetime:
        """Return the datetime, in UTC.

        Raises:
            CodecError: The text is not a time in this format.
        """
        plain = invert(data) if self.desc else data
        units = dict(_ABSENT)
        position = 0
        for piece in _pieces(self.format):
            part = plain[position : position + _width(piece)]
            position += _width(piece)
            if piece not in _WIDTHS:
                is_ours = part == _literal(piece).encode("ascii")
            else:
                is_ours = part.isdigit()
                units[piece] = int(part) if is_ours else 0
            if not is_ours:
                raise self.corrupt(data)
        if position != len(data):
            raise self.corrupt(data)
        try:
            return self._at(units)
        except (ValueError, OverflowError):
            raise self.corrupt(data) from None

    def _at(self, units: Mapping[str, int]) -> datetime:
        at = EPOCH.replace(
            year=units["%Y"],
            month=units["%m"],
            day=units["%d"],
            hour=units.get("%H", 0),
            minute=units.get("%M", 0),
            second=units.get("%S", 0),
            microsecond=units.get("%f", 0),
        )
        day = at + timedelta(days=units["%j"] - 1)
        if day.year != at.year or not units["%j"]:
            raise ValueError
        return day
