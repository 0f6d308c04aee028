"""Texts of the types of packed values, such as JSON: two types with one text pack values alike.

Types of which one allows None in more places read each other's values, except None where only the
other one allows it. That value does not decode, so no program takes it for another one.

Classes with fields are all "object", because their fields may change while programs run. Types
that nothing is known of have no text, and are not compared.
"""

from __future__ import annotations

import re
import types
from collections.abc import (
    Collection,
    Iterable,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from collections.abc import Set as AbstractSet
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NewType,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)
from uuid import UUID

import msgspec

_SINGLE: Final[Mapping[Any, str]] = {
    **{kind: kind.__name__ for kind in (str, int, float, bool, bytes, Decimal, UUID)},
    **{kind: kind.__name__ for kind in (datetime, date, time, timedelta)},
    bytearray: "bytes",
    types.NoneType: "None",
    None: "None",
}
_COLLECTIONS: Final[Mapping[Any, str]] = {
    **dict.fromkeys((list, Sequence, MutableSequence, Collection, Iterable), "list"),
    **dict.fromkeys((set, frozenset, AbstractSet, MutableSet), "set"),
    **dict.fromkeys((dict, Mapping, MutableMapping), "dict"),
}


def packed_type_text(type_: Any) -> str | None:
    """Return the text of a type; None if a part of it is unknown.

    Examples:
        >>> packed_type_text(dict[str, list[int] | None])
        'dict[str, None | list[int]]'
        >>> packed_type_text(list[Any]) is None
        True
    """
    if isinstance(type_, NewType):
        return packed_type_text(type_.__supertype__)
    origin = get_origin(type_)
    if origin is Annotated:
        return packed_type_text(get_args(type_)[0])
    if origin in {Union, types.UnionType, Literal}:
        each = get_args(type_)
        kinds = map(type, each) if origin is Literal else each
        return _joined(kinds, " | ", is_union=True)
    if origin is tuple:
        return _of_tuple(get_args(type_))
    if origin in _COLLECTIONS:
        return _within(_COLLECTIONS[origin], _joined(get_args(type_), ", "))
    return _SINGLE.get(type_) or _of_class(origin or type_)


_MAY_BE_NONE: Final = r"None \| | \| None"


def differs_in_none(one: str, other: str) -> bool:
    """Return whether two texts of types differ only in where None is allowed, or not at all.

    Examples:
        >>> differs_in_none("None | list[str]", "list[None | str]")
        True
        >>> differs_in_none("list[None]", "list[str]")
        False
    """
    return re.sub(_MAY_BE_NONE, "", one) == re.sub(_MAY_BE_NONE, "", other)


def joined_type_text(one: str, other: str) -> str:
    """Return the text of the type that allows None where one of two types allows it.

    Args:
        one: The text of a type.
        other: A text that differs from `one` only in where None is allowed.

    Examples:
        >>> joined_type_text("None | list[str]", "list[None | str]")
        'None | list[None | str]'
    """
    left, right = (re.findall(f"{_MAY_BE_NONE}|.", each) for each in (one, other))
    joined = ""
    while left or right:
        if left[:1] == right[:1] or (left and len(left[0]) > 1):
            joined += left[0]
            right = right[1:] if left[:1] == right[:1] else right
            left = left[1:]
        else:
            joined += right.pop(0)
    return joined


def _of_tuple(items: tuple[Any, ...]) -> str | None:
    is_list = len(items) == 2 and items[1] is ...  # noqa: PLR2004  # tuple[int, ...]
    if is_list:
        return _within("list", packed_type_text(items[0]))
    return _within("tuple", _joined(items, ", "))


def _within(name: str, items: str | None) -> str | None:
    return None if items is None else f"{name}[{items}]"


def _joined(types_: Iterable[Any], separator: str, *, is_union: bool = False) -> str | None:
    texts = [packed_type_text(each) for each in types_]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return None
    return separator.join(sorted(set(known)) if is_union else known)


def _of_class(kind: Any) -> str | None:
    if not isinstance(kind, type):
        return None
    if issubclass(kind, Enum):
        return "enum"
    if issubclass(kind, tuple):
        return "tuple of fields" if hasattr(kind, "_fields") else None
    if issubclass(kind, msgspec.Struct) and kind.__struct_config__.array_like:
        return "tuple of fields"
    has_fields = (
        is_dataclass(kind)
        or is_typeddict(kind)
        or issubclass(kind, msgspec.Struct)
        or any(hasattr(kind, name) for name in ("__attrs_attrs__", "model_validate"))
    )
    return "object" if has_fields else None
