"""Whose an object is: the table that its row is in, and the session that writes its changes."""

from __future__ import annotations

from typing import Any

from hbase_orm.errors import ValidationError
from hbase_orm.model import Model
from hbase_orm.model.base import is_foreign
from hbase_orm.model.deferring import refuse_partial, refuse_unloaded
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.identity import refuse_part


def refuse_foreign(bound: BoundModel, obj: Model) -> None:
    """Refuse to compare an object with a row that it was not read from, nor written as.

    Raises:
        ValidationError: Its row is in the table of another engine.
    """
    if not is_foreign(obj, bound.origin):
        return
    model, row = bound.schema.model_name, obj._row  # noqa: SLF001 - the model's own state
    raise ValidationError(
        "the object was read or written by another engine: its changes say nothing of this row",
        model=model,
        row=None if row is None else row.key,
        fix=f"write a copy of all fields: add({model}.from_dict(obj.to_dict())), with deferred "
        "fields once they are loaded, or get the row from this engine",
    )


def refuse_incomplete(bound: BoundModel, obj: Any, *, is_new: bool) -> None:
    """Refuse to put an object that lacks fields where there may be no row that has them.

    Args:
        bound: The model.
        obj: The object.
        is_new: Whether its row is to be absent.

    Raises:
        ValidationError: It names the deferred fields, or says what was read of the row.
    """
    if is_foreign(obj, bound.origin):
        refuse_part(obj)
        refuse_unloaded(obj)
    elif is_new:
        refuse_unloaded(obj)
    else:
        refuse_partial(obj)
