"""Takes rows of answers by the compiled reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.gateway.thrift.decoding.row_patterns import RowPatterns
from hbase_orm.ops import Row


class RowTaker(Protocol):
    """Takes rows of a usual form, many in one step."""

    def take(self, data: bytes, position: int, most: int, rows: list[Row], /) -> int:
        """Append to `rows` up to `most` rows, which begin at `position` in `data`.

        Returns:
            The position of the first row that was not taken.
        """
        ...


class RowTakers(Protocol):
    """What takes the rows of the answers of one connection."""

    @property
    def current(self) -> RowTaker | None:
        """What is tried first; None if nothing is known of the last rows."""
        ...

    def note(self, rows: Sequence[Row], /) -> None:
        """Learn from rows that were read in another way."""
        ...


class CompiledRows:
    """Takes rows of every usual form; it has nothing to learn."""

    @property
    def current(self) -> RowTaker:
        """This object."""
        return self

    def take(self, data: bytes, position: int, most: int, rows: list[Row], /) -> int:
        """Append encoded rows, see `RowTaker`."""
        end: int = compiled_cells.take_rows(data, position, most, rows, EncodedRow)
        return end

    def take_results(self, data: bytes, position: int, most: int, rows: list[Row]) -> int:
        """Append rows of Thrift2, see `RowTaker`."""
        end: int = compiled_cells.take_results(data, position, most, rows, EncodedRow)
        return end

    def note(self, rows: Sequence[Row], /) -> None:
        """Learn nothing."""


def row_takers() -> RowTakers:
    """Return the compiled reader, or the patterns if it was not built or is switched off."""
    return RowPatterns() if compiled_cells is None else CompiledRows()
