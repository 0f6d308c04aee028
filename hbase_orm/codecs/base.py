"""The interface of codecs, which convert values of one Python type to bytes and back.

A value that does not fit raises `CodecError` with the codec's name, the value and the limit. Codecs
are frozen values. Two codecs of one class with the same parameters are equal.
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
    """The positions in a row key at which a codec may be used.

    Some formats of other programs, such as Phoenix, cannot be used at every position. The value of
    each member is a text: the reason for the limit. The error for a wrong position shows it.
    """

    ANYWHERE = "anywhere"
    LAST = "the bytes do not show their end, so they must be last in the row key"
    LAST_ASCENDING = "the bytes do not show their end, so they must be last and ascending"
    ASCENDING = "the format's owner writes other bytes in row keys if values descend"

    def holds(self, *, is_last: bool, desc: bool) -> bool:
        """Return whether a codec with this placement may be used for a part of a row key.

        Args:
            is_last: Whether the part is the last one of the row key.
            desc: Whether the codec is descending.
        """
        is_late = is_last or self not in {KeyPlacement.LAST, KeyPlacement.LAST_ASCENDING}
        return is_late and not (
            desc and self in {KeyPlacement.LAST_ASCENDING, KeyPlacement.ASCENDING}
        )


@dataclass(frozen=True, slots=True)
class Codec(Generic[T]):
    """Converts values of one type to bytes and back.

    Attributes:
        name: The stable name, which the catalog stores in the declarations of indexes.
        python_type: The type that `encode` takes and `decode` returns.
        desc: Whether larger values have smaller bytes.
        place: The positions in a row key at which the codec may be used.
        instead: The codecs that can be used at the positions that `place` does not allow, as text
            for an error. Empty if `place` allows all positions.
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
        """Whether an encoding of varying length shows its own end, so other bytes may follow."""
        return False

    @property
    def nullable(self) -> bool:
        """Always False, because codecs do not encode None: a column that is None has no cell."""
        return False

    @property
    def coarse(self) -> bool:
        """Whether `normalize` may return another value than its argument."""
        return False

    @property
    def canonical(self) -> bool:
        """Whether each value has only one encoding.

        If so, equal values have equal encodings, and values can be compared by their encodings. Two
        exceptions of floats are ignored. 0.0 and -0.0 are equal but have two encodings. NaN has one
        encoding but does not equal itself.
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
        """Return the value as it will be read back.

        A codec that is `coarse` may change the value: for example, `millis` rounds times down to
        the millisecond.

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
        """Return the position after the self-delimiting encoding at `position` of `data`.

        Raises:
            CodecError: No complete encoding begins at `position`.
        """
        raise NotImplementedError

    def encode_prefix(self, prefix: T, /) -> bytes:
        """Return the common first bytes of the encodings of all values that start with `prefix`.

        Only codecs of text and bytes know these bytes; all other codecs return empty bytes.

        Raises:
            CodecError: No value starts with `prefix`.
        """
        del prefix
        return b""

    def inline_encode(self, value: str, scope: Scope) -> str | None:
        """Return the source of an expression that replaces a call of `encode`.

        The result is None if no expression is faster than the call. The module `source` describes
        the rules for such expressions.

        Args:
            value: The name of the variable that holds the value.
            scope: The global names of the generated function; names that the source needs are
                added.
        """
        del value, scope
        return None

    def inline_decode(self, data: str, scope: Scope) -> str | None:
        """Return the source of an expression that replaces a call of `decode`.

        The result is None if no expression is faster than the call. `data` is the name of the
        variable that holds the bytes.
        """
        del data, scope
        return None

    def inline_settled(self, value: str, scope: Scope) -> str | None:
        """Return the source of a fast test that shows that a value needs no `normalize`.

        If the test is true, `normalize` would return the value unchanged. If it is false, only a
        call of `normalize` shows whether the value changes. The result is None if the codec has no
        such test.
        """
        del value, scope
        return None

    def accepts_type(self, value: Any, /) -> bool:
        """Return whether `value` has the codec's type, even if it is out of range."""
        return isinstance(value, self.python_type)

    def compares(self, value: Any, /) -> bool:
        """Return whether stored values can be compared with `value`, even if it is out of range."""
        return self.accepts_type(value)

    def comparable(self, value: Any, /) -> Any:
        """Return `value` in the form in which it is compared with decoded values.

        Most codecs return it unchanged; codecs of datetimes convert it to UTC.
        """
        return value

    def refuse(self, value: Any, reason: str, **limits: Any) -> CodecError:
        """Return the error to raise for a value that cannot be encoded.

        Args:
            value: The value.
            reason: The text of the error.
            limits: The details of the error, such as `minimum`, and its advice `fix`.
        """
        limits.setdefault("fix", f"give a value of type {self.python_type.__name__} that fits")
        return CodecError(reason, codec=self.name, value=value, **limits)

    def corrupt(self, data: bytes) -> CodecError:
        """Return the error to raise for bytes that are not an encoding of this codec."""
        return CodecError("the bytes are not an encoding of this codec", codec=self.name, data=data)
