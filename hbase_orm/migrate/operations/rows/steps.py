"""Checkpoints of operations with several phases, each of which walks over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hbase_orm.migrate.operations.operation import Checkpoint

_PHASE = "phase"
_KEPT = "kept "


class NoCheckpoint:
    """The checkpoint of a dry run: nothing is saved."""

    @property
    def position(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    def save(self, position: Mapping[str, str]) -> None:
        """Save nothing."""


@dataclass(frozen=True, slots=True)
class PhaseCheckpoint:
    """The checkpoint of one phase: a position of another phase counts as none.

    Attributes:
        checkpoint: The checkpoint of the operation.
        phase: The name of the phase.
        kept: What the operation saves in all phases.
    """

    checkpoint: Checkpoint
    phase: str
    kept: Mapping[str, str]

    @property
    def position(self) -> Mapping[str, str]:
        """The position within this phase; empty if the phase has not begun."""
        position = self.checkpoint.position
        return position if position.get(_PHASE) == self.phase else {}

    def save(self, position: Mapping[str, str]) -> None:
        """Save the position within this phase."""
        kept = {f"{_KEPT}{name}": value for name, value in self.kept.items()}
        self.checkpoint.save({**position, **kept, _PHASE: self.phase})


def phase_of(checkpoint: Checkpoint) -> tuple[str, dict[str, str]]:
    """Return the phase that was begun, empty if none was, and what the operation saved."""
    position = checkpoint.position
    kept = {
        name.removeprefix(_KEPT): value
        for name, value in position.items()
        if name.startswith(_KEPT)
    }
    return position.get(_PHASE, ""), kept
