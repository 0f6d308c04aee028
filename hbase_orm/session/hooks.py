"""When the hooks of models are called, and `onupdate` values are made.

Only whole objects have hooks: writes by key alone and projections have none. What a hook raises
reaches the caller; before a write, nothing of the object was sent yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from hbase_orm.model import Model
from hbase_orm.query import Select
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.unit_of_work import RowWrite, loaded_row, write_of


def prepare(bound: BoundModel, obj: Model, kind: Literal["put", "whole", "delete"]) -> None:
    """Let an object that is about to be written, or deleted, prepare itself.

    Args:
        bound: Its model.
        obj: The object.
        kind: "put" writes what changed, and nothing is asked of an object that did not; "whole"
            writes it in any case.

    Raises:
        ValidationError: A value that `onupdate` made does not fit.
    """
    hooks = type(obj).__hooks__
    if kind == "delete":
        if hooks.before_delete:
            obj.before_delete()
        return
    if not (hooks.before_put or hooks.renewed):
        return
    changes = None if loaded_row(obj) is None else write_of(bound, obj, "put")
    if kind == "put" and changes is not None and changes.is_idle:
        return
    if hooks.before_put:
        obj.before_put()
        changes = None if changes is None else write_of(bound, obj, "put")
    if changes is not None:
        _renew(bound, obj, changes)


def _renew(bound: BoundModel, obj: Model, changes: RowWrite) -> None:
    """Set the fields with `onupdate` that nobody changed."""
    changed = changes.puts.keys() | changes.clears
    for name, make in type(obj).__hooks__.renewed:
        if bound.schema.column_by_name[name].column not in changed:
            obj.__dict__[name] = obj.__checkers__[name](make())


def tell_written(writes: Iterable[RowWrite]) -> None:
    """Tell objects that their writes were acknowledged."""
    for write in writes:
        obj = write.obj
        if obj is None or not type(obj).__hooks__.has_after_write or write.is_idle:
            continue
        if write.kind == "delete":
            obj.after_delete()
        else:
            obj.after_put()


def tell_loaded(obj: Any) -> Any:
    """Return an object that was read, after telling it so."""
    if type(obj).__hooks__.after_load:
        obj.after_load()
    return obj


def telling(stmt: Select[Any], objects: Iterator[Any]) -> Iterator[Any]:
    """Yield what a statement selects, objects each told that it was read."""
    if stmt.selection is not None:
        return objects
    kinds = stmt.model.__schema__.kinds
    models: Iterable[Any] = (stmt.model,) if kinds is None else kinds.models.values()
    if not any(each.__hooks__.after_load for each in models):
        return objects
    return map(tell_loaded, objects)
