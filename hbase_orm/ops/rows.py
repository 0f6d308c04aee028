"""The answers of reads: rows, cells and their versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Cell(NamedTuple):
    """One version of one column, in most reads the newest."""

    value: bytes
    timestamp_ms: int


@dataclass(slots=True)
class Row:
    """A row that a read returned: the newest version of each requested column.

    For speed the class is not frozen, but a row must not be changed.
    """

    key: bytes
    cells: dict[bytes, Cell]


@dataclass(slots=True)
class StaleRow(Row):
    """A row of a timeline read that a replica returned; it may be older than the stored row.

    A stale row without cells stands for a row that the replica does not have.
    """


class StoredVersion(NamedTuple):
    """One stored version of a column or, in a raw read, a tombstone.

    `kind` is "put" for a version. The kind of a tombstone shows what it deletes:

    - "delete": the version with exactly this timestamp.
    - "delete_column": all versions of the column with this timestamp or an older one.
    - "delete_family": all cells of the family with this timestamp or an older one.
    - "delete_family_version": the cells of the family with exactly this timestamp.
    """

    column: bytes
    timestamp_ms: int
    kind: Literal["put", "delete", "delete_column", "delete_family", "delete_family_version"]
    value: bytes


class ScannerId(NamedTuple):
    """An open scanner, which only the gateway that opened it can use."""

    number: int
    owner: object
