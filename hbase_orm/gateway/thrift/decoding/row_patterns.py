"""Patterns of Thrift1 rows: regular expressions that take one row in one step.

The rows of an answer mostly have some of the same columns, in the same order. A pattern is made for
such columns: it compares all constant bytes and takes key, values and timestamps. The columns and
the widths of their values are learned from rows that were read in another way. A column whose
values have several widths ends where the timestamp's head begins. A value may contain these bytes,
so its length is compared afterwards.

A pattern takes a row only if every byte of the row is as expected. Whatever it does not take is
read by `row_answers`, which also finds the errors: longer keys, rows that have not arrived
completely, columns in another order, fields of later releases. Each part of a pattern is possessive
or has a fixed width, so no row is tried in more than one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from hbase_orm.ops import FIELDS_PER_CELL, STAMP_FIELD, VALUE_FIELD, ListedRow, Row

LONGEST_BYTES: Final = 255
"""The longest row key, and the longest value of a column without a fixed width, in a pattern."""

MOST_COLUMNS: Final = 100
"""The largest number of columns of a pattern."""

ROWS_TO_LEARN: Final = 64
"""How many rows are read in another way before a pattern is made, which takes 0.4 ms or more.

Each further pattern for the same columns needs `GROWTH` times as many such rows.
"""

GROWTH: Final = 2

# A pattern for much more columns than each row has would be slower than reading cell by cell.
_ALWAYS_MERGED: Final = 16
_MOST_SHAPES: Final = 8

# How many of the rows that a pattern did not take, one after another, are looked at.
_NOTED_ROWS: Final = 32

_SIZES: Final = tuple(bytes([size]) for size in range(LONGEST_BYTES + 1))

# The columns of Thrift1's TRowResult as bytes: field 1 is the key, field 2 the map of cells; a cell
# has its value as field 1 and its timestamp as field 2. The groups are the fields of `ListedRow`.
_KEY: Final = rb"\x0b\x00\x01\x00\x00\x00(.)(?>(.{1,255}?)\x0d\x00\x02\x0b\x0c)\x00\x00\x00(.)"
_FIXED: Final = rb"(?>%b\x0b\x00\x01%b(%b)(.{%d})\x0a\x00\x02(.{8})\x00|)"
_ANY_SIZE: Final = rb"(?>%b\x0b\x00\x01\x00\x00\x00(.)(?>(.{0,255}?)\x0a\x00\x02)(.{8})\x00|)"
_END: Final = rb"\x00"

_KEY_FIELD: Final = 1
_COUNT_FIELD: Final = 2


class RowPattern:
    """Takes rows that have some of certain columns, in a certain order."""

    __slots__ = ("_columns", "_match", "_sized")

    def __init__(self, columns: tuple[bytes, ...], widths: tuple[int | None, ...]) -> None:
        """Make a pattern.

        Args:
            columns: The columns, in the order of the rows; at most `MOST_COLUMNS`.
            widths: For each column the length of its values in bytes; None if it varies.
        """
        pairs = zip(columns, widths, strict=True)
        source = _KEY + b"".join(_cell(*pair) for pair in pairs) + _END
        self._match = re.compile(source, re.DOTALL).match
        self._columns = columns
        self._sized = [
            _KEY_FIELD,
            *(
                VALUE_FIELD + FIELDS_PER_CELL * place
                for place, width in enumerate(widths)
                if width is None
            ),
        ]

    def take(self, data: bytes, position: int, most: int, rows: list[Row]) -> int:
        """Append to `rows` up to `most` rows, which begin at `position` in `data`.

        Returns:
            The position of the first row that the pattern does not take.
        """
        match, columns, sized = self._match, self._columns, self._sized
        new, count, sizes = ListedRow.__new__, len(self._columns), _SIZES
        for _ in range(most):
            matched = match(data, position)
            if matched is None:
                break
            fields = matched.groups()
            # Without this the row could end where a further cell begins.
            there = count - fields[STAMP_FIELD::FIELDS_PER_CELL].count(None)
            if fields[_COUNT_FIELD] != sizes[there]:
                break
            for at in sized:
                value = fields[at]
                if value is not None and fields[at - 1] != sizes[len(value)]:
                    return position
            # To call the class would take as long as all of the above.
            row = new(ListedRow)
            row.key = fields[_KEY_FIELD]
            row.listed = columns
            row.fields = fields
            rows.append(row)
            position = matched.end()
        return position


def _cell(column: bytes, width: int | None) -> bytes:
    name = re.escape(len(column).to_bytes(4, "big") + column)
    if width is None:
        return _ANY_SIZE % name
    size = width.to_bytes(4, "big")
    return _FIXED % (name, re.escape(size[:3]), re.escape(size[3:]), width)


_pattern_of = lru_cache(maxsize=256)(RowPattern)


class _Shape:
    """Columns that rows have, with the widths of their values, and the pattern for such rows."""

    def __init__(self) -> None:
        self.columns: tuple[bytes, ...] = ()
        self.pattern: RowPattern | None = None
        self._widths: dict[bytes, int | None] = {}
        self._last: tuple[bytes, ...] = ()
        self._rows = 0
        self._wanted = ROWS_TO_LEARN
        self._is_new = False

    def fits(self, names: tuple[bytes, ...]) -> bool:
        """Add the columns `names` of a row; return False if the shape cannot include them."""
        if names == self._last:
            return True
        if self.columns and self._widths.keys().isdisjoint(names):
            return False
        joined = _merged(self.columns, names)
        if joined is None or len(joined) > MOST_COLUMNS:
            return False
        if len(joined) > len(self.columns):
            if self.columns and len(joined) > max(_ALWAYS_MERGED, FIELDS_PER_CELL * len(names)):
                return False
            self.columns = joined
            self._is_new = True
        self._last = names
        return True

    def note(self, row: Row) -> None:
        """Learn from a row that the pattern did not take, and perhaps make another pattern."""
        widths = self._widths
        for name, (value, _) in row.cells.items():
            width = widths.setdefault(name, len(value))
            if width is not None and width != len(value):
                widths[name] = None
                self._is_new = True
        self._rows += 1
        if self._is_new and self._rows >= self._wanted:
            self.pattern = _pattern_of(self.columns, tuple(map(widths.get, self.columns)))
            self._wanted *= GROWTH
            self._rows = 0
            self._is_new = False


def _merged(columns: Sequence[bytes], names: Iterable[bytes]) -> tuple[bytes, ...] | None:
    """Return the columns together with `names`, in an order that keeps both orders.

    None if there is no such order.
    """
    joined = list(columns)
    places: Mapping[bytes, int] = {column: place for place, column in enumerate(columns)}
    passed = added = 0
    for name in names:
        place = places.get(name)
        if place is None:
            joined.insert(passed + added, name)
            added += 1
        elif place < passed:
            return None
        else:
            passed = place + 1
    return tuple(joined)


class RowPatterns:
    """The patterns for the answers of one connection, which are learned from the answers.

    Attributes:
        current: The pattern to try first; None if no pattern is known for the last rows.
    """

    def __init__(self) -> None:
        """Start without patterns."""
        self.current: RowPattern | None = None
        self._shapes: list[_Shape] = []

    def note(self, rows: Sequence[Row]) -> None:
        """Learn from rows that no pattern took; choose the pattern for rows like the last one."""
        for row in rows[:_NOTED_ROWS]:
            if not row.cells or len(row.cells) > MOST_COLUMNS:
                continue
            shape = self._shape_of(tuple(row.cells))
            shape.note(row)
            self.current = shape.pattern

    def _shape_of(self, names: tuple[bytes, ...]) -> _Shape:
        shapes = self._shapes
        for place, shape in enumerate(shapes):
            if shape.fits(names):
                if place:
                    shapes.insert(0, shapes.pop(place))
                return shape
        shape = _Shape()
        shape.fits(names)
        self._shapes = [shape, *shapes[: _MOST_SHAPES - 1]]
        return shape
