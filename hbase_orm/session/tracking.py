"""The objects of a session whose values can change in place: dicts and lists.

A session holds such an object, so that a change in place is written even if the program drops the
object. The session stops holding it if both are true: the object's values were compared with its
row, and the program refers neither to the object nor to a part of its values.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.in_place import (
    entries_read,
    is_changed_in_place,
    mutable_names,
    row_in_place,
)
from hbase_orm.errors import CodecError, ConflictError, ValidationError
from hbase_orm.model import Model
from hbase_orm.objects.identity import superseded_error
from hbase_orm.objects.references import counts_are_exact, is_held, is_part_held
from hbase_orm.objects.refreshing import Replaced
from hbase_orm.ops import Row

_FIRST_LIMIT: Final = 1000
"""The number of held objects above which unneeded objects are released for the first time."""


@dataclass(slots=True)
class _Watch:
    """An object that the tracker holds, and former values that the program may still refer to.

    Attributes:
        bound: The bound model of the object.
        obj: The object.
        superseded: The object's mutable values at the time when another object took over its row.
            None if this has not happened.
        replaced: The values that the object had before its row was read again.
        row: The row that the object was read from, if `entries` is given.
        entries: The names and values that were read from `row`. None if they are not known.
    """

    bound: BoundModel
    obj: Model
    superseded: Row | None = None
    replaced: list[Replaced] = field(default_factory=list[Replaced])
    row: Row | None = None
    entries: tuple[object, ...] | None = None


class MutationTracker:
    """The objects that a flush compares with the rows they were read from."""

    def __init__(self) -> None:
        """Start without objects."""
        self._objects: dict[int, _Watch] = {}
        self._limit = _FIRST_LIMIT

    def __len__(self) -> int:
        """Return the number of held objects."""
        return len(self._objects)

    def add(self, bound: BoundModel, obj: Model, *, is_new: bool = False) -> None:
        """Hold an object whose values can change in place.

        Args:
            bound: The bound model of the object.
            obj: The object.
            is_new: Whether the object was just read from its row, and no program has seen it.
        """
        watch = self._objects.get(id(obj))
        if watch is not None:
            watch.superseded = None
            return
        watch = self._objects[id(obj)] = _Watch(bound, obj)
        if is_new and bound.has_plain_maps:
            watch.row, watch.entries = obj.__state__.row, entries_read(bound.schema, obj)
        if len(self._objects) > self._limit:
            self.prune()

    def note_replaced(self, obj: Model, replaced: Iterable[Replaced]) -> None:
        """Watch an object's former values, which were replaced when its row was read again."""
        watch = self._objects.get(id(obj))
        if watch is not None:
            watch.replaced += replaced

    def supersede(self, bound: BoundModel, obj: Model) -> None:
        """Watch an object whose row another object took over: no flush will write its changes."""
        self.forget(obj)
        with suppress(CodecError, ValidationError):  # such a value could never be written
            self._objects[id(obj)] = _Watch(bound, obj, row_in_place(bound.schema, obj))

    def forget(self, obj: Model | None) -> None:
        """Stop holding an object; do nothing for None."""
        self._objects.pop(id(obj), None)

    def clear(self) -> None:
        """Stop holding all objects."""
        self._objects.clear()

    def changed(self) -> Iterator[Model]:
        """Yield the objects whose mutable values differ from the rows they were read from.

        Objects whose row another object took over are left out.
        """
        watches = tuple(self._objects.values())
        return (watch.obj for watch in watches if watch.superseded is None and _is_changed(watch))

    def refuse_lost_changes(self, pending: Container[int]) -> None:
        """Raise an error if a value was changed in place and no flush would write the change.

        Args:
            pending: The ids of the objects that will be written.

        Raises:
            ConflictError: A former value of an object was changed in place.
            ValidationError: An object was changed in place after another object took over its row.
        """
        for watch in self._objects.values():
            if id(watch.obj) not in pending and _is_superseded_and_changed(watch):
                raise superseded_error(watch.obj)
            for each in watch.replaced:
                if each.is_changed:
                    raise ConflictError(
                        "a value was changed in place after the row was read again, but the "
                        "object holds a newer value now",
                        model=watch.bound.schema.model_name,
                        field=each.field,
                        row=watch.bound.keys.known_of(watch.obj),
                        value=each.values[each.field],
                        fix="call session.refresh(obj), then change the value that the object "
                        "holds",
                    )

    def prune(self) -> None:
        """Stop holding objects that are unchanged and that the program no longer refers to.

        On a Python that does not count references exactly, this method releases no object: all
        objects are held until `forget` or `clear` is called.
        """
        if self._objects and counts_are_exact():
            for number in tuple(self._objects):
                watch = self._objects.pop(number)
                if _is_needed(watch):
                    self._objects[number] = watch
        self._limit = max(_FIRST_LIMIT, 2 * len(self._objects))


def _is_needed(watch: _Watch) -> bool:
    watch.replaced = [each for each in watch.replaced if _is_replaced_needed(each)]
    if watch.replaced or is_held([watch.obj], own=1):
        return True
    names = mutable_names(watch.bound.schema)
    if is_part_held(watch.obj.__dict__, names) or _is_superseded_and_changed(watch):
        return True
    return _is_changed(watch)


def _is_superseded_and_changed(watch: _Watch) -> bool:
    if watch.superseded is None:
        return False
    try:
        return is_changed_in_place(watch.bound.schema, watch.obj, watch.superseded)
    except (CodecError, ValidationError):
        return True  # the earlier values did fit


def _is_replaced_needed(replaced: Replaced) -> bool:
    return is_part_held(replaced.values, (replaced.field,)) or replaced.is_changed


def _is_changed(watch: _Watch) -> bool:
    bound, obj = watch.bound, watch.obj
    row = obj.__state__.row
    if row is None or _has_the_entries_read(watch, row):
        return False
    try:
        return is_changed_in_place(bound.schema, obj, row)
    except (CodecError, ValidationError):
        # Some codecs decode values that they refuse to encode. Any other value that does not fit
        # was set by the program, and the flush raises the error for it.
        of_columns = replace(bound, context=None)  # nothing in a key changes in place
        fresh = of_columns.hydrate(row, obj.__state__.deferred).__dict__
        values = obj.__dict__
        return any(
            values.get(n) != fresh.get(n) for n in mutable_names(bound.schema) if n in values
        )


def _has_the_entries_read(watch: _Watch, row: Row) -> bool:
    """Return whether an object has the very names and values that were read from its row."""
    if watch.entries is None or watch.row is not row:
        return False
    now = entries_read(watch.bound.schema, watch.obj)
    return now is not None and len(now) == len(watch.entries) and all(map(is_, now, watch.entries))
