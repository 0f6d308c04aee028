"""How the compiled reader gathers the values of each codec into the buffers of an Arrow array.

A codec has a kind of `ColumnGatherer`, or none: then its values are decoded, and pyarrow makes an
array of them. Both give the same arrays, which tests compare for every codec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final

from hbase_orm.codecs import Codec, dates, phoenix, phoenix_times
from hbase_orm.codecs.forms import Form, form_of
from hbase_orm.reading.columnar.arrow_columns import ArrowColumn

_FIRST_SECOND: Final = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
_LAST_SECOND: Final = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
_MICROS_PER_SECOND: Final = 1_000_000
_DAY_ZERO: Final = date(1970, 1, 1).toordinal()
_LAST_MILLI_OF_DAY: Final = 86_400_000 - 1
_LONG_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class GatheredKind:
    """How the values of a column are gathered: see `ColumnGatherer`.

    Attributes:
        name: The name of the kind.
        size: The number of bytes of a stored value; 0 for any.
        desc: Whether every bit is inverted.
        sign: How negative numbers are stored.
        least: The smallest number; None without bounds.
        last: The largest number; None without bounds.
        width: The number of bytes of a value in the array.
        helper: A function, the bytes of False and of True, or the places of values by their bytes.
    """

    name: str
    size: int = 0
    desc: bool = False
    sign: str = "unsigned"
    least: int | None = None
    last: int | None = None
    width: int = 0
    helper: Any = None


def gathered_kind(column: ArrowColumn, codec: Codec[Any]) -> GatheredKind:
    """Return how a column is gathered from the bytes of `codec`."""
    if column.is_chosen:
        return GatheredKind("value", helper=codec.decode)
    if column.type.texts is not None:
        places = {codec.encode(value): place for place, value in enumerate(column.type.texts)}
        width = column.type.type.index_type.bit_width // 8
        return GatheredKind("choice", codec.width_bytes or 0, width=width, helper=places)
    # A subclass may decode other bytes, so its class is looked up as it is.
    describe = _OTHERS.get(type(codec))
    return _of_form(form_of(codec)) if describe is None else describe(codec)


def _of_form(form: Form) -> GatheredKind:
    match form.name:
        case "integer":
            sign = "flipped" if form.is_flipped else "unsigned"
            return GatheredKind("number", form.size, form.desc, sign, width=form.size)
        case "signed":
            sign = "two's complement"
            return GatheredKind("number", form.size, form.desc, sign, width=form.size)
        case "instant" | "late instant":
            return _instant(form)
        case "float64" | "ieee" | "either":
            return GatheredKind(form.name, form.size, form.desc, helper=form.helper)
        case "text" | "raw":
            return GatheredKind(form.name)
        case _:
            return GatheredKind("value", helper=form.helper)


def _instant(form: Form) -> GatheredKind:
    """Return the kind of times since 1970, which are in the years 1 to 9999.

    Descending times as the largest long less the time are numbers with a flipped sign whose bits
    are inverted.
    """
    per_second = _MICROS_PER_SECOND // form.unit_micros
    least = _FIRST_SECOND * per_second if form.is_flipped else 0
    last = _LAST_SECOND * per_second + per_second - 1
    sign = "flipped" if form.is_flipped or form.name == "late instant" else "unsigned"
    return GatheredKind("number", form.size, form.desc, sign, least, last, _LONG_BYTES)


def _date(codec: Any) -> GatheredKind:
    least, last = (day.toordinal() - _DAY_ZERO for day in (date.min, date.max))
    return GatheredKind("number", 4, codec.desc, "flipped", least, last, 4)


def _span(codec: Any) -> GatheredKind:
    return GatheredKind("number", _LONG_BYTES, codec.desc, "flipped", width=_LONG_BYTES)


def _millis_of_day(codec: Any) -> GatheredKind:
    return GatheredKind("number", 4, codec.desc, "unsigned", 0, _LAST_MILLI_OF_DAY, 4)


def _unsigned_date(codec: Any) -> GatheredKind:
    last = _LAST_SECOND * 1_000 + 999
    return GatheredKind("number", _LONG_BYTES, codec.desc, "unsigned", 0, last, _LONG_BYTES)


def _unsigned(codec: Any) -> GatheredKind:
    """Return the kind of Phoenix's unsigned numbers, which leave the upper half unused."""
    size = codec.width_bytes
    return GatheredKind("number", size, codec.desc, "unsigned", 0, codec.maximum, size)


_OTHERS: Final[Mapping[type, Callable[[Any], GatheredKind]]] = {
    dates.Date: _date,
    dates.Span: _span,
    dates.MillisOfDay: _millis_of_day,
    phoenix_times.UnsignedDate: _unsigned_date,
    phoenix_times.UnsignedTime: _unsigned_date,
    phoenix.UnsignedTinyInt: _unsigned,
    phoenix.UnsignedSmallInt: _unsigned,
    phoenix.UnsignedInt: _unsigned,
    phoenix.UnsignedLong: _unsigned,
}
"""The codecs that have a kind, but no form of the compiled reader of objects."""
