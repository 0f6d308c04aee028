"""Entries of values that this program does not know, because a newer program has added them.

Members may be added to an enum, and codes to a codec of codes, while older programs run. An older
program cannot decode such a value. But it can often compute the value's part of an index entry out
of the stored bytes, because the part has the same bytes. Where it cannot, the index of this row is
left as it is: a value that does not decode is no proof that the row has no entry.

The same holds for packed values with None, which the type of another program may allow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.base import invert
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.codecs.structures import Packed
from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema import IndexSchema


class UnknownValueError(CorruptRowError):
    """A stored value does not decode, but may be one that a newer program has added.

    What to do: deploy the newer program's classes here too; until then the row is left as it
    is.
    """


def may_be_known(codec: Codec[Any], stored: bytes) -> bool:
    """Return whether another program may know stored bytes that `codec` does not decode."""
    if isinstance(codec, OrNone):
        return may_be_known(codec.part.codec, stored)
    if not isinstance(codec, Packed):
        data = invert(stored) if codec.desc else stored
        return _is_possible(replace(codec, desc=False), data)
    return codec.stored_version(stored) > codec.version or codec.has_none(stored)


def may_get_members(codec: Codec[Any]) -> bool:
    """Return whether newer programs may store values that this codec does not know."""
    if isinstance(codec, OrNone):
        return may_get_members(codec.part.codec)
    return isinstance(codec, (Code, Enumerated, Packed))


def may_have_unknown_values(index: IndexSchema) -> bool:
    """Return whether rows may have entries of an index that this program cannot compute."""
    codecs = [*(part.codec for part in index.layout.parts), *(c.codec for c in index.columns)]
    return any(map(may_get_members, codecs))


def part_of_unknown(part: Part, codec: Codec[Any], stored: bytes) -> bytes | None:
    """Return the part of an entry for stored bytes that `codec` does not decode.

    None if the bytes are no possible member, or if the part has other bytes than the column.

    Args:
        part: The part of the entry.
        codec: The codec of the column or key field.
        stored: The bytes that are stored, without a terminator.
    """
    if isinstance(part.codec, OrNone):
        inner = part_of_unknown(part.codec.part, codec, stored)
        return None if inner is None else part.codec.values.start + inner
    ascending = replace(codec, desc=False)
    data = invert(stored) if codec.desc else stored
    if ascending != part.ascending or not _is_possible(ascending, data):
        return None
    return part.enclosed(data)


def _is_possible(codec: Codec[Any], data: bytes) -> bool:
    if not data or codec.width_bytes not in {None, len(data)}:
        return False
    if not isinstance(codec, Enumerated):
        return isinstance(codec, Code)
    try:
        return codec.canonical and codec.inner.encode(codec.inner.decode(data)) == data
    except CodecError:
        return False


def refuse_unknown_code(error: CodecError | RowKeyError, **where: object) -> None:
    """Raise an error if a stored value has no code in the index's own codec.

    A newer program may have the code, and have put the entry.

    Args:
        error: The error of an entry that cannot be computed.
        where: Further details of the error.

    Raises:
        UnknownValueError: It is the error of a codec of codes.
    """
    if error.details.get("codec") == Code.name:
        raise UnknownValueError(
            "this program does not know the code of an indexed value",
            **where,
            value=error.details.get("value"),
            fix="use a program whose model has the code",
        ) from error
