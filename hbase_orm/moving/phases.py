"""The phases of a move, in order."""

from __future__ import annotations

from enum import IntEnum


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
