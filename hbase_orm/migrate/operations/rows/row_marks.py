"""Marks: cells that show which rows an operation has changed.

A mark is put by the request that changes its row. So a row is changed at most once, whatever
crashed or answered late. If the operation is interrupted and then undone, the same marks show the
rows that must be changed back. Marks are overwritten, not deleted, until all rows are done: the
tombstone of a mark would hide the next one with the same timestamp.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hbase_orm.index.entries.guard_cell import NONCE_BYTES
from hbase_orm.index.entries.targets import MARKER_VALUE

_CHANGED_BACK: Final = b"back"
_NONCE: Final = "mark"
_UNDOES: Final = "undoes"


def new_nonce() -> str:
    """Return what makes the marks of one operation differ from all others."""
    return os.urandom(NONCE_BYTES // 2).hex()


@dataclass(frozen=True, slots=True)
class RowMark:
    """The mark of one operation, and which rows are done.

    Attributes:
        column: The column of the mark.
        undoes: Whether rows with the mark are changed back, instead of the others being changed.
    """

    column: bytes
    undoes: bool = False

    @property
    def value(self) -> bytes:
        """The cell of a row that is done."""
        return _CHANGED_BACK if self.undoes else MARKER_VALUE

    def is_done(self, cell: bytes | None) -> bool:
        """Return whether a row with this cell, or without one, needs no change."""
        is_changed = cell == MARKER_VALUE
        return is_changed != self.undoes


@dataclass(frozen=True, slots=True)
class MarksOfRun:
    """What an operation saves about its marks.

    Attributes:
        nonce: What makes the marks differ from those of other operations.
        undoes: Whether rows with the mark are changed back; see `RowMark`.
    """

    nonce: str
    undoes: bool = False

    def encode(self) -> dict[str, str]:
        """Return the marks as members of a checkpoint."""
        return {_NONCE: self.nonce} | ({_UNDOES: "yes"} if self.undoes else {})

    @staticmethod
    def decode(kept: Mapping[str, str]) -> MarksOfRun | None:
        """Return the marks that a checkpoint has; None if it has none."""
        nonce = kept.get(_NONCE)
        return None if nonce is None else MarksOfRun(nonce, _UNDOES in kept)

    def turned(self) -> MarksOfRun:
        """Return the marks for a run in the other direction."""
        return MarksOfRun(self.nonce, not self.undoes)
