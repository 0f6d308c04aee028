"""The identity map: one object for each row in a session, held weakly."""

from __future__ import annotations

from weakref import WeakValueDictionary

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import ValidationError
from hbase_orm.model import Model

_RowId = tuple[type[Model], str, bytes]


def _row_id(bound: BoundModel, key: bytes) -> _RowId:
    return bound.model, bound.schema.table, key


class IdentityMap:
    """The objects of a session by model, table and row key, while the program refers to them."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: WeakValueDictionary[_RowId, Model] = WeakValueDictionary()

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self._objects)

    def find(self, bound: BoundModel, key: bytes) -> Model | None:
        """Return the object of a row; None if there is none, or nothing refers to it any more."""
        return self._objects.get(_row_id(bound, key))

    def put(self, bound: BoundModel, key: bytes, obj: Model) -> None:
        """Keep `obj` as the object of a row, weakly."""
        self._objects[_row_id(bound, key)] = obj

    def forget(self, bound: BoundModel, key: bytes) -> Model | None:
        """Remove the object of a row and return it; None if there is none."""
        return self._objects.pop(_row_id(bound, key), None)

    def clear(self) -> list[Model]:
        """Remove all objects and return them."""
        objects = list(self._objects.values())
        self._objects.clear()
        return objects


def supersede(obj: Model) -> None:
    """Detach an object whose row another object took over: further changes raise an error."""
    obj.__state__.row = None
    obj.__state__.on_change = _refuse_change


def _refuse_change(obj: Model) -> None:
    raise superseded_error(obj)


def superseded_error(obj: Model) -> ValidationError:
    """Return the error to raise for a change of an object whose row another object took over."""
    return ValidationError(
        "another object of this row was written or deleted after this one",
        model=type(obj).__name__,
        fix="change that object, or get the row again",
    )


def refuse_part(obj: Model) -> None:
    """Raise an error if only a range of an object's dynamic columns was read.

    Raises:
        ValidationError: The object was read by `columns_between`.
    """
    read = obj.__state__.entry_range
    if read is not None:
        raise ValidationError(
            "the object was read in part: a row written from it would lack the columns that "
            "were not read",
            model=type(obj).__name__,
            read=read,
            fix="get the whole row, or add the object and flush its changes",
        )
