"""One object a row in a session, held weakly."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from hbase_orm.model import Model
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.unit_of_work import loaded_row


class IdentityMap:
    """The objects of a session by model and row key; an object nobody holds is forgotten."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: WeakValueDictionary[tuple[type[Model], bytes], Model] = WeakValueDictionary()

    def __len__(self) -> int:
        """Return how many objects are known."""
        return len(self._objects)

    def find(self, model: type[Model], key: bytes) -> Model | None:
        """Return the object of a row, if somebody still holds it."""
        return self._objects.get((model, key))

    def put(self, model: type[Model], key: bytes, obj: Model) -> None:
        """Know `obj` as the object of a row."""
        self._objects[model, key] = obj

    def forget(self, model: type[Model], key: bytes) -> Model | None:
        """Forget a row's object and return it."""
        return self._objects.pop((model, key), None)

    def clear(self) -> list[Model]:
        """Forget every object and return those that were known."""
        known = list(self._objects.values())
        self._objects.clear()
        return known


def refresh(bound: BoundModel, obj: Model, fresh: Model) -> None:
    """Bring `obj` up to what `fresh` read; fields changed since it was loaded keep their value."""
    loaded = loaded_row(obj)
    old: dict[str, Any] = {} if loaded is None else bound.hydrate(loaded).__dict__
    new = fresh.__dict__
    values = obj.__dict__
    missing = object()
    for name in bound.schema.fields:
        if loaded is not None and values.get(name, missing) != old.get(name, missing):
            continue
        if name in new:
            values[name] = new[name]
        else:
            values.pop(name, None)
    obj._row = loaded_row(fresh)  # noqa: SLF001 - the model's own state
