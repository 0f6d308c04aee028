"""Marks: cells that show which rows an operation has changed.

A mark is put by the request that changes its row. So a row is changed at most once, whatever
crashed or answered late. If the operation is interrupted and then undone, the same marks show the
rows that must be changed back. Marks are overwritten, not deleted, until all rows are done: the
tombstone of a mark would hide the next one with the same timestamp.

A mark may also have the timestamps of older versions that were left as they are, in either
direction: their bytes are what they were, and stay so whatever direction the next run has.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from hbase_orm.index.entries.guard_cell import NONCE_BYTES
from hbase_orm.index.entries.targets import MARKER_VALUE

_CHANGED_BACK: Final = b"back"
_LEFT: Final = b"="
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
        is_changed = cell is not None and cell.partition(_LEFT)[0] == MARKER_VALUE
        return is_changed != self.undoes

    def value_with(self, left_ms: Iterable[int]) -> bytes:
        """Return the cell of a row that is done, in which older versions were left as they are.

        Args:
            left_ms: The timestamps of these versions.
        """
        stamps = ",".join(map(str, sorted(left_ms)))
        return self.value + _LEFT + stamps.encode() if stamps else self.value


def left_versions(cell: bytes) -> frozenset[int]:
    """Return the timestamps of the older versions that a mark says were left as they are."""
    stamps = cell.partition(_LEFT)[2]
    return frozenset(map(int, stamps.split(b","))) if stamps else frozenset()


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
