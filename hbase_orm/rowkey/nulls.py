"""A part of an index's key that may be None: a marker byte, then the value if there is one.

None is `00` and a value `01` and its own bytes, so None sorts first and no value is taken for it.
Where the part descends both bytes are inverted, and None sorts last: the exact reverse.
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
    """A value of a part, or None.

    Attributes:
        part: How a value is written.
    """

    name: ClassVar[str] = "or None"
    python_type: ClassVar[type] = object

    part: Part = field(kw_only=True)

    @property
    def _markers(self) -> tuple[bytes, bytes]:
        return (invert(_NONE), invert(_VALUE)) if self.desc else (_NONE, _VALUE)

    @property
    def ordered(self) -> bool:
        """Whether values sort; None comes before all of them, or descending behind."""
        return self.part.is_ordered

    @property
    def is_self_delimiting(self) -> bool:
        """Yes: the marker shows whether a value follows, and the part where it ends."""
        return True

    @property
    def values(self) -> KeyRange:
        """The range of all values, None left out."""
        return KeyRange.prefix(self._markers[1])

    def encode(self, value: Any, /) -> bytes:
        """Return the marker, and the value's bytes if it is not None."""
        none, some = self._markers
        return none if value is None else some + self.part.encode(value)

    def decode(self, data: bytes, /) -> Any:
        """Return the value, or None.

        Raises:
            CodecError: The bytes begin with no marker, or are not such a part.
        """
        none, some = self._markers
        if data == none:
            return None
        if data[:1] != some:
            raise self.corrupt(data)
        return self.part.value_of(data[1:])

    def end_of(self, data: bytes, position: int) -> int:
        """Return where the part that begins at `position` ends.

        Raises:
            CodecError: There is no such part.
        """
        none, some = self._markers
        marker = data[position : position + 1]
        if marker not in {none, some}:
            raise self.corrupt(data[position:])
        return position + 1 if marker == none else self.part.span(data, position + 1)

    def encode_prefix(self, prefix: Any, /) -> bytes:
        """Return what the bytes of every value that starts with `prefix` start with."""
        return self._markers[1] + self.part.leading(prefix)


def or_none(part: Part) -> Part:
    """Return a part that may also be None."""
    return Part(part.name, OrNone(desc=part.is_descending, part=part), Framing.SELF)
