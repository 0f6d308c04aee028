"""Hooks: methods of a model that a session calls when its objects are loaded and written.

Which hooks a class defines is computed once, so that models without hooks have no extra cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import iscoroutinefunction
from typing import Any, Final

from hbase_orm.errors import SchemaError
from hbase_orm.model.fields.fields import Mapped

HOOKS: Final = ("before_put", "after_put", "before_delete", "after_delete", "after_load")


@dataclass(frozen=True, slots=True)
class Hooks:
    """Which hooks a model has, and its fields with `onupdate`.

    Attributes:
        before_put: Whether the model defines this hook. The attributes named after the other hooks
            have the same meaning.
        renewed: Fields with `onupdate`, each with its function.
        has_before_write: Whether a hook or an `onupdate` function is called before a put or delete.
        has_after_write: Whether a hook is called after a put or delete was acknowledged.
    """

    before_put: bool
    after_put: bool
    before_delete: bool
    after_delete: bool
    after_load: bool
    renewed: tuple[tuple[str, Callable[[], Any]], ...]
    has_before_write: bool = field(init=False)
    has_after_write: bool = field(init=False)

    def __post_init__(self) -> None:
        """Compute once which hooks and renewed fields there are."""
        before_write = self.before_put or self.before_delete or bool(self.renewed)
        object.__setattr__(self, "has_before_write", before_write)
        object.__setattr__(self, "has_after_write", self.after_put or self.after_delete)


def hooks_of(cls: type, base: type, fields: tuple[Mapped[Any], ...]) -> Hooks:
    """Return the hooks that a model overrides from `base`.

    Raises:
        SchemaError: The name of a hook is used for something that is not a method, or for an async
            method.
    """
    own = {name: getattr(cls, name) is not getattr(base, name) for name in HOOKS}
    for name, is_own in own.items():
        hook = getattr(cls, name)
        if is_own and (not callable(hook) or iscoroutinefunction(hook)):
            raise SchemaError(
                "the name is reserved for a hook, which must be a method",
                model=cls.__name__,
                name=name,
                fix=f"choose another name, or write def {name}(self) -> None",
            )
    renewed = tuple((f.name, f.onupdate) for f in fields if f.onupdate is not None)
    return Hooks(**own, renewed=renewed)
