r"""The parts of a row key in bytes: how each ends, how it is found again, whether it sorts.

A part of fixed width needs no end. Text that more key bytes follow ends with its separator or,
without one, with `00 01`, and every `00` in it is written `00 ff`: any text fits and order is kept
(FoundationDB's tuple layer and Phoenix's VARBINARY_ENCODED use the same idea). A descending part
is inverted after its end was added, so it too sorts and is found again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.base import invert
from hbase_orm.rowkey.salting import bucket_of

TERMINATOR = b"\x00\x01"
_ZERO = b"\x00"
_ESCAPED_ZERO = b"\x00\xff"


class Framing(Enum):
    """How a part ends."""

    FIXED = "fixed width"
    REST = "takes the rest of the key"
    SEPARATED = "ends with its separator"
    ESCAPED = "ends with 00 01"


@dataclass(frozen=True, slots=True)
class FieldPart:
    """A key field in its place.

    Attributes:
        name: The field.
        codec: The field's codec.
        framing: How the part ends.
    """

    name: str
    codec: Codec[Any]
    framing: Framing

    @property
    def separator(self) -> bytes:
        """The bytes that end the part, before a descending part is inverted."""
        if self.framing is Framing.SEPARATED:
            separator: bytes = self.codec.separator  # type: ignore[attr-defined]  # only Text has it
            return separator
        return TERMINATOR if self.framing is Framing.ESCAPED else b""

    @property
    def is_delimited(self) -> bool:
        """Whether a key's bytes show where the part ends, so that no value is another's prefix."""
        return self.framing is not Framing.REST

    @property
    def is_ordered(self) -> bool:
        """Whether the part's bytes sort as its values (or as their reverse, if descending).

        A separator sorts only if nothing in a value sorts below it: with "_", host12_ would come
        before host1_.
        """
        if self.framing is Framing.FIXED:
            return self.codec.ordered
        if not self._ascending().ordered:
            return False  # digits stored backwards, packed values: an end mends nothing
        return self.framing is not Framing.SEPARATED or self.separator == _ZERO

    @property
    def is_descending(self) -> bool:
        """Whether larger values have smaller bytes."""
        return self.codec.desc

    def bare(self, value: Any) -> bytes:
        """Return the part without its end: what a salt hashes."""
        if self.framing is Framing.FIXED:
            return self.codec.encode(value)
        return self._framed(self._ascending().encode(value))

    def _framed(self, data: bytes) -> bytes:
        if self.framing is Framing.ESCAPED:
            data = data.replace(_ZERO, _ESCAPED_ZERO)
        return invert(data) if self.is_descending else data

    def leading(self, prefix: Any) -> bytes:
        """Return what the bytes of every text or bytes that start with `prefix` start with.

        Unlike a value, `prefix` may end with the beginning of the separator.
        """
        return self._framed(self._ascending().encode_prefix(prefix))

    def encode(self, value: Any) -> bytes:
        """Return the part with its end."""
        return self.bare(value) + self.end

    @property
    def end(self) -> bytes:
        """The bytes that end the part as they stand in the key."""
        return invert(self.separator) if self.is_descending else self.separator

    def span(self, data: bytes, position: int) -> int:
        """Return where the part at `position` of a key ends, its end included.

        Raises:
            CodecError: There is no such part.
        """
        if self.framing is Framing.FIXED:
            return position + (self.codec.width_bytes or 0)
        if self.framing is Framing.REST:
            return len(data)
        stop = data.find(self.end, position)
        if stop < 0:
            raise self.codec.corrupt(data[position:])
        return stop + len(self.end)

    def take(self, data: bytes, position: int) -> tuple[Any, int]:
        """Read the part at `position` of a key; return its value and the next position.

        Raises:
            CodecError: The bytes there are not such a part.
        """
        if self.framing is Framing.FIXED:
            stop = position + (self.codec.width_bytes or 0)
            return self.codec.decode(data[position:stop]), stop
        if self.framing is Framing.REST:
            return self.codec.decode(data[position:]), len(data)
        stop = data.find(self.end, position)
        if stop < 0:
            raise self.codec.corrupt(data[position:])
        content = data[position:stop]
        if self.is_descending:
            content = invert(content)
        if self.framing is Framing.ESCAPED:
            if content.count(_ZERO) != content.count(_ESCAPED_ZERO):
                raise self.codec.corrupt(data[position:])
            content = content.replace(_ESCAPED_ZERO, _ZERO)
        return self._ascending().decode(content), stop + len(self.end)

    def _ascending(self) -> Codec[Any]:
        return replace(self.codec, desc=False) if self.codec.desc else self.codec


@dataclass(frozen=True, slots=True)
class SaltPart:
    """The salt bucket in front of the key.

    Attributes:
        bucket_count: 2 to 256.
        hash_name: One of `salting.HASHES`.
        of: The hashed fields; None for all the bytes that follow.
    """

    bucket_count: int
    hash_name: str
    of: tuple[str, ...] | None

    def bucket(self, hashed: bytes) -> bytes:
        """Return the one byte that stands in front of a key with these hashed bytes."""
        return bytes((bucket_of(hashed, self.bucket_count, self.hash_name),))

    @property
    def prefixes(self) -> tuple[bytes, ...]:
        """The leading bytes of every bucket, in order."""
        return tuple(bytes((bucket,)) for bucket in range(self.bucket_count))


def field_part(name: str, codec: Codec[Any], *, is_last: bool) -> FieldPart:
    """Return the part of a key field, ended as its place and codec demand.

    Descending text is ended even in the last place: inverted, "ab" would otherwise sort before
    "abc" as it does ascending.
    """
    if codec.width_bytes is not None:
        return FieldPart(name, codec, Framing.FIXED)
    if is_last and not codec.desc:
        return FieldPart(name, codec, Framing.REST)
    has_separator = getattr(codec, "separator", None) is not None
    return FieldPart(name, codec, Framing.SEPARATED if has_separator else Framing.ESCAPED)
