"""A step of a revision that calls functions of the revision's file."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm.errors import ConfigurationError
from hbase_orm.migrate.operations.operation import (
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Operation,
)

_FORMS: Final = "write def forward(engine) or def forward(engine, checkpoint)"


@dataclass(frozen=True)
class RunPython(Operation):
    """Calls a function with the engine, or with the engine and the step's checkpoint.

    A function without a checkpoint is called again from its beginning after an interruption, so it
    must be safe to repeat.

    Attributes:
        forward: The function for an upgrade.
        backward: The function for a downgrade; None if the step cannot be undone.
    """

    forward: Callable[..., None]
    backward: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        """Check the functions.

        Raises:
            ConfigurationError: A function takes other arguments.
        """
        for function in filter(None, (self.forward, self.backward)):
            if not (_accepts(function, 1) or _accepts(function, 2)):
                name = _name(function)
                raise ConfigurationError(
                    "the function of RunPython takes other arguments", function=name, fix=_FORMS
                )

    def describe(self) -> str:
        """Return one line with the name of the function."""
        return f"run {_name(self.forward)}"

    def reverse(self) -> Operation | Irreversible:
        """Return the step with both functions exchanged."""
        if self.backward is None:
            return Irreversible(f"{_name(self.forward)} has no backward function")
        return RunPython(self.backward, self.forward)

    def estimate(self, migration: Migration) -> Estimate:
        """Return an estimate without numbers: nobody knows what the function does."""
        del migration
        reverse = self.reverse()
        reason = reverse.reason if isinstance(reverse, Irreversible) else ""
        return Estimate((), None, None, None, reason)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        """Call the function."""
        if _accepts(self.forward, 2):
            self.forward(migration.engine, checkpoint)
        else:
            self.forward(migration.engine)

    def source(self) -> str:
        """Return the Python source of the call."""
        functions = filter(None, (self.forward, self.backward))
        return f"RunPython({', '.join(map(_name, functions))})"


def _accepts(function: Any, count: int) -> bool:
    """Return whether a function can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or repr(function)
