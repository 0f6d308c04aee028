"""How codecs store values, in the words of the compiled reader of cells (`hbase_orm.compiled`).

The reader knows a few forms of values. A codec has one of them, or none: then the reader calls the
codec's `decode`. Tests compare both for every codec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.codecs import dates, hbase, numbers, phoenix, phoenix_text, phoenix_times, times
from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.counters import Long
from hbase_orm.codecs.text import Raw, Text

MICROS_PER_MILLI: Final = 1_000
MICROS_PER_SECOND: Final = 1_000_000
_LONG_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a codec's values.

    Attributes:
        name: The name of the form: see `hbase_orm.compiled`.
        size: The number of bytes; 0 for any number.
        desc: Whether every bit is inverted.
        is_flipped: Whether the sign bit is flipped, so that the stored number is unsigned.
        unit_micros: For times the microseconds of a unit, else 0.
        helper: For "call" the function from bytes to a value; for "either" the bytes of False and
            of True; else None.
    """

    name: str
    size: int = 0
    desc: bool = False
    is_flipped: bool = False
    unit_micros: int = 0
    helper: Any = None


def form_of(codec: Codec[Any]) -> Form:
    """Return the form of a codec's values; for a codec without a form a call of its `decode`."""
    # A subclass may decode other bytes, so its class is looked up as it is.
    describe = _FORMS.get(type(codec))
    form = None if describe is None else describe(codec)
    return Form("call", helper=codec.decode) if form is None else form


def _integer(codec: Any) -> Form:
    return Form("integer", codec.width_bytes, codec.desc, is_flipped=codec.least < 0)


def _signed(codec: Any) -> Form:
    return Form("signed", codec.width_bytes, codec.desc)


def _text(codec: Any) -> Form | None:
    return None if codec.desc else Form("text")


def _raw(codec: Any) -> Form | None:
    return None if codec.desc else Form("raw")


def _either(codec: Any) -> Form:
    sides = codec.encode(False), codec.encode(True)  # the value that is encoded
    return Form("either", len(sides[0]), helper=sides)


def _ieee(codec: Any) -> Form:
    return Form("ieee", codec.layout.size, codec.desc)


def _float64(codec: Any) -> Form:
    return Form("float64", 8, codec.desc)


def _millis(codec: Any) -> Form:
    return _since_1970(codec, MICROS_PER_MILLI)


def _micros(codec: Any) -> Form:
    return Form("instant", 8, codec.desc, is_flipped=True, unit_micros=1)


def _seconds(codec: Any) -> Form:
    return _since_1970(codec, MICROS_PER_SECOND)


def _since_1970(codec: Any, unit_micros: int) -> Form:
    """Return the form of times from 1970 on; descending ones are the largest long less the time."""
    is_late = codec.desc and codec.width_bytes == _LONG_BYTES
    name = "late instant" if is_late else "instant"
    return Form(name, codec.width_bytes, codec.desc, unit_micros=unit_micros)


def _phoenix_date(codec: Any) -> Form:
    return Form("instant", 8, codec.desc, is_flipped=True, unit_micros=MICROS_PER_MILLI)


_FORMS: Final[Mapping[type, Callable[[Any], Form | None]]] = {
    **dict.fromkeys(
        (
            *(numbers.UInt8, numbers.UInt16, numbers.UInt32, numbers.UInt64),
            *(numbers.Int8, numbers.Int16, numbers.Int32, numbers.Int64),
            *(phoenix.TinyInt, phoenix.SmallInt, phoenix.PhoenixInteger, phoenix.BigInt),
        ),
        _integer,
    ),
    hbase.BytesInt16: _signed,
    hbase.BytesInt32: _signed,
    Long: _signed,
    numbers.Float64: _float64,
    hbase.BytesFloat32: _ieee,
    hbase.BytesFloat64: _ieee,
    numbers.Boolean: _either,
    hbase.BytesBool: _either,
    phoenix.PhoenixBoolean: _either,
    Text: _text,
    hbase.BytesUtf8: _text,
    phoenix_text.VarChar: _text,
    Raw: _raw,
    phoenix_text.VarBinary: _raw,
    times.Millis: _millis,
    times.Micros: _micros,
    dates.Seconds: _seconds,
    phoenix_times.PhoenixDate: _phoenix_date,
    phoenix_times.PhoenixTime: _phoenix_date,
}
