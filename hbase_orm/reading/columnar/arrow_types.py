"""The Arrow type of each codec, and how decoded values become an array of this type.

The type depends only on the codec, so all batches of a read have the same schema. Values are never
rounded or cut, except averages of decimals: a value that does not fit its type raises an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from enum import Enum
from functools import partial
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final
from uuid import UUID

from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.codecs.dates import MillisOfDay, MinuteOfDay, Seconds
from hbase_orm.codecs.floats import FLOAT32, Real
from hbase_orm.codecs.formats import Strftime
from hbase_orm.codecs.phoenix_times import PhoenixDate
from hbase_orm.codecs.structures import Packed
from hbase_orm.codecs.times import Millis
from hbase_orm.reading.columnar.arrow_module import arrow
from hbase_orm.reading.columnar.packed_types import items_of, packed_type

DECIMAL_DIGITS: Final = 38
"""The most digits of Arrow's decimal128."""

DECIMAL_SCALE: Final = 9
"""The digits of a decimal after the point, as in the type NUMERIC of several databases.

No codec of decimals has a scale of its own, and an Arrow column has one for all its values.
"""

_MOST_DIGITS: Final = 76
"""The most digits of Arrow's decimals, those of decimal256."""

_MICROSECOND: Final = timedelta(microseconds=1)
_BITS: Final = (8, 16, 32, 64)
_TEXTS: Final = (UUID, IPv4Address, IPv6Address)


@dataclass(frozen=True, slots=True)
class ArrowType:
    """An Arrow type, and how values become an array of it.

    Attributes:
        type: The `pyarrow.DataType`.
        convert: A function from a value that is not None to one that pyarrow takes for this type;
            None if pyarrow takes the value as it is.
        texts: For a dictionary-encoded column its texts, by the value that each stands for. Else
            None.
        has_none: Whether a stored value may be None.
    """

    type: Any
    convert: Callable[[Any], Any] | None = None
    texts: dict[Any, str] | None = None
    has_none: bool = False

    def array(self, values: Sequence[Any]) -> Any:
        """Return an array of the values; None becomes null.

        Raises:
            pyarrow.ArrowException: A value does not fit the type.
            ValueError, TypeError, OverflowError, LookupError: The same.
        """
        pa = arrow()
        if self.texts is not None:
            places = {value: place for place, value in enumerate(self.texts)}
            indices = [None if value is None else places[value] for value in values]
            return self.encoded(pa.array(indices, self.type.index_type))
        if self.convert is not None:
            convert = self.convert
            values = [None if value is None else convert(value) for value in values]
        if pa.types.is_duration(self.type) and self.type.unit == "us":
            # pyarrow refuses the longest timedeltas.
            return pa.array(values, pa.int64()).view(self.type)
        return pa.array(values, self.type, from_pandas=False)

    def encoded(self, indices: Any) -> Any:
        """Return a dictionary-encoded array of these places among the texts."""
        pa = arrow()
        assert self.texts is not None
        return pa.DictionaryArray.from_arrays(
            indices, pa.array([*self.texts.values()], pa.string())
        )

    def as_type(self, kind: Any) -> ArrowType:
        """Return the Arrow type for columns whose type a program has chosen."""
        pa = arrow()
        is_text = any(
            check(kind)
            for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
        )
        convert = self.convert
        if self.texts is not None:
            convert = self.texts.__getitem__
        elif not is_text and not pa.types.is_list(kind):
            convert = None
        return replace(self, type=kind, convert=convert, texts=None)

    def rounding_decimals(self) -> ArrowType:
        """Return the type for columns whose decimals are rounded to the scale, as averages are."""
        if not arrow().types.is_decimal(self.type):
            return self
        return replace(self, convert=partial(_rounded, scale=self.type.scale))


def _rounded(value: Decimal, *, scale: int) -> Decimal:
    """Return a decimal with as many digits after the point as `scale`.

    One that fits no Arrow type is returned as it is: pyarrow refuses it.
    """
    if not value.is_finite() or value.adjusted() >= _MOST_DIGITS - scale:
        return value
    return value.quantize(Decimal(1).scaleb(-scale), context=Context(prec=_MOST_DIGITS))


def arrow_type(codec: Codec[Any]) -> ArrowType | None:
    """Return the Arrow type of a codec's values; None if there is none."""
    pa = arrow()
    if isinstance(codec, Enumerated):
        if codec.canonical:
            return _dictionary({member: text_of_member(member) for member in codec.type_})
        return ArrowType(pa.string(), text_of_member)
    if isinstance(codec, Code):
        values = [value for value, _ in codec.pairs]
        if codec.canonical and values and all(isinstance(value, str) for value in values):
            return _dictionary({value: str(value) for value in values})
    if isinstance(codec, Packed):
        kind, has_none = packed_type(codec.type_)
        return ArrowType(kind, items_of(codec.type_), has_none=has_none)
    return _by_python_type(codec)


def average_type(codec: Codec[Any]) -> ArrowType:
    """Return the type of the average of a codec's values: a float is never a narrow one."""
    pa = arrow()
    is_number = issubclass(codec.python_type, (int, float))
    average = ArrowType(pa.float64()) if is_number else arrow_type(codec)
    assert average is not None, codec  # decimals and timedeltas have types
    return average


def text_of_member(member: Any) -> str:
    """Return the text of an enum member: its value if that is a text, otherwise its name."""
    return str(member.value) if isinstance(member.value, str) else str(member.name)


def _dictionary(texts: dict[Any, str]) -> ArrowType:
    pa = arrow()
    bits = next(bits for bits in _BITS if len(texts) <= 1 << (bits - 1))
    index = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[bits]
    return ArrowType(pa.dictionary(index, pa.string()), texts=texts)


def _by_python_type(codec: Codec[Any]) -> ArrowType | None:
    pa = arrow()
    kind = codec.python_type
    makers: dict[type, Callable[[], ArrowType | None]] = {
        # The order matters: a bool is an int, and a datetime is a date.
        Enum: lambda: ArrowType(pa.string(), text_of_member),
        bool: lambda: ArrowType(pa.bool_()),
        int: lambda: _integer(codec),
        float: lambda: ArrowType(pa.float32() if _is_short(codec) else pa.float64()),
        str: lambda: ArrowType(pa.string()),
        bytes: lambda: ArrowType(pa.binary()),
        datetime: lambda: ArrowType(pa.timestamp(_unit(codec), "UTC")),
        date: lambda: ArrowType(pa.date32()),
        time: lambda: ArrowType(_time_of_day(codec)),
        timedelta: lambda: ArrowType(pa.duration("us"), lambda value: value // _MICROSECOND),
        Decimal: lambda: ArrowType(pa.decimal128(DECIMAL_DIGITS, DECIMAL_SCALE)),
        **dict.fromkeys(_TEXTS, lambda: ArrowType(pa.string(), str)),
    }
    return next((make() for base, make in makers.items() if issubclass(kind, base)), None)


def _integer(codec: Codec[Any]) -> ArrowType | None:
    """Return the narrowest integer type for all values of a codec; None if they have no limit."""
    pa = arrow()
    least, last = codec.minimum, codec.maximum
    if least is None or last is None:
        return ArrowType(pa.int64())
    unsigned = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    signed = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
    for bits, positive, any_sign in zip(_BITS, unsigned, signed, strict=True):
        if least >= 0 and last < 1 << bits:
            return ArrowType(positive)
        if least >= -(1 << (bits - 1)) and last < 1 << (bits - 1):
            return ArrowType(any_sign)
    return None


def _is_short(codec: Codec[Any]) -> bool:
    return isinstance(codec, Real) and codec.layout is FLOAT32


def _unit(codec: Codec[Any]) -> str:
    if isinstance(codec, (Millis, PhoenixDate)):
        return "ms"
    if isinstance(codec, Strftime):
        return "us" if "%f" in codec.directives else "s"
    return "s" if isinstance(codec, Seconds) else "us"


def _time_of_day(codec: Codec[Any]) -> Any:
    pa = arrow()
    if isinstance(codec, MillisOfDay):
        return pa.time32("ms")
    return pa.time32("s") if isinstance(codec, MinuteOfDay) else pa.time64("us")
