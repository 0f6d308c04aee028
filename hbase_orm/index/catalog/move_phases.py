"""The move of a table's rows to another table: its phases, and how the catalog stores it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Phase(IntEnum):
    """How far a move is, as one process knows it; others may be one phase before or after it.

    Attributes:
        OLD: Nothing has begun; rows may have no guards.
        GUARDED: Every write of the old table is a guarded write.
        INDEXING: Writes also maintain the index of new keys and the indexes of the new table.
        PREPARED: These indexes have all rows. Reads and writes follow seals, but nothing seals yet.
        MOVING: Writes seal the row, adopt it and then write it in the new table.
        NEW: All rows are in the new table; the old one is not read any more.
    """

    OLD = 0
    GUARDED = 1
    INDEXING = 2
    PREPARED = 3
    MOVING = 4
    NEW = 5


@dataclass(frozen=True, slots=True)
class CatalogMove:
    """A table's part in a move. The entries of both tables have it.

    Attributes:
        phase: The phase. During a change, the two tables may differ by one phase.
        other_table: The other table.
        is_old: Whether rows leave this table; else they come to it.
        new_key_table: The index table of the old table that orders its rows by their new keys.
            Empty if each row keeps its key.
        floor_ms: In the new table from NEW on, the greatest timestamp of the old table's guards;
            else 0.
    """

    phase: Phase
    other_table: str
    is_old: bool
    new_key_table: str = ""
    floor_ms: int = 0

    @property
    def is_running(self) -> bool:
        """Whether rows may still be in the old table."""
        return self.phase < Phase.NEW

    def stored(self) -> dict[str, Any]:
        """Return the move as values of JSON."""
        return {
            "phase": self.phase.name,
            "other": self.other_table,
            "old": self.is_old,
            "new keys": self.new_key_table,
            "floor": self.floor_ms,
        }

    @classmethod
    def of(cls, stored: dict[str, Any]) -> CatalogMove:
        """Return the move that is stored as `stored`.

        Raises:
            KeyError: A member or the phase is not known.
        """
        return cls(
            Phase[stored["phase"]],
            stored["other"],
            stored["old"],
            stored["new keys"],
            stored["floor"],
        )
