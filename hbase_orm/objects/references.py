"""Whether a program holds a part of some values: it may then change them in place.

CPython counts the references to a thing. A walk through the values counts those that come
from within them; every other is the program's. Where counts are not exact, nothing follows.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from re import Pattern
from types import BuiltinFunctionType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any, Final

from hbase_orm.binding.in_place import UNCHANGING

# What cannot change, or is everybody's: references to it do not matter.
_LEAVES: Final = (
    *(*UNCHANGING, NoneType, complex, range, tzinfo, Pattern, EllipsisType),
    *(type, ModuleType, FunctionType, BuiltinFunctionType),
)

_CONTAINERS: Final = frozenset((list, dict, set, tuple))

_USUAL_LEAVES: Final = frozenset((str, bytes, int, float, bool, NoneType))


def _counts(things: list[Any]) -> list[int]:
    return [sys.getrefcount(thing) for thing in things]


_OURS: Final = _counts([object()])[0]
"""The references to a thing in a list that is counted, the list's own included."""


def counts_are_exact() -> bool:
    """Return whether references are counted exactly: by CPython with its global lock.

    Without the lock each thread counts by itself, and some references are not counted at once.
    """
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and bool(has_lock())


def is_held(box: list[Any], own: int) -> bool:
    """Return whether a list's one item has references besides the list's and `own`."""
    return _counts(box)[0] > _OURS + own


def is_part_held(values: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Return whether somebody else holds one of these values, or anything in them that can change.

    Args:
        values: The values by name; nobody else is meant to hold them.
        names: The names of those that are examined; of the others only the lists, dicts, sets
            and tuples that refer to parts of them.
    """
    within = Counter(map(id, values.values()))
    parts = _parts([values[name] for name in names if name in values], within)
    parts += _containers_of(parts, values.values(), within)
    counted = zip(parts, _counts(parts), strict=True)
    return any(count > _OURS + within[id(part)] for part, count in counted)


def _parts(waiting: list[Any], counts: Counter[int]) -> list[Any]:
    """Return all that can change in some things; count the references within them."""
    parts: dict[int, Any] = {}
    while waiting:
        part = waiting.pop()
        if id(part) in parts or _is_leaf(part):
            continue
        parts[id(part)] = part
        members = [each for each in _within(part) if type(each) not in _USUAL_LEAVES]
        counts.update(map(id, members))
        waiting += members
    return list(parts.values())


def _containers_of(parts: list[Any], among: Iterable[Any], counts: Counter[int]) -> list[Any]:
    """Return the containers among some things that hold parts; count the references there."""
    reached = {id(part) for part in parts}
    containers: dict[int, tuple[Any, list[Any]]] = {}
    waiting = list(among)
    while waiting:
        thing = waiting.pop()
        is_new = id(thing) not in reached and id(thing) not in containers
        if is_new and type(thing) in _CONTAINERS:
            containers[id(thing)] = thing, gc.get_referents(thing)
            waiting += containers[id(thing)][1]
    holding: list[Any] = []
    while True:
        more = [key for key, (_, members) in containers.items() if reached & set(map(id, members))]
        if not more:
            return holding
        for key in more:
            thing, members = containers.pop(key)
            counts.update(map(id, members))
            reached.add(key)
            holding.append(thing)


def _is_leaf(part: Any) -> bool:
    if isinstance(part, (tuple, frozenset)):  # equal ones are often one, as () is
        return all(map(_is_leaf, part))
    return isinstance(part, _LEAVES)


def _within(part: Any) -> list[Any]:
    """Return what a thing refers to, once for each reference."""
    names = getattr(type(part), "__struct_fields__", None)
    if names is not None and not gc.is_tracked(part):  # a msgspec Struct that hides its fields
        return [getattr(part, name) for name in names if hasattr(part, name)]
    return gc.get_referents(part)
