"""One object a row in a session, held weakly."""

from __future__ import annotations

from weakref import WeakValueDictionary

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import ValidationError
from hbase_orm.model import Model

_RowId = tuple[type[Model], str, bytes]


def _row_id(bound: BoundModel, key: bytes) -> _RowId:
    return bound.model, bound.schema.table, key


class IdentityMap:
    """The objects of a session by model, table and row key; unreferenced objects drop out."""

    def __init__(self) -> None:
        """Start empty."""
        self._objects: WeakValueDictionary[_RowId, Model] = WeakValueDictionary()

    def __len__(self) -> int:
        """Return how many objects there are."""
        return len(self._objects)

    def find(self, bound: BoundModel, key: bytes) -> Model | None:
        """Return the object of a row, if somebody still holds it."""
        return self._objects.get(_row_id(bound, key))

    def put(self, bound: BoundModel, key: bytes, obj: Model) -> None:
        """Keep `obj` as the object of a row, weakly."""
        self._objects[_row_id(bound, key)] = obj

    def forget(self, bound: BoundModel, key: bytes) -> Model | None:
        """Forget a row's object and return it."""
        return self._objects.pop(_row_id(bound, key), None)

    def clear(self) -> list[Model]:
        """Forget every object and return them."""
        objects = list(self._objects.values())
        self._objects.clear()
        return objects


def supersede(obj: Model) -> None:
    """Refuse further changes of an object after another object took over its row."""
    obj.__state__.row = None
    obj.__state__.on_change = _refuse_change


def _refuse_change(obj: Model) -> None:
    raise superseded_error(obj)


def superseded_error(obj: Model) -> ValidationError:
    """Return the error of a changed object that no longer represents its row."""
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
    read = obj.__state__.entry_range
    if read is not None:
        raise ValidationError(
            "the object was read in part: a row written from it would lack the columns that "
            "were not read",
            model=type(obj).__name__,
            read=read,
            fix="get the whole row, or add the object and flush its changes",
        )
