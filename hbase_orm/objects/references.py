"""Functions that test whether the program still refers to some values.

If it does, it may change them in place.

CPython counts the references to each object. The functions count the references between the values.
All further references belong to the program. Without exact counts these functions cannot be used.
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

# Values that cannot change, or that all code shares: references to them do not matter.
_LEAVES: Final = (
    *(*UNCHANGING, NoneType, complex, range, tzinfo, Pattern, EllipsisType),
    *(type, ModuleType, FunctionType, BuiltinFunctionType),
)

_CONTAINERS: Final = frozenset((list, dict, set, tuple))

_USUAL_LEAVES: Final = frozenset((str, bytes, int, float, bool, NoneType))


def _counts(things: list[Any]) -> list[int]:
    return [sys.getrefcount(thing) for thing in things]


_OURS: Final = _counts([object()])[0]
"""The count that `_counts` returns for an object to which only the list refers."""


def counts_are_exact() -> bool:
    """Return whether Python counts references exactly, as CPython with the global lock does.

    Without the lock each thread counts separately, and some references are counted later.
    """
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)
    return sys.implementation.name == "cpython" and bool(has_lock())


def is_held(box: list[Any], own: int) -> bool:
    """Return whether the program refers to the only item of `box`.

    Args:
        box: A list of one item.
        own: The number of the library's references to the item, without the reference from `box`.
    """
    return _counts(box)[0] > _OURS + own


def is_part_held(values: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Return whether the program refers to one of these values or to a mutable part of them.

    Args:
        values: The values by name.
        names: The names of the values to test. References from the other values do not count as the
            program's.
    """
    within = Counter(map(id, values.values()))
    parts = _parts([values[name] for name in names if name in values], within)
    parts += _containers_of(parts, values.values(), within)
    counted = zip(parts, _counts(parts), strict=True)
    return any(count > _OURS + within[id(part)] for part, count in counted)


def _parts(waiting: list[Any], counts: Counter[int]) -> list[Any]:
    """Return the mutable objects among `waiting`, and all mutable objects that they refer to.

    The references between these objects are added to `counts`.
    """
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
    """Return the lists, dicts, sets and tuples that refer to one of `parts`, however indirectly.

    Each reference that a returned container holds is added to `counts`.

    Args:
        parts: Objects that can change in place.
        among: The values from which the search for containers starts.
        counts: The number of known references to each object, by its id.
    """
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
    """Return the objects that an object refers to, once for each reference."""
    names = getattr(type(part), "__struct_fields__", None)
    if names is not None and not gc.is_tracked(part):  # a msgspec Struct that hides its fields
        return [getattr(part, name) for name in names if hasattr(part, name)]
    return gc.get_referents(part)
