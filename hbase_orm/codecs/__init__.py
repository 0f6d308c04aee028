"""Codecs, which convert Python values to bytes and back.

The functions here, such as `codecs.uint32(desc=True)`, return codecs with exact types for type
checkers. `get` returns a codec by its stable name, such as "uint32".

A codec's attribute `ordered` is whether its bytes sort like the values. The attribute `width_bytes`
is the length of every encoding. It is None if the length varies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any

from hbase_orm.codecs import (
    dates,
    hbase,
    identifiers,
    ordered,
    ordered_numeric,
    phoenix,
    phoenix_decimal,
    phoenix_text,
    phoenix_times,
)
from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.codecs.counters import Long
from hbase_orm.codecs.factories import (
    boolean,
    code,
    date_,
    decimal,
    default_codec,
    default_codecs,
    digits,
    enum,
    float64,
    int8,
    int16,
    int32,
    int64,
    ipv4,
    ipv6,
    json,
    micros,
    millis,
    millis_of_day,
    minute_of_day,
    msgpack,
    raw,
    seconds,
    strftime,
    text,
    timedelta_,
    uint8,
    uint16,
    uint32,
    uint64,
    uuid,
)
from hbase_orm.codecs.fixed import Digits
from hbase_orm.codecs.formats import Strftime
from hbase_orm.codecs.numbers import (
    Boolean,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from hbase_orm.codecs.structures import Json, MsgPack
from hbase_orm.codecs.text import Raw, Text
from hbase_orm.codecs.times import Micros, Millis
from hbase_orm.errors import SchemaError

__all__ = [
    "Codec",
    "boolean",
    "code",
    "date_",
    "decimal",
    "default_codec",
    "default_codecs",
    "digits",
    "enum",
    "float64",
    "get",
    "int8",
    "int16",
    "int32",
    "int64",
    "ipv4",
    "ipv6",
    "json",
    "micros",
    "millis",
    "millis_of_day",
    "minute_of_day",
    "msgpack",
    "names",
    "raw",
    "seconds",
    "strftime",
    "text",
    "timedelta_",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uuid",
]

_CODECS: tuple[type[Codec[Any]], ...] = (
    *(UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, Long, Float64, Boolean),
    *(Millis, Micros, Strftime, Digits, Json, MsgPack),
    *(*dates.CODECS, *identifiers.CODECS),
    *(*hbase.CODECS, *ordered.CODECS, *ordered_numeric.CODECS),
    *(*phoenix.CODECS, *phoenix_text.CODECS),
    *(*phoenix_decimal.CODECS, *phoenix_times.CODECS),
)


def _enum(*, type_: type[Enum], desc: bool = False) -> Codec[Any]:
    return enum(type_, desc=desc)


def _code(*, values: Mapping[Any, bytes], desc: bool = False) -> Codec[Any]:
    return code(values, desc=desc)


_BY_NAME: Mapping[str, Callable[..., Codec[Any]]] = MappingProxyType(
    {
        **{kind.name: kind for kind in _CODECS},
        Text.name: text,
        Raw.name: raw,
        Enumerated.name: _enum,
        Code.name: _code,
    }
)


def get(name: str, *, desc: bool = False, **parameters: Any) -> Codec[Any]:
    """Return the codec whose stable name is `name`, with these parameters.

    Raises:
        SchemaError: No codec has this name, or it does not take these parameters.

    Examples:
        >>> get("uint32", desc=True) == uint32(desc=True)
        True
    """
    if name not in _BY_NAME:
        raise SchemaError("no codec has this name", codec=name, known=sorted(_BY_NAME))
    try:
        return _BY_NAME[name](desc=desc, **parameters)
    except TypeError as error:
        raise SchemaError(
            "the codec does not take these parameters",
            codec=name,
            parameters=sorted(parameters),
            reason=str(error),
        ) from None


def names() -> tuple[str, ...]:
    """Return the names of all codecs, in alphabetical order."""
    return tuple(sorted(_BY_NAME))
