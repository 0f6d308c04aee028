"""Estimates of row sizes, from the rows read before, which bound what one multi-get reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.ops import GetRows, Row

WHOLE_ROW_BYTES: Final = 200 * 1024
"""The expected size of a row whose families are read whole, until some have been read."""

_MOST_KINDS: Final = 1000

Kind = tuple[str, tuple[bytes, ...]]


class ReadSizes:
    """The mean size of the rows last read, by table and columns. Threads may share it."""

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._row_bytes: dict[Kind, int] = {}

    def __repr__(self) -> str:
        """Show the bytes a row by table and columns."""
        return f"ReadSizes({self._row_bytes})"

    def expected_bytes(self, operation: GetRows) -> int:
        """Return how many bytes of cells the answer may have; 0 where no such row was read."""
        row_bytes = self._row_bytes.get((operation.table, operation.columns))
        if row_bytes is None:
            row_bytes = WHOLE_ROW_BYTES if _is_whole(operation) else 0
        return row_bytes * len(operation.keys)

    def note(self, operation: GetRows, answer: Sequence[Row | None]) -> None:
        """Note the sizes of an answer's rows; an empty answer changes nothing."""
        rows = [row for row in answer if row is not None]
        if not rows:
            return
        size_bytes = sum(
            len(column) + len(cell.value) for row in rows for column, cell in row.cells.items()
        )
        if len(self._row_bytes) >= _MOST_KINDS:
            self._row_bytes.clear()
        self._row_bytes[operation.table, operation.columns] = size_bytes // len(rows)


def _is_whole(operation: GetRows) -> bool:
    return not operation.columns or any(b":" not in column for column in operation.columns)
