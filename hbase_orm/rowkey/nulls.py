"""A part of an index's key whose value may be None: a marker byte, then the value.

None is only `00`. A value is `01` followed by its own bytes. So None sorts first and cannot be
confused with a value. In a descending part all bytes are inverted, so None sorts last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from hbase_orm.codecs import Codec
from hbase_orm.codecs.base import invert
from hbase_orm.ops import KeyRange
from hbase_orm.rowkey.parts import Framing, Part

_NONE = b"\x00"
_VALUE = b"\x01"


@dataclass(frozen=True, slots=True)
class OrNone(Codec[Any]):
    """The codec of a part whose value may be None.

    Attributes:
        part: The part that encodes values other than None.
    """

    name: ClassVar[str] = "or None"
    python_type: ClassVar[type] = object

    part: Part = field(kw_only=True)

    @property
    def _markers(self) -> tuple[bytes, bytes]:
        return (invert(_NONE), invert(_VALUE)) if self.desc else (_NONE, _VALUE)

    @property
    def ordered(self) -> bool:
        """Whether the bytes sort like the values.

        None sorts first, and in a descending part last.
        """
        return self.part.is_ordered

    @property
    def is_self_delimiting(self) -> bool:
        """True: the first byte shows whether a value follows; the value's part shows its end."""
        return True

    @property
    def values(self) -> KeyRange:
        """The range of the encoded bytes of all values except None."""
        return KeyRange.prefix(self._markers[1])

    def encode(self, value: Any, /) -> bytes:
        """Return the marker, and the value's bytes if it is not None."""
        none, some = self._markers
        return none if value is None else some + self.part.encode(value)

    def decode(self, data: bytes, /) -> Any:
        """Return the decoded value; None if `data` is the marker for None.

        Raises:
            CodecError: The bytes do not begin with a marker, or the value does not decode.
        """
        none, some = self._markers
        if data == none:
            return None
        if data[:1] != some:
            raise self.corrupt(data)
        return self.part.value_of(data[1:])

    def end_of(self, data: bytes, position: int) -> int:
        """Return the position after the part that begins at `position`.

        Raises:
            CodecError: The bytes are not this part.
        """
        none, some = self._markers
        marker = data[position : position + 1]
        if marker not in {none, some}:
            raise self.corrupt(data[position:])
        return position + 1 if marker == none else self.part.span(data, position + 1)

    def encode_prefix(self, prefix: Any, /) -> bytes:
        """Return the common first bytes of the encodings of all values that start with `prefix`."""
        return self._markers[1] + self.part.leading(prefix)


def or_none(part: Part) -> Part:
    """Return a part that encodes the values of `part`, and None as well."""
    return Part(part.name, OrNone(desc=part.is_descending, part=part), Framing.SELF)
