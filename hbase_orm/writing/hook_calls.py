"""Calls the hooks of models and computes `onupdate` values.

Hooks are called only for objects, not for writes without an object or for selected values. An error
of a hook before a write is raised before anything of the object is sent. If hooks after the writes
of a flush raise errors, the other hooks are called nevertheless. Then the first error is raised,
and the others are logged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.model import Model
from hbase_orm.objects.ownership import refuse_foreign
from hbase_orm.query import Select
from hbase_orm.writing.row_write import RowWrite, write_with_key

logger = logging.getLogger("hbase_orm.session")

MAX_ROUNDS: Final = 1000
"""The largest number of rounds of a flush.

A round writes the objects that hooks of the previous round changed.
Hooks that delete a linked list, one object in each hook, need many rounds. The limit stops hooks
that add objects without end.
"""


def prepare(bound: BoundModel, obj: Model, kind: Literal["put", "whole", "delete"]) -> None:
    """Call the hook of an object before it is written or deleted, and set `onupdate` fields.

    Args:
        bound: The bound model of the object.
        obj: The object.
        kind: "put" if only changes are written. Then nothing is done for an unchanged object.
            "whole" if the whole object is written. "delete" if the object is deleted.

    Raises:
        ValidationError: A value from `onupdate` does not fit.
    """
    hooks = type(obj).__hooks__
    if kind == "delete":
        if hooks.before_delete:
            obj.before_delete()
        return
    if not (hooks.before_put or hooks.renewed):
        return
    changes = _changes(bound, obj)
    if kind == "put" and changes is not None and changes.is_idle:
        return
    if hooks.before_put:
        obj.before_put()
        changes = _changes(bound, obj)
    if changes is not None:
        _renew(bound, obj, changes)


def _changes(bound: BoundModel, obj: Model) -> RowWrite | None:
    """Return a write of the changes of a loaded object; None for a new object."""
    loaded = obj.__state__.row
    if loaded is None:
        return None
    refuse_foreign(bound, obj)
    return write_with_key(bound, obj, "put", bound.keys.known_of(obj) or loaded.key)


def _renew(bound: BoundModel, obj: Model, changes: RowWrite) -> None:
    """Set the fields with `onupdate` that were not changed by the program."""
    changed = changes.puts.keys() | changes.clears
    for name, make in type(obj).__hooks__.renewed:
        if bound.schema.column_by_name[name].column not in changed:
            obj.__dict__[name] = obj.__checkers__[name](make())


@dataclass(slots=True)
class HookErrors:
    """Collects errors of hooks until the flush is finished: a context manager for each call.

    Only an `Exception` is collected: an interrupt ends the flush immediately.

    Attributes:
        raised: The exceptions, in the order of the hooks.
    """

    raised: list[Exception] = field(default_factory=list[Exception])

    def __enter__(self) -> None:
        """Begin the call of a hook."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool:
        """Collect the hook's exception; return True if it was collected, so it is not raised."""
        if not isinstance(error, Exception):
            return False
        self.raised.append(error)
        return True

    def raise_first(self) -> None:
        """Raise the first collected exception and log the others; there must be at least one."""
        first, *others = self.raised
        if others:
            first.add_note(f"{len(others)} more hooks raised; the log shows their exceptions")
        for error in others:
            logger.error("a hook raised after its object was written", exc_info=error)
        raise first


def call_every_after_write_hook(writes: Iterable[RowWrite], errors: HookErrors) -> None:
    """Call the `after_*` hook of each acknowledged write, even if another hook raises an error."""
    for write in writes:
        with errors:
            _call_after_hook(write)


def call_after_write_hooks(writes: Iterable[RowWrite]) -> None:
    """Call the `after_*` hook of each acknowledged write."""
    for write in writes:
        if write.has_after_hook:
            _call_after_hook(write)


def _call_after_hook(write: RowWrite) -> None:
    obj: Any = write.obj
    if write.kind == "delete":
        obj.after_delete()
    else:
        obj.after_put()


def call_after_load_hook(obj: Any) -> Any:
    """Call the `after_load` hook of an object that was read, and return the object."""
    if type(obj).__hooks__.after_load:
        obj.after_load()
    return obj


def with_after_load(stmt: Select[Any], objects: Iterator[Any]) -> Iterator[Any]:
    """Yield the results of a statement; call the `after_load` hook of each object first."""
    if stmt.selection is not None:
        return objects
    record_types = stmt.model.__schema__.record_types
    models: Iterable[Any] = (stmt.model,) if record_types is None else record_types.models.values()
    if not any(each.__hooks__.after_load for each in models):
        return objects
    return map(call_after_load_hook, objects)
