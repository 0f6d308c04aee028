"""The objects of a session that can change without its being told: dicts and lists within them.

They are held until their bytes were compared and nobody else holds them any more: a change in
place is then neither lost with an object that the program let go, nor kept in memory for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from sys import getrefcount
from typing import Any, Final

from hbase_orm.errors import CodecError, ValidationError
from hbase_orm.model import Model
from hbase_orm.model.deferring import loaded_fields
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.mutable import is_changed_in_place, mutable_names
from hbase_orm.session.unit_of_work import loaded_row

_FIRST_LIMIT: Final = 1000
"""So many objects are held before those that nobody else holds are looked for."""


def _references(box: list[Any]) -> int:
    """Return how many references there are to the one thing in a box, ours included."""
    thing = box[0]
    return getrefcount(thing)


_OURS: Final = _references([object()])


class Watched:
    """The objects that a flush compares with the rows they were read from."""

    def __init__(self) -> None:
        """Start with none."""
        self._objects: dict[int, tuple[BoundModel, Model]] = {}
        self._limit = _FIRST_LIMIT

    def __len__(self) -> int:
        """Return how many are held."""
        return len(self._objects)

    def add(self, bound: BoundModel, obj: Model) -> None:
        """Hold an object whose values can change in place."""
        self._objects[id(obj)] = (bound, obj)
        if len(self._objects) > self._limit:
            self.prune()

    def forget(self, obj: Model | None) -> None:
        """Hold an object no longer; None is none."""
        self._objects.pop(id(obj), None)

    def clear(self) -> None:
        """Hold nothing."""
        self._objects.clear()

    def changed(self) -> Iterator[Model]:
        """Yield the objects that differ from what was read."""
        return (obj for bound, obj in tuple(self._objects.values()) if _is_changed(bound, obj))

    def prune(self) -> None:
        """Let go of objects that are unchanged and that nobody else can change any more."""
        for number in tuple(self._objects):
            bound, *box = self._objects.pop(number)
            is_held = _references(box) > _OURS or _are_values_held(box[0].__dict__)
            if is_held or _is_changed(bound, box[0]):
                self._objects[number] = (bound, box[0])
        self._limit = max(_FIRST_LIMIT, 2 * len(self._objects))


def _are_values_held(values: dict[str, Any]) -> bool:
    """Say whether somebody holds a dict or a list of an object that they do not hold."""
    return any(
        isinstance(values[name], (dict, list, set)) and _references([values[name]]) > _OURS + 1
        for name in values
    )


def _is_changed(bound: BoundModel, obj: Model) -> bool:
    row = loaded_row(obj)
    if row is None:
        return False
    try:
        return is_changed_in_place(bound.schema, obj, row)
    except (CodecError, ValidationError):
        # Some codecs read what they would not write; what else does not fit is the program's, and
        # the flush says what is wrong with it.
        fresh = bound.hydrate(row, loaded_fields(obj.__dict__)).__dict__
        values = obj.__dict__
        return any(
            values.get(n) != fresh.get(n) for n in mutable_names(bound.schema) if n in values
        )
