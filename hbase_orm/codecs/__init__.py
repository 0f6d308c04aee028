"""Codecs: value to bytes and back.

The functions here are the typed way to name a codec (`codecs.uint32(desc=True)`); `get` finds the
same objects by their stable names. A codec says whether byte order is value order (`ordered`) and
how many bytes it makes (`width_bytes`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from hbase_orm.codecs import (
    hbase,
    ordered,
    ordered_numeric,
    phoenix,
    phoenix_decimal,
    phoenix_times,
)
from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.counters import Long
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
from hbase_orm.codecs.text import Raw, Text
from hbase_orm.codecs.times import Micros, Millis
from hbase_orm.errors import SchemaError

__all__ = [
    "Codec",
    "boolean",
    "default_codecs",
    "float64",
    "get",
    "int64",
    "micros",
    "millis",
    "names",
    "raw",
    "text",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_KINDS: tuple[type[Codec[Any]], ...] = (
    *(UInt8, UInt16, UInt32, UInt64, Int8, Int16, Int32, Int64, Long, Float64, Boolean),
    *(Text, Raw, Millis, Micros),
    *(*hbase.CODECS, *ordered.CODECS, *ordered_numeric.CODECS),
    *(*phoenix.CODECS, *phoenix_decimal.CODECS, *phoenix_times.CODECS),
)
_BY_NAME: Mapping[str, Callable[..., Codec[Any]]] = MappingProxyType(
    {kind.name: kind for kind in _KINDS}
)


def get(name: str, *, desc: bool = False, **parameters: Any) -> Codec[Any]:
    """Return the codec called `name`.

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


def text(*, separator: bytes | None = None, desc: bool = False) -> Codec[str]:
    """Return UTF-8; within a row key it ends with `separator` or, without one, escaped."""
    return Text(separator=separator, desc=desc)


def raw() -> Codec[bytes]:
    """Return bytes as they are."""
    return Raw()


def boolean(*, desc: bool = False) -> Codec[bool]:
    """Return one byte, 00 or 01."""
    return Boolean(desc=desc)


def uint8(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 1 byte."""
    return UInt8(desc=desc)


def uint16(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 2 bytes."""
    return UInt16(desc=desc)


def uint32(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 4 bytes."""
    return UInt32(desc=desc)


def uint64(*, desc: bool = False) -> Codec[int]:
    """Return an unsigned integer of 8 bytes."""
    return UInt64(desc=desc)


def int64(*, desc: bool = False) -> Codec[int]:
    """Return a signed integer of 8 bytes, sign bit flipped."""
    return Int64(desc=desc)


def float64(*, desc: bool = False) -> Codec[float]:
    """Return a double in 8 bytes that sort."""
    return Float64(desc=desc)


def millis(*, desc: bool = False) -> Codec[datetime]:
    """Return milliseconds since the epoch; descending, Long.MAX minus them."""
    return Millis(desc=desc)


def micros(*, desc: bool = False) -> Codec[datetime]:
    """Return microseconds since the epoch: lossless."""
    return Micros(desc=desc)


def default_codecs() -> Mapping[type, Codec[Any]]:
    """Return the codecs of fields that name none, by the type of their annotation."""
    return _DEFAULTS


_DEFAULTS: Mapping[type, Codec[Any]] = MappingProxyType(
    {
        str: Text(),
        int: Int64(),
        float: Float64(),
        bool: Boolean(),
        bytes: Raw(),
        datetime: Micros(),
    }
)
