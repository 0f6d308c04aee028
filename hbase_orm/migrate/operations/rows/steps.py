"""Checkpoints of operations with several phases, each of which walks over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hbase_orm.migrate.operations.operation import Checkpoint

PHASE: Final = "phase"
"""The member of a checkpoint with the name of the phase."""

_KEPT = "kept "

GIVE_UP: Final = "give up"
"""The phase of a run that gives up the move in the other direction."""


class NoCheckpoint:
    """The checkpoint of a dry run: nothing is saved."""

    @property
    def position(self) -> Mapping[str, str]:
        """Nothing."""
        return {}

    @property
    def interrupted(self) -> None:
        """Nothing."""

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
        return position if position.get(PHASE) == self.phase else {}

    @property
    def interrupted(self) -> Mapping[str, str] | None:
        """The position of an interrupted run in the other direction."""
        return self.checkpoint.interrupted

    def save(self, position: Mapping[str, str]) -> None:
        """Save the position within this phase."""
        kept = {f"{_KEPT}{name}": value for name, value in self.kept.items()}
        self.checkpoint.save({**position, **kept, PHASE: self.phase})


def phase_of(checkpoint: Checkpoint) -> tuple[str, dict[str, str]]:
    """Return the phase that was begun, empty if none was, and what the operation saved."""
    return phase_in(checkpoint.position)


def phase_in(position: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the phase that a position is in, and what the operation saved, as `phase_of`."""
    kept = {
        name.removeprefix(_KEPT): value
        for name, value in position.items()
        if name.startswith(_KEPT)
    }
    return position.get(PHASE, ""), kept
