"""One object a row in a session, held weakly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from hbase_orm.errors import CodecError, ValidationError
from hbase_orm.model import Model
from hbase_orm.model.deferring import copy_loaded, loaded_fields, set_unread
from hbase_orm.schema import NO_FIELDS
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.unit_of_work import loaded_row

READ_IN_PART: Final = "_read_in_part"
"""Where an object read by `columns_between` keeps what was read of its row, in words."""

_Place = tuple[type[Model], str, bytes]


def _place(bound: BoundModel, key: bytes) -> _Place:
    return bound.model, bound.schema.table, key


class IdentityMap:
    """The objects of a session by model, table and row key; an object nobody holds is forgotten."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: WeakValueDictionary[_Place, Model] = WeakValueDictionary()

    def __len__(self) -> int:
        """Return how many objects are known."""
        return len(self._objects)

    def find(self, bound: BoundModel, key: bytes) -> Model | None:
        """Return the object of a row, if somebody still holds it."""
        return self._objects.get(_place(bound, key))

    def put(self, bound: BoundModel, key: bytes, obj: Model) -> None:
        """Know `obj` as the object of a row."""
        self._objects[_place(bound, key)] = obj

    def forget(self, bound: BoundModel, key: bytes) -> Model | None:
        """Forget a row's object and return it."""
        return self._objects.pop(_place(bound, key), None)

    def clear(self) -> list[Model]:
        """Forget every object and return those that were known."""
        known = list(self._objects.values())
        self._objects.clear()
        return known


def supersede(before: Model | None, obj: Model) -> None:
    """Let `obj` stand for its row: changes of the object before it would be written nowhere."""
    if before is not None and before is not obj:
        before._row = None  # noqa: SLF001 - the model's own state
        before._note_change = _refuse_change  # noqa: SLF001 - the model's own state


def _refuse_change(obj: Model) -> None:
    raise ValidationError(
        "another object of this row was written or deleted after this one",
        model=type(obj).__name__,
        fix="change that object, or get the row again",
    )


def refresh(bound: BoundModel, obj: Model, fresh: Model) -> None:
    """Bring `obj` up to what `fresh` read; fields changed since it was loaded keep their value.

    Deferred fields that were not read again are unloaded: their values may be old.
    """
    loaded = loaded_row(obj)
    new, values = fresh.__dict__, obj.__dict__
    old: dict[str, Any] = {}
    own = NO_FIELDS
    if loaded is not None:
        old = bound.hydrate(loaded, loaded_fields(values)).__dict__
        own = set_unread(bound.schema, values)  # their None is a change: it clears
    dynamics = bound.schema.dynamic_by_name
    for name in bound.schema.fields:
        if name in dynamics:
            _refresh_entries(name, old, values, new)
            continue
        if name in own or (loaded is not None and _is_changed(bound, name, old, values)):
            continue
        if name in new:
            values[name] = new[name]
        else:
            values.pop(name, None)
    values.pop(READ_IN_PART, None)
    copy_loaded(new, values)
    obj._row = loaded_row(fresh)  # noqa: SLF001 - the model's own state


def refuse_part(obj: Model) -> None:
    """Refuse to let an object stand for its whole row if it was read without some of it.

    Raises:
        ValidationError: It was read by `columns_between`.
    """
    read = obj.__dict__.get(READ_IN_PART)
    if read is not None:
        raise ValidationError(
            "the object was read in part: replacing its row would delete what was not read",
            model=type(obj).__name__,
            read=read,
            fix="get the row whole, or add the object and flush its changes",
        )


def _refresh_entries(
    name: str, old: Mapping[str, Any], values: dict[str, Any], new: Mapping[str, Any]
) -> None:
    """Bring a map up to date entry by entry: the object may have been read without some of them."""
    if name not in new:
        return
    before, now, fresh = old.get(name, {}), values.setdefault(name, {}), dict(new[name])
    for key in before.keys() | now.keys():
        mine = now.get(key)
        if mine == before.get(key):
            continue
        fresh.pop(key, None)
        if mine is not None:
            fresh[key] = mine
    now.clear()  # the dict stays the same: the program may hold it
    now.update(fresh)


def _is_changed(
    bound: BoundModel, name: str, old: Mapping[str, Any], values: Mapping[str, Any]
) -> bool:
    """Say whether a field differs from what was loaded; the bytes decide, for nan != nan."""
    before, now = old.get(name), values.get(name)
    if before == now:
        return False
    if before is None or now is None or name not in bound.schema.column_by_name:
        return True
    codec = bound.schema.column_by_name[name].codec
    try:
        return bool(codec.encode(before) != codec.encode(now))
    except CodecError:
        return True  # what was loaded fits, so this is the program's
