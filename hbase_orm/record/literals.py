"""Values that declarations compare with, as JSON: a type's name and the value in that type's form.

Values of other types, such as dataclasses, are only described: they cannot be read back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Code
from hbase_orm.errors import DeclarationError
from hbase_orm.record.stored_values import StoredValue, newer_members
from hbase_orm.schema.canonical import value_text

_MICRO: Final = timedelta(microseconds=1)

_PLAIN: Final = (bool, int, str)
_WRITERS: Final[Mapping[type, Callable[[Any], Any]]] = MappingProxyType(
    {
        float: repr,
        bytes: bytes.hex,
        datetime: datetime.isoformat,
        date: date.isoformat,
        time: time.isoformat,
        timedelta: lambda span: span // _MICRO,
        **dict.fromkeys((Decimal, UUID, IPv4Address, IPv6Address), str),
    }
)
_READERS: Final[Mapping[str, tuple[type, Callable[[Any], Any]]]] = MappingProxyType(
    {
        **{kind.__name__: (kind, kind) for kind in _PLAIN},
        **{kind.__name__: (str, kind) for kind in (float, Decimal, UUID, IPv4Address, IPv6Address)},
        **{kind.__name__: (str, kind.fromisoformat) for kind in (datetime, date, time)},
        "bytes": (str, bytes.fromhex),
        "timedelta": (int, lambda micros: timedelta(microseconds=micros)),
    }
)
_COLLECTIONS: Final = MappingProxyType(
    {kind.__name__: kind for kind in (list, tuple, set, frozenset)}
)


@dataclass(frozen=True, slots=True)
class CodedValue:
    """A value of `codecs.code(...)` of which the record has only the text, such as `Status.NEW`.

    Attributes:
        text: The text of the value.
    """

    text: str

    def __repr__(self) -> str:
        """Return the text, as the original value has it in declarations."""
        return self.text


class MemberValue:
    """The base of the values of enum members in conditions: they are shown as the members were.

    Attributes:
        text: The name of the member.
        plain: The value itself, which is shown as usual.
    """

    text: str
    plain: Any

    def __repr__(self) -> str:
        """Return the member's name, such as `Status.NEW`."""
        return self.text

    def __str__(self) -> str:
        """Return the text of the value, from which codecs of digits make bytes."""
        return str(self.plain)


_MEMBER_TYPES: Final[Mapping[type, Any]] = MappingProxyType(
    {kind: type("MemberValue", (MemberValue, kind), {}) for kind in (str, int, float, bytes)}
)


def member_value(value: Any, text: str) -> Any:
    """Return the value of an enum member, which is equal to `value` and shown as `text`.

    A value that is neither a text nor bytes nor a number is returned unchanged.
    """
    if type(value) not in _MEMBER_TYPES:
        return value
    member = _MEMBER_TYPES[type(value)](value)
    member.text, member.plain = text, value
    return member


def literal_spec(value: Any, codec: Codec[Any] | None = None) -> Any:
    """Return a value as JSON.

    Args:
        value: The value.
        codec: The codec of the field that is compared with the value.
    """
    if value is None:
        return None
    if isinstance(codec, Code):
        return {"code": value_text(value)}
    if isinstance(value, MemberValue):
        return {"member": value.text, "value": literal_spec(value.plain)}
    if isinstance(value, Enum):
        return {"member": value_text(value), "value": literal_spec(value.value)}
    return _plain_spec(value)


def _plain_spec(value: Any) -> dict[str, Any]:
    kind: type[Any] = type(value)
    if kind in _PLAIN or kind in _WRITERS:
        return {kind.__name__: _WRITERS[kind](value) if kind in _WRITERS else value}
    if kind in _COLLECTIONS.values():
        items = value if kind in {list, tuple} else sorted(value, key=value_text)
        return {kind.__name__: [literal_spec(each) for each in items]}
    return {"other": value_text(value)}


def literal_of(stored: StoredValue, codec: Codec[Any] | None = None) -> Any:
    """Return the value that a specification stands for.

    Args:
        stored: The result of `literal_spec`.
        codec: The codec of the field that is compared with the value.

    Raises:
        DeclarationError: The value is of a type that records do not hold.
        RecordError: The specification is damaged.
    """
    if stored.value is None:
        return None
    content = dict(stored.each())
    if content.keys() == {"member", "value"}:
        return member_value(literal_of(content["value"]), content["member"].typed(str))
    if len(content) != 1:
        unknown = content.keys() - {"member", "value", "code", *_COLLECTIONS, *_READERS}
        raise newer_members(stored.table, stored.place, unknown) if unknown else stored.damage()
    ((kind, own),) = content.items()
    if kind == "code":
        return _coded(own.typed(str), codec, stored)
    if kind in _COLLECTIONS:
        return _COLLECTIONS[kind](literal_of(each) for each in own.items())
    if kind not in _READERS:
        raise _not_stored(own, stored)
    stored_type, read = _READERS[kind]
    try:
        return read(own.typed(stored_type))
    except (ValueError, OverflowError, InvalidOperation):
        raise stored.damage() from None


def _coded(text: str, codec: Codec[Any] | None, stored: StoredValue) -> Any:
    """Return the value of a `Code` that has this text."""
    pairs: tuple[tuple[Any, bytes], ...] = codec.pairs if isinstance(codec, Code) else ()
    for value, _ in pairs:
        if value_text(value) == text:
            return value
    raise stored.damage()


def _not_stored(own: StoredValue, stored: StoredValue) -> DeclarationError:
    return DeclarationError(
        "a declaration compares with a value of a type that records do not hold",
        table=stored.table,
        place=stored.place,
        value=own.value,
        fix="run this with a program that has the model's class",
    )
