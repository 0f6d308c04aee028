"""When the hooks of models are called, and `onupdate` values are made.

Only whole objects have hooks: writes without an object and projections have none. What a hook
raises reaches the caller: before a write, nothing of the object was sent yet; after the writes of a
flush, when every hook was called.
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
"""How often in one flush hooks may note further objects: a list that is deleted link by link may,
hooks that add objects without end may not."""


def prepare(bound: BoundModel, obj: Model, kind: Literal["put", "whole", "delete"]) -> None:
    """Let an object that is about to be written, or deleted, prepare itself.

    Args:
        bound: Its model.
        obj: The object.
        kind: "put" writes what changed, and leaves an object without changes as it is; "whole"
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
    changes = _changes(bound, obj)
    if kind == "put" and changes is not None and changes.is_idle:
        return
    if hooks.before_put:
        obj.before_put()
        changes = _changes(bound, obj)
    if changes is not None:
        _renew(bound, obj, changes)


def _changes(bound: BoundModel, obj: Model) -> RowWrite | None:
    """Return what would be written of an object that was loaded; None of another one."""
    loaded = obj.__state__.row
    if loaded is None:
        return None
    refuse_foreign(bound, obj)
    return write_with_key(bound, obj, "put", bound.keys.known_of(obj) or loaded.key)


def _renew(bound: BoundModel, obj: Model, changes: RowWrite) -> None:
    """Set the fields with `onupdate` that nobody changed."""
    changed = changes.puts.keys() | changes.clears
    for name, make in type(obj).__hooks__.renewed:
        if bound.schema.column_by_name[name].column not in changed:
            obj.__dict__[name] = obj.__checkers__[name](make())


@dataclass(slots=True)
class HookErrors:
    """What hooks raised after writes, until the flush is over; a context manager around each hook.

    Only an `Exception` waits: an interrupt ends the flush at once.

    Attributes:
        raised: The exceptions, in the order of the hooks.
    """

    raised: list[Exception] = field(default_factory=list[Exception])

    def __enter__(self) -> None:
        """Begin a hook."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool:
        """Keep what the hook raised; return whether it waits."""
        if not isinstance(error, Exception):
            return False
        self.raised.append(error)
        return True

    def raise_first(self) -> None:
        """Raise the first exception, of which there is one; the others are logged."""
        first, *others = self.raised
        if others:
            first.add_note(f"{len(others)} more hooks raised; the log shows their exceptions")
        for error in others:
            logger.error("a hook raised after its object was written", exc_info=error)
        raise first


def call_every_after_write_hook(writes: Iterable[RowWrite], errors: HookErrors) -> None:
    """Call the hook of each acknowledged write that has one, whatever another one raises."""
    for write in writes:
        with errors:
            _call_after_hook(write)


def call_after_write_hooks(writes: Iterable[RowWrite]) -> None:
    """Call the hook of each acknowledged write."""
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
    """Return an object that was read, after its hook was called."""
    if type(obj).__hooks__.after_load:
        obj.after_load()
    return obj


def with_after_load(stmt: Select[Any], objects: Iterator[Any]) -> Iterator[Any]:
    """Yield what a statement selects, the hook of each object called before."""
    if stmt.selection is not None:
        return objects
    record_types = stmt.model.__schema__.record_types
    models: Iterable[Any] = (stmt.model,) if record_types is None else record_types.models.values()
    if not any(each.__hooks__.after_load for each in models):
        return objects
    return map(call_after_load_hook, objects)
