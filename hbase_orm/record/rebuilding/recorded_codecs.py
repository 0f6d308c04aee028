"""Makes codecs from their specifications in a record.

Enums and the classes of packed values are unknown: enum members are read as their values, and
packed values as their bytes.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final

from hbase_orm.codecs import Codec, get, names
from hbase_orm.codecs.base import invert
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.codecs.structures import Json, MsgPack
from hbase_orm.codecs.text import Raw
from hbase_orm.errors import DeclarationError
from hbase_orm.record.literals import CodedValue
from hbase_orm.record.specifications import SPEC_MEMBERS, codec_spec
from hbase_orm.record.stored_values import StoredValue, newer_members
from hbase_orm.schema.canonical import value_text

_PARAMETERS: Final = frozenset(
    {"width_bytes", "separator", "pad", "side", "digit_reversed", "format"}
)
"""The parameters of all codecs that `codecs.get` makes from them."""

_IN_BYTES: Final = frozenset({"separator", "pad"})


@dataclass(frozen=True, slots=True)
class ValuesOfEnum(Codec[Any]):
    """A codec of the values of an enum's members, with the bytes of the codec of the enum.

    Attributes:
        values: The ascending codec of the values.
    """

    name: ClassVar[str] = Enumerated.name

    values: Codec[Any] = field(kw_only=True)

    @property
    def python_type(self) -> type:  # type: ignore[override]  # that of the values
        """The type of the values."""
        return self.values.python_type

    @property
    def canonical(self) -> bool:
        """Whether each value has only one encoding."""
        return self.values.canonical and self.values.python_type is not float

    @property
    def ordered(self) -> bool:
        """Whether the bytes sort like the values."""
        return self.values.ordered and (self.values.width_bytes is not None or not self.desc)

    @property
    def width_bytes(self) -> int | None:
        """The width of the codec of the values, or None if it varies."""
        return self.values.width_bytes

    def encode(self, value: Any, /) -> bytes:
        """Return the bytes of a value.

        Raises:
            CodecError: The value does not fit.
        """
        data = self.values.encode(value)
        return invert(data) if self.desc else data

    def decode(self, data: bytes, /) -> Any:
        """Return the value.

        Raises:
            CodecError: The bytes do not decode.
        """
        return self.values.decode(invert(data) if self.desc else data)


@dataclass(frozen=True, slots=True)
class JsonBytes(Raw):
    """A codec of the bytes of values that are packed as JSON, of a type that is unknown."""

    name: ClassVar[str] = Json.name


@dataclass(frozen=True, slots=True)
class MsgPackBytes(Raw):
    """A codec of the bytes of values that are packed as MessagePack, of a type that is unknown."""

    name: ClassVar[str] = MsgPack.name


_PACKED: Final[Mapping[str, type[Raw]]] = MappingProxyType(
    {kind.name: kind for kind in (JsonBytes, MsgPackBytes)}
)


def is_packed_bytes(codec: Codec[Any]) -> bool:
    """Return whether a codec leaves packed values as their bytes."""
    return isinstance(codec, (JsonBytes, MsgPackBytes))


def recorded_codec(stored: StoredValue) -> Codec[Any]:
    """Return the codec of a specification; the specification of a part of a row key is one too.

    Raises:
        DeclarationError: This version of the library does not have the codec.
        RecordError: The specification is damaged.
        SchemaError: The codec does not take these parameters.
    """
    content = dict(stored.each())
    made = _codec_of(content, stored)
    if codec_spec(made).keys() - content.keys():
        raise stored.damage()
    return made


def _codec_of(content: Mapping[str, StoredValue], stored: StoredValue) -> Codec[Any]:
    name = _member(content, "codec", stored).typed(str)
    if name not in names():
        raise DeclarationError(
            "this version of the library does not have the codec",
            table=stored.table,
            place=stored.place,
            codec=name,
        )
    unknown = content.keys() - SPEC_MEMBERS
    if unknown:
        raise newer_members(stored.table, stored.place, unknown)
    desc = _member(content, "desc", stored).typed(bool)
    if name == ValuesOfEnum.name:
        return ValuesOfEnum(values=recorded_codec(_member(content, "values", stored)), desc=desc)
    if name == Code.name:
        return Code(pairs=_pairs(_member(content, "codes", stored)), desc=desc)
    if name in _PACKED:
        return _PACKED[name]()
    reversed_ = content.get("digit_reversed")
    if reversed_ is not None and reversed_.value is None:
        raise unknown_member(reversed_, "whether a text is stored backwards")
    given = {
        name: content[name]
        for name in content.keys() & _PARAMETERS
        if content[name].value is not None or name == "separator"
    }
    return get(name, desc=desc, **{name: _parameter(name, each) for name, each in given.items()})


def unknown_member(stored: StoredValue, what: str) -> DeclarationError:
    """Return the error for a member that the library did not record yet; `what` describes it."""
    return DeclarationError(
        f"an earlier version of hbase_orm wrote the record, which does not show {what}",
        table=stored.table,
        place=stored.place,
        fix="let a program that has the model's class call engine.create_tables: it completes the "
        "record",
    )


def _member(content: Mapping[str, StoredValue], name: str, stored: StoredValue) -> StoredValue:
    if name not in content:
        raise stored.damage()
    return content[name]


def _parameter(name: str, stored: StoredValue) -> Any:
    if name not in _IN_BYTES or stored.value is None:
        return stored.value
    return bytes_of(stored)


def bytes_of(stored: StoredValue) -> bytes:
    """Return the bytes that a specification has as hexadecimal digits.

    Raises:
        RecordError: The value is not such a text.
    """
    try:
        return bytes.fromhex(stored.typed(str))
    except ValueError:
        raise stored.damage() from None


def _pairs(stored: StoredValue) -> tuple[tuple[Any, bytes], ...]:
    return tuple((_coded(text), bytes_of(data)) for text, data in stored.each())


def _coded(text: str) -> Any:
    """Return the value with this text if it is a number, a text or bytes; else it is only named."""
    try:
        value = literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return CodedValue(text)
    is_plain = type(value) in {str, bytes, int, float, bool} or value is None
    return value if is_plain and value_text(value) == text else CodedValue(text)
