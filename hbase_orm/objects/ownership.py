"""Checks before a write: the object belongs to this engine, and no field is missing."""

from __future__ import annotations

from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import ValidationError
from hbase_orm.model import Model
from hbase_orm.model.fields.deferring import refuse_partial, refuse_unloaded
from hbase_orm.model.state import row_key_of
from hbase_orm.objects.identity import refuse_part


def refuse_foreign(bound: BoundModel, obj: Model) -> None:
    """Raise an error if an object was read or written by another engine.

    Raises:
        ValidationError: The object's row is in a table of another engine.
    """
    if not obj.__state__.is_foreign(bound.origin):
        return
    model = bound.schema.model_name
    raise ValidationError(
        "the object was read or written by another engine: its changes refer to a row there",
        model=model,
        row=row_key_of(obj),
        fix=f"load its deferred fields and add a copy: add({model}.from_dict(obj.to_dict())); "
        "or get the row from this engine",
    )


def refuse_incomplete(bound: BoundModel, obj: Any, *, is_new: bool) -> None:
    """Raise an error if a write of the object would leave its row without some of its fields.

    An object that this engine read may lack deferred fields that are not required, because the row
    keeps their cells. These objects must have all fields:

    - a new object,
    - an object that another engine read or wrote,
    - any object if `is_new`.

    Args:
        bound: The bound model.
        obj: The object.
        is_new: Whether the write requires that the row does not exist yet.

    Raises:
        ValidationError: Fields are missing; the error names the deferred fields or the columns that
            were read.
    """
    if obj.__state__.is_foreign(bound.origin):
        refuse_part(obj)
        refuse_unloaded(obj)
    elif is_new:
        refuse_unloaded(obj)
    else:
        refuse_partial(obj)
