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
        phase: The phase. The two tables may differ by one phase: the new table enters a phase
            first.
        other_table: The other table.
        is_old: Whether rows leave this table; else they come to it.
        new_key_table: The index table of the old table that orders its rows by their new keys.
            Empty if each row keeps its key.
        floor_ms: The greatest timestamp of the guards of the tables from which this one was filled;
            0 if it was filled by no move that has ended.
        is_given_up: Whether the move is being given up: programs of the new class are refused.
    """

    phase: Phase
    other_table: str
    is_old: bool
    new_key_table: str = ""
    floor_ms: int = 0
    is_given_up: bool = False

    @property
    def is_running(self) -> bool:
        """Whether rows may still be in the old table."""
        return self.phase < Phase.NEW

    @property
    def has_ended_here(self) -> bool:
        """Whether the rows of another table have all come to this one."""
        return not self.is_old and not self.is_running

    def is_of(self, other: CatalogMove) -> bool:
        """Return whether both are phases of one move, seen from the same table."""
        return (self.other_table, self.is_old, self.new_key_table) == (
            other.other_table,
            other.is_old,
            other.new_key_table,
        )

    def stored(self) -> dict[str, Any]:
        """Return the move as values of JSON."""
        return {
            "phase": self.phase.name,
            "other": self.other_table,
            "old": self.is_old,
            "new keys": self.new_key_table,
            "floor": self.floor_ms,
            "given up": self.is_given_up,
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
            stored["given up"],
        )
