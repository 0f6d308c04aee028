"""The cells of a table as other declarations would store them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from string import ascii_letters, digits
from typing import Final, Self

from hbase_orm.advise.estimating.stored_cells import FileCell, rows_of
from hbase_orm.schema import TableSchema

SHORTER_BYTES: Final = 8
"""By how much the row keys are made shorter."""

Change = Callable[[list[FileCell]], list[FileCell]]
"""Changes the sorted cells of one family."""

_NUMBER: Final = re.compile(rb"-?\d{3,}")
_INT_BYTES: Final = 8
_LETTERS: Final = (ascii_letters + digits).encode()


@dataclass(frozen=True)
class ChangedCells:
    """The changes of cells that the declarations of a model allow.

    Attributes:
        named: The columns with a declared name: names of dynamic columns are data.
        packable: The columns that could stand in one cell: two or more of a family, no counter, and
            none of an index.
        numeric: The columns of which every value is a whole number as text, on average longer than
            in binary.
    """

    named: frozenset[bytes]
    packable: frozenset[bytes]
    numeric: frozenset[bytes]

    @classmethod
    def of(cls, schema: TableSchema, cells: Iterable[FileCell]) -> Self:
        """Return the changes for a model; its cells show which texts are numbers."""
        plain = {each.column for each in schema.columns}
        indexed = {each.column for index in schema.indexes for each in index.columns}
        named = {each.column for each in schema.column_by_name.values()}
        return cls(frozenset(named), _packable(plain - indexed), _numeric_columns(cells))

    def with_short_names(self, cells: list[FileCell]) -> list[FileCell]:
        """Return the cells with families and declared qualifiers of one letter."""
        names = {each.qualifier: each.column for each in cells}
        long = [name for name, column in names.items() if column in self.named and len(name) > 1]
        taken = names.keys() - long
        short = dict(
            zip(long, (each for each in _short_names() if each not in taken), strict=False)
        )
        return [
            each._replace(
                family=each.family[:1], qualifier=short.get(each.qualifier, each.qualifier)
            )
            for each in cells
        ]

    def with_packed_columns(self, cells: list[FileCell]) -> list[FileCell]:
        """Return the cells with one cell for the columns that can be packed.

        Its value has the lengths of them, too.
        """
        changed = []
        for row in rows_of(cells):
            packed = [each for each in row if each.column in self.packable]
            if packed:
                value = b"".join(_length(each.value) + each.value for each in packed)
                changed.append(packed[0]._replace(qualifier=b"p", value=value))
            changed += (each for each in row if each.column not in self.packable)
        return changed

    def with_binary_numbers(self, cells: list[FileCell]) -> list[FileCell]:
        """Return the cells with whole numbers in 8 bytes where they are texts."""
        return [
            each._replace(value=int(each.value).to_bytes(_INT_BYTES, "big", signed=True))
            if each.column in self.numeric
            else each
            for each in cells
        ]

    def with_shorter_keys(self, cells: list[FileCell]) -> list[FileCell]:
        """Return the cells with shorter row keys, if all are long enough."""
        if any(len(each.row) <= SHORTER_BYTES for each in cells):
            return cells
        return [each._replace(row=each.row[SHORTER_BYTES:]) for each in cells]


def _packable(columns: Iterable[bytes]) -> frozenset[bytes]:
    """Return the columns that have another one in their family."""
    of_family: dict[bytes, list[bytes]] = {}
    for each in columns:
        of_family.setdefault(each.partition(b":")[0], []).append(each)
    return frozenset(each for several in of_family.values() if len(several) > 1 for each in several)


def _short_names() -> Iterable[bytes]:
    """Yield names of one letter, then of two."""
    for length in (1, 2):
        for letters in product(_LETTERS, repeat=length):
            yield bytes(letters)


def _length(value: bytes) -> bytes:
    """Return the length of a value as MessagePack stores it."""
    size = next(size for size in (1, 2, 4) if not len(value) >> 8 * size)
    return b"\xc4" + len(value).to_bytes(size, "big")


def _numeric_columns(cells: Iterable[FileCell]) -> frozenset[bytes]:
    sizes: dict[bytes, list[int]] = {}
    others: set[bytes] = set()
    for each in cells:
        if _NUMBER.fullmatch(each.value) and abs(int(each.value)) < 1 << 63:
            sizes.setdefault(each.column, []).append(len(each.value))
        else:
            others.add(each.column)
    return frozenset(
        column
        for column, lengths in sizes.items()
        if column not in others and sum(lengths) > _INT_BYTES * len(lengths)
    )
