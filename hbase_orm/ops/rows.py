"""The answers of reads: rows, cells and their versions."""

from __future__ import annotations

import struct
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple

from hbase_orm.errors import CorruptRowError

_INT64 = struct.Struct(">q")


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

    @property
    def columns(self) -> Collection[bytes]:
        """The columns of the cells."""
        return self.cells.keys()

    @property
    def content_bytes(self) -> int:
        """The size of the key, the columns and the values in bytes."""
        cells = self.cells.items()
        return len(self.key) + sum(len(column) + len(cell.value) for column, cell in cells)

    def with_cells(self, cells: dict[bytes, Cell]) -> Row:
        """Return a row like this one with other cells."""
        return replace(self, cells=cells)


class ListedRow(Row):
    """A row as a gateway read it: `cells` is made of `fields` when it is first used.

    A gateway that reads many rows with the same columns makes such rows, because the cells of most
    rows are only decoded, column by column. The row is equal to a `Row`, and used like one.

    Attributes:
        listed: The columns that the row may have. The rows of one answer share this tuple.
        fields: Two values for each of the columns `listed`, in the same order: at `VALUE_FIELD` and
            `STAMP_FIELD` for the first one, each time `FIELDS_PER_CELL` further for the next ones.
            They are the cell's value, and its timestamp as 8 bytes. Both are None if the row has no
            cell in this column. The other fields have no meaning here.
    """

    # `cells` is unset at first, so its first use calls `__getattr__`.
    __slots__ = ("fields", "listed")

    listed: tuple[bytes, ...]
    fields: tuple[Any, ...]

    def __init__(self, key: bytes, listed: tuple[bytes, ...], fields: tuple[Any, ...]) -> None:
        """Make a row of the fields that a gateway read."""
        self.key = key
        self.listed = listed
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        """Make `cells` at its first use."""
        if name != "cells":
            raise AttributeError(name)
        values = self.fields[VALUE_FIELD::FIELDS_PER_CELL]
        stamps = self.fields[STAMP_FIELD::FIELDS_PER_CELL]
        # To call `Cell` would take twice as long.
        new, unpack, cells = tuple.__new__, _INT64.unpack, dict[bytes, Cell]()
        for column, value, stamp in zip(self.listed, values, stamps, strict=True):
            if stamp is not None:
                cells[column] = new(Cell, (value, *unpack(stamp)))
        self.cells = cells
        return self.cells

    @property
    def columns(self) -> Collection[bytes]:
        """The columns of the cells."""
        values = self.fields[VALUE_FIELD::FIELDS_PER_CELL]
        if None not in values:
            return self.listed
        return [each for each, value in zip(self.listed, values, strict=True) if value is not None]

    @property
    def content_bytes(self) -> int:
        """The size of the key, the columns and the values in bytes."""
        values = filter(None, self.fields[VALUE_FIELD::FIELDS_PER_CELL])
        return len(self.key) + sum(map(len, self.columns)) + sum(map(len, values))

    def with_cells(self, cells: dict[bytes, Cell]) -> Row:
        """Return a row with this key and other cells."""
        return Row(self.key, cells)

    def __eq__(self, other: object) -> bool:
        """Compare with another row that is not stale."""
        if other.__class__ in {Row, ListedRow}:
            assert isinstance(other, Row)
            return self.key == other.key and self.cells == other.cells
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a Row has no hash either

    def __repr__(self) -> str:
        """Return the `repr` of the equal `Row`."""
        return f"Row(key={self.key!r}, cells={self.cells!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a copy or a pickle is made of: the equal `Row`."""
        return Row, (self.key, self.cells)


VALUE_FIELD: Final = 4
"""The index of the first column's value among the fields of a `ListedRow`."""

STAMP_FIELD: Final = 5
"""The index of the first column's timestamp among the fields of a `ListedRow`."""

FIELDS_PER_CELL: Final = 3
"""How many fields of a `ListedRow` belong to each column."""


@dataclass(slots=True)
class StaleRow(Row):
    """A row of a timeline read that a replica returned; it may be older than the stored row.

    A stale row without cells stands for a row that the replica does not have.
    """


@dataclass(slots=True)
class CorruptRow(Row):
    """A row that a read could not make out of what it read; it has no cells.

    It stands in the place of the row, so that rows before it are returned, and so that the one who
    takes the rows decides what to do. Its key is empty if it is unknown which row it is.

    Attributes:
        error: The error that names what does not decode.
    """

    error: CorruptRowError


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


class FirstRows(NamedTuple):
    """The first rows of a scan, and whether they are all of its rows."""

    rows: list[Row]
    is_all: bool


class ScannerId(NamedTuple):
    """An open scanner, which only the gateway that opened it can use."""

    number: int
    owner: object
