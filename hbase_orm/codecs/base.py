"""The interface of codecs: values of one Python type to bytes and back, and their properties.

A value that does not fit raises `CodecError` with the codec's name, the value and the limit. Codecs
are frozen values; two codecs with the same parameters are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

from hbase_orm.codecs.source import INVERTED, Scope
from hbase_orm.errors import CodecError

T = TypeVar("T")


def invert(data: bytes) -> bytes:
    r"""Return `data` with every bit flipped, which reverses the sort order.

    Examples:
        >>> invert(b"\x00\x0f")
        b'\xff\xf0'
    """
    return data.translate(INVERTED)


class KeyPlacement(Enum):
    """The positions in row keys at which another program's format may be used."""

    ANYWHERE = "anywhere"
    LAST = "only the end of the row key ends these bytes"
    LAST_ASCENDING = "only the end of the row key ends these bytes, and none if they descend"
    ASCENDING = "descending, the format's owner writes other bytes in row keys than elsewhere"

    def holds(self, *, is_last: bool, desc: bool) -> bool:
        """Return whether a part may be used at its position."""
        is_late = is_last or self not in {KeyPlacement.LAST, KeyPlacement.LAST_ASCENDING}
        return is_late and not (
            desc and self in {KeyPlacement.LAST_ASCENDING, KeyPlacement.ASCENDING}
        )


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """Converts values of one type to bytes and back.

    Attributes:
        name: The stable name, also in stored schema snapshots.
        python_type: The type that `encode` takes and `decode` returns.
        desc: Whether larger values have smaller bytes.
        place: The positions in row keys at which the format may be used.
        instead: The advice what to use at other positions.
        empty_is_null: Whether the owner of the format, such as Phoenix, reads empty bytes as NULL.
    """

    name: ClassVar[str]
    python_type: ClassVar[type]
    place: ClassVar[KeyPlacement] = KeyPlacement.ANYWHERE
    instead: ClassVar[str] = ""
    empty_is_null: ClassVar[bool] = False

    desc: bool = False

    @property
    def ordered(self) -> bool:
        """Whether the bytes sort like the values (with `desc` in the reverse order)."""
        return True

    @property
    def width_bytes(self) -> int | None:
        """The length of every encoding, or None if it varies."""
        return None

    @property
    def is_self_delimiting(self) -> bool:
        """Whether an encoding of varying length shows its own end, so that bytes may follow."""
        return False

    @property
    def nullable(self) -> bool:
        """Always False: codecs do not encode None; a column that is None has no cell."""
        return False

    @property
    def coarse(self) -> bool:
        """Whether `normalize` may return another value than its argument."""
        return False

    @property
    def canonical(self) -> bool:
        """Whether each value has only one encoding, so that bytes can be compared.

        Exceptions are the two zeros of floats, which are equal, and NaN, which equals nothing.
        """
        return False

    @property
    def minimum(self) -> T | None:
        """The smallest value that can be stored, or None if there is no limit."""
        return None

    @property
    def maximum(self) -> T | None:
        """The largest value that can be stored, or None if there is no limit."""
        return None

    def normalize(self, value: T, /) -> T:
        """Return the value as it will be read back; a coarse codec rounds it, most down.

        Raises:
            CodecError: The value cannot be stored.
        """
        self.encode(value)
        return value

    def encode(self, value: T, /) -> bytes:
        """Return the bytes of `value`.

        Raises:
            CodecError: The value has the wrong type or is out of the codec's range.
        """
        raise NotImplementedError

    def decode(self, data: bytes, /) -> T:
        """Return the value whose bytes are `data`.

        Raises:
            CodecError: The bytes are not an encoding of this codec.
        """
        raise NotImplementedError

    def end_of(self, data: bytes, position: int) -> int:
        """Return the end of the self-delimiting encoding that begins at `position` of `data`.

        Raises:
            CodecError: There is no such encoding.
        """
        raise NotImplementedError

    def encode_prefix(self, prefix: T, /) -> bytes:
        """Return the first bytes of all values that start with `prefix`.

        Empty if they are unknown; only text and bytes have prefixes.

        Raises:
            CodecError: No value starts with `prefix`.
        """
        del prefix
        return b""

    def inline_encode(self, value: str, scope: Scope) -> str | None:
        """Return the source of an expression equivalent to `encode`, by the rules of `source`.

        Or None.

        None means that no expression is faster than the call.
        """
        del value, scope
        return None

    def inline_decode(self, data: str, scope: Scope) -> str | None:
        """Return the source of an expression equivalent to `decode`, or None."""
        del data, scope
        return None

    def inline_settled(self, value: str, scope: Scope) -> str | None:
        """Return the source of a test that `normalize` changes nothing, or None."""
        del value, scope
        return None

    def accepts_type(self, value: Any, /) -> bool:
        """Return whether `value` has the codec's type, in range or not."""
        return isinstance(value, self.python_type)

    def compares(self, value: Any, /) -> bool:
        """Return whether stored values can be compared with `value`, storable or not."""
        return self.accepts_type(value)

    def comparable(self, value: Any, /) -> Any:
        """Return `value` in the form for comparisons with stored values."""
        return value

    def refuse(self, value: Any, reason: str, **limits: Any) -> CodecError:
        """Return the error of a value that cannot be encoded."""
        limits.setdefault("fix", f"give a value of type {self.python_type.__name__} that fits")
        return CodecError(reason, codec=self.name, value=value, **limits)

    def corrupt(self, data: bytes) -> CodecError:
        """Return the error of bytes that are not an encoding of this codec."""
        return CodecError("the bytes are not an encoding of this codec", codec=self.name, data=data)
