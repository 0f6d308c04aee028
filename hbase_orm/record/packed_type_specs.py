"""Types of packed values as JSON, if they are made of built-in types, such as `list[str]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import MappingProxyType, UnionType
from typing import Any, Final, Union, get_args, get_origin
from uuid import UUID

from hbase_orm.codecs import Codec, get
from hbase_orm.codecs.structures import Json, MsgPack, Packed
from hbase_orm.record.stored_values import StoredValue

_NONE: Final = "None"
_UNION: Final = "union"
_PLAIN: Final[Mapping[str, type]] = MappingProxyType(
    {
        kind.__name__: kind
        for kind in (
            *(bool, int, float, str, bytes, list, dict, set, frozenset, tuple),
            *(datetime, date, time, timedelta, Decimal, UUID),
        )
    }
)
_GENERIC: Final[Mapping[str, Any]] = MappingProxyType(
    {kind.__name__: kind for kind in (list, dict, set, frozenset, tuple)}
)


@dataclass(frozen=True, slots=True)
class PackedEmpty:
    """The default of packed values of an unknown type: an empty value that was packed before.

    Attributes:
        type_name: The type of the empty value, such as "list".
        data: The packed value.
    """

    type_name: str
    data: bytes

    def __call__(self) -> bytes:
        """Return the packed value."""
        return self.data


def packed_type(codec: Codec[Any]) -> Any:
    """Return the type of a codec's packed values as JSON.

    None for any other codec, for later versions, which have functions for the older ones, and for
    types that have classes of the program.
    """
    if not isinstance(codec, Packed) or codec.version > 1:
        return None
    return _type_spec(codec.type_)


def packed_codec(name: str, stored: StoredValue) -> Codec[Any]:
    """Return the codec that stores values of a recorded type.

    Args:
        name: The name of the codec, "json" or "msgpack".
        stored: The result of `packed_type`.

    Raises:
        RecordError: The specification is damaged.
    """
    if name not in {Json.name, MsgPack.name}:
        raise stored.damage()
    return get(name, type_=_type_of(stored))


def _type_spec(annotated: Any) -> Any:
    if annotated is None or annotated is type(None):
        return _NONE
    if annotated is Ellipsis:
        return "..."
    if isinstance(annotated, type) and _PLAIN.get(annotated.__name__) is annotated:
        return annotated.__name__
    origin = get_origin(annotated)
    name = _UNION if origin in {Union, UnionType} else getattr(origin, "__name__", "")
    if origin is None or (name != _UNION and _GENERIC.get(name) is not origin):
        return None
    inner = [_type_spec(each) for each in get_args(annotated)]
    return None if None in inner else {name: inner}


def _type_of(stored: StoredValue) -> Any:
    if isinstance(stored.value, str):
        others = {_NONE: type(None), "...": Ellipsis}
        if stored.value not in {**_PLAIN, **others}:
            raise stored.damage()
        return {**_PLAIN, **others}[stored.value]
    content = dict(stored.each())
    if len(content) != 1:
        raise stored.damage()
    ((name, given),) = content.items()
    inner = tuple(_type_of(each) for each in given.items())
    try:
        return Union[inner] if name == _UNION else _GENERIC[name][inner]  # noqa: UP007 - of a tuple
    except (KeyError, TypeError):
        raise given.damage() from None
