"""The Arrow types of packed values: lists of plain values are lists, all others are JSON text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec

from hbase_orm.reading.columnar.arrow_module import arrow

_COLLECTIONS: Final = (list, set, frozenset)
_SCALARS: Final = (bool, int, float, str, bytes, date)


def packed_type(type_: Any) -> tuple[Any, bool]:
    """Return the Arrow type of values of a packed type, and whether a value may be None."""
    pa = arrow()
    plain, has_none = _without_none(type_)
    kind = _list_type(plain)
    return (pa.string(), False) if kind is None else (kind, has_none)


def items_of(type_: Any) -> Callable[[Any], Any]:
    """Return a function that makes what pyarrow takes of a value of a packed type."""
    plain, _ = _without_none(type_)
    return _json_of if _list_type(plain) is None else _as_lists


def _list_type(type_: Any) -> Any:
    """Return the Arrow type of a collection of plain values; None for another type."""
    item = _item_type(type_)
    if item is None:
        return None
    plain, _ = _without_none(item)
    kind = _scalar_type(plain) if plain in _SCALARS else _list_type(plain)
    return None if kind is None else arrow().list_(kind)


def _item_type(type_: Any) -> Any:
    """Return the type of a collection's items; None if the type is no collection of one type."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin in _COLLECTIONS and len(arguments) == 1:
        return arguments[0]
    is_uniform = origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis  # noqa: PLR2004 - tuple[T, ...]
    return arguments[0] if is_uniform else None


def _scalar_type(type_: type) -> Any:
    pa = arrow()
    return {
        bool: pa.bool_(),
        int: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        bytes: pa.binary(),
        date: pa.date32(),
    }[type_]


def _without_none(type_: Any) -> tuple[Any, bool]:
    """Return `T` of `T | None`, and whether None was there."""
    if get_origin(type_) not in {Union, UnionType}:
        return type_, False
    others = [each for each in get_args(type_) if each is not NoneType]
    is_optional = len(others) == 1 and len(get_args(type_)) == 2  # noqa: PLR2004 - T and None
    return (others[0], True) if is_optional else (type_, False)


def _as_lists(value: Any) -> Any:
    is_collection = isinstance(value, (list, tuple, set, frozenset))
    return [_as_lists(item) for item in value] if is_collection else value


def _json_of(value: Any) -> str:
    return _ENCODER.encode(value).decode()


def _plain(value: Any) -> Any:
    """Return the fields of a pydantic value, for msgspec."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} has no JSON form")


_ENCODER: Final = msgspec.json.Encoder(enc_hook=_plain)
