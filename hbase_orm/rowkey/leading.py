"""Computes the possible beginnings of a layout's row keys, which `reach` compares with regions.

A beginning ends before the first part that has neither a known width nor a known list of values.
The parts are treated as independent. So some of the beginnings do not exist, for example those with
February and day 31.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any
from uuid import UUID

from hbase_orm.codecs import Codec
from hbase_orm.codecs.base import invert
from hbase_orm.codecs.choices import Code
from hbase_orm.codecs.fixed import Digits
from hbase_orm.codecs.formats import Strftime
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.derivations import Fixed, HashOf
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.parts import Framing, Part
from hbase_orm.rowkey.reach import ANY_BYTE, ByteWords, LeadingBytes, OneOf, Symbols

_DIGITS = b"0123456789"
_HEX_DIGITS = b"0123456789abcdef"
_FORMAT_PIECE = re.compile("%.|[^%]+", re.DOTALL)
_DIRECTIVES: Mapping[str, tuple[bytes, bytes]] = MappingProxyType(
    {
        "%Y": (b"0001", b"9999"),
        "%m": (b"01", b"12"),
        "%d": (b"01", b"31"),
        "%j": (b"001", b"366"),
        "%H": (b"00", b"23"),
        "%M": (b"00", b"59"),
        "%S": (b"00", b"59"),
        "%f": (b"000000", b"999999"),
    }
)
"""The least and the greatest text of each directive that a format may have."""
_EXTREMES: Mapping[type, tuple[Any, Any]] = MappingProxyType(
    {
        float: (float("-inf"), float("nan")),  # NaN sorts last
        date: (date.min, date.max),
        time: (time.min, time.max),
        datetime: (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
        UUID: (UUID(int=0), UUID(int=(1 << 128) - 1)),
        IPv4Address: (IPv4Address(0), IPv4Address("255.255.255.255")),
        IPv6Address: (IPv6Address(0), IPv6Address((1 << 128) - 1)),
    }
)
"""The least and the greatest value of types whose codecs have no `minimum` and `maximum`."""


def leading_bytes(layout: KeyLayout) -> LeadingBytes:
    """Return the possible beginnings of a layout's row keys."""
    steps: list[ByteWords] = []
    for part in layout.parts:
        known = part_steps(part)
        if not known:
            return LeadingBytes(tuple(steps))
        steps += known
    return LeadingBytes(tuple(steps), is_whole=True)


def part_steps(part: Part) -> tuple[ByteWords, ...]:
    """Return the possible bytes of a part, as steps; empty if they are unknown.

    The bytes of a listed value include the terminator.
    """
    if isinstance(part.derivation, HashOf):
        alphabet = _HEX_DIGITS if part.derivation.form == "hex" else ANY_BYTE
        return (Symbols((alphabet,) * part.derivation.width_bytes),)
    values = listed_values(part.codec) if part.derivation is None else choices_of(part)
    if values:
        try:
            return (OneOf(tuple(part.encode(value) for value in values)),)
        except SchemaError:  # the last part has no terminator: a word may be a prefix of another
            return ()
    return codec_steps(part.codec) if part.framing is Framing.FIXED else ()


def choices_of(part: Part) -> tuple[Any, ...]:
    """Return all possible values of a derived part; empty if they are unknown.

    Also empty for a part that is not derived.
    """
    derivation = part.derivation
    if derivation is None:
        return ()
    if isinstance(derivation, Fixed):
        return (derivation.value,)
    return tuple(derivation.choices(*[None] * len(derivation.inputs)) or ())


def listed_values(codec: Codec[Any]) -> tuple[Any, ...]:
    """Return all values of a codec with few values; empty for other codecs."""
    if isinstance(codec, Code):
        return tuple(value for value, _ in codec.pairs)
    if codec.python_type is bool:
        return (False, True)
    return tuple(codec.python_type) if issubclass(codec.python_type, Enum) else ()


def codec_steps(codec: Codec[Any]) -> tuple[ByteWords, ...]:
    """Return the possible bytes of a codec of fixed width, as steps.

    Empty if they are unknown, as for text.
    """
    width = codec.width_bytes or 0
    if isinstance(codec, Digits):
        return (_symbols(codec, (_DIGITS,) * width),)
    if isinstance(codec, Strftime):
        return tuple(_format_step(codec, piece) for piece in _FORMAT_PIECE.findall(codec.format))
    is_scattered = not codec.ordered and issubclass(codec.python_type, (int, float))
    if is_scattered or codec.python_type is bytes:
        return (Symbols((ANY_BYTE,) * width),)
    ends = _ends(codec) if codec.ordered else None
    return () if ends is None else (Symbols((ANY_BYTE,) * width, min(ends), max(ends)),)


def _format_step(codec: Strftime, piece: str) -> ByteWords:
    if piece in _DIRECTIVES:
        low, high = _DIRECTIVES[piece]
        return _symbols(codec, (_DIGITS,) * len(low), low, high)
    literal = b"%" if piece == "%%" else piece.encode()
    return OneOf((invert(literal) if codec.desc else literal,))


def _symbols(
    codec: Codec[Any],
    alphabets: tuple[bytes, ...],
    low: bytes | None = None,
    high: bytes | None = None,
) -> Symbols:
    if not codec.desc:
        return Symbols(alphabets, low, high)
    return Symbols(
        tuple(map(invert, alphabets)),
        None if high is None else invert(high),
        None if low is None else invert(low),
    )


def _ends(codec: Codec[Any]) -> tuple[bytes, bytes] | None:
    least, greatest = _EXTREMES.get(codec.python_type, (None, None))
    least = least if codec.minimum is None else codec.minimum
    greatest = greatest if codec.maximum is None else codec.maximum
    try:
        return None if least is None else (codec.encode(least), codec.encode(greatest))
    except CodecError:
        return None
