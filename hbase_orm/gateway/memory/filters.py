"""Server-side filters as HBase runs them: cell by cell, with what each verdict passes over.

A filter sees a row's visible cells in order, older versions included. Its verdict on a cell may
end the column, seek ahead in the family or end the family, and cells passed over that way are seen
by no other filter of an AND: SingleColumnValueFilter behind a column prefix relies on that. One
object serves one region's scan; `reset` starts a row.
"""
# ruff: noqa: D102 - the methods are documented once, in `ServerFilter`, which all of them override

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class FilterCell(NamedTuple):
    """A cell as filters see it."""

    family: bytes
    qualifier: bytes
    value: bytes


class CellVerdict(IntEnum):
    """What becomes of a cell; a greater one passes over more of what follows."""

    INCLUDE = 0
    SKIP = 1
    NEXT_COLUMN = 2
    SEEK = 3
    NEXT_FAMILY = 4


Comparison = Callable[[bytes], bool]
"""Returns whether a stored value compares as the filter demands."""


class ServerFilter:
    """Passes everything; subclasses refuse rows or cells. `seek_to` belongs to CellVerdict.SEEK."""

    seek_to: bytes = b""

    def reset(self) -> None:
        """Start a row."""

    def is_done(self) -> bool:
        """Return whether nothing that follows in this region can pass."""
        return False

    def refuses_key(self, key: bytes) -> bool:
        """Return whether the row is refused by its key."""
        del key
        return False

    def judge(self, cell: FilterCell) -> CellVerdict:
        """Judge one cell."""
        del cell
        return CellVerdict.INCLUDE

    def transform(self, value: bytes) -> bytes:
        """Change the value of an included cell."""
        return value

    def refuses_row(self) -> bool:
        """Return, after its cells, whether the row is refused."""
        return False

    def needs_family(self, name: bytes) -> bool:
        """Return whether the verdict on a row depends on the cells of this family."""
        del name
        return True


@dataclass(slots=True)
class RowFilter(ServerFilter):
    """Rows by key."""

    matches: Comparison
    refused: bool = False

    def reset(self) -> None:
        self.refused = False

    def refuses_key(self, key: bytes) -> bool:
        self.refused = not self.matches(key)
        return self.refused

    def judge(self, cell: FilterCell) -> CellVerdict:
        del cell
        return CellVerdict.NEXT_FAMILY if self.refused else CellVerdict.INCLUDE

    def refuses_row(self) -> bool:
        return self.refused


@dataclass(slots=True)
class PrefixFilter(ServerFilter):
    """Rows whose key starts with a prefix; done once the keys have passed it."""

    prefix: bytes
    is_reverse: bool
    refused: bool = True
    passed: bool = False

    def reset(self) -> None:
        self.refused = True

    def is_done(self) -> bool:
        return self.passed

    def refuses_key(self, key: bytes) -> bool:
        head = key[: len(self.prefix)]
        if head != self.prefix and len(key) >= len(self.prefix):
            self.passed = (head > self.prefix) is not self.is_reverse
        self.refused = head != self.prefix
        return self.refused

    def judge(self, cell: FilterCell) -> CellVerdict:
        del cell
        return CellVerdict.NEXT_FAMILY if self.refused else CellVerdict.INCLUDE

    def refuses_row(self) -> bool:
        return self.refused


@dataclass(slots=True)
class InclusiveStopFilter(ServerFilter):
    """Rows up to and including one key."""

    stop: bytes
    is_reverse: bool
    passed: bool = False

    def is_done(self) -> bool:
        return self.passed

    def refuses_key(self, key: bytes) -> bool:
        self.passed = key < self.stop if self.is_reverse else key > self.stop
        return self.passed


@dataclass(slots=True)
class PageFilter(ServerFilter):
    """At most so many rows *of each region*, as HBase has it."""

    page_rows: int
    accepted: int = 0

    def is_done(self) -> bool:
        return self.accepted >= self.page_rows

    def refuses_row(self) -> bool:
        self.accepted += 1
        return self.accepted > self.page_rows


@dataclass(slots=True)
class ValueFilter(ServerFilter):
    """Cells by value, older versions too: a match may be an older version."""

    matches: Comparison

    def judge(self, cell: FilterCell) -> CellVerdict:
        return CellVerdict.INCLUDE if self.matches(cell.value) else CellVerdict.SKIP


@dataclass(slots=True)
class QualifierComparisonFilter(ServerFilter):
    """Cells by qualifier."""

    matches: Comparison

    def judge(self, cell: FilterCell) -> CellVerdict:
        return CellVerdict.INCLUDE if self.matches(cell.qualifier) else CellVerdict.SKIP


@dataclass(slots=True)
class FamilyFilter(ServerFilter):
    """Cells by family."""

    matches: Comparison

    def judge(self, cell: FilterCell) -> CellVerdict:
        return CellVerdict.INCLUDE if self.matches(cell.family) else CellVerdict.NEXT_FAMILY


@dataclass(slots=True)
class ColumnPrefixFilter(ServerFilter):
    """Cells whose qualifier starts with one of some prefixes (kept sorted)."""

    prefixes: Sequence[bytes]
    seek_to: bytes = b""

    def judge(self, cell: FilterCell) -> CellVerdict:
        if cell.qualifier.startswith(tuple(self.prefixes)):
            return CellVerdict.INCLUDE
        above = [prefix for prefix in self.prefixes if prefix > cell.qualifier]
        if not above:
            return CellVerdict.NEXT_FAMILY
        self.seek_to = above[0]
        return CellVerdict.SEEK


@dataclass(slots=True)
class ColumnRangeFilter(ServerFilter):
    """Cells whose qualifier lies in a range."""

    low: bytes
    low_included: bool
    high: bytes
    high_included: bool
    seek_to: bytes = b""

    def judge(self, cell: FilterCell) -> CellVerdict:
        qualifier = cell.qualifier
        if qualifier < self.low:
            self.seek_to = self.low
            return CellVerdict.SEEK
        if qualifier == self.low and not self.low_included:
            return CellVerdict.SKIP
        inside = qualifier <= self.high if self.high_included else qualifier < self.high
        inside = inside or not self.high  # HBase takes no bytes for no bound
        return CellVerdict.INCLUDE if inside else CellVerdict.NEXT_FAMILY


@dataclass(slots=True)
class ColumnPaginationFilter(ServerFilter):
    """So many columns of each row, after so many others; of each the newest version."""

    limit: int
    offset: int
    seen: int = 0
    column: tuple[bytes, bytes] | None = None

    def reset(self) -> None:
        self.seen = 0
        self.column = None

    def judge(self, cell: FilterCell) -> CellVerdict:
        if self.column == (cell.family, cell.qualifier):
            return CellVerdict.NEXT_COLUMN
        if self.seen >= self.offset + self.limit:
            return CellVerdict.NEXT_FAMILY
        self.column = (cell.family, cell.qualifier)
        self.seen += 1
        return CellVerdict.INCLUDE if self.seen > self.offset else CellVerdict.NEXT_COLUMN


@dataclass(slots=True)
class FirstKeyOnlyFilter(ServerFilter):
    """The first cell of each row."""

    has_passed: bool = False

    def reset(self) -> None:
        self.has_passed = False

    def judge(self, cell: FilterCell) -> CellVerdict:
        del cell
        if self.has_passed:
            return CellVerdict.NEXT_FAMILY
        self.has_passed = True
        return CellVerdict.INCLUDE


class KeyOnlyFilter(ServerFilter):
    """Cells without their values."""

    def transform(self, value: bytes) -> bytes:
        del value
        return b""


@dataclass(slots=True)
class SingleColumnValueFilter(ServerFilter):
    """Whole rows by the value of one column, as far as the scan reads that column."""

    family: bytes
    qualifier: bytes
    matches: Comparison
    refuse_if_missing: bool = False
    newest_only: bool = True
    has_column: bool = False
    matched: bool = False

    def reset(self) -> None:
        self.has_column = False
        self.matched = False

    def judge(self, cell: FilterCell) -> CellVerdict:
        if self.matched:
            return CellVerdict.INCLUDE
        if self.newest_only and self.has_column:
            return CellVerdict.NEXT_FAMILY
        if (cell.family, cell.qualifier) != (self.family, self.qualifier):
            return CellVerdict.INCLUDE
        self.has_column = True
        self.matched = self.matches(cell.value)
        if not self.matched and self.newest_only:
            return CellVerdict.NEXT_FAMILY
        return CellVerdict.INCLUDE

    def refuses_row(self) -> bool:
        return not self.matched if self.has_column else self.refuse_if_missing

    def needs_family(self, name: bytes) -> bool:
        return name == self.family or not self.refuse_if_missing
