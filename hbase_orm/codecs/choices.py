"""Codecs of a few known values: the members of an enum, or any values that have short codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from hbase_orm.codecs.base import Codec, T, invert
from hbase_orm.errors import CodecError, SchemaError

E = TypeVar("E", bound=Enum)


@dataclass(frozen=True, slots=True)
class Enumerated(Codec[E]):
    """A codec of enum members, which are stored as their values.

    Attributes:
        type_: The enum's class.
        inner: The ascending codec of the members' values.
    """

    name: ClassVar[str] = "enum"

    type_: type[E] = field(kw_only=True)
    inner: Codec[Any] = field(kw_only=True)

    @property
    def canonical(self) -> bool:
        """Whether each member has only one encoding.

        False if `inner` is not canonical, or is a codec of floats. Also False if the enum defines
        `_missing_`, which may convert further values to a member.
        """
        finds_plainly = self.type_._missing_.__func__ is Enum._missing_.__func__  # type: ignore[attr-defined]  # class methods
        return self.inner.canonical and self.inner.python_type is not float and finds_plainly

    def __post_init__(self) -> None:
        """Raise an error for members whose value the inner codec cannot store."""
        for member in self.type_:
            try:
                self.inner.encode(member.value)
            except CodecError as error:
                raise SchemaError(
                    "no codec can store the value of this enum member",
                    codec=self.name,
                    member=member,
                    reason=error.text,
                    fix="give all members values of the same type, or write codecs.code({...})",
                ) from None

    @property
    def python_type(self) -> type[E]:  # type: ignore[override]  # the one codec made for a type
        """The enum's class."""
        return self.type_

    @property
    def ordered(self) -> bool:
        """Whether the bytes sort like the members' values.

        They do if the inner codec is ordered. But descending bytes of varying length do not sort.
        """
        return self.inner.ordered and (self.inner.width_bytes is not None or not self.desc)

    @property
    def width_bytes(self) -> int | None:
        """The width of the inner codec, or None if it varies."""
        return self.inner.width_bytes

    def encode(self, value: E, /) -> bytes:
        """Return the bytes of the member's value.

        Raises:
            CodecError: The value is not a member of the enum.
        """
        if not isinstance(value, self.type_):
            raise self.refuse(
                value, "the value is not a member of the enum", enum=self.type_.__name__
            )
        data = self.inner.encode(value.value)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> E:
        """Return the member whose value is encoded in `data`.

        Raises:
            CodecError: The bytes do not decode, or no member has their value.
        """
        try:
            return self.type_(self.inner.decode(invert(data) if self.desc else data))
        except ValueError:  # CodecError is one
            raise self.corrupt(data) from None


@dataclass(frozen=True, slots=True)
class Code(Codec[T]):
    """A codec of a few values, each with its own short code.

    Attributes:
        pairs: The pairs of a value and its code.
    """

    name: ClassVar[str] = "code"

    pairs: tuple[tuple[T, bytes], ...] = field(kw_only=True)

    @property
    def canonical(self) -> bool:
        """Whether all values differ from each other, so that each has only one code."""
        values = [value for value, _ in self.pairs]
        return all(values.count(value) == 1 for value in values)

    def __post_init__(self) -> None:
        """Raise an error for an empty list, empty codes, and a code that is a prefix of another."""
        codes = sorted(code for _, code in self.pairs)
        if not codes or not codes[0]:
            raise SchemaError("a code is empty", codec=self.name, codes=codes)
        for shorter, longer in pairwise(codes):  # sorted, a prefix stands just before
            if longer.startswith(shorter):
                raise SchemaError(
                    "one code is a prefix of another",
                    codec=self.name,
                    codes=[shorter, longer],
                    fix="give all codes the same width",
                )

    @property
    def python_type(self) -> type:  # type: ignore[override]  # the one codec made for its values
        """The type of the values; object if they have several types."""
        types = {type(value) for value, _ in self.pairs}
        return types.pop() if len(types) == 1 else object

    @property
    def ordered(self) -> bool:
        """Whether the codes sort like the values.

        Always False for descending codes of several widths. If the values have no order, all other
        codes count as sorted.
        """
        values: list[Any] = [value for value, _ in sorted(self.pairs, key=lambda pair: pair[1])]
        try:
            return all(one < other for one, other in pairwise(values)) and self._ends_anywhere
        except TypeError:
            return self._ends_anywhere

    @property
    def _ends_anywhere(self) -> bool:
        return self.width_bytes is not None or not self.desc

    @property
    def width_bytes(self) -> int | None:
        """The width of the codes, or None if they have several widths."""
        widths = {len(code) for _, code in self.pairs}
        return widths.pop() if len(widths) == 1 else None

    def encode(self, value: T, /) -> bytes:
        """Return the value's code.

        Raises:
            CodecError: The value has no code.
        """
        for known, code in self.pairs:
            if type(known) is type(value) and known == value:
                return invert(code) if self.desc else code
        raise self.refuse(value, "the value has no code", known=[one for one, _ in self.pairs])

    def decode(self, data: bytes, /) -> T:
        """Return the value that has this code.

        Raises:
            CodecError: No value has this code.
        """
        plain = invert(data) if self.desc else data
        for value, code in self.pairs:
            if code == plain:
                return value
        raise self.corrupt(data)


def code_of(values: Mapping[T, bytes], *, desc: bool = False) -> Code[T]:
    """Return a codec that stores each value as its code.

    Raises:
        SchemaError: The argument is not a mapping to bytes, or is empty. Or a code is empty, or is
            a prefix of another code.
    """
    if not isinstance(values, Mapping):
        raise SchemaError(
            "the codes are not a mapping",
            codec=Code.name,
            got=values,
            fix='write codecs.code({"open": b"o", "closed": b"c"})',
        )
    if not all(isinstance(code, bytes) for code in values.values()):
        raise SchemaError("the codes are not bytes", codec=Code.name, codes=list(values.values()))
    return Code(pairs=tuple(values.items()), desc=desc)
