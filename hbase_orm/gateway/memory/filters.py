"""HBase's server-side filters, which check cell by cell and may skip the following cells.

A filter gets a row's visible cells in order, including older versions. Its verdict on a cell may
skip the rest of the column, the cells before some later qualifier, or the rest of the family. The
other filters of an AND do not get the skipped cells. One filter object is used for the scan of one
region; `reset` is called before each row.
"""
# ruff: noqa: D102 - the methods are documented once, in `ServerFilter`, which all of them override

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class FilterCell(NamedTuple):
    """The parts of a cell that filters check."""

    family: bytes
    qualifier: bytes
    value: bytes


class CellVerdict(IntEnum):
    """The verdict on a cell; greater values skip more of the following cells."""

    INCLUDE = 0
    SKIP = 1
    NEXT_COLUMN = 2
    SEEK = 3
    NEXT_FAMILY = 4


Comparison = Callable[[bytes], bool]
"""A function that returns whether a stored value fulfils the comparison of a filter."""


class ServerFilter:
    """The base class of filters; it passes everything, and subclasses refuse rows or cells.

    Attributes:
        seek_to: After a SEEK verdict, the next qualifier to check; cells before it are skipped.
    """

    seek_to: bytes = b""

    def reset(self) -> None:
        """Forget the previous row, and start a new row."""

    def is_done(self) -> bool:
        """Return whether no following row in this region can pass."""
        return False

    def refuses_key(self, key: bytes) -> bool:
        """Return whether the row is refused by its key."""
        del key
        return False

    def judge(self, cell: FilterCell) -> CellVerdict:
        """Return the verdict on one cell."""
        del cell
        return CellVerdict.INCLUDE

    def transform(self, value: bytes) -> bytes:
        """Return the value that the scan returns for an included cell with this value."""
        return value

    def refuses_row(self) -> bool:
        """Return whether the row is refused; called after all its cells were checked."""
        return False

    def needs_family(self, name: bytes) -> bool:
        """Return whether the decision on a row depends on the cells of this family."""
        del name
        return True


@dataclass(slots=True)
class RowFilter(ServerFilter):
    """Passes rows whose key fulfils a comparison."""

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
    """Passes rows whose key starts with a prefix."""

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
    """Passes rows up to the stop key, which is included."""

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
    """Passes a limited number of rows of each region, as in HBase."""

    page_rows: int
    accepted: int = 0

    def is_done(self) -> bool:
        return self.accepted >= self.page_rows

    def refuses_row(self) -> bool:
        self.accepted += 1
        return self.accepted > self.page_rows


@dataclass(slots=True)
class ValueFilter(ServerFilter):
    """Passes cells, including older versions, whose value fulfils a comparison."""

    matches: Comparison

    def judge(self, cell: FilterCell) -> CellVerdict:
        return CellVerdict.INCLUDE if self.matches(cell.value) else CellVerdict.SKIP


@dataclass(slots=True)
class QualifierComparisonFilter(ServerFilter):
    """Passes cells whose qualifier fulfils a comparison."""

    matches: Comparison

    def judge(self, cell: FilterCell) -> CellVerdict:
        return CellVerdict.INCLUDE if self.matches(cell.qualifier) else CellVerdict.SKIP


@dataclass(slots=True)
class FamilyFilter(ServerFilter):
    """Passes cells whose family fulfils a comparison."""

    matches: Comparison

    def judge(self, cell: FilterCell) -> CellVerdict:
        return CellVerdict.INCLUDE if self.matches(cell.family) else CellVerdict.NEXT_FAMILY


@dataclass(slots=True)
class ColumnPrefixFilter(ServerFilter):
    """Passes cells whose qualifier starts with one of the prefixes, which are sorted."""

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
    """Passes cells whose qualifier is in a range; an empty `high` means no upper bound."""

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
    """Passes `limit` columns of each row, after the first `offset` columns.

    Only the newest cell of a column passes.
    """

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
    """Passes the first cell of each row."""

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
    """Passes all cells, with empty values."""

    def transform(self, value: bytes) -> bytes:
        del value
        return b""


@dataclass(slots=True)
class SingleColumnValueFilter(ServerFilter):
    """Passes whole rows in which the value of one column fulfils a comparison.

    A row without the column passes if `refuse_if_missing` is False. If the scan does not read the
    column, the column is missing in all rows.
    """

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
