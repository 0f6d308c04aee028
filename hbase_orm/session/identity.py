"""One object a row in a session, held weakly."""

from __future__ import annotations

from typing import Final
from weakref import WeakValueDictionary

from hbase_orm.errors import ValidationError
from hbase_orm.model import Model
from hbase_orm.session.binding import BoundModel

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


def supersede(obj: Model) -> None:
    """Refuse further changes of an object for whose row another one stands now."""
    obj._row = None  # noqa: SLF001 - the model's own state
    obj._note_change = _refuse_change  # noqa: SLF001 - the model's own state


def _refuse_change(obj: Model) -> None:
    raise superseded_error(obj)


def superseded_error(obj: Model) -> ValidationError:
    """Return the error of an object that changes and no longer stands for its row."""
    return ValidationError(
        "another object of this row was written or deleted after this one",
        model=type(obj).__name__,
        fix="change that object, or get the row again",
    )


def refuse_part(obj: Model) -> None:
    """Refuse to let an object stand for its whole row if it was read without some of it.

    Raises:
        ValidationError: It was read by `columns_between`.
    """
    read = obj.__dict__.get(READ_IN_PART)
    if read is not None:
        raise ValidationError(
            "the object was read in part: a row written from it would lack what was not read",
            model=type(obj).__name__,
            read=read,
            fix="get the row whole, or add the object and flush its changes",
        )
