"""Rows whose cells stay encoded, as Thrift1 sent them, until they are needed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from hbase_orm.compiled.module import imported
from hbase_orm.ops import Cell, ListedRow, Row

_module, _refusal = imported()

cells: Final[Any] = _module
"""The compiled module; None if rows are read by Python."""

refusal: Final[str] = _refusal
"""Why rows are read by Python; empty if the compiled module is used."""


CellParts = tuple[tuple[bytes, ...], tuple[bytes, ...], tuple[int, ...]]
"""The columns, values and timestamps of a row's cells, each in the order of the cells."""


class EncodedRow(Row):
    """A row as Thrift1 encodes it: `cells` is made of `encoded` when it is first used.

    Only the compiled reader makes such rows, because most are decoded into objects by it. The row
    is equal to a `Row`, and used like one.

    Attributes:
        encoded: The cells, each with its column, value and timestamp.
    """

    # `cells` is unset at first, so its first use calls `__getattr__`.
    __slots__ = ("encoded",)

    encoded: bytes

    def __init__(self, key: bytes, encoded: bytes) -> None:
        """Make a row of the bytes that a gateway sent."""
        self.key = key
        self.encoded = encoded

    def __getattr__(self, name: str) -> Any:
        """Make `cells` at its first use."""
        if name != "cells":
            raise AttributeError(name)
        self.cells = cells.cells_of(self.encoded, Cell)
        return self.cells

    @property
    def columns(self) -> Collection[bytes]:
        """The columns of the cells."""
        columns: Collection[bytes] = cells.columns_of(self.encoded)
        return columns

    def parts(self, names: tuple[bytes, ...]) -> CellParts:
        """Return the columns, values and timestamps of the cells, in their order.

        Args:
            names: The columns of the row before, which are returned if this row has the same.
        """
        parts: CellParts = cells.parts_of(self.encoded, names)
        return parts

    def with_cells(self, cells: dict[bytes, Cell]) -> Row:
        """Return a row with this key and other cells."""
        return Row(self.key, cells)

    def __eq__(self, other: object) -> bool:
        """Compare with another row that is not stale."""
        if other.__class__ in {Row, ListedRow, EncodedRow}:
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
