"""What reads answer: rows, cells and their versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Cell(NamedTuple):
    """One value of one column: the newest version in a read."""

    value: bytes
    timestamp_ms: int


@dataclass(slots=True)
class Row:
    """A row as a read returned it: only the requested columns, newest version of each.

    Not frozen for speed: a scan makes one for each row. Nobody changes it.
    """

    key: bytes
    cells: dict[bytes, Cell]


class StoredVersion(NamedTuple):
    """One stored version of a column, or, in a raw read, a tombstone.

    `kind` is "put", or for tombstones "delete" (that version only), "delete_column" (that
    version and older), "delete_family" (the whole family, that timestamp and older),
    "delete_family_version" (the family's cells of exactly that timestamp).
    """

    column: bytes
    timestamp_ms: int
    kind: Literal["put", "delete", "delete_column", "delete_family", "delete_family_version"]
    value: bytes


class ScannerId(NamedTuple):
    """An open scanner. Only the gateway that opened it can read on; opaque to everyone else."""

    number: int
    owner: object
