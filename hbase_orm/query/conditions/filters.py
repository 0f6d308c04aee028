r"""Server-side filters as typed values, which `bytes()` converts to HBase's filter language.

The language puts `'` around a value and doubles each `'` inside it. No other byte is escaped, so a
value may have any bytes. Only this module writes filter text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Symbol = Literal["=", "!=", "<", "<=", ">", ">="]
Comparator = Literal["binary", "binaryprefix"]

_NEGATED: Final[Mapping[Symbol, Symbol]] = MappingProxyType(
    {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
)


@dataclass(frozen=True, slots=True)
class ByteTest:
    """A comparison of stored bytes with `operand`, in unsigned lexicographic order.

    Attributes:
        symbol: The comparison operator.
        operand: The bytes to compare with.
        comparator: "binary" compares all stored bytes. "binaryprefix" compares the first stored
            bytes, as many as `operand` has.
    """

    symbol: Symbol
    operand: bytes
    comparator: Comparator = "binary"

    @property
    def negated(self) -> ByteTest:
        """The opposite test: stored bytes pass it if they do not pass this test."""
        return ByteTest(_NEGATED[self.symbol], self.operand, self.comparator)

    def __bytes__(self) -> bytes:
        """Return the test in HBase's filter language: its operator and its quoted comparator."""
        return self.symbol.encode() + b", " + _quoted(self.comparator.encode() + b":", self.operand)


ANY_BYTES: Final = ByteTest(">=", b"")
NO_BYTES: Final = ByteTest("<", b"")


@dataclass(frozen=True, slots=True)
class Filter:
    """A server-side filter of rows or cells. `bytes(filter)` gives the text that is sent."""

    @property
    def tests(self) -> int:
        """The most comparisons for each row, or for each cell if the filter passes single cells."""
        return 0

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ColumnFilter(Filter):
    """Passes a row if the newest cell of one column passes a test.

    The scan must read the column.

    Attributes:
        column: `family:qualifier`.
        test: The test of the cell's bytes.
        passes_missing: Whether rows without the cell pass.
    """

    column: bytes
    test: ByteTest
    passes_missing: bool

    @property
    def tests(self) -> int:
        """The number of comparisons for each row: one."""
        return 1

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a SingleColumnValueFilter."""
        family, _, qualifier = self.column.partition(b":")
        arguments = (
            _quoted(family),
            _quoted(qualifier),
            bytes(self.test),
            b"false" if self.passes_missing else b"true",
            b"true",  # only the newest version is tested: reads do not return older ones
        )
        return _call(b"SingleColumnValueFilter", *arguments)


@dataclass(frozen=True, slots=True)
class RowKeyFilter(Filter):
    """Passes a row if its row key passes a test."""

    test: ByteTest

    @property
    def tests(self) -> int:
        """The number of comparisons for each row: one."""
        return 1

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a RowFilter."""
        return _call(b"RowFilter", bytes(self.test))


@dataclass(frozen=True, slots=True)
class KeyOnly(Filter):
    """Passes all cells, without their values."""

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a KeyOnlyFilter."""
        return _call(b"KeyOnlyFilter")


@dataclass(frozen=True, slots=True)
class FirstKeyOnly(Filter):
    """Passes only the first cell of each row."""

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a FirstKeyOnlyFilter."""
        return _call(b"FirstKeyOnlyFilter")


@dataclass(frozen=True, slots=True)
class QualifierFilter(Filter):
    """Passes a cell if its qualifier passes a test."""

    test: ByteTest

    @property
    def tests(self) -> int:
        """The number of comparisons for each cell: one."""
        return 1

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a QualifierFilter."""
        return _call(b"QualifierFilter", bytes(self.test))


@dataclass(frozen=True, slots=True)
class ColumnRange(Filter):
    """Passes the cells whose qualifiers are in a range; the server skips the other cells.

    Attributes:
        low: The low end; empty means no low end.
        low_included: Whether the low end is in the range.
        high: The high end; empty means no high end.
        high_included: Whether the high end is in the range.
    """

    low: bytes
    low_included: bool
    high: bytes
    high_included: bool

    @property
    def is_empty(self) -> bool:
        """Whether no qualifier can be in the range."""
        if not self.high:
            return False
        both = self.low_included and self.high_included
        return self.low > self.high or (self.low == self.high and not both)

    def holds(self, qualifier: bytes) -> bool:
        """Return whether a qualifier is in the range."""
        if qualifier < self.low or (qualifier == self.low and not self.low_included):
            return False
        if not self.high or qualifier < self.high:
            return True
        return qualifier == self.high and self.high_included

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a ColumnRangeFilter."""
        low, high = (
            b"true" if each else b"false" for each in (self.low_included, self.high_included)
        )
        return _call(b"ColumnRangeFilter", _quoted(self.low), low, _quoted(self.high), high)


@dataclass(frozen=True, slots=True)
class ColumnPage(Filter):
    """Passes the first columns of each row.

    In `AllOf`, only the columns that the filters before it pass are counted.

    Attributes:
        columns: The number of columns.
    """

    columns: int

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: a ColumnPaginationFilter."""
        return _call(b"ColumnPaginationFilter", b"%d" % self.columns, b"0")


@dataclass(frozen=True, slots=True)
class OnlyColumn(Filter):
    """Passes only the cells of `column`. Rows without this column are left out."""

    column: bytes

    @property
    def tests(self) -> int:
        """Two comparisons for each cell: its family and its qualifier."""
        return 2

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: FamilyFilter AND QualifierFilter."""
        family, _, qualifier = self.column.partition(b":")
        of_family = _call(b"FamilyFilter", bytes(ByteTest("=", family)))
        of_qualifier = bytes(QualifierFilter(ByteTest("=", qualifier)))
        return b"(" + of_family + b" AND " + of_qualifier + b")"


@dataclass(frozen=True, slots=True)
class NotColumn(Filter):
    """Passes the cells of all columns except `column`."""

    column: bytes

    @property
    def tests(self) -> int:
        """Two comparisons for each cell: its family and its qualifier."""
        return 2

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: FamilyFilter OR QualifierFilter."""
        family, _, qualifier = self.column.partition(b":")
        of_family = _call(b"FamilyFilter", bytes(ByteTest("!=", family)))
        of_qualifier = bytes(QualifierFilter(ByteTest("!=", qualifier)))
        return b"(" + of_family + b" OR " + of_qualifier + b")"


@dataclass(frozen=True, slots=True)
class AllOf(Filter):
    """Passes the rows or cells that every part passes. There are two or more parts."""

    parts: tuple[Filter, ...]

    @property
    def tests(self) -> int:
        """The sum of `tests` over all parts."""
        return sum(part.tests for part in self.parts)

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: its parts joined by AND."""
        return b" AND ".join(map(_bracketed, self.parts))


@dataclass(frozen=True, slots=True)
class AnyOf(Filter):
    """Passes the rows or cells that at least one part passes. There are two or more parts."""

    parts: tuple[Filter, ...]

    @property
    def tests(self) -> int:
        """The sum of `tests` over all parts."""
        return sum(part.tests for part in self.parts)

    def __bytes__(self) -> bytes:
        """Return the filter in HBase's filter language: its parts joined by OR."""
        return b" OR ".join(map(_bracketed, self.parts))


def _bracketed(part: Filter) -> bytes:
    # HBase refuses (a OR b AND c) though AND binds tighter, and takes (a OR (b AND c)).
    return b"(" + bytes(part) + b")" if isinstance(part, (AllOf, AnyOf)) else bytes(part)


def _call(name: bytes, *arguments: bytes) -> bytes:
    return name + b"(" + b", ".join(arguments) + b")"


def _quoted(*pieces: bytes) -> bytes:
    r"""Return the joined pieces as one quoted argument of a filter.

    Examples:
        >>> _quoted(b"binary:", b"it's \x00")
        b"'binary:it''s \x00'"
    """
    return b"'" + b"".join(pieces).replace(b"'", b"''") + b"'"
