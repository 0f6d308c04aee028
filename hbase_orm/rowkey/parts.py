r"""The parts of a row key in bytes: their terminators, decoding and sort order.

A part of fixed width needs no terminator. Text that is followed by other parts ends with the
separator of its codec. If the codec has no separator, the text ends with `00 01`, and every `00` in
it is encoded as `00 ff`. So any text fits, and the order is kept.

A descending part is inverted together with its terminator. Codecs that end their values themselves
(HBase's `OrderedBytes`) are used unchanged.

A part holds a key field, or a value derived from other parts (`derivation`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.base import invert

TERMINATOR = b"\x00\x01"
MAX_NUMBER = (1 << 63) - 1
"""The largest number that a dictionary table can assign: its counter is a signed 64-bit number."""

_ZERO = b"\x00"
_ESCAPED_ZERO = b"\x00\xff"


class Framing(Enum):
    """The way in which a part ends."""

    FIXED = "fixed width"
    REST = "takes the rest of the key"
    SEPARATED = "ends with its separator"
    ESCAPED = "ends with 00 01"
    SELF = "ends as its codec says"


@dataclass(frozen=True, slots=True)
class Derivation:
    """The way in which a derived part gets its value.

    Attributes:
        inputs: The parts that the value is computed from.
    """

    inputs: tuple[Part, ...] = ()

    @property
    def gives_bytes(self) -> bool:
        """Whether `compute` returns the bytes of the part in the key, as for a hash."""
        return False

    @property
    def spreads(self) -> bool:
        """Whether the part only spreads rows over the regions, as a salt does.

        Scans return rows in the order of the parts after it.
        """
        return False

    @property
    def sorts(self) -> bool | None:
        """Whether the part's bytes sort like its values.

        None if the codec and the terminator decide.
        """
        return None

    @property
    def dictionary(self) -> str | None:
        """The name of the dictionary table in which the value is looked up.

        None if the value is not looked up in a dictionary table.
        """
        return None

    def compute(self, *values: Any) -> Any:
        """Return the part's value from the values of the inputs, in order.

        Raises:
            CodecError: There is no value for these inputs.
        """
        raise NotImplementedError

    def choices(self, *values: Any) -> Iterable[Any] | None:
        """Return the possible values of the part, or None if they are unknown.

        Args:
            values: The values of the inputs; None for an input whose value is unknown.
        """
        del values
        return None

    def admits(self, value: Any) -> bool:
        """Return whether a decoded part can have this value, whatever the other parts are."""
        del value
        return True


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a row key, or an input of a derived part.

    Attributes:
        name: The key field; for a derived part, a description that is unique in its key.
        codec: The codec of the value.
        framing: The way in which the part ends.
        derivation: The derivation of the value; None for a key field.
        is_filled: Whether empty values are refused, because Phoenix treats them as NULL and writes
            another key.
        ascending: The ascending form of the codec; a descending part is inverted together with its
            terminator.
        separator: The terminator that the part has if it is ascending; empty if it needs none.
        end: The terminator as it is in the key: that of a descending part is inverted.
        is_ordered: Whether the part's bytes sort like its values, or in the reverse order if
            descending. Text with a separator does not sort, unless the separator is a zero byte.
            For example, "host12_" sorts before "host1_".
        is_delimited: Whether the bytes of a key show where the part ends, so that no encoded value
            is a prefix of another.
        is_descending: Whether larger values have smaller bytes.
        fields: The key fields that the part's value depends on, each once.
    """

    name: str
    codec: Codec[Any]
    framing: Framing
    derivation: Derivation | None = None
    is_filled: bool = False
    ascending: Codec[Any] = field(init=False, repr=False, compare=False)
    separator: bytes = field(init=False, repr=False, compare=False)
    end: bytes = field(init=False, repr=False, compare=False)
    is_ordered: bool = field(init=False, repr=False, compare=False)
    is_delimited: bool = field(init=False, repr=False, compare=False)
    is_descending: bool = field(init=False, repr=False, compare=False)
    fields: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _holds_codec: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute once the attributes that every plan needs."""
        desc = self.codec.desc
        set_ = object.__setattr__
        set_(self, "ascending", replace(self.codec, desc=False) if desc else self.codec)
        separator = self.ending if self.framing is Framing.SEPARATED else b""
        separator = TERMINATOR if self.framing is Framing.ESCAPED else separator
        set_(self, "separator", separator)
        set_(self, "end", invert(separator) if desc else separator)
        set_(self, "_holds_codec", self.framing in {Framing.FIXED, Framing.SELF})
        set_(self, "is_ordered", self._sorts())
        set_(self, "is_delimited", self.framing is not Framing.REST)
        set_(self, "is_descending", desc)
        names = (name for part in self.inputs for name in part.fields)
        set_(self, "fields", (self.name,) if self.derivation is None else _unique(names))

    @property
    def inputs(self) -> tuple[Part, ...]:
        """The inputs of a derived part; empty for a key field."""
        return () if self.derivation is None else self.derivation.inputs

    @property
    def ending(self) -> bytes:
        """The separator of the codec, which no value contains; empty if there is none."""
        separator: bytes | None = getattr(self.codec, "separator", None)
        return separator or b""

    def _sorts(self) -> bool:
        if self.derivation is not None and self.derivation.sorts is not None:
            return self.derivation.sorts
        if self._holds_codec:
            return self.codec.ordered
        if not self.ascending.ordered:
            return False  # digits stored backwards, packed values: no end makes them sort
        return self.framing is not Framing.SEPARATED or self.separator == _ZERO

    def bare(self, value: Any) -> bytes:
        """Return the encoded part without its terminator.

        Salts and hashes are computed from these bytes.
        """
        if self._holds_codec:
            return self.codec.encode(value)
        data = self._framed(self.ascending.encode(value))
        if self.is_filled and not data:
            raise self.codec.refuse(
                value,
                "Phoenix treats an empty value as NULL and would write another row key",
                fix="give a value of at least one character, or use codecs.text()",
            )
        return data

    def _framed(self, data: bytes) -> bytes:
        if self.framing is Framing.ESCAPED:
            data = data.replace(_ZERO, _ESCAPED_ZERO)
        return invert(data) if self.is_descending else data

    def leading(self, prefix: Any) -> bytes:
        """Return the common first bytes of the encodings of all values that start with `prefix`.

        Unlike a value, `prefix` may end with the beginning of the separator.
        """
        if self.framing is Framing.SELF:
            return self.codec.encode_prefix(prefix)
        return self._framed(self.ascending.encode_prefix(prefix))

    def encode(self, value: Any) -> bytes:
        """Return the encoded part with its terminator."""
        return self.bare(value) + self.end

    def enclosed(self, data: bytes) -> bytes:
        """Return the part with its terminator, of a value in the ascending codec's bytes."""
        if self._holds_codec:
            return (invert(data) if self.is_descending else data) + self.end
        return self._framed(data) + self.end

    def span(self, data: bytes, position: int) -> int:
        """Return the position after the part that begins at `position`, terminator included.

        A part of fixed width may end after the end of `data`.

        Raises:
            CodecError: The end of the part is not in `data`.
        """
        if self.framing is Framing.FIXED:
            return position + (self.codec.width_bytes or 0)
        if self.framing is Framing.REST:
            return len(data)
        if self.framing is Framing.SELF:
            return self.codec.end_of(data, position)
        stop = data.find(self.end, position)
        if stop < 0:
            raise self.codec.corrupt(data[position:])
        return stop + len(self.end)

    def take(self, data: bytes, position: int) -> tuple[Any, int]:
        """Read the part at `position` of a key; return its value and the next position.

        Raises:
            CodecError: The bytes at the position are not this part.
        """
        stop = self.span(data, position)
        return self.value_of(data[position:stop]), stop

    def value_of(self, data: bytes) -> Any:
        """Return the value of the part's bytes, which include the terminator.

        Raises:
            CodecError: The bytes are not this part.
        """
        if self.framing is Framing.REST:
            self.check_rest(data)
        if self._holds_codec or self.framing is Framing.REST:
            return self.codec.decode(data)
        return self.ascending.decode(self._unframed(data))

    def content(self, data: bytes) -> bytes:
        """Return the bytes of the codec, descending if it is, in a part with its terminator.

        Raises:
            CodecError: The bytes are not framed as this part is.
        """
        if self._holds_codec or self.framing is Framing.REST:
            return data
        content = self._unframed(data)
        return invert(content) if self.is_descending else content

    def _unframed(self, data: bytes) -> bytes:
        content = data[: len(data) - len(self.end)]
        if self.is_descending:
            content = invert(content)
        if self.framing is Framing.ESCAPED:
            if content.count(_ZERO) != content.count(_ESCAPED_ZERO):
                raise self.codec.corrupt(data)
            content = content.replace(_ESCAPED_ZERO, _ZERO)
        if self.is_filled and not content:
            raise self.codec.corrupt(data)
        return content

    def check_rest(self, data: bytes) -> None:
        """Raise an error if no value of the last part of a key can have these bytes.

        Raises:
            CodecError: The bytes contain the codec's separator, or are empty although empty values
                are refused.
        """
        separator = self.ending
        if (separator and (data + separator).find(separator) < len(data)) or (
            self.is_filled and not data
        ):
            raise self.codec.corrupt(data)

    @property
    def lookup(self) -> Lookup | None:
        """The look-up of the part's value in a dictionary table; None if it needs no look-up."""
        if self.derivation is None or self.derivation.dictionary is None:
            return None
        (source,) = self.derivation.inputs
        most = self.codec.maximum
        return Lookup(source.name, self.derivation.dictionary, MAX_NUMBER if most is None else most)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A look-up of the number that a dictionary table assigns to the name in a key field.

    Attributes:
        field: The key field that holds the name.
        dictionary: The name of the dictionary table.
        max_number: The largest number that the row key can store.
    """

    field: str
    dictionary: str
    max_number: int

    @property
    def number(self) -> str:
        """The name under which the looked-up number is given to the key's encoder.

        It contains spaces, so no field has the same name.
        """
        return f"{self.field} in {self.dictionary}"


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


Made = tuple[str, Codec[Any], Derivation]
"""The name in words, the codec and the derivation from which a derived part is made."""


def part_of(
    name: str, codec: Codec[Any], *, is_last: bool, derivation: Derivation | None = None
) -> Part:
    """Return a part that ends in the way that its position and its codec need.

    Descending text has a terminator even as the last part of a key. Without the terminator, the
    inverted "ab" would sort before the inverted "abc", although larger values must sort first.
    """
    if codec.width_bytes is not None:
        framing = Framing.FIXED
    elif codec.is_self_delimiting:
        framing = Framing.SELF
    elif is_last and not codec.desc:
        framing = Framing.REST
    elif getattr(codec, "separator", None) is not None:
        framing = Framing.SEPARATED
    else:
        framing = Framing.ESCAPED
    return Part(name, codec, framing, derivation)
